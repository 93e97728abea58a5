"""How a judge is asked, beside where: a record that all judges take."""

from __future__ import annotations

from typing import Any

import attrs

VARIED_TEMPERATURE = 1.0
"""The temperature when several votes are wanted and none is given: votes have to vary."""


def check_count(name: str, value: int) -> None:
    """Refuse what counts nothing. Raises ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}: it must be a whole number of at least 1")


@attrs.frozen(kw_only=True)
class Sampling:
    """How replies are drawn. `temperature` is by default 0 for one vote and 1 for several."""

    temperature: float | None = attrs.field(default=None)
    max_tokens: int = attrs.field(default=1024)

    @temperature.validator
    def _check_temperature(self, _: attrs.Attribute[Any], value: float | None) -> None:
        if value is not None and not 0 <= value <= 2:
            raise ValueError(f"temperature is {value!r}: it must be between 0 and 2")

    @max_tokens.validator
    def _check_max_tokens(self, _: attrs.Attribute[Any], value: int) -> None:
        check_count("max_tokens", value)

    def temperature_for(self, votes: int) -> float:
        """The temperature to send when so many votes are asked for."""
        if self.temperature is not None:
            return float(self.temperature)
        return 0.0 if votes == 1 else VARIED_TEMPERATURE
