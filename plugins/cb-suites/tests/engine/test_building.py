"""Groups, members and overrides. Cases are numbered as measured on lm-evaluation-harness 0.4.13."""

from __future__ import annotations

import pytest

from cb_suites.engine import GroupNode, Leaf, Selection, TaskConfig
from cb_suites.engine.paths import with_keys
from cbcore.exceptions import ConfigError


def shape(node):
    """A tree as nested names."""
    if isinstance(node, Leaf):
        return node.key
    return {node.name: [shape(child) for child in node.children]}


# -- members -------------------------------------------------------------------------------------


def test_members_stay_in_the_order_of_the_file(suites):
    """Strings, overrides, registered groups and inline ones alike."""
    suites.tasks("b", "a", "c")
    suites.write("sub.yaml", "group: sub\ntask: [c]\n")
    suites.write(
        "g.yaml",
        """
        group: g
        task:
          - b
          - sub
          - task: a
            limit: 2
          - group: inline
            task:
              - task: own
                dataset: qa
        """,
    )
    (root,) = suites.load("g").roots
    assert shape(root) == {"g": ["b", {"sub": ["c"]}, "a", {"inline": ["own"]}]}
    assert [child.path for child in root.children] == ["g::b", "g::sub", "g::a", "g::inline"]
    assert root.children[3].children[0].path == "g::inline::own"


def test_groups_nest_a_hundred_deep(suites):
    """Far deeper than any that is meant; what goes on without end is an error at its line."""
    suites.tasks("a")
    for n in range(100):
        suites.write(f"g{n}.yaml", f"group: g{n}\ntask: {f'g{n + 1}' if n < 99 else 'a'}\n")
    (leaf,) = suites.load("g0").leaves()
    assert leaf.path.count("::") == 100
    suites.write("g99.yaml", "group: g99\ntask: g100\n")
    path = suites.write("g100.yaml", "group: g100\ntask: a\n")
    with pytest.raises(ConfigError, match="more than 100 deep") as caught:
        suites.load("g0")
    assert caught.value.source == f"{path}:1"


def test_a_bare_string_is_one_member(suites):
    """Documented there, and an empty group there."""
    suites.tasks("a")
    suites.write("g.yaml", "group: g\ntask: a\n")
    assert shape(suites.load("g").roots[0]) == {"g": ["a"]}


def test_a_tag_is_its_tasks_without_a_row(suites):
    """Case 22: parent → sub → tag gives three leaves and two groups; a tag alone, no group."""
    suites.tasks("c", "a", "b", more="tag: t\n")
    suites.write("sub.yaml", "group: sub\ntask: [t]\n")
    suites.write("parent.yaml", "group: parent\ntask: [sub]\n")
    (parent,) = suites.load("parent").roots
    assert shape(parent) == {"parent": [{"sub": ["a", "b", "c"]}]}
    assert [leaf.path for leaf in suites.load("t").roots] == ["a", "b", "c"]


def test_a_group_has_its_fields(suites):
    """Alias, version, aggregates, place."""
    suites.tasks("a")
    path = suites.write(
        "g.yaml",
        """
        group: g
        group_alias: The G
        task: [a]
        aggregate_metric_list:
          metric: acc
          weight_by_size: false
          filter_list: strict
        metadata: {version: 2.0, num_fewshot: 5}
        """,
    )
    (group,) = suites.load("g").roots
    assert isinstance(group, GroupNode)
    assert (group.alias, group.metadata) == ("The G", {"version": 2.0, "num_fewshot": 5})
    assert str(group.origin) == f"{path}:1"
    (aggregate,) = group.aggregates
    assert (aggregate.metric, aggregate.aggregation, aggregate.over) == ("acc", "mean", "leaves")
    assert (aggregate.weight_by_size, aggregate.filters) == (False, ("strict",))


def test_one_aggregate_or_a_list_of_them_is_the_same(suites):
    """Case 17."""
    suites.tasks("a")
    suites.write("g.yaml", "group: g\ntask: [a]\naggregate_metric_list: {metric: acc}\n")
    suites.write("h.yaml", "group: h\ntask: [a]\naggregate_metric_list:\n  - metric: acc\n")
    assert suites.load("g").roots[0].aggregates == suites.load("h").roots[0].aggregates


