"""How scores are written: rounded for people, whole for programs."""

from __future__ import annotations

from math import isnan

UNDEFINED = "not defined"


def plain(value: object) -> str:
    """A value as data: all digits of a number, nothing for what is not defined."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def digits(unit: str) -> int:
    """Decimals of a score that is shown."""
    return 2 if unit == "percent" else 4
