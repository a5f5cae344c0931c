"""Sentences that are too short or too long."""

from __future__ import annotations

from nikawa.cleaning.base import Settings, Step


def length(text: str, settings: Settings) -> str:
    """Why the length is not right, or nothing."""
    if settings.min_length <= len(text) <= settings.max_length:
        return ""
    return f"{len(text)} characters"


STEPS = (Step("length", "too short or too long", 120, fault=length),)
