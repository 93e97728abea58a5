"""Building the tree that a request means: groups with their members, overrides handed down.

A leaf takes, from weakest to strongest: what its own definition says; the keys that the groups
around it hold for all their members; what is written at the members that lead to it. Of two of
a kind, the one nearer to the leaf wins.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cb_suites.engine.aggregate_keys import aggregate_metrics
from cb_suites.engine.documents import FunctionReference, origin_of, problem
from cb_suites.engine.fields import (
    GROUP_KEYS,
    OF_ONE_NODE,
    TASK_KEYS,
    WITHOUT_MEANING,
    checked,
    unknown_key,
)
from cb_suites.engine.index import Entry, Index
from cb_suites.engine.model import GroupNode, Leaf, Node, Origin
from cb_suites.engine.paths import SEPARATOR, is_glob, outermost, take_step
from cb_suites.engine.settings import Reader, Settings
from cb_suites.engine.tasks import ASKED_FORMAT, DEFINING, task_config
from cb_suites.engine.trust import Trust
from cbcore.exceptions import CBError, ConfigError, UnknownComponentError
from cbcore.names import hint as suggest
from cbcore.names import near_matches

DEEPEST = 100
"""How many groups may stand within each other."""

MOST_NODES = 20_000
"""How many tasks and groups a request may mean, each as often as it is reached."""

_MOST_SHOWN = 3
_MOST_LOOKED_FOR = 20
"""So many unknown names are looked for inside of all groups."""


@attrs.frozen
class Place:
    """Where in the tree something is built: what leads to it, and what is handed down to it."""

    path: str = ""
    groups: tuple[tuple[str, Origin], ...] = ()
    defaults: Settings = attrs.Factory(Settings)
    overrides: Settings = attrs.Factory(Settings)

    def below(self, name: str) -> str:
        return f"{self.path}{SEPARATOR}{name}" if self.path else name

    def overridden(self, own: Settings) -> Place:
        return attrs.evolve(self, overrides=own.over(self.overrides))


class TooManyNodesError(ConfigError):
    """A request that means more than can be built."""


@attrs.define
class TreeBuilder:
    """Builds nodes from requests.

    `also` names entries that the index does not, such as files by their path. `final` is set on
    every task, whatever is said elsewhere. With `problems` set, what is wrong with a member is
    collected there and the others go on. `unchecked` are functions that only exist once their
    module has run.
    """

    index: Index
    reader: Reader
    resolve: Callable[[FunctionReference], Any]
    trust: Trust = attrs.Factory(Trust)
    also: Mapping[str, Entry] = attrs.Factory(dict)
    final: Settings = attrs.Factory(Settings)
    problems: list[ConfigError] | None = None
    notes: dict[str, str] = attrs.Factory(dict)
    unchecked: list[FunctionReference] = attrs.Factory(list)
    n_nodes: int = 0
    _looked_for: dict[str, list[str]] | None = attrs.field(factory=dict, init=False)

    def begin(self) -> list[ConfigError]:
        """Start anew with another request. Gives the list that its problems will be in."""
        self.n_nodes = 0
        self.problems = []
        self.notes.clear()
        self.unchecked.clear()
        return self.problems

    # -- what a request or a member means ------------------------------------------------------

    def request(self, wanted: Any, where: Origin, place: Place) -> list[Node]:
        """The nodes that a name, a path, a glob, a tag or a mapping means."""
        if isinstance(wanted, str):
            return self._named(wanted, where, place, Settings(origin=where))
        if isinstance(wanted, Mapping):
            return self._written(Settings.of(wanted, where), place)
        raise problem(
            where,
            f"a task is named by text or written as keys with values, not {wanted!r}",
            "write - name, or - task: name with what is to be overridden",
        )

    def _named(self, text: str, where: Origin, place: Place, own: Settings) -> list[Node]:
        name, fmt = self._split_format(text)
        if fmt:
            asked = Settings({ASKED_FORMAT: fmt}, {ASKED_FORMAT: where}, where)
            own = asked.over(own)
        first, *steps = name.split(SEPARATOR)
        entries = self._entries(first, where)
        if len(entries) > 1 and "task_alias" in own:
            raise problem(
                own.place("task_alias"),
                f"{first!r} stands for {len(entries)} tasks, which cannot share one task_alias",
            )
        nodes = [node for entry in entries for node in self.of_entry(entry, where, place, own)]
        if is_glob(first):
            nodes = outermost(nodes)
        for step in steps:
            nodes = take_step(nodes, step, text, where)
        return nodes

    def _split_format(self, text: str) -> tuple[str, str]:
        name, _, fmt = text.rpartition("@")
        if not name or not fmt or text in self.also or self.index.find(text) is not None:
            return text, ""
        return name, fmt

    def _entries(self, name: str, where: Origin) -> list[Entry]:
        """The tasks and groups a name, a tag or a glob stands for."""
        entry = self.also.get(name) or self.index.find(name)
        if entry is not None:
            return [entry]
        found = self.index.tagged(name)
        if not found and is_glob(name):
            found = self.index.matching(name)
        if not found:
            raise self.unknown(name, where)
        return found

    def unknown(self, name: str, where: Origin) -> ConfigError | UnknownComponentError:
        """The error for a name that is defined nowhere."""
        near = self._inside_groups(name, where)
        near = near or near_matches(name, self.index.names())
        meant = suggest(name, near, most=3)
        hint = f"{meant} `cb list tasks`, `groups` and `tags` show what there is".lstrip()
        broken = [str(path) for path in self.index.unreadable]
        if broken:
            hint += f"\nit may be defined in a file that cannot be read: {', '.join(broken[:3])}"
        if where.file is None:
            return UnknownComponentError("suite", name, near, hint=hint)
        return problem(where, f"no task, group or tag is called {name!r}", hint)

    def _inside_groups(self, name: str, where: Origin) -> list[str]:
        """The paths of members of that name that are defined inside a group, some of them.

        Only the first unknown names of a builder are looked for, as a tree may have thousands.
        """
        looked_for = self._looked_for
        if looked_for is None or (name not in looked_for and len(looked_for) >= _MOST_LOOKED_FOR):
            return []
        if name in looked_for:
            return looked_for[name]
        # On its own: what is wrong with other groups is no problem of the one that is built, and
        # one that names the same unknown member does not look for it again.
        other = attrs.evolve(self, problems=None, notes={}, unchecked=[], n_nodes=0)
        other._looked_for = None
        found: list[str] = []
        for entry in self.index.entries:
            if entry.kind != "group" or str(entry.path) == where.file:
                continue
            if name not in entry.path.read_text("utf-8", "replace"):
                continue
            with contextlib.suppress(CBError):
                nodes = other.of_entry(entry, Origin(), Place(), Settings())
                found += [node.path for node in take_step(nodes, name, name, Origin())]
        looked_for[name] = list(dict.fromkeys(found))[:_MOST_SHOWN]
        return looked_for[name]

    def _written(self, settings: Settings, place: Place) -> list[Node]:
        """A member written as a mapping: a name with overrides, or a definition in place."""
        settings = self.reader.including(settings, self.trust)
        if "group" in settings and "task" in settings:
            return [self._group(settings, place, Settings(origin=settings.origin))]
        key = "group" if "group" in settings else "task"
        if key not in settings:
            raise problem(
                settings.origin,
                "a member of a group has task: or group:",
                suggest(next(iter(settings.values), ""), ("task", "group")),
            )
        name = settings.get(key)
        if not isinstance(name, str) or not name:
            raise problem(
                settings.place(key),
                f"{key} must be a name, not {name!r}",
                "give the list a name of its own with group:" if isinstance(name, list) else None,
            )
        own = settings.only(lambda other: other not in ("task", "group"))
        bare, fmt = self._split_format(name)
        defines = any(other in settings for other in DEFINING)
        if defines and self.index.find(bare) is None and SEPARATOR not in bare:
            asked = {ASKED_FORMAT: fmt} if fmt else {}
            inner = place.overridden(Settings(asked, {}, settings.origin))
            return [self._leaf(bare, own, inner)]
        self._check_overrides(own)
        return self._named(name, settings.place(key), place, own)

    def _check_overrides(self, own: Settings) -> None:
        for key in own.values:
            known = {**TASK_KEYS, **GROUP_KEYS}
            if key not in known and key not in WITHOUT_MEANING:
                raise unknown_key(key, known, "task", own.place(key))

    # -- nodes ---------------------------------------------------------------------------------

    def of_entry(
        self, entry: Entry, where: Origin, place: Place, own: Settings | None = None
    ) -> list[Node]:
        """What a file defines; `own` is what the member that named it writes."""
        own = own or Settings(origin=where)
        settings = self.reader.settings(entry.path, self.trust)
        if settings.get(entry.kind) != entry.name:
            raise problem(entry.origin, f"the file does not define the {entry.kind} {entry.name!r}")
        if entry.kind == "group":
            return [self._group(settings, place, own, where)]
        if "group" in settings and "class" not in settings:
            raise _not_a_group(settings)
        if "group" in settings:
            self._note("group (of a task)", "tasks are put together by tag")
        return [self._leaf(entry.name, settings.only(_not_a_name), place.overridden(own))]

    def _leaf(self, name: str, definition: Settings, place: Place) -> Leaf:
        self._count(definition.origin)
        for key in ("group_alias", "aggregate_metric_list"):
            if key in place.overrides:
                raise problem(place.overrides.place(key), f"{name!r} is a task and has no {key}")
        merged = self.final.over(place.overrides.over(place.defaults.over(definition)))
        merged = attrs.evolve(merged, origin=definition.origin)
        config = task_config(name, merged, resolve=self.resolve, note=self._note)
        config = attrs.evolve(config, trust=self.trust)
        handed_down = {*self.final.values, *place.overrides.values, *place.defaults.values}
        config = attrs.evolve(config, overridden=frozenset(handed_down - {ASKED_FORMAT}))
        fmt = merged.get(ASKED_FORMAT)
        label = f"{name}@{fmt}" if fmt else name
        if "task_alias" not in merged:
            config = attrs.evolve(config, alias=label)
        return Leaf(key=label, path=place.below(label), config=config)

    def _group(
        self, settings: Settings, place: Place, own: Settings, where: Origin | None = None
    ) -> GroupNode:
        """A group; `own` is what the member that named it writes."""
        self._count(settings.origin)
        values = checked(settings, "group")
        name = values.get("group")
        if name is None:
            raise problem(settings.place("group"), "a group has no name")
        if isinstance(values.get("task"), str) and any(key in values for key in DEFINING):
            raise _not_a_group(settings)
        known = (name, settings.place("group"))
        if known in place.groups:
            circle = [*place.groups[place.groups.index(known) :], known]
            raise problem(
                where or settings.origin,
                f"groups contain each other: {' → '.join(group for group, _ in circle)}",
            )
        if len(place.groups) >= DEEPEST:
            raise problem(settings.origin, f"groups are nested more than {DEEPEST} deep")
        if "tag" in values:
            self._note("tag (of a group)", "tags belong to tasks")
        of_the_node = own.only(lambda key: key in OF_ONE_NODE and key != "task_alias")
        own_values = checked(of_the_node, "group")
        alias = own.get("task_alias") or own_values.get("group_alias") or values.get("group_alias")
        aggregates = own if "aggregate_metric_list" in own else settings
        written = aggregates.get("aggregate_metric_list")
        inner = Place(
            path=place.below(name),
            groups=(*place.groups, known),
            defaults=settings.only(_is_handed_down).over(place.defaults),
            overrides=own.only(_is_handed_down).over(place.overrides),
        )
        return GroupNode(
            name=name,
            alias=str(alias or name),
            path=inner.path,
            children=tuple(self._members(settings, inner)),
            aggregates=()
            if written is None
            else aggregate_metrics(
                written, aggregates.place("aggregate_metric_list"), self.resolve
            ),
            metadata={**values.get("metadata", {}), **own_values.get("metadata", {})},
            origin=settings.place("group"),
        )

    def _members(self, settings: Settings, inner: Place) -> list[Node]:
        at = settings.place("task")
        members = settings.get("task")
        if not members:
            raise problem(
                at, f"the group {inner.path!r} has no members", "name some of them under task:"
            )
        items = members if isinstance(members, list) else [members]
        children: list[Node] = []
        for number, item in enumerate(items):
            try:
                children += self.request(item, origin_of(items, number, at), inner)
            except ConfigError as error:
                if self.problems is None or isinstance(error, TooManyNodesError):
                    raise
                self.problems.append(error)
        return children

    def _count(self, where: Origin) -> None:
        """Groups that name others several times double with every level: there is an end to it."""
        self.n_nodes += 1
        if self.n_nodes > MOST_NODES:
            raise TooManyNodesError(
                str(where), f"what is asked for has more than {MOST_NODES:,} tasks and groups"
            )

    def _note(self, key: str, reason: str) -> None:
        self.notes.setdefault(key, reason)


def _not_a_group(settings: Settings) -> ConfigError:
    """The error for `group:` on a task, which was once how tags were written."""
    named = settings.get("group")
    tags = ", ".join(map(str, named)) if isinstance(named, list) else named
    return problem(
        settings.place("group"),
        "this is a task, and a task cannot be a group",
        f"write tag: [{tags}]",
    )


def _not_a_name(key: str) -> bool:
    return key not in ("task", "group")


def _is_handed_down(key: str) -> bool:
    return key not in OF_ONE_NODE and key not in ("task", "group")
