"""Personal data in texts that are about to leave this machine."""

from __future__ import annotations

from collections.abc import Iterable

from nikawa.cleaning import steps


def find_personal_data(texts: Iterable[str], language: str) -> tuple[str, ...]:
    """The kinds of personal data that the cleaning steps find: `email`, `phone`, `identity`, …

    >>> find_personal_data(["連絡先は hong@example.com です。", "晴れです。"], "ja")
    ('email',)
    """
    detectors = [step for step in steps().values() if step.pii and step.edits is not None]
    found = {
        step.name: None
        for text in texts
        for step in detectors
        if step.edits is not None and step.edits(text, language)
    }
    return tuple(found)
