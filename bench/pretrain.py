"""Pre-training speed: tokens per second, milliseconds per step and the share of the GPU's peak, by size, length and batch.

`python -m bench.pretrain [--sizes mini,small] [--lengths 128,512] [--batches 65536] [--ways fused,graph,eager,free] [--profile]` on
whatever device there is. Ways: `fused` is what training does (compiled layers in a captured graph, kernels that repeat),
`free` the same without asking for repeatable kernels, `graph` captured but not compiled, `eager` neither. The text is
random tokens with words of random length, which costs the same as real text.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

WAYS = ("fused", "free", "graph", "eager")


def steps_of(
    size: str, batch: int, way: str, vocabulary: int, device: Any
) -> tuple[Any, dict[str, float]]:
    """Steps of a fresh model on random tokens."""
    import torch

    from nikawa.pretrain.batches import MaskVocabulary
    from nikawa.pretrain.device import uses_bf16
    from nikawa.pretrain.network import Network, build_model
    from nikawa.pretrain.packing import join_stream
    from nikawa.pretrain.settings import TrainSettings, find_size
    from nikawa.pretrain.steps import TrainingSteps

    draw = np.random.default_rng(0)
    stream = join_stream(draw.integers(266, vocabulary, 4_000_000), draw.random(4_000_000) < 0.6)
    model = (
        build_model(find_size(size), vocabulary, {"pad": 0, "cls": 2, "sep": 3}, 0)
        .to(device)
        .train()
    )
    network = Network(model, torch.bfloat16 if uses_bf16("auto", device) else torch.float32)
    if way in ("fused", "free") and device.type == "cuda":
        network.fuse()
    settings = TrainSettings(size=size, steps=1000, batch=batch)
    made = TrainingSteps(
        network,
        torch.from_numpy(stream).to(device),
        MaskVocabulary(2, 3, 4, 266, vocabulary),
        settings,
    )
    made._captures = made._captures and way != "eager"
    return made, {"parameters": sum(weight.numel() for weight in made.weights)}


def row(size: str, length: int, batch: int, way: str, asked: Any) -> dict[str, Any]:
    """One line of the table."""
    from nikawa.pretrain.batches import WindowOrder
    from nikawa.pretrain.device import find_device, find_peak, use_repeatable_kernels
    from nikawa.pretrain.settings import find_size

    device = find_device(asked.device)
    with use_repeatable_kernels(way != "free" and device.type == "cuda"):
        made, found = steps_of(size, batch, way, asked.vocabulary, device)
        notes: list[str] = []
        began = time.perf_counter()
        order = WindowOrder(len(made.stream), length, made.rows(length), 0)
        each = made.optimise({length: order}, asked.steps, notes.append)[length]
        ready = time.perf_counter() - began - asked.steps * each
        if asked.profile:
            print(profiled(made, length, order, device), flush=True)
    pieces = made.rows(length) * length
    work = pieces * find_size(size).operations(length, asked.vocabulary, made.settings.mask)
    peak = find_peak(device)
    return {
        "size": size,
        **found,
        "length": length,
        "batch": batch,
        "way": way,
        "tokens/s": round(pieces / each),
        "ms": round(each * 1e3, 2),
        "TFLOP/s": round(work / each / 1e12, 2),
        "peak": round(work / each / peak, 4) if peak else None,
        "ready s": round(ready, 1),
        "notes": notes,
    }


def profiled(made: Any, length: int, order: Any, device: Any, steps: int = 10) -> str:
    """Where the time of a step goes, by kernel."""
    import torch

    on_card = device.type == "cuda"
    kind = torch.profiler.ProfilerActivity.CUDA if on_card else torch.profiler.ProfilerActivity.CPU
    made.load_windows(length, order.starts(0, min(64, steps)))
    with torch.profiler.profile(activities=[kind]) as found:
        for _ in range(steps):
            made.step(length)
        made.wait()
    by = "self_cuda_time_total" if on_card else "self_cpu_time_total"
    return str(found.key_averages().table(sort_by=by, row_limit=20, max_name_column_width=80))


def repeats(asked: Any) -> dict[str, Any]:
    """Whether two trainings of a few steps end in the same weights, and what low precision costs in loss."""
    import torch

    from nikawa.pretrain.batches import WindowOrder
    from nikawa.pretrain.device import find_device, use_repeatable_kernels

    device, ends, losses = find_device(asked.device), [], []
    for _ in range(2):
        with use_repeatable_kernels(device.type == "cuda"):
            made, _ = steps_of(asked.sizes.split(",")[0], 4096, "fused", asked.vocabulary, device)
            order = WindowOrder(len(made.stream), 128, made.rows(128), 0)
            made.optimise({128: order}, 0, lambda _note: None)
            made.total.fill_(100.0)
            made.load_windows(128, order.starts(0, 8))
            for _ in range(8):
                made.step(128)
            losses.append(made.mean_loss())
        ends.append([weight.detach().cpu() for weight in made.weights])
    return {
        "the same weights twice": all(torch.equal(a, b) for a, b in zip(*ends, strict=True)),
        "losses": losses,
    }


def on_card() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    card = on_card()
    words.add_argument("--sizes", default="mini,small" if card else "tiny")
    words.add_argument("--lengths", default="128,512" if card else "64")
    words.add_argument("--batches", default="65536" if card else "2048")
    words.add_argument("--ways", default=",".join(WAYS) if card else "eager")
    words.add_argument("--vocabulary", type=int, default=16_000)
    words.add_argument("--steps", type=int, default=40 if card else 5)
    words.add_argument("--device", default="auto")
    words.add_argument("--profile", action="store_true")
    words.add_argument("--out", type=Path)
    asked, _ = words.parse_known_args()
    table = []
    for size in asked.sizes.split(","):
        for length in map(int, asked.lengths.split(",")):
            for batch in map(int, asked.batches.split(",")):
                for way in asked.ways.split(","):
                    table.append(row(size, length, batch, way, asked))
                    print(json.dumps(table[-1]), flush=True)
    same = repeats(asked)
    print(json.dumps(same))
    if asked.out:
        asked.out.write_text(json.dumps([*table, same], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
