"""Settings are declared once: flags, keys, arguments, checks and records follow from that."""

from __future__ import annotations

import inspect
import json

import attrs
import click
import pytest
from click.testing import CliRunner

from cbcore import api
from cbcore.cli import run
from cbcore.cli._options import options
from cbcore.cli._settings import _OPTIONS
from cbcore.exceptions import CBError, UsageError
from cbcore.request import Invocation, Request
from cbcore.request._options import (
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    Option,
    by_key,
    described,
    in_order_of_help,
    option,
    options_of,
    problem_of,
)
from cbcore.runfile import read_run_file, run_file_options
from cbcore.secrets import Secret

DECLARED = {**options_of(Request), **options_of(Invocation)}
SHARED = {name for shared in _OPTIONS for name in shared(lambda: 0).__click_params__[0].opts}


# -- the same set everywhere -------------------------------------------------------------------


def test_the_flags_of_cb_run_are_those_declared():
    """None is written by hand, and none is forgotten; the shared ones stand beside them."""
    taken = {
        parameter.name: tuple(parameter.opts)
        for parameter in run.command.params
        if isinstance(parameter, click.Option) and not SHARED & set(parameter.opts)
    }
    assert taken == {name: declared.flags for name, declared in DECLARED.items()}


def test_the_keys_of_a_run_file_are_those_declared():
    """Every setting of a request has one, and no two share one."""
    assert set(run_file_options()) == {o.key for o in DECLARED.values() if o.key is not None}
    assert {o.name for o in run_file_options().values()} >= set(options_of(Request))
    assert len(run_file_options()) == len([o for o in DECLARED.values() if o.key is not None])


def test_evaluate_takes_the_settings_of_a_request():
    """By the same names; `dataset`, `progress`, `on_error` and `extensions` are its own."""
    parameters = set(inspect.signature(api.evaluate).parameters)
    own = {"dataset", "progress", "on_error", "extensions"}
    assert parameters - own == set(options_of(Request)) - {"datasets"}


def test_type_checkers_see_the_settings_as_they_are_declared():
    """The names and types that `evaluate` takes by keyword only."""
    positional = set(inspect.getfullargspec(inspect.unwrap(api.evaluate)).args)
    fields = attrs.fields_dict(Request)
    names = [name for name in options_of(Request) if name not in {*positional, "datasets"}]
    names.append("extensions")
    annotations = {
        name: hint.__forward_arg__ for name, hint in api.Settings.__annotations__.items()
    }
    assert annotations == {name: fields[name].type for name in names}


def test_every_option_is_shown_by_help_once():
    """Those of the command stand where they say they belong."""
    shown = [o.name for o in in_order_of_help(Request, Invocation)]
    assert sorted(shown) == sorted(DECLARED)
    assert shown[:5] == ["systems", "proxies", "names", "models", "datasets"]


# -- a new option is one field -----------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Larger(Request):
    """A request with one more setting."""

    patience: int = option(
        INTEGER, "--patience", metavar="N", help="Tries.", key="tries", default=2, least=1
    )


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--patience", "3"], 0, "3"),
        ([], 0, "None"),
        (["--patience", "0"], 2, "0 is not in the range x>=1"),
        (["--help"], 0, "--patience N"),
    ],
)
def test_a_new_field_is_a_flag(arguments, code, shown):
    """With its bounds and its help."""

    @click.command()
    @options(list(options_of(Larger).values()))
    def command(patience, **_):
        click.echo(repr(patience))

    done = CliRunner().invoke(command, arguments)
    assert (done.exit_code, shown in done.output) == (code, True), done.output


def test_a_new_field_is_a_key_a_check_and_a_record():
    """Nothing else has to know of it."""
    assert problem_of(by_key(Larger)["tries"], 0, written=True) == "must be at least 1, not 0"
    with pytest.raises(UsageError, match="patience must be int, not '5'"):
        Larger(systems=[], patience="5")
    assert Larger(systems=[], patience=5).recorded()["patience"] == 5
    assert Larger(systems=[]).recorded()["patience"] == 2


