"""Fine-tuning speed on a processor: the papers' loop (float32, padded to the maximum), length buckets, and bf16 on top.

`OMP_NUM_THREADS=2 python -m bench.encoder_cpu [--data DIR] [--size base] [--seconds 60]` prints a table. The model has random
weights; lengths are those of JNLI's valid set, or of the embedded pairs where it is not here.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.encoder import tokenizer

SIZES: dict[str, dict[str, int]] = {
    "base": {},
    "small": {
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    },
}
LONGEST, BATCH = 128, 32
EMBEDDED_ROWS = 2_000
"""The embedded pairs are fewer than a batch, so they are repeated to this many."""


def examples(data: Path | None) -> tuple[Any, Any]:
    from nikawa.datasets import load_task
    from nikawa.errors import BadInput

    try:
        return load_task("jnli", "dev", data=data)
    except BadInput:
        task, rows = load_task("mini-ja-nli", "train")
        return task, rows * -(-EMBEDDED_ROWS // len(rows))


def course(folder: Path, found: tuple[Any, Any], low: bool) -> Any:
    import torch

    from nikawa.models.encoder.checkpoint import open_backbone
    from nikawa.models.encoder.heads import head_for
    from nikawa.models.encoder.heads._base import Work
    from nikawa.models.encoder.settings import EncoderSettings
    from nikawa.models.encoder.subwords import SubwordReader
    from nikawa.models.encoder.train import TrainingJob

    task, rows = found
    chosen = EncoderSettings(
        scratch=True,
        batch=BATCH,
        max_length=LONGEST,
        precision="bf16" if low else "float32",
        device="cpu",
    )
    backbone = open_backbone(str(folder))
    head, work = head_for(task), Work(task, SubwordReader(backbone.tokenizer), chosen)
    made = head.rows(work, rows, learn=True)
    torch.manual_seed(0)
    return TrainingJob(
        head.model(work, backbone, rows), made, head.loss, chosen, 0, torch.device("cpu")
    )


def speed(made: Any, padded: bool, seconds: float) -> tuple[float, float]:
    """Rows a second of CPU time (other work on the machine does not count), and the loss of the first batches: batches drawn the same way every time."""
    from nikawa.models.encoder.batches import Batch, shuffle_rows
    from nikawa.models.encoder.train import TrainingLoop

    loop = TrainingLoop(made)
    if padded:
        order = shuffle_rows(loop.store.n, 0, 0).tolist()
        batches = [
            Batch(tuple(order[i : i + BATCH]), LONGEST)
            for i in range(0, len(order) - BATCH + 1, BATCH)
        ]
    else:
        batches = [b for b in loop.batches(0) if loop.store.n not in b.rows]
    loop.steps.start_epoch(batches)
    loop.steps.step(0)
    began, done = time.process_time(), 0
    while time.process_time() - began < seconds and done + 1 < len(batches):
        done += 1
        loop.steps.step(done)
    return done * BATCH / (time.process_time() - began), loop.steps.mean_loss()


def main() -> None:
    from transformers import BertConfig

    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--data", type=Path)
    words.add_argument("--size", choices=SIZES, default="base")
    words.add_argument("--seconds", type=float, default=60)
    asked = words.parse_args()
    found = examples(asked.data)
    with TemporaryDirectory() as name:
        folder = Path(name)
        texts = [str(value) for e in found[1] for value in e.inputs.values()]
        pieces = len(tokenizer(texts, folder))
        BertConfig(
            vocab_size=pieces, architectures=["BertModel"], **SIZES[asked.size]
        ).save_pretrained(folder)
        first = 0.0
        for way, padded, low in (
            ("float32, padded to 128", True, False),
            ("float32, length buckets", False, False),
            ("bf16, length buckets", False, True),
        ):
            rate, loss = speed(course(folder, found, low), padded, asked.seconds)
            first = first or rate
            print(
                f"{way:26} {rate:8.2f} rows/s of CPU time {rate / first:6.2f}x   loss {loss:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
