"""A cluster that tests share, and what they say of a result."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from cb_ray import RayExecutor
from cbcore import evaluate
from cbcore.results import EvalResult

HERE = Path(__file__).parent
HOSTILE = HERE / "hostile.py"


@pytest.fixture(scope="session")
def rig_class() -> Any:
    if importlib.util.find_spec("ray") is None:
        pytest.skip(f"Ray is not installed for {sys.executable}")
    spec = importlib.util.spec_from_file_location("cb_ray_rig", HERE / "rig.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Rig


class Shared:
    """A cluster that is made again when a test has broken it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._rig: Any = None

    def ready(self) -> Any:
        """A head and two nodes with one CPU each."""
        if self._rig is not None and not self._rig.has_head:
            self.close()
        if self._rig is None:
            self._rig = self._make()
        while len(self._rig.nodes) < 2:
            self._rig.nodes.append(self._rig.add_node())
        return self._rig

    def close(self) -> None:
        if self._rig is not None:
            self._rig.close()
            self._rig = None


@pytest.fixture(scope="session")
def shared(rig_class: Any) -> Iterator[Shared]:
    # Nothing may be put on the disk in place of memory, so that what is too large is refused, and
    # not merely slow.
    config = {"local_fs_capacity_threshold": 0.0}
    shared = Shared(lambda: rig_class(config=config))
    yield shared
    shared.close()


@attrs.frozen
class Bench:
    """One system on made-up examples, on the cluster; its calls are in a journal."""

    cluster: Any
    folder: Path

    def run(
        self,
        system: str,
        *,
        n: int = 60,
        at: tuple[int, Callable[[], object]] | None = None,
        takes_s: float = 0.0,
        executor: dict[str, Any] | None = None,
        evaluators: Sequence[str] = (),
        here: bool = False,
        **options: Any,
    ) -> EvalResult:
        """The result; when the example with number `at` is taken, something happens.

        `here` runs it without Ray.
        """
        journal = self.folder / "journal"
        spec = f"py:{HOSTILE}:{system}:journal={journal},takes_s={takes_s}"
        settings = {"start_timeout_s": 20, **(executor or {})}
        return evaluate(
            [spec],
            _examples(n, at),
            [f"py:{HOSTILE}:Same", *evaluators],
            executor=None if here else RayExecutor(self.cluster.address, **settings),
            progress=False,
            **options,
        )

    def calls(self) -> Counter[str]:
        """How often each example was called for."""
        return Counter((self.folder / "journal").read_text(encoding="utf-8").split())


def _examples(n: int, at: tuple[int, Callable[[], object]] | None) -> Iterator[dict[str, Any]]:
    for i in range(n):
        if at is not None and i == at[0]:
            at[1]()
        yield {"id": str(i), "question": f"q{i}?", "context": f"it is a{i}", "answer": f"a{i}"}


@pytest.fixture
def bench(shared: Shared, tmp_path: Path) -> Bench:
    return Bench(shared.ready(), tmp_path)