# -- overrides -----------------------------------------------------------------------------------


def test_a_groups_own_keys_reach_every_member(suites):
    """Case 18: `num_fewshot: 42` over tasks with 1 and 0."""
    suites.tasks("a", more="num_fewshot: 1\n")
    suites.tasks("b", more="num_fewshot: 0\n")
    suites.write("g.yaml", "group: g\ntask: [a, b]\nnum_fewshot: 42\n")
    assert suites.fewshot("g") == {"g::a": 42, "g::b": 42}


@pytest.mark.parametrize("key", ["task", "group"])
def test_an_override_of_a_group_reaches_every_leaf_below(suites, key):
    """Cases 19 and 33: through nested groups and tags, whichever key names it."""
    suites.tasks("a", "b", more="num_fewshot: 1\ntag: t\n")
    suites.tasks("c", more="num_fewshot: 0\n")
    suites.write("sub.yaml", "group: sub\ntask: [t]\n")
    suites.write("inner.yaml", "group: inner\ntask: [sub, c]\n")
    suites.write("g.yaml", f"group: g\ntask:\n  - {key}: inner\n    num_fewshot: 99\n")
    assert set(suites.fewshot("g").values()) == {99}
    assert len(suites.fewshot("g")) == 3


def test_an_override_of_a_tag_reaches_its_tasks(suites):
    """There, silently one task was left."""
    suites.tasks("a", "b", more="tag: t\n")
    suites.write("g.yaml", "group: g\ntask:\n  - task: t\n    num_fewshot: 9\n")
    assert suites.fewshot("g") == {"g::a": 9, "g::b": 9}


def test_the_nearest_override_wins(suites):
    """What is written at the task over what is written at the group around it."""
    suites.tasks("a", "b", more="num_fewshot: 0\n")
    suites.write("inner.yaml", "group: inner\ntask:\n  - a\n  - {task: b, num_fewshot: 1}\n")
    suites.write("g.yaml", "group: g\nnum_fewshot: 7\ntask:\n  - {task: inner, num_fewshot: 5}\n")
    assert suites.fewshot("g") == {"g::inner::a": 5, "g::inner::b": 1}


def test_overrides_go_over_the_defaults_of_groups(suites):
    """A group's keys say what holds unless a member says otherwise, from inside or outside."""
    suites.tasks("a", "b")
    suites.write(
        "inner.yaml", "group: inner\nnum_fewshot: 2\ntask: [a, {task: b, num_fewshot: 3}]\n"
    )
    suites.write("g.yaml", "group: g\ntask:\n  - {task: inner, num_fewshot: 5}\n")
    assert suites.fewshot("inner") == {"inner::a": 2, "inner::b": 3}
    assert suites.fewshot("g") == {"g::inner::a": 5, "g::inner::b": 3}


def test_what_an_inline_task_says_is_its_definition(suites):
    """So that an override from outside reaches it as it reaches any other task."""
    suites.write("inner.yaml", "group: inner\ntask:\n  - {task: x, dataset: qa, num_fewshot: 0}\n")
    suites.write("g.yaml", "group: g\ntask:\n  - {task: inner, num_fewshot: 5}\n")
    assert suites.fewshot("inner", "g") == {"inner::x": 0, "g::inner::x": 5}


def test_every_value_tells_where_it_came_from(suites):
    """File and line, and whether it was handed down."""
    suites.tasks("a", more="limit: 3\n")
    path = suites.write("g.yaml", "group: g\ntask:\n  - task: a\n    num_fewshot: 5\n")
    config = suites.load("g").leaves()[0].config
    assert str(config.origins["num_fewshot"]) == f"{path}:4"
    assert str(config.origins["limit"]) == f"{suites.root / 'a.yaml'}:3"
    assert config.overridden == {"num_fewshot"}


def test_aliases_and_aggregates_stay_with_what_they_name(suites):
    """An alias at a member renames the group, not its tasks."""
    suites.tasks("a")
    suites.write("inner.yaml", "group: inner\ntask: [a]\n")
    suites.write(
        "g.yaml",
        """
        group: g
        task:
          - task: inner
            task_alias: Inner
            aggregate_metric_list: {metric: f1}
            metadata: {version: 3}
        """,
    )
    inner = suites.load("g").roots[0].children[0]
    assert (inner.alias, inner.aggregates[0].metric) == ("Inner", "f1")
    assert inner.metadata == {"version": 3}
    assert (inner.children[0].alias, inner.children[0].config.metadata) == ("a", {})


