"""What can go wrong with a model on this machine.

UsageError
├── ModelNotFoundError    there is no such model file, or the bundled one is not installed
└── EngineError           llama.cpp cannot load the model, or cannot listen
ProcessError
└── PromptTooLongError    the prompt of one example does not fit the model's context
"""

from __future__ import annotations

from cbcore.exceptions import ProcessError, UsageError


class ModelNotFoundError(UsageError):
    """`model` is not a file that can be loaded."""

    def __init__(self, model: str, reason: str, *, hint: str) -> None:
        super().__init__(f"the model {model!r} cannot be used: {reason}", hint=hint)
        self.model = model
        self.reason = reason


class EngineError(UsageError):
    """llama.cpp refuses to start; it does not say why."""


class PromptTooLongError(ProcessError):
    """A prompt of `n_prompt_tokens` does not fit a context of `n_ctx` tokens."""

    def __init__(self, system: str, n_prompt_tokens: int, n_ctx: int) -> None:
        super().__init__(
            f"{system}: the prompt is {n_prompt_tokens} tokens long, and the context holds "
            f"{n_ctx}; nothing was generated",
            hint="raise n_ctx, as far as the model was trained for, or shorten the context first",
        )
        self.n_prompt_tokens = n_prompt_tokens
        self.n_ctx = n_ctx
