"""The artifact test over 1,000,000 generated problems: from a records file to the list of pairs over the line."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nikawa.checks.probe import ProbeOptions, probe_artifacts
from nikawa.io.records import write_records
from nikawa.records import Example

PROBLEMS = int(os.environ.get("NIKAWA_BENCH_PROBLEMS", "1000000"))
LIMIT = 120
"""Seconds a million problems may take on two cores."""
LABELS = ("entailment", "contradiction", "neutral")
NAMES = ("ハル", "ミオ", "ソラ", "ナギ", "レイ", "トワ", "ユラ", "カイ")
SYLLABLES = "あかさたなはまやらわいきしちにひみりうくすつぬふむるえけせてねへめれおこそとのほもよろ"


def words(count: int, random_: random.Random) -> list[str]:
    """Invented nouns."""
    return ["".join(random_.choices(SYLLABLES, k=3)) for _ in range(count)]


def problems(count: int, between: str) -> Iterator[Example]:
    """Invented temporal problems, words joined by `between`; あと goes with contradiction a little."""
    generator = random.Random(1)
    nouns, gaps = words(5_000, generator), ("まえ", "あと")
    for i in range(count):
        label, name = LABELS[i % 3], generator.choice(NAMES)
        noun, other = generator.choice(nouns), generator.choice(nouns)
        gap = gaps[generator.random() < (0.52 if label == "contradiction" else 0.48)]
        day, later = generator.randint(1, 27), generator.randint(1, 27)
        premise = [
            name,
            "は",
            str(day),
            "日",
            "に",
            noun,
            "を",
            "塗った",
            "。",
            name,
            "は",
            other,
            "を",
            "その",
            gap,
            "に",
            "見た",
            "。",
        ]
        hypothesis = [
            name,
            "は",
            str(later),
            "日",
            "まで",
            "に",
            noun,
            "を",
            "塗り",
            "終えた",
            "。",
        ]
        inputs = {"premise": between.join(premise), "hypothesis": between.join(hypothesis)}
        yield Example(id=str(i), inputs=inputs, gold={"label": label})


def run(path: Path, tokeniser: str, workers: int) -> None:
    began = time.perf_counter()
    report = probe_artifacts(
        str(path), options=ProbeOptions(tokeniser=tokeniser, workers=workers)
    ).report
    took = time.perf_counter() - began
    held = "holds" if took * 1_000_000 / report.examples < LIMIT else "MISSED"
    print(
        f"{tokeniser:<12}{workers} worker{'s' if workers > 1 else ' '} {report.examples:>10,} problems{took:>8.1f} s"
        f"{report.examples / took:>10,.0f}/s  {len(report.over)} over, {report.vocabulary:,} tokens  "
        f"(under {LIMIT} s per million: {held})"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for between, tokeniser in ((" ", "whitespace"), ("", "ipadic")):
            path = Path(folder) / f"{tokeniser}.jsonl"
            write_records(path, problems(PROBLEMS, between))
            for workers in (1, 2):
                run(path, tokeniser, workers)


if __name__ == "__main__":
    main()
