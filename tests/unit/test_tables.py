"""A table of cases fails with all of its failing rows."""

from __future__ import annotations

import pytest

from tests.tables import check_each


def test_all_failing_rows_are_listed_and_the_others_are_not():
    @check_each(("number", "word"), [(1, "one"), (-2, "two"), (3, "three"), (-4, "four")])
    def check(number, word):
        if number == -4:
            raise LookupError(word)
        assert number > 0

    with pytest.raises(pytest.fail.Exception) as failed:
        check()
    message = str(failed.value)
    assert [
        word in message for word in ("2 of 4", "'one'", "'two'", "'three'", "LookupError: four")
    ] == [*(True, False, True, False, True)]


def test_tables_multiply_and_an_expected_error_that_is_not_raised_is_a_failure():
    seen = []

    @check_each("first", "ab")
    @check_each("second", "cd")
    def check(first, second):
        seen.append(first + second)
        with pytest.raises(ValueError):
            int("1" if first == "b" else "x")

    with pytest.raises(pytest.fail.Exception, match=r"1 of 2 rows\n\nfirst='b'\n.*2 of 2 rows"):
        check()
    assert seen == ["ac", "ad", "bc", "bd"]


@check_each("row", [1, 2])
def test_fixtures_are_given_to_every_row(row, tmp_path):
    (tmp_path / str(row)).touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"][:row]


def test_a_table_that_skips_every_row_is_skipped():
    @check_each("row", [1, 2])
    def check(row):
        if row in skipping:
            pytest.skip("not here")

    skipping = {1}
    check()
    skipping = {1, 2}
    with pytest.raises(pytest.skip.Exception):
        check()
