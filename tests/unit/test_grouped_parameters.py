"""Constructors that take records: users write the fields of them, everywhere."""

from __future__ import annotations

import inspect
import threading
from typing import Any, Literal

import attrs
import pytest

from cbcore import binding
from cbcore.binding import by_field
from cbcore.exceptions import ParameterError
from cbcore.introspection import format_type, parameters_of, public_attributes
from cbcore.provenance import describe
from cbcore.specs import Spec
from cbcore.store.identity import Identities


def as_list(value: list[str] | str) -> list[str]:
    return [value] if isinstance(value, str) else value


def check_tries(retry: Any, attribute: Any, value: int) -> None:
    if value < 0:
        raise ValueError(f"max_tries is {value}: it must be 0 or more")


@attrs.frozen(kw_only=True)
class Retry:
    max_tries: int = attrs.field(default=5, validator=check_tries)
    wait_s: float = 0.5


@attrs.frozen(kw_only=True)
class Access:
    api_key: str | None = attrs.field(default=None, repr=False)
    mode: Literal["plain", "signed"] = "plain"
    scopes: list[str] = attrs.field(factory=list, converter=as_list)


@attrs.frozen(kw_only=True)
class Line:
    """Records in a record."""

    retry: Retry = Retry(max_tries=2)
    access: Access = Access()


RETRY, LINE = Retry(), Line()


class Asker:
    name = "asker"

    @by_field
    def __init__(self, url: str, *, retry: Retry = RETRY, limit: int | None = None) -> None:
        self.url, self.retry, self.limit = url, retry, limit

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return example


class Judge(Asker):
    name = "judge"

    @by_field
    def __init__(self, url: str, *, line: Line = LINE, seed: int = 0) -> None:
        self.url, self.line, self.seed = url, line, seed


def made(text: str, target: Any = Judge, **extra: Any) -> Any:
    return binding.make(Spec.parse(text), target, extra=extra)


def test_a_record_and_its_fields_are_two_ways_to_say_the_same():
    """From Python either is taken; beside a record, a field changes that one field."""
    by_record = Asker("u", retry=Retry(max_tries=3))
    assert Asker("u", max_tries=3).retry == by_record.retry == Retry(max_tries=3)
    assert Asker("u", retry=Retry(max_tries=3), wait_s=1.0).retry == Retry(max_tries=3, wait_s=1.0)
    assert Asker("u").retry == RETRY


def test_records_in_records_are_taken_whole_or_by_field():
    """Whatever is given of them, the rest stays as the default has it."""
    judge = Judge("u", retry=Retry(wait_s=9.0), mode="signed", max_tries=1)
    assert judge.line == Line(retry=Retry(wait_s=9.0, max_tries=1), access=Access(mode="signed"))
    assert Judge("u", line=Line(access=Access(mode="signed"))).line.retry.max_tries == 2


def test_an_unknown_keyword_is_refused_as_by_any_function():
    """A field that no record has is nobody's."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_trys'"):
        Asker("u", max_trys=3)


@pytest.mark.parametrize("given", [{"retry": "sk-key"}, {"retry": None, "max_tries": 1}])
@pytest.mark.parametrize("cls", [Asker, Judge])
def test_something_else_in_the_place_of_a_record_is_refused_without_being_told(cls, given):
    """At once, not where a field of it is first needed; it may be a key in the wrong place."""
    with pytest.raises(TypeError, match="must be a Retry, or be given by its fields") as caught:
        cls("u", **given)
    assert "sk-key" not in str(caught.value)


def test_types_that_only_checkers_know_do_not_matter():
    """As for any parameter: what is given is then read by how it looks."""

    @attrs.frozen(kw_only=True)
    class Loose:
        width: "Unknown" = 1  # noqa: F821, UP037

    @by_field
    def loose(*, settings: Loose = Loose()) -> int:  # noqa: B008
        return settings.width

    assert made("loose:width=7", loose) == 7


def test_a_spec_names_fields_which_get_their_types():
    """Numbers, choices and lists, of records in records too; offered values as well."""
    judge = made("judge:u,max_tries=3,wait_s=2,mode=signed,scopes=[a,b]", seed=7)
    assert judge.line.retry == Retry(max_tries=3, wait_s=2.0)
    assert isinstance(judge.line.retry.wait_s, float)
    assert (judge.line.access.mode, judge.line.access.scopes) == ("signed", ["a", "b"])
    assert judge.seed == 7


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("judge:u,max_tries=x", "judge: parameter 'max_tries': 'x' is not a whole number"),
        ("judge:u,max_tries=-1", "judge: max_tries is -1: it must be 0 or more"),
        ("judge:u,max_trys=1", "judge: has no parameter 'max_trys'\nhint: did you mean max_tries?"),
        ("judge:u,mode=open", "judge: parameter 'mode': 'open' is not one of plain, signed"),
        ("judge:u,line=1", "judge: has no parameter 'line'\nhint: it takes url, max_tries, wait_s"),
        (
            "judge:max_tries=1",
            "judge: Judge.__init__() missing 1 required positional argument: 'url'",
        ),
    ],
)
def test_errors_name_the_field(spec, message):
    """The user never has to know in which record a parameter is kept."""
    with pytest.raises(ParameterError) as caught:
        made(spec)
    assert str(caught.value).startswith(message)


def test_the_signature_shows_fields_with_the_defaults_of_the_record_in_the_signature():
    """Two constructors may have the same record with different defaults."""
    shown = {p.name: (format_type(p.annotation), p.default) for p in parameters_of(Judge)}
    assert list(shown) == ["url", "max_tries", "wait_s", "api_key", "mode", "scopes", "seed"]
    assert shown["max_tries"] == ("int", 2)
    assert shown["scopes"] == ("list[str] | str", [])
    assert {p.name: p.default for p in parameters_of(Asker)}["max_tries"] == 5
    assert "max_tries: int = 5" in str(inspect.signature(Asker))


def test_a_result_records_fields_and_hides_secrets_among_them():
    """By the same names as in a spec, defaults too; also of a class that inherits the records."""

    class Strict(Judge):
        def __init__(self, url: str, max_tries: int) -> None:
            super().__init__(url, max_tries=max_tries, api_key="very-secret-value")

    recorded = describe(Judge("u", api_key="very-secret-value", max_tries=1), name="j")["params"]
    assert recorded == {
        "url": "u",
        "max_tries": 1,
        "wait_s": 0.5,
        "api_key": "***",
        "mode": "plain",
        "scopes": [],
        "seed": 0,
    }
    assert describe(Strict("u", 3), name="s")["params"] == {"url": "u", "max_tries": 3}
    assert public_attributes(Strict("u", 3))["api_key"] == "very-secret-value"


def test_objects_that_differ_in_a_field_have_different_identities():
    """And equal ones the same, though a part of them cannot be looked into."""

    def identity(**parameters: Any) -> str:
        asker = Asker("u", **parameters)
        asker._lock = threading.Lock()
        return Identities().key_of(asker)

    assert identity(max_tries=3) == identity(retry=Retry(max_tries=3)) != identity()


def test_names_that_would_clash_are_refused_at_once():
    """The author is told when the class is made, not the user when it is used."""
    with pytest.raises(ValueError, match="duplicate parameter name: 'wait_s'"):

        @by_field
        def clash(*, retry: Retry = RETRY, wait_s: float = 1.0) -> None: ...
