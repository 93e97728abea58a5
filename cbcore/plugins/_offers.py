"""What hook modules offer, known without importing them here.

Importing a hook module is the only way to learn what it offers, and may end, hang or change the
process that does it. So it is imported in another one, and what it offers is remembered until
its plugin changes. One that failed is looked at again by the next process, because the cause may
lie outside it; unless it took too long, and that was found out a short while ago.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

import attrs

from cbcore.components import Component, Owner
from cbcore.exceptions import PluginContractError, PluginError, PluginLoadError
from cbcore.plugins._children import TOO_LATE, answer, ask_child, ask_of_each
from cbcore.plugins._memory import full_stamp, recall, section, still_believed, update
from cbcore.plugins._plugin import Plugin, stamp_of

SECTION = "hook modules"
"""Where the memory keeps them; no distribution can be called so."""

_TIME_LIMIT_S = 30
_DESCRIPTION = (
    *("summary", "tasks", "configs", "main_score", "applies_to", "emits", "extension", "automatic"),
    "metavar",
)


@attrs.frozen(eq=False, repr=False)
class HookComponent(Component):
    """A component whose target only the hook can give: `live` imports its module and asks it."""

    live: Callable[[], Component] = attrs.field(kw_only=True, eq=False, repr=False)

    def load(self) -> Callable[..., Any]:
        """The target, from the hook."""
        return self.live().load()


@attrs.frozen(eq=False, repr=False)
class Offers:
    """What the hook modules of a plugin offer and which hooks they have; or why they fail."""

    components: list[dict[str, Any]] = attrs.Factory(list)
    hooks: list[str] = attrs.Factory(list)
    failed: str = ""
    reason: str = ""
    hint: str | None = None
    too_late_at: float | None = None

    @property
    def problem(self) -> dict[str, Any]:
        """What failed, as reports on plugins have it."""
        return {"failed": self.failed, "reason": self.reason, "hint": self.hint}


def learn(plugins: Sequence[Plugin], *, anew: bool = False) -> dict[str, Offers]:
    """What each plugin's hook modules offer, by its name: as remembered, or found by looking.

    With `anew`, nothing that is remembered counts. Those that could not be looked at, because
    no process can be had, are not in it.
    """
    remembered = {} if anew else section(recall(), SECTION)
    known = {p.name: _understood(remembered.get(p.name), p) for p in plugins}
    found = {name: offers for name, offers in known.items() if offers is not None}
    unknown = [plugin for plugin in plugins if plugin.name not in found]
    if unknown:
        looked_at = dict(_look(unknown))
        note(plugins, looked_at)
        found.update(looked_at)
    return found


def note(plugins: Iterable[Plugin], found: dict[str, Offers]) -> None:
    """Remember what was found out of some of the plugins, and forget what is not so any more."""
    looked_at = [plugin for plugin in plugins if plugin.name in found]

    def change(memory: dict[str, Any]) -> None:
        notes = section(memory, SECTION)
        for plugin in looked_at:
            offers = found[plugin.name]
            notes.pop(plugin.name, None)
            if stamp_of(plugin) and (not offers.reason or offers.too_late_at is not None):
                notes[plugin.name] = {"stamp": full_stamp(plugin), **attrs.asdict(offers)}
        memory[SECTION] = notes

    if looked_at:
        update(change)


def components_of(
    plugin: Plugin, offers: Offers, live: Callable[[str, str], Component]
) -> list[Component]:
    """Components to be used as if the hook had been called. `live` finds one by kind and name."""
    owner = Owner(plugin.name, plugin.version)
    made = []
    for told in offers.components:
        described = {**told, "owner": owner}
        kind, name = described["kind"], described["name"]
        if described.pop("importable"):
            made.append(Component(**described))
        else:
            made.append(HookComponent(**described, live=_asking(live, kind, name)))
    return made


def _asking(live: Callable[[str, str], Component], kind: str, name: str) -> Callable[[], Component]:
    return lambda: live(kind, name)


def _understood(known: Any, plugin: Plugin) -> Offers | None:
    """A memory, if it is of this plugin as it is now, and has the right shape."""
    if (
        not stamp_of(plugin)
        or not isinstance(known, dict)
        or known.get("stamp") != full_stamp(plugin)
    ):
        return None
    try:
        offers = Offers(**{key: value for key, value in known.items() if key != "stamp"})
        components_of(plugin, offers, _nobody)
        texts = (*offers.hooks, offers.failed, offers.reason, offers.hint or "")
        counts = not offers.reason or still_believed(offers.too_late_at)
    except (KeyError, TypeError, ValueError):
        return None
    return offers if counts and all(isinstance(text, str) for text in texts) else None


def _nobody(kind: str, name: str) -> Component:
    raise LookupError(kind, name)


def _look(plugins: Iterable[Plugin]) -> Iterator[tuple[str, Offers]]:
    def ask(wanted: list[str]) -> tuple[list[Any], str]:
        return ask_child(__name__, wanted, timeout_s=_TIME_LIMIT_S)

    try:
        for name, line, ending in ask_of_each((plugin.name for plugin in plugins), ask):
            if line is None:
                reason = f"importing it ended the interpreter ({ending})"
                late = time.time() if ending.startswith(TOO_LATE) else None
                yield name, Offers(failed="import", reason=reason, too_late_at=late)
            else:
                yield name, Offers(**line["offers"])
    except OSError:
        return  # no process can be had


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Read names on standard input; write a line before and after looking at each."""
    answer(_looks)