# -- checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_examples": 0}, "max_examples must be at least 1, not 0"),
        ({"max_examples": 1.5}, "max_examples must be int, not 1.5"),
        ({"max_examples": True}, "max_examples must be int, not True"),
        ({"max_workers": 0}, "max_workers must be at least 1, not 0"),
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
        ({"text_fields": 5}, r"text_fields must hold strings only, not \[5\]"),
        ({"cache_dir": 5}, "cache_dir must be str, not 5"),
        ({"score_field": 5}, "score_field must be str, not 5"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(given, message):
    """The same way whether it comes from `evaluate` or from a request."""
    with pytest.raises(UsageError, match=message):
        Request(systems=[], **given)
    with pytest.raises(UsageError, match=message):
        api.evaluate([], [], progress=False, **given)


@pytest.mark.parametrize(
    "name", [n for n, o in DECLARED.items() if o.kind in (INTEGER, NUMBER) and o.key is not None]
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
        is_refused(Request, systems=[], **{name: value})
        == is_refused(read_run_file, path)
        == is_refused(run.command.make_context, "run", flags)
    )


def test_one_value_stands_for_a_list_of_it():
    """Whatever it is; a text is never taken apart."""
    request = Request(systems="a | b", text_fields="story")
    assert request.systems == ("a | b",)
    assert request.text_fields == ("story",)
    assert Request(systems=[], text_fields=(f for f in "ab")).text_fields == ("a", "b")
    assert Request(systems=[]).evaluators is None


def test_a_request_does_not_change():
    """It may be used again, for another run."""
    request = Request(systems=[])
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        request.seed = 1


def test_a_number_like_those_of_other_libraries_is_a_number():
    """What counts is what it can do."""
    from fractions import Fraction

    assert Request(systems=[], timeout_s=Fraction(1, 2)).timeout_s == 0.5


# -- records -----------------------------------------------------------------------------------


def test_what_is_recorded_is_plain_and_without_secrets():
    """Paths as text, and where a value came from the environment, its name."""
    request = Request(
        systems=[],
        text_fields=["story", Secret("aloud", source="${FIELD}")],
        timeout_s=3,
        max_errors=0.1,
        fail_fast=True,
    )
    recorded = json.loads(json.dumps(request.recorded()))
    assert recorded["text_fields"] == ["story", "${FIELD}"]
    assert (recorded["timeout_s"], recorded["max_errors"]) == (3.0, 0.1)
    assert (recorded["fail_fast"], recorded["budget_usd"]) == (True, None)
    assert not {"systems", "cache_dir", "executor"} & set(recorded)


# -- what the reference says -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (Option(kind=INTEGER, help="", least=1), "integer, at least 1"),
        (Option(kind=NUMBER, help="", above=0), "number, more than 0"),
        (Option(kind=TEXT, help="", choices=("a", "b")), "`a` or `b`"),
        (Option(kind=TEXT, help="", many=True), "string, or a list"),
        (Option(kind=FLAG, help=""), "true or false"),
    ],
)
def test_an_option_describes_what_it_may_be(declared, said):
    """In words, with its bounds."""
    assert described(declared) == said


# -- names given to evaluate -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_exampels", "max_examples"),
        ("timeout", "timeout_s"),
        ("datasets", "dataset"),
        ("budget_token", "budget_tokens"),
    ],
)
def test_a_misspelt_argument_is_told_with_the_nearest(name, near):
    """As Python does it, and with a suggestion."""
    with pytest.raises(TypeError, match=f"argument {name!r}. Did you mean {near!r}") as caught:
        api.evaluate(["identity"], [], **{name: 5})
    assert str(caught.value).startswith("evaluate() got an unexpected keyword argument")


def test_what_only_commands_may_say_is_no_argument():
    """The host, the run's id and added components are no settings."""
    for name in ("catalog", "run_id", "argv", "added_evaluators", "outputs"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument {name!r}"):
            api.evaluate(["identity"], [], **{name: None})
