"""Held-out text that is shorter than a window is read all the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nikawa.pretrain.packing import pack_text
from nikawa.pretrain.training import train


def test_a_short_held_out_text_does_not_end_the_training(
    course_of: Callable[..., Any],
    tokenizer: Path,
    text_of: Callable[[Path, int, int], Path],
    tmp_path: Path,
) -> None:
    short = pack_text(tokenizer, text_of(tmp_path / "short.txt", 1, 5), tmp_path / "short")
    assert 30 <= short.tokens < 62
    course = replace(course_of(steps=5, looks=5), heldout=short.folder)
    history = train(course).figures.history
    assert len(history) == 5
    assert all(math.isfinite(entry["heldout"]) and entry["heldout"] > 0 for entry in history)
