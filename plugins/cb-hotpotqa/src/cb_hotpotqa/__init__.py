"""HotpotQA: multi-hop questions over paragraphs, and the scores that go with them."""

from cb_hotpotqa.dataset import HotpotQA, hotpotqa
from cb_hotpotqa.evaluator import HotpotJoint

__all__ = ["HotpotJoint", "HotpotQA", "hotpotqa"]
