"""The step that splits texts into sentences; the rules are those of `nikawa.text`."""

from __future__ import annotations

from nikawa.cleaning.base import Step

SPLIT = Step("sentences", "split into sentences", 100)
STEPS = (SPLIT,)
