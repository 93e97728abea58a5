"""`include`: chains, diamonds, circles, and which key wins."""

from __future__ import annotations

import pytest

from cbcore.exceptions import ConfigError


def test_a_chain_is_followed_and_the_nearest_key_wins(suites):
    """Child over parent over grandparent, each value with the place it came from."""
    suites.write("base/grand", "dataset: qa\nnum_fewshot: 1\nlimit: 1\nseed: 1\n")
    suites.write("base/parent", "include: grand\nnum_fewshot: 2\nlimit: 2\n")
    child = suites.write("child.yaml", "include: base/parent\ntask: child\nlimit: 3\n")
    config = suites.load("child").leaves()[0].config
    assert (config.dataset, config.seed, config.num_fewshot, config.limit) == ("qa", 1, 2, 3)
    assert str(config.origins["limit"]) == f"{child}:3"
    assert config.origins["seed"].file.endswith("base/grand")


def test_of_several_includes_the_later_wins(suites):
    """A list is read in order."""
    suites.write("one", "dataset: qa\nlimit: 1\n")
    suites.write("two", "limit: 2\n")
    suites.write("a.yaml", "include: [one, two]\ntask: a\n")
    assert suites.load("a").leaves()[0].config.limit == 2


def test_a_diamond_is_no_circle(suites):
    """Two bases that share one."""
    suites.write("top", "dataset: qa\n")
    suites.write("left", "include: top\nlimit: 1\n")
    suites.write("right", "include: top\nseed: 1\n")
    suites.write("a.yaml", "include:\n  - left\n  - right\ntask: a\n")
    config = suites.load("a").leaves()[0].config
    assert (config.dataset, config.limit, config.seed) == ("qa", 1, 1)


def test_a_circle_is_named_in_full(suites):
    """Every file of it, in order, at the line that closes it."""
    one = suites.write("one.yaml", "task: one\ninclude: two.yaml\n")
    two = suites.write("two.yaml", "task: two\n\ninclude: one.yaml\n")
    with pytest.raises(ConfigError) as caught:
        suites.load("one")
    assert caught.value.source == f"{two}:3"
    assert f"{one} → {two} → {one}" in caught.value.reason


def test_includes_without_end_harm_no_other_file(suites):
    """A file for each of them, and none twice: told to who asks for it, at the line."""
    for n in range(1000):
        suites.write(f"deep/_{n}", f"include: _{n + 1}\n")
    suites.write("deep/a.yaml", "task: deep\ninclude: _0\n")
    suites.tasks("a")
    assert len(suites.load("a").leaves()) == 1
    with pytest.raises(ConfigError, match=r"_99:1: .* more than 100 includes"):
        suites.load("deep")


def test_a_missing_file_is_named_with_one_like_it(suites):
    """At the line of the include."""
    suites.write("_default_yaml", "dataset: qa\n")
    path = suites.write("a.yaml", "task: a\ninclude: _defualt_yaml\n")
    with pytest.raises(ConfigError, match="does not exist") as caught:
        suites.load("a")
    assert caught.value.source == f"{path}:2"
    assert caught.value.hint == "did you mean _default_yaml?"


def test_an_include_that_is_no_name_is_refused(suites):
    """Numbers and the like."""
    suites.write("a.yaml", "task: a\ninclude: 3\n")
    with pytest.raises(ConfigError, match="include takes the names of files, not 3"):
        suites.load("a")


def test_the_members_of_a_group_may_include_too(suites):
    """An inline task takes what it includes, next to the group's file."""
    suites.write("sub/base", "dataset: qa\nlimit: 4\n")
    suites.write("sub/g.yaml", "group: g\ntask:\n  - task: inline\n    include: base\n")
    assert suites.load("g").leaves()[0].config.limit == 4


def test_a_group_hands_its_include_down(suites):
    """Defaults for all members, from a file or written in place."""
    suites.tasks("a", "b")
    suites.write("defaults", "num_fewshot: 3\n")
    suites.write("g.yaml", "group: g\ninclude: defaults\ntask: [a, b]\n")
    suites.write("h.yaml", "group: h\ninclude: {num_fewshot: 4}\ntask: [a, b]\n")
    assert suites.fewshot("g") == {"g::a": 3, "g::b": 3}
    assert suites.fewshot("h") == {"h::a": 4, "h::b": 4}
