"""Fine-tuning speed on a GPU: the papers' loop, the same in bf16, ours with torch's kernels, ours on padded batches, ours. One table.

`python -m bench.encoder [--data DIR] [--steps 60] [--only jnli]` on a machine with a GPU. The model is BERT-base in size with
random weights; lengths are those of JGLUE's valid sets under a vocabulary of 32,000 tokens learned from the given text. Then the same small
model is trained by a plain loop and by ours, several seeds each, and their dev scores are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

LONGEST = {"jnli": 128, "jsquad": 384, "jcommonsenseqa": 64}
"""The lengths of JGLUE's recipe."""


def tokenizer(texts: Sequence[str], folder: Path) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE(unk_token="[UNK]"))
    raw.normalizer = normalizers.NFKC()
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.UnicodeScripts(), pre_tokenizers.BertPreTokenizer()]
    )
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.BpeTrainer(vocab_size=32000, special_tokens=special, show_progress=False)
    raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **names,
    )
    made.save_pretrained(folder)
    return made


def base_model(folder: Path, size: int) -> None:
    from transformers import BertConfig

    BertConfig(vocab_size=size, architectures=["BertModel"]).save_pretrained(folder)


def course(name: str, folder: Path, data: Path | None) -> tuple[Any, Any]:
    """A training of one task, ready to be stepped."""
    from nikawa.datasets import load_task
    from nikawa.models.encoder.checkpoint import open_backbone
    from nikawa.models.encoder.device import choose_device
    from nikawa.models.encoder.heads import head_for, make_rows
    from nikawa.models.encoder.heads._base import Work
    from nikawa.models.encoder.settings import EncoderSettings
    from nikawa.models.encoder.subwords import SubwordReader
    from nikawa.models.encoder.train import TrainingJob

    task, examples = load_task(name, "dev", data=data)
    chosen = EncoderSettings(scratch=True, epochs=20, max_length=LONGEST[name])
    backbone = open_backbone(str(folder))
    head, work = head_for(task), Work(task, SubwordReader(backbone.tokenizer), chosen)
    model, rows = head.model(work, backbone, examples), make_rows(head, work, examples, learn=True)
    return TrainingJob(model, rows, head.loss, chosen, 0, choose_device(chosen)), head


def sync() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def rate(step: Callable[[int], None], batches: int, steps: int, size: int) -> float:
    """Rows a second over whole rounds of the batches."""
    for i in range(min(5, batches)):
        step(i)
    sync()
    began = time.perf_counter()
    for i in range(steps):
        step(i % batches)
    sync()
    return steps * size / (time.perf_counter() - began)


