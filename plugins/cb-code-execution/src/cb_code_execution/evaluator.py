"""The evaluator: does the code that a model wrote pass its tests?"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cb_code_execution import machine
from cb_code_execution.extraction import defines, program
from cb_code_execution.limits import Limits
from cb_code_execution.sandbox import Examination, Outcome, Sandbox, SandboxError
from cb_code_execution.testplan import planned
from cbcore.binding import Trusted
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import NO_RESPONSE

_SHOWN_CHARACTERS = 300
# More programs at once than processors would only make each of them look slow.
_slots = threading.BoundedSemaphore(os.cpu_count() or 1)


class CodeExecution:
    """Runs generated code against its tests in a sandbox: pass@1, and pass@k of several samples."""

    name = "code_execution"
    emits = ("pass_at_1", "pass_at_k")
    applies_to = ("code",)
    automatic = True
    needs = ("tests",)

    def __init__(
        self,
        timeout_s: float = 10.0,
        k: int | None = None,
        memory_mb: int = 512,
        mechanism: Literal["auto", "bubblewrap", "landlock"] = "auto",
        python: Trusted[str | None] = None,
        allow_unsandboxed: Trusted[bool] = False,
    ) -> None:
        """`k` is that of pass@k; without it, the number of samples in the output.

        `python` runs the code instead of this interpreter, with the packages it has.
        `allow_unsandboxed` runs code with limits alone where no sandbox works, instead of
        refusing to run it.
        """
        if timeout_s <= 0:
            raise ValueError(f"timeout_s is a positive number of seconds, not {timeout_s}")
        if k is not None and k < 1:
            raise ValueError(f"k is at least 1, not {k}")
        if memory_mb < 64:
            raise ValueError(
                f"memory_mb is at least 64, which an interpreter needs, not {memory_mb}"
            )
        if mechanism not in ("auto", "bubblewrap", "landlock"):
            raise ValueError(f"mechanism is auto, bubblewrap or landlock, not {mechanism!r}")
        self.timeout_s = timeout_s
        self.k = k
        self.memory_mb = memory_mb
        self.mechanism = mechanism
        self.python = python
        self.allow_unsandboxed = allow_unsandboxed

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Run the response, or each of `responses`, and count those that pass."""
        samples = _samples(processed)
        prompt = _text(original.get("prompt")) or _text(original.get("context"))
        entry_point = _text(original.get("entry_point"))
        asked = _cases(original) or [_asked(_tests(original), prompt, entry_point)]
        sandbox = self._sandbox()
        outcomes = [
            _examined(sandbox, program(sample, prompt, entry_point), asked) for sample in samples
        ]
        return self._scored(outcomes, sandbox)

    def _sandbox(self) -> Sandbox:
        limits = Limits(time_s=self.timeout_s, memory_mb=self.memory_mb)
        wanted = machine.MECHANISMS if self.mechanism == "auto" else (self.mechanism,)
        try:
            return machine.find(limits, self.python, wanted)
        except SandboxError:
            if not self.allow_unsandboxed:
                raise
            return machine.unconfined(limits, self.python)

    def _scored(self, outcomes: Sequence[Outcome], sandbox: Sandbox) -> Scored:
        n, passed = len(outcomes), sum(outcome.passed for outcome in outcomes)
        k = self.k or n
        details: dict[str, Any] = {
            "sandbox": sandbox.mechanism,
            "python": sandbox.python,
            "outcomes": [
                {"status": o.status, "message": o.message[:_SHOWN_CHARACTERS]} for o in outcomes
            ],
        }
        unmeasured = [outcome.message for outcome in outcomes if not outcome.measured]
        if unmeasured:
            share = f"{len(unmeasured)} of {n} samples: " if n > 1 else ""
            return Scored({}, dict.fromkeys(self.emits, share + unmeasured[0]), details)
        scores = {"pass_at_1": passed / n}
        if k > n:
            reason = f"pass@{k} needs {k} samples, the output has {n}"
            return Scored(scores, {"pass_at_k": reason}, details)
        scores["pass_at_k"] = pass_at_k(n, passed, k)
        return Scored(scores, {}, details)


def pass_at_k(n: int, passed: int, k: int) -> float:
    """The chance that one of k samples passes, of which `passed` in n did, without bias.

    1 - C(n - passed, k) / C(n, k), after Chen et al., "Evaluating Large Language Models
    Trained on Code", 2021.
    """
    return 1.0 - math.comb(n - passed, k) / math.comb(n, k)


def _samples(processed: Mapping[str, Any]) -> list[str]:
    several = processed.get("responses")
    found = (
        several if isinstance(several, list | tuple) and several else [processed.get("response")]
    )
    samples = [sample for sample in found if isinstance(sample, str)]
    if len(samples) < len(found):
        raise MissingScoreError(NO_RESPONSE)
    return samples


def _tests(original: Mapping[str, Any]) -> str:
    """The tests as source: `tests`, or as HumanEval (`test`) and MBPP (`test_list`) publish them."""
    tests, published = _text(original.get("tests")), _text(original.get("test"))
    if tests or (published and original.get("entry_point")):
        return tests or str(published)
    listed = original.get("tests") or original.get("test_list")
    if isinstance(listed, list | tuple) and listed and all(isinstance(t, str) for t in listed):
        imports = original.get("test_imports") or original.get("test_setup_code") or ()
        setup = [imports] if isinstance(imports, str) else [str(line) for line in imports]
        return "\n".join([*setup, *listed])
    if published:
        return published
    raise MissingScoreError("the example has no tests")


def _examined(sandbox: Sandbox, solution: str, asked: Sequence[Examination]) -> Outcome:
    """The first outcome that is no pass, or the pass."""
    outcome = Outcome("passed")
    for examination in asked:
        with _slots:
            outcome = sandbox.run(solution, examination)
        if not outcome.passed:
            break
    return outcome


def _cases(original: Mapping[str, Any]) -> list[Examination]:
    """Tests of a program that reads and prints: each what it is given, and what it is to print."""
    listed = original.get("tests")
    if not isinstance(listed, list | tuple) or not all(isinstance(one, Mapping) for one in listed):
        return []
    cases = [(one.get("input"), one.get("output")) for one in listed]
    if not all(isinstance(given, str) and isinstance(told, str) for given, told in cases):
        raise MissingScoreError("a test of a program has no input or no output that is text")
    return [Examination("", case=case) for case in cases]


def _asked(tests: str, prompt: str | None, entry_point: str | None) -> Examination:
    """The tests with what the example says about the solution."""
    plan = planned(tests, entry_point)
    head = defines(prompt, entry_point) if prompt and entry_point else None
    if not prompt or head is None:
        return Examination(tests, plan, entry_point)
    entry_is = "class" if head[1] == "class" else "def"
    return Examination(tests, plan, entry_point, entry_is, prompt[: head.start()])


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
