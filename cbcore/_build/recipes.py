"""What workers are told of a system and its evaluators: how they were made, and by which versions.

A component that was made from a spec is made from it again, so that what it holds, such as a
model or a connection, is never sent. One that was handed in as an object is pickled. Secrets stay
where they are: what came from the environment is sent as the name of its variable.
"""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import attrs

from cbcore._build.builder import Builder
from cbcore._build.making import Making
from cbcore._run.calls import calls_at_once
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore.boundary import at_boundary, contained
from cbcore.components import describe_exception
from cbcore.exceptions import CBError, UsageError
from cbcore.names import canonical
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.secrets import Secret, is_shown_in, redact
from cbcore.settings.run_settings import RunSettings
from cbcore.workers import Bench, Recipe, Refusal

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")
_ENVIRONMENT = "export it where the workers are"


# -- in the run ------------------------------------------------------------------------------------


@attrs.frozen
class _Sent:
    """A component on its way: how it was made, or, without that, itself."""

    name: str
    making: Making | None
    value: Any = None

    def made(self, builder: Builder) -> Any:
        if self.making is None:
            return self.value
        value = self.making.made(builder)
        if value.name == self.name:
            return value
        from cbcore.chains import Renamed

        return Renamed(value, self.name)


@attrs.frozen
class _Asked:
    """An evaluator on its way, with the scorers that it is: key, and when it is asked.

    By its `making`, a worker knows it again in the next recipe; empty where it has none.
    """

    part: _Sent
    scorers: Sequence[tuple[int, bool, tuple[str, ...], tuple[str, ...]]]
    making: bytes = b""


def recipe_for(part: Part, scorers: Sequence[Scorer], settings: RunSettings) -> Recipe:
    """What a worker makes a system and the evaluators of its rows from."""
    of_part: dict[Part, list[Scorer]] = {}
    for scorer in scorers:
        of_part.setdefault(scorer.part, []).append(scorer)
    asked = [_asked(judge, own) for judge, own in of_part.items()]
    kit = Kit(
        system_name=part.name,
        versions={
            **dict(_versions([one.record for one in (part, *of_part)])),
            **_versions_of_objects((part, *of_part)),
        },
        parts=_pickled(_sent(part), asked),
        timeout_s=settings.timeout_s,
        in_flight=calls_at_once(part.value, settings.concurrency),
    )
    return Recipe(part.name, pickle.dumps(kit, 5))


def _asked(judge: Part, scorers: Sequence[Scorer]) -> _Asked:
    sent = _sent(judge)
    making = b""
    with contained():  # what cannot be pickled is told with the rest
        if sent.making is not None:
            making = blake2b(_dumped(sent), digest_size=16).digest()
    return _Asked(sent, [*map(_known, scorers)], making)


def _known(scorer: Scorer) -> tuple[int, bool, tuple[str, ...], tuple[str, ...]]:
    return scorer.key, scorer.automatic, scorer.needs, scorer.needs_output


def _sent(part: Part) -> _Sent:
    if part.making is not None:
        return _Sent(part.value.name, part.making)
    return _Sent(part.value.name, None, part.value)


