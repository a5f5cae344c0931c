"""From a checkpoint as it is published to a score on a test set: English pairs of JSICK, on a processor.

`make soak` trains on 3,000 pairs of all three labels (`python -m tests.soak.published_checkpoint`); here the
same functions see few pairs of the two labels that a few steps tell apart.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soak.published_checkpoint import measure_accuracy


@pytest.mark.slow
def test_a_published_checkpoint_learns_inference(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = measure_accuracy(
        shared_data,
        train=320,
        test=60,
        labels=("entailment", "contradiction"),
        learning_rate=5e-4,
        batch=8,
    )
    assert found >= 0.8, "the more frequent label alone has 0.65"
