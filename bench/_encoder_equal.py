"""Check that the fast loop learns as well as a plain one: the same small model, several seeds each, and a comparison of dev scores.

The plain loop is the papers': float32, every batch padded to the longest length, AdamW, clipping, a straight rise and fall of the rate. The
fast one is the package's own, as `encoder:PATH` runs it on the available device. Weights are random, or those of a named encoder.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

EPOCHS = {"jsick-nli": 6.0, "jsts": 2.0, "jcommonsenseqa": 3.0, "jsquad": 4.0}
SETTINGS: dict[str, Any] = {"dropout": 0.1, "learning_rate": 3e-4, "batch": 32, "max_length": 96}
LENGTHS = {"jsquad": 384, "jcommonsenseqa": 64}
"""The lengths of tasks with longer or shorter texts than the others."""
FOLDS = {"jsquad": 5}
"""Tasks whose training file is not published here: fold s of dev is the dev set of seed s, by paragraph."""
SMALL = {
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
}
STUDENT = {
    2: 12.706,
    3: 4.303,
    4: 3.182,
    5: 2.776,
    6: 2.571,
    7: 2.447,
    8: 2.365,
    9: 2.306,
    10: 2.262,
    15: 2.145,
    20: 2.093,
}
"""The 97.5% point of Student's distribution, by the number of pairs."""


def small(folder: Path, size: int) -> None:
    from transformers import BertConfig

    BertConfig(vocab_size=size, architectures=["BertModel"], **SMALL).save_pretrained(folder)


def equal(
    folder: Path, names: Sequence[str], seeds: int, share: float, data: Path | None
) -> list[dict[str, Any]]:
    """One row per task: dev scores of both loops by seed, their difference with its 95% interval, and seconds per training."""
    rows = []
    for name in names:
        folds = FOLDS.get(name, 0)
        if not folds:
            task, train, dev = _task(name, data)
        random = not any(folder.glob("*.safetensors"))
        settings = {**SETTINGS, "epochs": EPOCHS[name] * share, "scratch": random}
        settings["max_length"] = LENGTHS.get(name, settings["max_length"])
        scores: dict[str, list[float]] = {"plain": [], "fast": []}
        spent = dict.fromkeys(scores, 0.0)
        for seed in range(seeds):
            if folds:
                task, train, dev = _fold(name, data, seed % folds, folds)
            for way, values in scores.items():
                encoder = _encoder(folder, settings, seed)
                began = time.perf_counter()
                _plain(encoder, task, train) if way == "plain" else encoder.fit(task, train)
                spent[way] += time.perf_counter() - began
                values.append(_score(task, dev, encoder))
            print(
                name,
                seed,
                {way: round(values[-1], 2) for way, values in scores.items()},
                flush=True,
            )
        rows.append(
            {
                "task": name,
                **_held(scores, seeds),
                **{f"{way} s": round(s / seeds, 1) for way, s in spent.items()},
            }
        )
        print(rows[-1], flush=True)
    return rows


def _task(name: str, data: Path | None) -> tuple[Any, list[Any], list[Any]]:
    from nikawa.datasets import load_task

    task, train = load_task(name, "train", data=data)
    return task, list(train), list(load_task(name, "dev", data=data)[1])


def _fold(name: str, data: Path | None, fold: int, folds: int) -> tuple[Any, list[Any], list[Any]]:
    """The task's dev set in two: one fold as dev, the others to train; a paragraph is in one."""
    from zlib import crc32

    from nikawa.datasets import load_task

    task, examples = load_task(name, "dev", data=data)
    parts: tuple[list[Any], list[Any]] = ([], [])
    for example in examples:
        parts[crc32(str(example.group or example.id).encode()) % folds == fold].append(example)
    return task, *parts


def _encoder(folder: Path, settings: dict[str, Any], seed: int) -> Any:
    from nikawa.models import model

    return model(f"encoder:{folder}", seed=seed, settings=settings)


def _score(task: Any, dev: Sequence[Any], encoder: Any) -> float:
    from nikawa.metrics import Items, metrics

    answers = encoder.predict(task, dev)
    gold = [example.gold[task.question] for example in dev]
    items = Items(
        gold,
        [a.answer for a in answers],
        [e.inputs for e in dev],
        task.labels,
        [a.scores for a in answers],
    )
    return 100 * metrics()[task.metrics[0]].evaluate(items, "documented").value


def _held(scores: dict[str, list[float]], seeds: int) -> dict[str, Any]:
    plain, fast = (np.array(scores[way]) for way in ("plain", "fast"))
    gaps = fast - plain
    shown = {
        way: f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}"
        for way, values in scores.items()
    }
    mean, reach = float(gaps.mean()), STUDENT[seeds] * float(gaps.std(ddof=1)) / seeds**0.5
    return {
        **shown,
        "difference": f"{mean:+.2f} ({mean - reach:+.2f} to {mean + reach:+.2f})",
        "zero inside": abs(mean) <= reach,
    }


def _plain(encoder: Any, task: Any, train: Sequence[Any]) -> None:
    """Train the encoder's model with a plain loop, and leave it in the same form as the package's loop."""
    import torch

    from nikawa.models.encoder.batches import RowStore, shuffle_rows
    from nikawa.models.encoder.device import choose_device
    from nikawa.models.encoder.steps import has_weight_decay, learning_rates

    work, model = encoder._prepare(task, train)
    settings, seed = encoder.settings, encoder._setup.seed
    device = choose_device(settings)
    store = RowStore(encoder._head.rows(work, train, learn=True), device)
    model = model.to(device).float().train()
    named = list(model.named_parameters())
    groups = [
        {
            "params": [p for n, p in named if has_weight_decay(n, p) is kind],
            "weight_decay": settings.weight_decay * kind,
        }
        for kind in (True, False)
    ]
    optimiser = torch.optim.AdamW(groups, lr=0.0)
    each = -(-store.n // settings.batch)
    total = max(1, round(each * settings.epochs))
    torch.manual_seed(seed)
    for step, rate in enumerate(learning_rates(settings, total)):
        order = shuffle_rows(store.n, seed, step // each)
        rows = torch.tensor(order[step % each * settings.batch :][: settings.batch], device=device)
        loss = encoder._head.loss(model, store.gather(rows, settings.max_length))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        optimiser.zero_grad()
    encoder._model, encoder._work = model.eval(), work
