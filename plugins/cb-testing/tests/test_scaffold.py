"""Starting a plugin: which names are accepted, what is refused, which cores it will support."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from cb_testing import scaffold
from cbcore.components import Component
from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog, Plugin, State
from tests.tables import check_each

TEMPLATE = Path(__file__).parents[3] / "cookiecutter-plugin"
LONGEST = "a" * scaffold.MAX_LENGTH

GOOD_NAMES = {
    "my-toxicity": "my-toxicity",
    "my_toxicity": "my-toxicity",
    "cb-my-toxicity": "my-toxicity",
    "cb_my_toxicity": "my-toxicity",
    "cb": "cb",
    "a": "a",
    "top5": "top5",
    "top-5": "top-5",
    "none": "none",
    LONGEST: LONGEST,
    f"cb-{LONGEST}": LONGEST,
}
BAD_NAMES = [
    *("", " ", "-", "cb-", "cb_"),
    *("My-Toxicity", "MY", "my toxicity", "naïve", "café", "毒"),
    *("3d", "cb-3d", "-a", "a-", "a--b", "a-_b", "_a"),
    *("a/b", "../a", "a\\b", "/a", ".", "..", "a.b", "a\0b", "a\n", "a\tb"),
    *("class", "import", "cb-class", "async", "py", "cb-py"),
    *("a;b", "$(a)", "a'b", 'a"b', "{{a}}", "a%b"),
    f"{LONGEST}a",
]


def project(**changes):
    return scaffold.Project(**{"kind": "evaluator", "name": "my-toxicity", **changes})


def plugin(*components, name="cb-other"):
    """A plugin that offers components, each a kind, a name and a target."""
    offers = [Component(kind=kind, name=part, target=target) for kind, part, target in components]
    return Plugin(name, components=offers)


def catalog(*plugins):
    """A catalog of these plugins and no others."""
    made = Catalog([])
    made.plugins += plugins
    return made


# -- names -------------------------------------------------------------------------------------


@check_each(("typed", "name"), GOOD_NAMES.items())
def test_good_name(typed, name):
    """The prefix may be typed or left out, and underscores are hyphens."""
    assert scaffold.component_name(typed) == name
    assert project(name=name).distribution == f"cb-{name}"


@check_each("typed", BAD_NAMES)
def test_bad_name(typed):
    """It is refused in a message that shows it."""
    with pytest.raises(UsageError) as caught:
        scaffold.component_name(typed)
    assert repr(typed) in caught.value.message


@given(st.text(max_size=40) | st.from_regex(r"[a-z0-9_-]{1,40}", fullmatch=True))
def test_an_accepted_name_makes_an_importable_package(typed):
    """Whatever is typed is refused or becomes an identifier, and no way out of the folder."""
    try:
        name = scaffold.component_name(typed)
    except UsageError:
        return
    assert f"cb_{name.replace('-', '_')}".isidentifier()
    assert Path(f"cb-{name}").parts == (f"cb-{name}",)


# -- the template by itself --------------------------------------------------------------------


@pytest.fixture(scope="module")
def questions():
    return json.loads((TEMPLATE / "cookiecutter.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def hook():
    """The template's own check, as a function that returns its complaint."""
    source = (TEMPLATE / "hooks" / "pre_gen_project.py").read_text(encoding="utf-8")
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(source)

    def complaint(**answers):
        context = {"name": "a", "author": "A", "description": "D", "github_user": "", **answers}
        try:
            exec(template.render(cookiecutter=context), {})
        except SystemExit as refused:
            return refused.code
        return None

    return complaint


def test_the_template_offers_the_kinds_and_licences_of_the_command(questions):
    assert tuple(questions["kind"]) == scaffold.known_kinds()
    assert tuple(questions["license"]) == scaffold.LICENSES
    licences = {path.stem for path in (TEMPLATE / "templates" / "licenses").iterdir()}
    assert licences == set(scaffold.LICENSES) - {"none"}


def test_the_template_requires_the_core_it_ships_with(questions):
    """Used without `cb`, it asks for the same cores as the command does."""
    assert questions["__cbcore"] == scaffold.core_range()


@check_each("typed", GOOD_NAMES)
def test_the_template_takes_the_same_names(hook, typed):
    assert hook(name=typed) is None


