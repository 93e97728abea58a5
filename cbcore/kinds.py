"""The kinds of components, one row each: all that the rest of `cb` has to know of a kind.

A plugin may bring kinds of its own: an entry point in the group `cb.kinds` names one and points
at its `Kind`. From then on every plugin can offer components of it, and `cb list` shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from cbcore import names

__all__ = ("Kind",)

_RUN = "cb run --system SYSTEM --dataset DATASET"


@attrs.frozen(kw_only=True, eq=False)
class Kind:
    """A kind of component.

    The entry-point group `cb.<names>`, with the plural of its name, offers components of it.
    Datasets, systems, evaluators, metrics and reporters can also be offered by a hook.

    - `offer`: what such components are, as the end of the sentence "Offer …".
    - `target`: what a component's target has to be or do, in one sentence.
    - `methods`: what the target makes has at least one of these, if there are any; if it
      `is_named`, a `name` too.
    - `problem`: asked instead of that, where it is given: what is wrong with a thing that a
      target made; None if nothing is.
    - `is_value`: the target is the thing itself, not something that makes it.
    - `example`: a command that uses one; `{spec}` stands for its name.
    - `hint`: where a component of it belongs, for who gives one as another kind.
    - `template`: a folder with what `cb new` writes for it: `component.py.jinja`,
      `test_component.py.jinja` and `usage.md`, as in the template of the core. None where there is
      nothing to start from.
    - `rules`: a module that the conformance kit imports before it checks such a component. It
      registers its rules with the kit; its function `use(case)` uses a component once, for the
      rules about identity.
    - `is_tested`: a run tests these components, so `name=` renames them in results and a run
      needs data besides them.
    """

    name: str
    offer: str
    target: str
    methods: tuple[str, ...] = ()
    is_named: bool = True
    problem: Callable[[Any], str | None] | None = None
    is_value: bool = False
    example: str = ""
    hint: str = ""
    template: Path | None = None
    rules: str = ""
    is_tested: bool = False

    @property
    def group(self) -> str:
        """The entry-point group that offers components of this kind."""
        return f"cb.{names.plural(self.name)}"

    def find_problem(self, value: Any) -> str:
        """Why an object is not of this kind, behind "this system (Class)"; empty if it is."""
        if self.problem is not None:
            wrong = self.problem(value)
            return f": {wrong}" if wrong else ""
        is_data = not isinstance(value, str)  # a text can be iterated, too
        has_method = is_data and any(callable(getattr(value, m, None)) for m in self.methods)
        if self.methods and not has_method:
            return f" has no {' or '.join(f'{method}()' for method in self.methods)}"
        has_name = isinstance(getattr(value, "name", None), str)
        return " has no name (a string)" if self.is_named and not has_name else ""


def _other_than(name: str) -> Callable[[Any], str | None]:
    """Say of everything but a value of that class what it should be."""

    def problem(value: Any) -> str | None:
        found = type(value).__name__
        return None if found == name else f"make it a value of the class {name}, not a {found}"

    return problem


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="dataset",
            offer="datasets",
            target="It is called as `target(config, **parameters)` and returns an iterable of "
            "examples.",
            methods=("__iter__",),
            is_named=False,
            example="cb run --system SYSTEM --dataset {spec}",
        ),
        Kind(
            name="system",
            offer="systems: context compressors, rerankers, readers, endpoints",
            target="It makes an object with `name` and `process` or `aprocess`.",
            methods=("process", "aprocess"),
            is_tested=True,
            example="cb run --system {spec} --dataset DATASET",
        ),
        Kind(
            name="evaluator",
            offer="evaluators",
            target="Its `applies_to` and `emits`, said in the component or on the target, decide "
            "whether the evaluator is wired automatically, and what can be asked of it.",
            methods=("score", "ascore"),
            example=f"{_RUN} --evaluator {{spec}}",
        ),
        Kind(
            name="metric",
            offer="metrics",
            target="It makes an object with `name` and `compute` or `compare`.",
            methods=("compute", "compare"),
            example=f"{_RUN} --metric {{spec}}",
        ),
        Kind(
            name="reporter",
            offer="output formats for `--output`",
            target="It makes an object with `name` and `render`.",
            methods=("render", "write"),
            example=f"{_RUN} --output {{spec}}",
        ),
        Kind(
            name="executor",
            offer="workers that make the calls: other processes, other machines",
            target="It makes an object with `name` and `open`.",
            methods=("open",),
        ),
        Kind(
            name="tokenizer",
            offer="token counters for `--tokenizer`",
            target="It makes an object with `name` and `count`.",
            methods=("count",),
            example=f"{_RUN} --tokenizer {{spec}}",
        ),
        Kind(
            name="command",
            offer="sub-commands of `cb`",
            target="It is a `click.Command`, or a function that returns one. A built-in command "
            "cannot be replaced; one called `list-things` also answers `cb list things`.",
            example="cb {spec} --help",
        ),
        Kind(
            name="option",
            offer="flags of `cb run`, which `cb_configure` or parameters of components read",
            target="It is a `cbcore.settings.Option`.",
            problem=_other_than("Option"),
            is_value=True,
            example="cb run --help",
        ),
        Kind(
            name="run_file",
            offer="run files that `cb run NAME` finds without a path",
            target="It is a `cbcore.settings.run_file.RunFile`.",
            problem=_other_than("RunFile"),
            is_value=True,
            example="cb run {spec}",
        ),
        Kind(
            name="directory",
            offer="directories of packages, for the hint behind an unknown name",
            target="It is a function that returns the packages which offer a component, called as "
            "`target(kind, name)`. For the kind `plugin`, it returns the package of that name, and "
            "for `score` those that give a score.",
            is_value=True,
            is_named=False,
        ),
        Kind(
            name="kind",
            offer="kinds of components",
            target="It is a `cbcore.kinds.Kind`.",
            problem=_other_than("Kind"),
            is_value=True,
        ),
    )
}
"""Every kind that the core knows, by name."""
