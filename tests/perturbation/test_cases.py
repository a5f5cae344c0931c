"""The particle operations on judged sentences of general text: tests/cases/perturb.jsonl.

The half `tuning` was read while the rules were written. `held` was scored first, and each round was too.
"""

from __future__ import annotations

import pytest
from bench.perturb_cases import read_cases, score_cases

PRECISION, RECALL, FALSE_RATE = 0.95, 0.88, 0.04


@pytest.mark.parametrize(
    "half", ["tuning", "held", "round-1", "round-2", "round-3", "round-4", "round-5", "round-6"]
)
@pytest.mark.parametrize("language", ["ja", "ko"])
def test_judged_sentences_are_rewritten_or_refused(language: str, half: str) -> None:
    cases = [row for row in read_cases() if (row["language"], row["half"]) == (language, half)]
    counts = score_cases(cases)
    assert len(cases) >= 30
    assert counts.precision >= PRECISION, counts.wrong
    assert counts.recall >= RECALL, counts.wrong
    assert counts.false_rate <= FALSE_RATE, counts.wrong
