"""Generated code against its tests, in a sandbox."""

import cb_code_execution
from context_bench.evaluators.wrapping import Wrapped


class CodeExecution(Wrapped):
    """Does the code that a model wrote pass its tests, within `timeout` seconds?

    Raises `SandboxError` where the machine offers no sandbox, unless `allow_unsandboxed`.
    """

    def __init__(self, timeout: float = 10, allow_unsandboxed: bool = False) -> None:
        super().__init__(
            cb_code_execution.CodeExecution(timeout_s=timeout, allow_unsandboxed=allow_unsandboxed)
        )
