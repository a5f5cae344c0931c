"""Small invented files in the published formats, and a model that tells what it was shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from nikawa.models import Model, models
from nikawa.models.base import Setup
from nikawa.records import Example, Kind, Prediction, Task

LABELS = ("entailment", "neutral", "contradiction")
JAMP = [
    "num",
    "premise",
    "hypothesis",
    "gold_label",
    "template_num",
    "time_format",
    "time_span",
    "category",
]


def _jnli(count: int) -> list[dict[str, Any]]:
    return [
        {
            "sentence_pair_id": str(i),
            "yjcaptions_id": f"{i // 3}-{i}-{i + 1}",
            "sentence1": f"{i // 3}番目の犬が庭を走る。",
            "sentence2": f"{'犬' if i % 3 == 0 else '猫' if i % 3 == 1 else '誰も'}が走る。{i}",
            "label": LABELS[i % 3],
        }
        for i in range(count)
    ]


def _jsts(count: int) -> list[dict[str, Any]]:
    return [{**row, "label": float(i % 6)} for i, row in enumerate(_jnli(count))]


def _jamp(rows: int) -> str:
    kinds = [(1, "以来（状態動詞）", "年"), (9, "順序（推移律）", "None")]
    lines, number = ["\t".join(JAMP)], 0
    for template, category, form in kinds:
        for label in LABELS[:2]:
            for row in range(rows):
                number += 1
                texts = f"{number}番の人は{row}年から住む。", f"{label[0]}番の人がいる。"
                lines.append(
                    "\t".join((str(number), *texts, label, str(template), form, "None", category))
                )
    return "\n".join(lines) + "\n"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A data folder: JNLI has dev alone, JSTS train and dev, JAMP train alone."""
    root = tmp_path / "data"
    for name, rows in (
        ("jnli-v1.3/valid", _jnli(30)),
        ("jsts-v1.3/train", _jsts(60)),
        ("jsts-v1.3/valid", _jsts(12)),
    ):
        path = root / "jglue" / "datasets" / f"{name}-v1.3.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
        )
    (root / "jamp" / "dataset").mkdir(parents=True)
    (root / "jamp" / "dataset" / "train_all.tsv").write_text(_jamp(10), "utf-8")
    return root


@pytest.fixture
def with_jamp_test(published: Path) -> Path:
    """The same, with the test file of JAMP."""
    (published / "jamp" / "dataset" / "test_2.tsv").write_text(_jamp(2), "utf-8")
    return published


class SpySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the spy does."""

    trouble: str = ""
    level: int = 0
    pace: int = 1


@dataclass
class Seen:
    """What every spy was shown, in order."""

    fits: list[tuple[Task, list[Example], list[Example]]] = field(default_factory=list)
    asked: list[tuple[Task, list[Example]]] = field(default_factory=list)
    setups: list[Setup] = field(default_factory=list)


class Spy:
    """Answers the commonest label, or the label of its level."""

    name = "spy"

    def __init__(self, setup: Setup, seen: Seen) -> None:
        self.setup, self.seen = setup, seen
        self.settings = msgspec.convert(dict(setup.settings), SpySettings)

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Write down what there is to learn from."""
        if self.settings.trouble == "fit":
            raise RuntimeError("two\nlines of trouble")
        self.seen.fits.append((task, list(examples), list(dev)))

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """Write down what is asked."""
        self.seen.setups.append(self.setup)
        self.seen.asked.append((task, list(examples)))
        kept = examples[1:] if self.settings.trouble == "gap" else examples
        answer: Any = (
            float(self.settings.level) if task.kind == "similarity" else LABELS[self.settings.level]
        )
        return [Prediction(example=e.id, answer=answer) for e in kept]

    def about(self) -> dict[str, Any]:
        """Something to be kept with the run."""
        return {"level": self.settings.level}


@pytest.fixture
def spy() -> Iterator[Seen]:
    """A model called `spy`, registered for one test."""
    seen = Seen()
    kind = Model(
        "spy",
        "a spy",
        get_args(Kind),
        lambda setup: Spy(setup, seen),
        SpySettings,
        runtime_settings=("pace",),
    )
    models().add("spy", kind)
    yield seen
    del models()._things["spy"]


@pytest.fixture
def files() -> Callable[[Path], dict[str, bytes]]:
    """The files of a folder of runs that the same runs always write with the same bytes."""

    def read(out: Path) -> dict[str, bytes]:
        odd = {"about.json", "lock"}
        found = (path for path in sorted(out.rglob("*")) if path.is_file() and path.name not in odd)
        return {str(path.relative_to(out)): path.read_bytes() for path in found}

    return read
