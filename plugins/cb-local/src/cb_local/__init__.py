"""A real language model for cb, with no network and no key."""

from cb_local.exceptions import EngineError, ModelNotFoundError, PromptTooLongError
from cb_local.system import Local

__all__ = ["EngineError", "Local", "ModelNotFoundError", "PromptTooLongError"]
