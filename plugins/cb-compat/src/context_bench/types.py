"""The roles a component can play: implement the methods, subclass nothing."""

from cbcore.protocols import Evaluator, MemorySystem, Metric, System

__all__ = ["Evaluator", "MemorySystem", "Metric", "System"]
