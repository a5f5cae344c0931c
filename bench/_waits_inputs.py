"""What the everyday jobs of `bench.waits` work on, made once in a process of its own: `python -m bench._waits_inputs FOLDER`.

Answers are gold in a given share of the items and another item's gold in the rest; scores are gold with noise. Nothing here is copied
from published data into the project: the folder is temporary.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from bench.start import shared

PUBLISHED = {"jsick-nli": "test", "jsick-sts": "test", "jsquad": "dev"}
"""Tasks of published data to the split that systems answer: 4,927, 4,927 and 4,442 items."""
OWN = "own-nli"
"""The task without published data."""
ITEMS = 5_000
QUALITIES = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
"""The share of right answers of each system: ten systems for compare, the last eight for report and analyse."""
REPORTED = 8
SENTENCES = 20_000
JUDGED, WORKERS = 5_000, ("aki", "beni", "chie")
LABELS = ("entailment", "neutral", "contradiction")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), "utf-8")


def write_answers(folder: Path, task: str, examples: Sequence[Any], question: str) -> list[Path]:
    """A file for each quality."""
    gold = [example.gold[question] for example in examples]
    paths = []
    for quality in QUALITIES:
        chance = Random(f"{task} {quality}")
        rows = []
        for example, own in zip(examples, gold, strict=True):
            answer = own
            if isinstance(own, float):
                answer = min(5.0, max(0.0, own + chance.gauss(0, 5 * (1 - quality))))
            elif chance.random() > quality:
                answer = chance.choice(gold)
            if isinstance(answer, list | tuple):  # the persons' answers to a question about a text
                answer = answer[0]["text"]
            rows.append({"example": example.id, "answer": answer})
        paths.append(folder / f"q{quality:.2f}.jsonl")
        write_lines(paths[-1], rows)
    return paths


def run_systems(task: str, paths: list[Path], out: Path, data: Path | None) -> None:
    """Replay the answers of the better systems as runs."""
    from nikawa.runs.job import RunOptions, RunRequest, run

    models = tuple(f"{path.stem}=replay:{path}" for path in paths[-REPORTED:])
    run(RunRequest(tasks=(task,), models=models), RunOptions(out=out, data=data, workers=1))


def write_systems(folder: Path) -> None:
    """Answers and runs of each task."""
    from nikawa.datasets import load_task

    if not shared().is_dir():
        paths = write_own_systems(folder)
        run_systems(str(folder / OWN), paths, folder / "runs" / OWN, None)
        return
    for name, split in PUBLISHED.items():
        task, examples = load_task(name, split, data=shared())
        paths = write_answers(folder / "answers" / name, name, examples, task.question)
        run_systems(name, paths, folder / "runs" / name, shared())


def write_own_systems(folder: Path) -> list[Path]:
    """A dataset of invented pairs of sentences, and answers to it."""
    from bench.scale import write_inference_data
    from nikawa.datasets import load

    sentences = (folder / "text.txt").read_text("utf-8").splitlines()[:ITEMS]
    write_inference_data(folder, sentences)
    (folder / "mine").rename(folder / OWN)
    examples = load(str(folder / OWN)).splits["test"]
    return write_answers(folder / "answers" / OWN, OWN, examples, "label")


def write_items(folder: Path) -> None:
    """The items of an annotation project, and three workers' judgements of each."""
    chance = Random(JUDGED)
    items, judgements = [], []
    for number in range(JUDGED):
        one = chance.choice(LABELS)
        premise = f"{number}番の店は駅の前にある。"
        items.append(
            {"id": str(number), "inputs": {"premise": premise, "hypothesis": "店がある。"}}
        )
        for worker in WORKERS:
            answer = one if chance.random() < 0.8 else chance.choice(LABELS)
            judgements.append(
                {"example": str(number), "worker": worker, "question": "label", "answer": answer,
                 "seconds": round(chance.uniform(2, 20), 1), "at": f"2026-01-{1 + number % 28:02}"}
            )  # fmt: skip
    write_lines(folder / "items.jsonl", items)
    write_lines(folder / "judgements.jsonl", judgements)


def write_recipes(folder: Path) -> None:
    """The sources of every recipe that the tests build from, in a folder each.

    Simulated persons drop many headlines, so YNAT takes all that there are: those that are left are from before and after the date of its split.
    """
    from tests.recipes.klue.test_every import SOURCES
    from tests.recipes.small_sources import SMALL_SOURCES

    for name, make in {**SMALL_SOURCES, "ynat": SOURCES["ynat"]}.items():
        (folder / name).mkdir(parents=True)
        for file, text in make().items():
            (folder / name / file).write_text(text, "utf-8")


def main() -> None:
    from bench.scale import write_sentences

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    write_sentences(folder / "text.txt", SENTENCES)
    write_systems(folder)
    write_items(folder)
    write_recipes(folder / "recipes")


if __name__ == "__main__":
    main()
