"""Sentence splitting on judged paragraphs: tests/cases/sentences.jsonl, written for this test.

The part `tuning` was read while the rules were written; the part `held` was only scored.
`fresh` was written after the first scores of `held`, `later` in six rounds after those of `fresh`. `given` are cases that another reader wrote and judged.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nikawa.text import sentences

CASES = Path(__file__).parents[1] / "cases" / "sentences.jsonl"
EXACT = {"given": 0.97, "tuning": 0.98, "held": 0.97, "fresh": 0.97, "later": 0.98}
"""Least share of paragraphs that are split exactly as judged."""


@pytest.mark.parametrize("half", EXACT)
@pytest.mark.parametrize("language", ["ja", "ko"])
def test_paragraphs_are_split_as_a_reader_splits_them(language: str, half: str) -> None:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    cases = [row for row in rows if (row["language"], row["half"]) == (language, half)]
    wrong = [
        (row["id"], parts, row["sentences"])
        for row in cases
        if (parts := [row["text"][s.start : s.end] for s in sentences(row["text"], language)])
        != row["sentences"]
    ]
    assert len(cases) >= 20
    assert 1 - len(wrong) / len(cases) >= EXACT[half], wrong
