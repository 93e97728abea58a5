"""The roles a component can play: implement the methods, subclass nothing."""

from cb_memory.nouns import MemorySystem
from cbcore.protocols import Evaluator, Metric, System

__all__ = ["Evaluator", "MemorySystem", "Metric", "System"]