@check_each("typed", BAD_NAMES)
def test_the_template_refuses_the_same_names(hook, typed):
    assert repr(typed) in hook(name=typed)


BAD_TEXTS = [
    *({what: text} for what in ("author", "description") for text in ("", " ", "a\nb", "a\x1bb")),
    *({"github_user": user} for user in ("a b", "a/b", "a\n", "<a>")),
]


@pytest.mark.parametrize("answers", BAD_TEXTS, ids=repr)
def test_texts_that_would_break_the_project_are_refused(hook, answers):
    """By the command and by the template."""
    with pytest.raises(UsageError):
        project(**answers).check_texts()
    assert hook(**answers)


@pytest.mark.parametrize("text", ["{{ x }}", "{% x %}", "{# x"])
def test_texts_that_the_template_engine_would_take_for_its_own_are_refused(text):
    with pytest.raises(UsageError, match="description"):
        project(description=text).check_texts()


# -- what is taken -----------------------------------------------------------------------------


@pytest.mark.parametrize("offered", ["my-toxicity", "my_toxicity"])
def test_a_component_that_is_offered_already_is_refused(tmp_path, offered):
    with pytest.raises(UsageError, match="cb-other offers it"):
        scaffold.check_possible(project(), tmp_path, catalog(plugin(("evaluator", offered, "m:C"))))


def test_a_component_of_another_kind_may_have_the_name(tmp_path):
    """A dataset and an evaluator of one name are never confused."""
    scaffold.check_possible(project(), tmp_path, catalog(plugin(("dataset", "my-toxicity", "m:C"))))


def test_a_component_of_a_plugin_that_is_switched_off_counts(tmp_path):
    """It may be switched on again."""
    disabled = plugin(("evaluator", "my-toxicity", "m:C"))
    disabled.set_aside(State.DISABLED, "switched off")
    with pytest.raises(UsageError, match="taken"):
        scaffold.check_possible(project(), tmp_path, catalog(disabled))


def test_an_installed_distribution_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"cb-metrics .* is installed already"):
        scaffold.check_possible(project(name="metrics"), tmp_path, catalog())


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("system", "bm25", "cb-first offers it"),
        ("metric", "first", "there is a plugin called cb-first"),
    ],
)
def test_what_a_directory_of_plugins_lists_counts_installed_or_not(tmp_path, kind, name, message):
    """Two packages of one name could never be installed side by side."""
    known = {("system", "bm25"), ("plugin", "cb-first")}

    def directory(kind, name):
        return ["cb-first"] if (kind, name) in known else []

    installed = catalog(plugin(("directory", "first", directory)))
    with pytest.raises(UsageError, match=message):
        scaffold.check_possible(project(kind=kind, name=name), tmp_path, installed)


# -- the core it will support ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("0.1.0", ">=0.1,<0.2"),
        ("0.9.12", ">=0.9,<0.10"),
        ("1.0.0", ">=1.0,<2"),
        ("2.7.1", ">=2.7,<3"),
        ("0.2.0.dev1", ">=0.2.0.dev1,<0.3"),
        ("1.0rc2", ">=1.0rc2,<2"),
        ("0.1.0+local", ">=0.1,<0.2"),
    ],
)
def test_core_range(version, wanted):
    """From this minor version, or this pre-release, to the next that may break a plugin."""
    assert scaffold.core_range(version) == wanted


def test_core_range_of_something_else():
    with pytest.raises(ValueError, match="'main' is not a version"):
        scaffold.core_range("main")


small = st.integers(0, 30)


@given(small, small, small, st.sampled_from(["", "a1", "rc3", ".dev4", ".post1", "+local"]))
def test_a_new_plugin_supports_the_core_it_was_made_with_and_ends_before_the_next(
    major, minor, patch, suffix
):
    wanted = scaffold.core_range(f"{major}.{minor}.{patch}{suffix}")
    supported = SpecifierSet(wanted, prereleases=True)
    assert supported.contains(f"{major}.{minor}.{patch}{suffix}")
    assert supported.contains(f"{major}.{minor}.{patch + 1}")
    assert supported.contains(f"{major}.{minor + 1}.0") is (major > 0)
    assert not supported.contains(f"{major + 1}.0")