# -- the same task more than once ----------------------------------------------------------------


def test_the_same_work_has_one_key(suites):
    """Case 31: a leaf in two groups is run once, whatever it is called there."""
    suites.tasks("a", "b", "c")
    suites.write("g1.yaml", "group: g1\ntask: [{task: a, task_alias: A}, b]\n")
    suites.write("g2.yaml", "group: g2\ntask: [a, c]\n")
    suites.write("g.yaml", "group: g\ntask: [g1, g2]\n")
    selection = suites.load("g")
    assert [leaf.key for leaf in selection.leaves()] == ["a", "b", "c"]
    assert shape(selection.roots[0]) == {"g": [{"g1": ["a", "b"]}, {"g2": ["a", "c"]}]}


def test_different_overrides_are_different_work(suites):
    """Each has its path for a key; there, the last won silently."""
    suites.tasks("a")
    suites.write("g1.yaml", "group: g1\ntask: [{task: a, num_fewshot: 1}]\n")
    suites.write("g2.yaml", "group: g2\ntask: [a]\n")
    suites.write("g.yaml", "group: g\ntask: [g1, g2]\n")
    keys = {leaf.key: leaf.config.num_fewshot for leaf in suites.load("g").leaves()}
    assert keys == {"g::g1::a": 1, "g::g2::a": None}


def test_one_task_at_several_shot_counts_in_one_group(suites):
    """Each its own leaf; written twice alike, it is one."""
    suites.tasks("a")
    suites.write(
        "g.yaml", "group: g\ntask: [{task: a, num_fewshot: 0}, {task: a, num_fewshot: 5}]\n"
    )
    suites.write("twice.yaml", "group: twice\ntask: [a, a]\n")
    assert suites.fewshot("g") == {"g::a": 0, "g::a#2": 5}
    assert [leaf.key for leaf in suites.load("g").leaves()] == ["g::a", "g::a#2"]
    assert len(suites.load("twice").roots[0].children) == 1


def test_a_task_in_several_formats_has_a_name_for_each(suites):
    """Its lines could not be told apart otherwise; an alias is shown as it is."""
    suites.tasks("a")
    suites.write("g.yaml", "group: g\ntask: [a, a@cot, {task: a@mcqa, task_alias: Mine}]\n")
    leaves = suites.load("g").leaves()
    assert [leaf.alias for leaf in leaves] == ["a", "a@cot", "Mine"]
    assert [leaf.key for leaf in leaves] == ["a", "a@cot", "a@mcqa"]


def test_code_of_their_own_does_not_make_tasks_different(suites):
    """Evaluators, filters and functions named by files are the same work each time."""
    suites.write(
        "own.py",
        "class Score:\n    name = 'own'\n    def score(self, o, p): return {}\n"
        "class Cut:\n    def apply(self, resps, docs): return resps\n"
        "def f(*a): return {}\n",
    )
    suites.tasks(
        "a",
        more="evaluators: [!function own.Score]\nprocess_docs: !function own.f\n"
        "filter_list: [{name: x, filter: [{function: !function own.Cut}]}]\n",
    )
    suites.write("g.yaml", "group: g\ntask: [a]\n")
    assert [leaf.key for leaf in suites.load("g", "a").leaves()] == ["a"]


def test_trees_loaded_apart_can_be_given_keys_together(suites):
    """One name that means two things is told apart whichever way it was asked for."""
    suites.tasks("a")
    suites.write("g.yaml", "group: g\ntask: [{task: a, num_fewshot: 1}]\n")
    apart = [*suites.load("g").roots, *suites.load("a").roots]
    keys = [leaf.key for leaf in Selection(with_keys(apart)).leaves()]
    assert keys == ["g::a", "a"]
    made = TaskConfig(name="a", alias="a", num_fewshot=2)
    assert with_keys([*apart, Leaf("a", "mine", made)])[-1].key == "mine"


# -- mistakes ------------------------------------------------------------------------------------

