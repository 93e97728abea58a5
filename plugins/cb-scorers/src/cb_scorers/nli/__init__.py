"""Which label a response gives, and whether it is the right one."""

from cb_scorers.nli.evaluator import NLILabelMatch
from cb_scorers.nli.labels import LabelSet
from cb_scorers.nli.verdict import Verdict, read_verdict

__all__ = ["LabelSet", "NLILabelMatch", "Verdict", "read_verdict"]
