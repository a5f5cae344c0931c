"""record stored folders"""

from __future__ import annotations


def record(asked: set[str] | None) -> None:
    """Nothing yet."""