MISTAKES = {
    "misspelt member": (
        "group: g\ntask:\n  - first\n  - secnd\n",
        4,
        "no task, group or tag is called 'secnd'",
        "did you mean second?",
    ),
    "misspelt member with overrides": (
        "group: g\ntask:\n  - task: secnd\n    num_fewshot: 2\n",
        3,
        "no task, group or tag is called 'secnd'",
        "did you mean second?",
    ),
    "unknown key of a member": (
        "group: g\ntask:\n  - task: first\n    num_fewshots: 2\n",
        4,
        "has no key 'num_fewshots'",
        "did you mean num_fewshot?",
    ),
    "unknown key of a group": (
        "group: g\nagregate_metric_list: []\ntask: [first]\n",
        2,
        "a group has no key 'agregate_metric_list'",
        "did you mean aggregate_metric_list?",
    ),
    "alias of a task on a group": (
        "group: g\ntask: [first]\ntask_alias: G\n",
        3,
        "a group has no key 'task_alias'",
        "did you mean group_alias?",
    ),
    "circle": (
        "group: g\ntask:\n  - first\n  - h\n",
        2,
        "groups contain each other: g → h → g",
        None,
    ),
    "itself": ("group: g\ntask: [first, g]\n", 2, "groups contain each other: g → g", None),
    "empty": ("group: g\ntask: []\n", 2, "has no members", "under task:"),
    "nothing": ("group: g\n", 1, "has no members", None),
    "list without a name": (
        "group: g\ntask:\n  - task: [first, second]\n",
        3,
        "task must be a name",
        "group:",
    ),
    "no name": (
        "group: g\ntask:\n  - taks: first\n",
        3,
        "has task: or group:",
        "did you mean task?",
    ),
    "number": ("group: g\ntask:\n  - 3\n", 3, "a task is named by text", "- task: name"),
    "a task that calls itself group": (
        "group: g\ntask: mine\ndataset: qa\n",
        1,
        "a task cannot be a group",
        "write tag: [g]",
    ),
    "aggregation": (
        "group: g\ntask: [first]\naggregate_metric_list:\n  - metric: acc\n    aggregation: meen\n",
        5,
        "aggregation 'meen' is not one of mean, median, min, max, and not a !function",
        "did you mean mean?",
    ),
    "key of an aggregate": (
        "group: g\ntask: [first]\naggregate_metric_list:\n  - metric: acc\n    weigh_by_size: true\n",
        5,
        "an aggregate has no key",
        "did you mean weight_by_size?",
    ),
    "no metric": (
        "group: g\ntask: [first]\naggregate_metric_list:\n  - aggregation: mean\n",
        4,
        "an aggregate names no metric",
        None,
    ),
    "weight": (
        "group: g\ntask: [first]\naggregate_metric_list:\n  - metric: acc\n    weight_by_size: 3\n",
        5,
        "weight_by_size must be true or false, not 3",
        None,
    ),
    "over": (
        "group: g\ntask: [first]\naggregate_metric_list:\n  - metric: acc\n    over: groups\n",
        5,
        "over 'groups' is not one of leaves, children",
        None,
    ),
    "aggregate of a task": (
        "group: g\ntask:\n  - task: first\n    aggregate_metric_list: {metric: acc}\n",
        4,
        "'first' is a task and has no aggregate_metric_list",
        None,
    ),
    "one alias for many": (
        "group: g\ntask:\n  - task: both\n    task_alias: Both\n",
        4,
        "'both' stands for 2 tasks",
        None,
    ),
    "path to nowhere": (
        "group: g\ntask:\n  - k::frst\n",
        3,
        "there is no 'k::frst'",
        "did you mean first?",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_error_with_file_and_line(suites, case):
    """What is wrong, and where it is known, what was meant."""
    text, line, says, hint = MISTAKES[case]
    suites.tasks("first", "second", more="tag: both\n")
    suites.write("h.yaml", "group: h\ntask: g\n")
    suites.write("k.yaml", "group: k\ntask: [first]\n")
    path = suites.write("g.yaml", text)
    with pytest.raises(ConfigError) as caught:
        suites.load("g")
    expected = suites.root / "h.yaml" if case == "circle" else path
    assert caught.value.source == f"{expected}:{line}"
    assert says in caught.value.reason
    assert (hint or "") in (caught.value.hint or "")
    assert caught.value.exit_code == 2
