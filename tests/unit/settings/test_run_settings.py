"""Settings are declared once: flags, keys, arguments, checks and records follow from that."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import attrs
import click
import pytest
from click.testing import CliRunner

from cbcore import api
from cbcore.cli.click_options import SHARED_OPTIONS, setting_flags
from cbcore.cli.run_command import run_command
from cbcore.exceptions import CBError, ConfigError, UsageError
from cbcore.plugins import default_catalog
from cbcore.secrets import Secret
from cbcore.settings import Option, RunSettings
from cbcore.settings.options import option, options_of
from cbcore.settings.run_file import read_run_file, run_file_options
from cbcore.settings.run_settings import DEFAULT_TOKENIZER, _check_change
from cbcore.specs import Spec
from cbcore.tokens import DEFAULT_ENCODING

DECLARED = options_of(RunSettings)
SHARED = {name for shared in SHARED_OPTIONS for name in shared(lambda: 0).__click_params__[0].opts}
OF_THE_COMMAND = {"--no-cache"}
REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


# -- the same set everywhere -------------------------------------------------------------------


def test_flags_keys_keywords_help_and_reference_are_those_declared():
    """None is written by hand, and none is forgotten."""
    flags = {
        parameter.name: tuple(parameter.opts)
        for parameter in run_command.params
        if isinstance(parameter, click.Option)
        and not (SHARED | OF_THE_COMMAND) & set(parameter.opts)
    }
    words = [word for o in DECLARED.values() for word in o.words]
    aliases = {word: (f"--{word.replace('_', '-')}",) for word in words}
    assert flags == {n: o.flags for n, o in DECLARED.items() if o.flags} | aliases
    keys = [o.key for o in DECLARED.values() if o.key is not None]
    assert sorted(run_file_options()) == sorted(keys)
    keywords = set(inspect.signature(api.evaluate).parameters)
    own = {"dataset", "max_workers"}
    assert keywords - own == {n for n, o in DECLARED.items() if o.keyword} - {"datasets"}
    context = click.Context(run_command, info_name="run", terminal_width=1000)
    help_page = " ".join(run_command.get_help(context).split())
    assert [o.name for o in DECLARED.values() if o.flags and o.help not in help_page] == []
    assert [alias for o in DECLARED.values() for alias in o.aliases if alias in help_page] == []
    page = (REFERENCE / "run-files.md").read_text(encoding="utf-8")
    assert [key for key in keys if f"| `{key}` |" not in page] == []
    page = (REFERENCE / "results.md").read_text(encoding="utf-8")
    recorded = [name for name, o in DECLARED.items() if o.recorded]
    assert [name for name in recorded if f"| `settings.{name}` |" not in page] == []


def test_no_two_settings_share_a_name():
    """Neither a flag, nor a key, nor a keyword."""
    for names in (
        [flag for o in DECLARED.values() for flag in (*o.flags, *o.aliases)],
        [word for o in DECLARED.values() for word in (o.key, *o.words) if word],
        [word for o in DECLARED.values() for word in (o.name, *o.words)],
    ):
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("alias", "name"), [("score_field", "score"), ("max_workers", "concurrency")]
)
def test_the_names_of_context_bench_are_accepted(alias, name):
    """As flag, key and keyword; they mean the same setting."""
    assert DECLARED[name].words == (alias,)


TWICE = [
    ({"score": "f1", "score_field": "recall"}, "score and score_field"),
    (
        {"concurrency": 2, "max_workers": 4},
        "(concurrency|max_workers) and (concurrency|max_workers)",
    ),
    ({"margin": 0.1, "margins": 0.2}, "margin and margins"),
]


@pytest.mark.parametrize(("given", "both"), TWICE)
def test_a_setting_that_is_given_under_two_names_is_refused(tmp_path, given, both):
    """By `evaluate`, by commands and by run files: none of the two is chosen silently."""
    message = f"Both {both} are given, and they are one setting"
    with pytest.raises(UsageError, match=message):
        api.evaluate(["identity"], [], **given)
    path = tmp_path / "bench.yaml"
    path.write_text(json.dumps(given))
    with pytest.raises(ConfigError, match=f"bench.yaml: {message}"):
        read_run_file(path, plugin_keys={"margin": "margin", "margins": "margin"})
    if "margins" not in given:
        flags = [f"--{word.replace('_', '-')}={value}" for word, value in given.items()]
        with pytest.raises(UsageError, match=message):
            run_command.main(flags, standalone_mode=False)


def test_the_same_setting_without_a_value_is_not_given_twice():
    catalog = default_catalog()
    for given in ({"max_workers": None, "concurrency": 4}, {"max_workers": 4, "concurrency": None}):
        assert api.make_settings(given, catalog).concurrency == 4


@pytest.mark.parametrize("flag", ["--max-workers", "--concurrency"])
def test_an_error_names_the_flag_that_was_typed(flag):
    with pytest.raises(UsageError, match=f"{flag} must be at least 1, not 0"):
        run_command.make_context("run", [flag, "0"])


def test_a_plugin_names_its_option_by_the_entry_point_alone():
    """So the fields that name a setting of the core are none of an option of a plugin."""
    for field in ("flags", "key", "aliases", "keyword"):
        with pytest.raises(TypeError, match=field):
            Option(help="A number.", **{field: None})


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ({"type": int}, "N"),
        ({"type": Path, "many": True}, "FILE"),
        ({}, "TEXT"),
        ({"choices": ("fast", "exact")}, "[fast|exact]"),
        ({"type": bool}, None),
        ({"type": int, "metavar": "SECONDS"}, "SECONDS"),
    ],
)
def test_an_option_shows_that_it_takes_a_value(facts, shown):
    """In `--help`, an option without a metavar would look like a switch."""
    assert Option(help="An option.", **facts).metavar == shown


def test_the_default_tokenizer_is_that_of_the_core():
    assert DEFAULT_TOKENIZER == DEFAULT_ENCODING


# -- a new option is one field -----------------------------------------------------------------


@attrs.define(kw_only=True, on_setattr=_check_change)
class Larger(RunSettings):
    """Settings with one more."""

    patience: int = option(
        "--patience", type=int, metavar="N", help="Tries.", key="tries", default=2, at_least=1
    )


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--patience", "3"], 0, "3"),
        ([], 0, "None"),
        (["--help"], 0, "--patience N"),
    ],
)
def test_a_new_field_is_a_flag(arguments, code, shown):
    """With its help."""

    @click.command()
    @setting_flags(options_of(Larger).values())
    def command(patience, **_):
        click.echo(repr(patience))

    done = CliRunner().invoke(command, arguments)
    assert (done.exit_code, shown in done.output) == (code, True), done.output


def test_a_new_field_is_a_key_and_a_check():
    """Nothing else has to know of it."""
    declared = options_of(Larger)["patience"]
    assert declared.key == "tries"
    with pytest.raises(UsageError, match="--patience must be at least 1, not 0"):
        declared.read(["0"], "--patience")
    with pytest.raises(UsageError, match="patience must be int, not '5'"):
        Larger(systems=[], patience="5")
    assert Larger(systems=[], patience=5).patience == 5


# -- checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_examples": 0}, "max_examples must be at least 1, not 0"),
        ({"max_examples": 1.5}, "max_examples must be int, not 1.5"),
        ({"max_examples": True}, "max_examples must be int, not True"),
        ({"concurrency": 0}, "concurrency must be at least 1, not 0"),
        ({"repeats": 0}, "repeats must be at least 1, not 0"),
        ({"repeats": None}, "repeats must be int, not None"),
        ({"timeout_s": 0}, "timeout_s must be more than 0, not 0"),
        ({"timeout_s": float("nan")}, "timeout_s must be more than 0, not nan"),
        ({"timeout_s": float("inf")}, "timeout_s must be at most 31536000, not inf"),
        ({"timeout_s": 1e300}, r"timeout_s must be at most 31536000, not 1e\+300"),
        ({"timeout_s": "5"}, "timeout_s must be int or float, not '5'"),
        ({"max_errors": -1}, "max_errors must be at least 0, not -1"),
        ({"budget_tokens": 0}, "budget_tokens must be at least 1, not 0"),
        ({"budget_usd": -0.5}, "budget_usd must be more than 0, not -0.5"),
        ({"rows": "tape"}, "rows must be 'memory' or 'disk', not 'tape'"),
        ({"fail_fast": 1}, "fail_fast must be bool, not 1"),
        ({"threshold": None}, "threshold must be int or float, not None"),
        ({"text_fields": 5}, "text_fields must be str, not 5"),
        ({"cache_dir": 5}, "cache_dir must be str, not 5"),
        ({"score": 5}, "score must be str, not 5"),
        ({"on_error": "stop"}, "on_error must be 'continue' or 'raise', not 'stop'"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(given, message):
    """The same way whether it comes from `evaluate` or from a command."""
    with pytest.raises(UsageError, match=message):
        RunSettings(systems=[], **given)
    with pytest.raises(UsageError, match=message):
        api.evaluate([], [], progress=False, **given)


@pytest.mark.parametrize(
    "name", [n for n, o in DECLARED.items() if o.type in (int, float) and o.key is not None]
)
@pytest.mark.parametrize("value", [-1, 0, 1])
def test_flags_run_files_and_python_draw_the_line_at_the_same_place(tmp_path, name, value):
    """For every number there is."""
    declared = DECLARED[name]

    def is_refused(attempt, *arguments, **keywords):
        try:
            attempt(*arguments, **keywords)
        except (CBError, click.ClickException):
            return True
        return False

    path = tmp_path / "bench.yaml"
    path.write_text(f"{declared.key}: {value}")
    flags = [declared.flags[-1], str(value)]
    assert (
        is_refused(RunSettings, systems=[], **{name: value})
        == is_refused(read_run_file, path)
        == is_refused(run_command.make_context, "run", flags)
    )


def test_one_value_stands_for_a_list_of_it():
    """Whatever it is; a text is never taken apart."""
    settings = RunSettings(systems="a | b", text_fields="story")
    assert settings.systems == [[Spec("a"), Spec("b")]]
    assert settings.text_fields == ["story"]
    assert RunSettings(systems=[], text_fields=(f for f in "ab")).text_fields == ["a", "b"]
    assert RunSettings(systems=[]).evaluators is None


def test_a_change_is_checked_until_settings_are_frozen():
    """Then nothing changes any more, not even their lists and mappings."""
    settings = RunSettings(systems=[], fields={"context": "passage"})
    settings.seed = 1
    with pytest.raises(UsageError, match="seed must be int, not 'x'"):
        settings.seed = "x"
    copied = settings.copy()
    copied.systems.append("identity")
    settings.freeze()
    assert (settings.systems, copied.systems) == ((), ["identity"])
    with pytest.raises(UsageError, match="the settings of this run are fixed"):
        settings.seed = 2
    with pytest.raises(TypeError):
        settings.fields["question"] = "ask"
    with pytest.raises(TypeError):
        settings.plugin_options["margin"] = 1
    copied.seed = 2
    copied.fields["question"] = "ask"


def test_a_number_like_those_of_other_libraries_is_a_number():
    """What counts is what it can do."""
    from fractions import Fraction

    assert RunSettings(systems=[], timeout_s=Fraction(1, 2)).timeout_s == 0.5


# -- records -----------------------------------------------------------------------------------


def test_what_is_recorded_is_plain_and_without_secrets():
    """Paths as text, and where a value came from the environment, its name."""
    settings = RunSettings(
        systems=[],
        text_fields=["story", Secret("aloud", source="${FIELD}")],
        timeout_s=3,
        max_errors=0.1,
        fail_fast=True,
    )
    recorded = json.loads(json.dumps(settings.record()))
    assert recorded["text_fields"] == ["story", "${FIELD}"]
    assert (recorded["timeout_s"], recorded["max_errors"]) == (3.0, 0.1)
    assert (recorded["fail_fast"], recorded["budget_usd"]) == (True, None)
    assert not {"systems", "cache_dir", "executor"} & set(recorded)


# -- names given to evaluate -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_exampels", "max_examples"),
        ("timeout", "timeout_s"),
        ("datasets", "dataset"),
        ("budget_token", "budget_tokens"),
        ("margn", "margin"),
    ],
)
def test_a_misspelt_argument_is_told_with_the_nearest(name, near):
    """As Python does it, and with a suggestion."""
    with pytest.raises(TypeError, match=f"argument {name!r}. Did you mean {near!r}") as caught:
        api.evaluate(["identity"], [], **{name: 5})
    assert str(caught.value).startswith("evaluate() got an unexpected keyword argument")


def test_what_only_commands_may_say_is_no_argument():
    """The host, the run's id and added components are no settings; no plural is suggested."""
    for name in ("catalog", "run_id", "argv", "added_evaluators", "outputs"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument {name!r}") as caught:
            api.evaluate(["identity"], [], **{name: None})
        assert "trust" not in str(caught.value)