def _versions(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The distributions behind components, those of the stages of chains too."""
    for record in records:
        if record.get("version") is not None:
            yield record["plugin"], record["version"]
        yield from _versions(record.get("stages") or ())


def _versions_of_objects(parts: Iterable[Part]) -> dict[str, str]:
    """The plugins whose objects are sent as they are, of which no record tells."""
    packages = {
        type(part.value).__module__.partition(".")[0]
        for part in parts
        if part.making is None and part.record.get("version") is None
    }
    found = {}
    for dist in read_distributions() if packages - {"__main__"} else ():
        offered = {entry.value.partition(":")[0].partition(".")[0] for entry in dist.declared}
        if packages & offered:
            found[dist.name] = dist.version
    return found


class _Pickler(pickle.Pickler):
    """Sends secrets by the names of their variables."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Secret and _VARIABLE.search(value.source):
            return _from_environment, (value.source,)
        return NotImplemented


def _pickled(system: _Sent, asked: Sequence[_Asked]) -> bytes:
    try:
        payload = _dumped((system, asked))
    except Exception:  # whose it is has to be found out
        for one in (system, *(evaluator.part for evaluator in asked)):
            with at_boundary(f"sending {one.name!r} to workers", _cannot_be_sent):
                _dumped(one)
        raise
    if is_shown_in(payload.decode("utf-8", "replace").encode()):
        raise UsageError(
            f"{system.name!r} or an evaluator of it holds a secret, which is not sent to workers",
            hint="take it from the environment, as in api_key=${MY_KEY} in a run file, or by "
            "the name of its variable, as in api_key_env=MY_KEY",
        )
    return payload


def _dumped(value: Any) -> bytes:
    written = io.BytesIO()
    _Pickler(written, 5).dump(value)
    return written.getvalue()


def _cannot_be_sent(reason: str) -> UsageError:
    return UsageError(
        reason, hint="give it by a spec, as in py:./file.py:Name, or leave --executor out"
    )


def _from_environment(source: str) -> Secret:
    """In a worker: the secret that was written with the names of variables in it."""
    values = []

    def replace(match: re.Match[str]) -> str:
        value = os.environ.get(match["name"])
        if value is None:
            told = f"the environment variable {match['name']!r} is not set in a worker"
            raise UsageError(told, hint=_ENVIRONMENT)
        values.append(value)
        return value

    return Secret(_VARIABLE.sub(replace, source), source=source, parts=values)


# -- in a worker -----------------------------------------------------------------------------------


@attrs.frozen
class Kit:
    """A recipe as a worker unpacks it. Nobody's code is imported before `open`."""

    system_name: str
    versions: Mapping[str, str]
    parts: bytes = attrs.field(repr=False)
    timeout_s: float | None
    in_flight: int

    def open(self, workers: int, after: Bench | None = None) -> Bench:
        """The bench; a `Refusal` where something is wrong with this worker."""
        try:
            return self._opened(workers, after)
        except CBError as error:
            return Refusal(redact(f"a worker cannot begin: {error.message}"), error.hint)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - what unpickles may raise anything
            return Refusal(
                redact(f"a worker cannot make {self.system_name!r}: {describe_exception(error)}"),
                "what is not installed there has to be given by a spec, as in py:./file.py:Name",
            )

    def _opened(self, workers: int, after: Bench | None) -> Bench:
        from cbcore._build.benches import WorkBench
        from cbcore.secrets import notice_environment

        notice_environment()
        distributions = read_distributions()
        self._check_versions({dist.name: dist.version for dist in reversed(distributions)})
        # Nothing else is looked at: whose each component is was found out by the run.
        policy = PluginPolicy(only=frozenset(map(canonical, self.versions)))
        builder = Builder(Catalog(distributions, policy))
        sent, asked = pickle.loads(self.parts)  # noqa: S301 - of our own run
        before = after.evaluators if isinstance(after, WorkBench) else {}
        scorers: dict[int, Scorer] = {}
        evaluators: dict[bytes, Any] = {}
        for one in asked:
            made = Part(before.get(one.making) or one.part.made(builder))
            if one.making:
                evaluators[one.making] = made.value
            for key, automatic, needs, needs_output in one.scorers:
                scorer = Scorer(
                    made, automatic=automatic, needs=needs, needs_output=needs_output, key=key
                )
                if one.part.making is not None:
                    scorer = scorer.for_system(self.system_name)
                scorers[key] = scorer
        return WorkBench(
            sent.made(builder),
            scorers,
            timeout_s=self.timeout_s,
            in_flight=self.in_flight,
            workers=workers,
            evaluators=evaluators,
            after=before,
        )

    def _check_versions(self, found: Mapping[str, str]) -> None:
        for name, wanted in self.versions.items():
            has = found.get(name)
            if has != wanted:
                there = f"has {name} {has}" if has else f"has no {name}"
                raise UsageError(
                    f"it {there}, and the run has {wanted}",
                    hint=f"install {name}=={wanted} where the workers are",
                )