def _looks(wanted: Sequence[str], _printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    from cbcore.plugins._host import hosts_of_one

    for name, host in hosts_of_one(wanted):
        yield {"looking_at": name}
        yield {"looking_at": name, "offers": attrs.asdict(offers_of(host))}


def offers_of(host: Any) -> Offers:
    """What the hook modules of the one plugin of a host offer, imported in this process."""
    from cbcore.plugins._host import implemented

    offered = host.components()
    (plugin,) = host.plugins
    entries = {(c.kind, c.name) for c in plugin.entries}
    mine = [c for c in offered or plugin.components if (c.kind, c.name) not in entries]
    told = [_told(c, _first_name(c, mine)) for c in mine]
    if plugin.error is not None:
        failed = failure_of(plugin.error)
        return Offers(told, [], failed, plugin.error.reason, plugin.error.hint)
    return Offers(told, implemented(host))


def _first_name(component: Component, offered: Iterable[Component]) -> str:
    """The first name that its target is offered under."""
    same = (c for c in offered if c.kind == component.kind and c.target is component.target)
    return next(same).name


def failure_of(error: PluginError) -> str:
    """Whether a plugin failed to be imported, or to keep the contract."""
    return "import" if isinstance(error, PluginLoadError) else "contract"


def error_of(plugin: Plugin, failed: str, reason: str, hint: str | None) -> PluginError:
    """The error that a failure found in another process is here."""
    error = PluginLoadError if failed == "import" else PluginContractError
    return error(plugin.name, reason, hint=hint)


def _told(component: Component, first: str) -> dict[str, Any]:
    importable = isinstance(component.target, str) or _is_importable(component.target)
    return {**plain(component, first), "importable": importable}


def plain(component: Component, first: str = "") -> dict[str, Any]:
    """A component as it is remembered, without its owner.

    A target that cannot be imported is told apart by the first name that it is offered under.
    """
    target = component.target
    if not isinstance(target, str):
        is_importable = _is_importable(target)
        owner = target if hasattr(target, "__qualname__") else type(target)
        target = f"{owner.__module__}:{owner.__qualname__}"
        if not is_importable:
            target = f"{target} for {first or component.name}"
    described = {field: getattr(component, field) for field in _DESCRIPTION}
    return {"kind": component.kind, "name": component.name, "target": target, **described}


def _is_importable(target: Any) -> bool:
    """Whether an object is what its module has under its name."""
    found: Any = sys.modules.get(getattr(target, "__module__", None) or "")
    path = getattr(target, "__qualname__", None) or "?"
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is target
