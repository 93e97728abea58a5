"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from cb_reporters import formats


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (formats.score, 0.63333, "0.633"),
        (formats.score, -0.0001, "0.000"),
        (formats.percent, 0.5, "50.0%"),
        (formats.percent, -0.125, "-12.5%"),
        (formats.percent, -0.0, "0.0%"),
        (formats.count, 125.0, "125"),
        (formats.count, 12345.0, "12,345"),
        (formats.average, 125.0, "125.0"),
        (formats.average, 12345.6, "12,346"),
        (formats.duration, 0.0, "0 s"),
        (formats.duration, 0.0000123, "12.3 µs"),
        (formats.duration, 0.00099999, "1.00 ms"),
        (formats.duration, 0.25, "250 ms"),
        (formats.duration, 0.99999, "1.00 s"),
        (formats.duration, 9.999, "10.0 s"),
        (formats.duration, 99.99, "100 s"),
        (formats.duration, 1234.5, "1,234 s"),
        (formats.general, 3.0, "3"),
        (formats.general, 0.123456, "0.1235"),
        (formats.general, 12345.678, "12,345.7"),
        (formats.general, 0.0000123456, "1.235e-05"),
        (formats.general, 1e300, "1e+300"),
    ],
)
def test_numbers(write, value, expected):
    """Each format, at ordinary values and where rounding changes the unit."""
    assert write(value) == expected


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "1", [1]])
def test_what_is_no_finite_number(value):
    """Only finite numbers are shown as numbers."""
    assert formats.finite(value) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T12:00:00.123+00:00", "2026-03-01 12:00 UTC"),
        ("2026-03-01T12:00:00Z", "2026-03-01 12:00 UTC"),
        ("2026-03-01T12:00:00+02:00", "2026-03-01 12:00 +0200"),
        ("2026-03-01T12:00:00", "2026-03-01 12:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_moment(text, expected):
    """ISO times are shown to the minute with their zone; other text is left alone."""
    assert formats.moment(text) == expected
