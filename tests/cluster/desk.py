"""The folder a command begins in: a small custom dataset, and answers to it."""

from __future__ import annotations

import json
from pathlib import Path

from nikawa.io.folders import write_folder
from nikawa.records import Card, Dataset, Example, Origin

LABELS = ("entailment", "neutral", "contradiction")
SIZES = {"train": 60, "dev": 18, "test": 18}


CARD = Card(
    name="mine",
    title="Mine",
    version="1",
    languages=("ja",),
    licence="CC0",
    citation="none",
    homepage="none",
    description="",
    labels="",
    workers="",
    workers_are="none",
    source="",
)


def write_dataset(
    folder: Path, splits: dict[str, int] | None = None, *, hides: bool = False
) -> None:
    """Write the dataset `mine/` and the file `answers.jsonl` below a folder; with `hides`, the labels of test are hidden."""
    sizes = splits or SIZES
    examples = {
        split: tuple(
            Example(
                id=f"{split}-{number}",
                inputs={
                    "premise": f"{number}番目の犬が庭を走る。",
                    "hypothesis": f"{'犬猫鳥'[number % 3]}が走る。{split}{number % 7}",
                },
                gold={"label": LABELS[(number + number // 5) % 3]},
                group=f"{split}-{number // 3}",
                meta={"note": "stays at home"},
                origin=Origin(recipe="hand", gold="hidden") if hides and split == "test" else None,
            )
            for number in range(size)
        )
        for split, size in sizes.items()
    }
    dataset = Dataset(name="mine", language="ja", version="1", card=CARD, splits=examples)
    write_folder(dataset, folder / "mine")
    answers = [
        {"id": f"{split}-{number}", "answer": LABELS[number % 3]}
        for split in ("dev", "test")
        for number in range(sizes.get(split, 0))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in answers)
    (folder / "answers.jsonl").write_text(lines, "utf-8")
