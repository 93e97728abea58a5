"""Which label a response gives, and whether it is the right one."""

from cb_nli.evaluator import NLILabelMatch
from cb_nli.labels import LabelSet
from cb_nli.verdict import Verdict, read_verdict

__all__ = ["LabelSet", "NLILabelMatch", "Verdict", "read_verdict"]
