"""How a judge is asked, and what it says. The judges themselves are made where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from cbcore.binding import Trusted, convert
from cbcore.exceptions import MissingExtraError

if TYPE_CHECKING:
    from cb_ragas_precision.judges import Judge


class Judgement(NamedTuple):
    """What a judge said of one prompt: a verdict, or the reason why there is none.

    `votes` holds every single verdict where several were asked for, and `cost` what they cost, as
    in `Scored`.
    """

    verdict: int | None
    reason: str
    votes: tuple[int, ...] = ()
    cost: Mapping[str, Any] = {}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Judging:
    """How a judge is asked: the parameters that all judged evaluators share.

    `n_votes` is how often; the majority counts. `timeout_s` limits one call. `max_retries`,
    `api_key_env`, the environment variable with the key, and `prices`, a file of them, are for a
    judge behind a URL.
    """

    n_votes: int = attrs.field(default=1)
    timeout_s: float = attrs.field(default=60.0)
    max_retries: int = attrs.field(default=5)
    api_key_env: Trusted[str] = "OPENAI_API_KEY"
    prices: Trusted[str | None] = None

    @n_votes.validator
    def _check_votes(self, _: attrs.Attribute[Any], value: int) -> None:
        if isinstance(value, bool) or value < 1 or value % 2 == 0:
            raise ValueError(f"n_votes is {value!r}: it must be odd, so that no vote is tied")

    @timeout_s.validator
    def _check_timeout(self, _: attrs.Attribute[Any], value: float) -> None:
        if isinstance(value, bool) or not value > 0:
            raise ValueError(f"timeout_s is {value!r}: it must be greater than 0")

    @max_retries.validator
    def _check_retries(self, _: attrs.Attribute[Any], value: int) -> None:
        if value < 0:
            raise ValueError(f"max_retries is {value!r}: it must be 0 or more")

    def make(self, judge: Any, model: str | None) -> Judge:
        """The judge. Raises TypeError for what is none, `MissingExtraError` without a client."""
        # Judges need an event loop, which takes longer to import than many runs without one.
        from cb_ragas_precision.judges import ClientJudge, FunctionJudge

        if isinstance(judge, str) and judge.startswith(("http://", "https://")):
            return ClientJudge(self._connect(judge, model))
        if isinstance(judge, str):
            judge = convert(judge, Callable)
        if hasattr(judge, "binary"):
            if self.n_votes != 1:
                raise ValueError(
                    f"n_votes is {self.n_votes}, but a judge client counts votes itself: "
                    f"make it with votes={self.n_votes}"
                )
            return ClientJudge(lambda: judge)
        if not callable(judge):
            raise TypeError(
                f"judge is {judge!r}: it is a URL, a function of the prompt, module:function, "
                "or a judge client"
            )
        return FunctionJudge(judge, self.timeout_s, self.n_votes)

    def _connect(self, url: str, model: str | None) -> Callable[[], Any]:
        if not model:
            raise ValueError(f"model is not given: name the model that judges at {url}")
        try:
            from cb_llm_judge import JudgeClient
        except ImportError as error:
            raise MissingExtraError(
                f"judge={url}", "cb-llm-judge", "cb-ragas-precision[judge]"
            ) from error

        options: dict[str, Any] = attrs.asdict(self)
        options["votes"] = options.pop("n_votes")

        def connect() -> Any:
            return JudgeClient(url, model, **options)

        return connect
