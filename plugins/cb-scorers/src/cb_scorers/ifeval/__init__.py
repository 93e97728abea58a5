"""Does a response follow the verifiable instructions of its prompt? The checks of IFEval."""

from cb_scorers.ifeval.evaluator import IFEval, loose_variants
from cb_scorers.ifeval.instructions import INSTRUCTIONS, Instruction, UnknownInstructionError

__all__ = ["INSTRUCTIONS", "IFEval", "Instruction", "UnknownInstructionError", "loose_variants"]
