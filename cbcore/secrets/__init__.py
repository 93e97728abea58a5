"""Keeping secrets out of everything a run writes.

A secret is a value, not a field. What came from `${VAR}` in a run file, from an environment
variable or a parameter named like a secret, or from the login or query of an address, is known
to the process from then on, and blotted out of every text that leaves it: rows, reports, stored
outputs, records of runs, log lines, messages of errors and what is printed. Where a value stands
alone, where it came from is shown in its place.
"""

from cbcore.secrets._finding import expand_variables as expand_variables
from cbcore.secrets._finding import found_in as found_in
from cbcore.secrets._finding import notice as notice
from cbcore.secrets._finding import notice_arguments as notice_arguments
from cbcore.secrets._finding import notice_environment, redact, remember, secret_values
from cbcore.secrets._finding import notice_parameters as notice_parameters
from cbcore.secrets._finding import redact_assignments as redact_assignments
from cbcore.secrets._finding import without_credentials as without_credentials
from cbcore.secrets._known import HIDDEN as HIDDEN
from cbcore.secrets._known import Secret, blot, hide
from cbcore.secrets._known import are_known as are_known
from cbcore.secrets._known import can_be_blotted as can_be_blotted
from cbcore.secrets._known import forget_all as forget_all
from cbcore.secrets._known import is_shown_in as is_shown_in
from cbcore.secrets._names import is_secret_name as is_secret_name
from cbcore.secrets._names import is_telling as is_telling
from cbcore.secrets._names import names_secret as names_secret
from cbcore.secrets._showing import visible as visible
from cbcore.secrets._streams import RedactedStream as RedactedStream

__all__ = (
    "Secret",
    "blot",
    "hide",
    "is_secret_name",
    "notice_environment",
    "redact",
    "remember",
    "secret_values",
)
