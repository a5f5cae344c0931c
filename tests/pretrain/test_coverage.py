"""What the coverage report says, held against counting by hand."""

from __future__ import annotations

import pytest

from nikawa.pretrain.coverage import measure_coverage, report_coverage
from nikawa.pretrain.tokenizer import build_tokenizer

PIECES = [
    ("▁", -9.0),
    *((c, -5.0) for c in "港で猫が歌う"),
    ("港で", -2.0),
    ("猫", -2.0),
    ("歌う", -2.0),
    ("が歌", -8.0),
]


def test_the_figures() -> None:
    tokenizer = build_tokenizer("ja", list(dict(PIECES).items()))
    found = measure_coverage(
        tokenizer, "x", ["港で猫が歌う", "猫 鯨"], lambda texts: [_starts(text) for text in texts]
    )
    assert (found.texts, found.count, found.characters) == ("x", 2, 8)
    assert found.pieces == 4 + 1 + 1 + 3
    assert found.pieces_a_character == pytest.approx(9 / 8)
    assert (found.unknown, found.in_bytes, found.exact) == (0, 1 / 8, 1)
    assert found.crossing == pytest.approx(1 / 9)


def _starts(text: str) -> list[int]:
    return [0, 1, 2, 3, 4] if text.startswith("港") else [0, 2]


def test_all_sets_add_up() -> None:
    tokenizer = build_tokenizer("ja", list(dict(PIECES).items()))
    found = report_coverage(tokenizer, [("a", ["港で", "猫"]), ("b", ["歌う鯨"])], None)
    a, b, whole = found.sets
    assert (whole.texts, whole.count, whole.characters) == ("all", 3, a.characters + b.characters)
    assert whole.in_bytes == pytest.approx(1 / 6)
    assert whole.crossing is None
    assert found.longest[0] in ("港で", "歌う", "が歌")
    assert found.lengths == {"1": 7, "2": 3}