def plain(made: Any, longest: int, low: bool, steps: int) -> float:
    """The loop of the papers: every batch padded to the longest, AdamW, clipping; a loss read each step."""
    import torch

    from nikawa.models.encoder.batches import RowStore, shuffle_rows

    model = made.model.to(made.device).train()
    store = RowStore(made.rows, made.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-5)
    order = shuffle_rows(store.n, 0, 0)
    size = made.settings.batch

    def step(i: int) -> None:
        rows = torch.tensor(order[i * size : (i + 1) * size], device=made.device)
        with torch.autocast(made.device.type, torch.bfloat16, enabled=low):
            loss = made.loss(model, store.gather(rows, longest))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        loss.item()

    return rate(step, store.n // size, steps, size)


def ours(made: Any, rounds: int) -> tuple[float, dict[int, int], float]:
    """Whole epochs of the real loop, after the graphs are captured; and the seconds that capturing took."""
    from nikawa.models.encoder.train import TrainingLoop

    loop = TrainingLoop(made)
    began = time.perf_counter()
    batches = loop.batches(0)
    for turn in range(rounds + 1):  # the shapes of all epochs
        loop.steps.start_epoch(loop.batches(turn))
    loop.steps.start_epoch(batches)
    sync()
    ready = time.perf_counter() - began
    for i in range(len(batches)):
        loop.steps.step(i)
    sync()
    began = time.perf_counter()
    for turn in range(rounds):
        batches = loop.batches(turn + 1)
        loop.steps.start_epoch(batches)
        for i in range(len(batches)):
            loop.steps.step(i)
    sync()
    counts: dict[int, int] = {}
    for batch in batches:
        size = batch.tokens or batch.length * len(batch.rows)
        counts[size] = counts.get(size, 0) + 1
    return rounds * loop.store.n / (time.perf_counter() - began), counts, ready


def torch_kernels(made: Any, rounds: int) -> float:
    """Rows a second of the same loop with the kernels that torch has."""
    with (
        patch("nikawa.models.encoder.steps.has_kernels", return_value=False),
        patch("nikawa.models.encoder.train.has_kernels", return_value=False),
    ):
        return ours(made, rounds)[0]


def padded(made: Any, rounds: int) -> float:
    """Rows a second of the same loop with our kernels, but batches of rows alike in length, padded."""
    with patch("nikawa.models.encoder.train.TrainingLoop._pack_encoder", return_value=None):
        return ours(made, rounds)[0]


def inference(made: Any, head: Any, rounds: int) -> float:
    """Rows a second of `compute_outputs`, tokenised before, answers not read back.

    Each length is measured often enough: over a few rounds the first use of its kernels is most of the time.
    """
    from nikawa.models.encoder.batches import Rows
    from nikawa.models.encoder.predict import compute_outputs

    model = made.model.to(made.device).eval()
    many = Rows(width=made.rows.width, pads=made.rows.pads)
    many.tokens = {name: parts * rounds for name, parts in made.rows.tokens.items()}
    many.owner = made.rows.owner * rounds
    compute_outputs(
        model, many, head.outputs, made.device, bf16=True
    )  # kernels are loaded on first use
    sync()
    began = time.perf_counter()
    compute_outputs(model, many, head.outputs, made.device, bf16=True)
    sync()
    return len(many) / (time.perf_counter() - began)


def profile(made: Any, steps: int = 20) -> str:
    """Where the time of a step goes, by kernel."""
    import torch

    from nikawa.models.encoder.train import TrainingLoop

    loop = TrainingLoop(made)
    batches = loop.batches(0)
    loop.steps.start_epoch(batches)
    for i in range(5):
        loop.steps.step(i)
    sync()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for i in range(5, 5 + steps):
            loop.steps.step(i)
        sync()
    return str(
        found.key_averages().table(
            sort_by="self_cuda_time_total", row_limit=18, max_name_column_width=70
        )
    )


def main() -> None:
    from nikawa.datasets import load

    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--data", type=Path)
    words.add_argument("--out", type=Path, default=Path("bench-encoder"))
    words.add_argument(
        "--text", type=Path, help="learn the vocabulary from this text instead of the benchmark's"
    )
    words.add_argument("--steps", type=int, default=40)
    words.add_argument("--rounds", type=int, default=12, help="epochs that are timed (default 12)")
    words.add_argument(
        "--answer-rounds",
        type=int,
        default=40,
        help="times that all rows are answered (default 40)",
    )
    words.add_argument("--only", default=",".join(LONGEST))
    words.add_argument("--ways", default="float32,bf16,torch,padded,ours,inference,profile,equal")
    words.add_argument(
        "--seeds",
        type=int,
        default=5,
        help="number of seeds for the comparison of both loops (default 5)",
    )
    words.add_argument(
        "--compare", help="tasks of that comparison, instead of all that have training data"
    )
    words.add_argument(
        "--model",
        type=Path,
        help="folder of an encoder to use in that comparison instead of random weights",
    )
    words.add_argument(
        "--share",
        type=float,
        default=1.0,
        help="share of the epochs of that comparison (default 1.0)",
    )
    asked = words.parse_args()
    names = [name for name in asked.only.split(",") if name]
    ways = asked.ways.split(",")
    folder = asked.out / "base"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tokenizer.json").is_file():
        texts = (
            asked.text.read_text(encoding="utf-8").splitlines()
            if asked.text
            else [
                str(v)
                for n in LONGEST
                for e in load(f"{n}:dev", data=asked.data).splits["dev"]
                for v in _texts(e.inputs)
            ]
        )
        base_model(folder, len(tokenizer(texts, folder)))
    table: dict[str, Any] = {}
    for name in names:
        row = table[name] = _row(name, folder, asked, ways)
        print(name, json.dumps(row), flush=True)
    if "equal" in ways:
        table["equal"] = _equal(folder, asked)
    (asked.out / "table.json").write_text(json.dumps(table, indent=1, ensure_ascii=False))
    _print_table(table)


TARGETS = {"jnli": (5000, 7000), "jsquad": (3500, 4500), "jcommonsenseqa": (7000, 18000)}
"""Rows a second that must be reached, and that are aimed at."""


def _print_table(table: dict[str, Any]) -> None:
    """Everything once more, short, at the end."""
    ways = ("float32", "bf16", "torch", "padded", "ours", "inference", "ready s")
    print(f"{'task':16}" + "".join(f"{way:>12}" for way in ways) + f"{'at least':>12}{'aim':>8}")
    for name, row in table.items():
        if name != "equal":
            least, aim = TARGETS[name]
            print(
                f"{name:16}"
                + "".join(f"{row.get(way, ''):>12}" for way in ways)
                + f"{least:>12}{aim:>8}"
            )
    for row in table.get("equal", ()):
        print("  ".join(f"{key} {value}" for key, value in row.items()))


def _equal(folder: Path, asked: Any) -> list[dict[str, Any]]:
    """The comparison of both loops, with the same vocabulary and a small model, or with the one that is named."""
    from shutil import copytree

    from transformers import AutoTokenizer

    from bench._encoder_equal import EPOCHS, equal, small

    place = asked.model or asked.out / "small"
    if not place.is_dir():
        copytree(folder, place)
        small(place, len(AutoTokenizer.from_pretrained(place)))
    names = asked.compare.split(",") if asked.compare else list(EPOCHS)
    return equal(place, names, asked.seeds, asked.share, asked.data)


def _texts(inputs: dict[str, Any]) -> list[str]:
    return [
        t
        for v in inputs.values()
        for t in (v if isinstance(v, list) else [v])
        if isinstance(t, str)
    ]


def _row(name: str, folder: Path, asked: Any, ways: Sequence[str]) -> dict[str, Any]:
    made, _ = course(name, folder, asked.data)
    lengths = [len(s) for s in made.rows.tokens["input_ids"]]
    each = made.rows.width * (max(made.rows.owner) + 1) / len(made.rows)
    row: dict[str, Any] = {
        "rows": len(made.rows),
        "mean length": round(statistics.mean(lengths), 1),
    }
    for way, low in (("float32", False), ("bf16", True)):
        if way in ways:
            row[way] = round(
                plain(course(name, folder, asked.data)[0], LONGEST[name], low, asked.steps) * each
            )
    if "torch" in ways:
        row["torch"] = round(
            torch_kernels(course(name, folder, asked.data)[0], asked.rounds) * each
        )
    if "padded" in ways:
        row["padded"] = round(padded(course(name, folder, asked.data)[0], asked.rounds) * each)
    if "ours" in ways:
        speed, counts, ready = ours(course(name, folder, asked.data)[0], asked.rounds)
        row |= {"ours": round(speed * each), "ready s": round(ready, 1), "batches": counts}
    if "inference" in ways:
        row["inference"] = round(
            inference(*course(name, folder, asked.data), asked.answer_rounds) * each
        )
    if "profile" in ways:
        print(profile(course(name, folder, asked.data)[0]), flush=True)
    return row


if __name__ == "__main__":
    from nikawa.errors import NikawaError

    try:
        main()
    except NikawaError as problem:  # as the command line shows it
        print(f"error: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
