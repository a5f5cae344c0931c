"""Cleaning: megabytes a second, peak memory at two sizes, and how many planted near-duplicates are found.

Invented text; `NIKAWA_BENCH_MB` sets the size (default 100), `NIKAWA_BENCH_TEXT` names a file of your own.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from nikawa.cleaning.duplicates import Duplicates
from nikawa.cleaning.minhash import compute_signatures

SIZE = int(os.environ.get("NIKAWA_BENCH_MB", "100"))
RUN = """
import resource, sys
from pathlib import Path
from nikawa.cleaning.job import CleanOptions, clean
report = clean([Path(sys.argv[1])], Path(sys.argv[2]), CleanOptions(workers=int(sys.argv[3]), overwrite=True))
kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
usage = [resource.getrusage(kind) for kind in kinds]
print(report.sentences, report.kept, usage[0].ru_maxrss // 1024, round(sum(u.ru_utime + u.ru_stime for u in usage), 1))
"""
SYLLABLES = "あかさたなはまやらわいきしちにひみりうくすつぬふむるえけせてねへめれおこそとのほもよろ"
ENDS = (
    "を見た。",
    "へ行った。",
    "と言った。",
    "が来た。",
    "<b>だった</b>。",
    "です。#日記",
    "（共同）。",
)


def word(rng: random.Random) -> str:
    return "".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))


def sentence(rng: random.Random, words: list[str]) -> str:
    return "は".join("の".join(rng.choices(words, k=4)) for _ in range(2)) + rng.choice(ENDS)


def write(path: Path, size: int) -> None:
    rng = random.Random(1)
    words = [word(rng) for _ in range(20_000)]
    with path.open("w", encoding="utf-8") as out:
        while out.tell() < size * 1_000_000:
            out.writelines(
                "".join(sentence(rng, words) for _ in range(rng.randint(1, 4))) + "\n"
                for _ in range(1000)
            )


def cleaned(path: Path, folder: Path, workers: int) -> None:
    began = time.perf_counter()
    words = [sys.executable, "-c", RUN, str(path), str(folder / "out.jsonl"), str(workers)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    took, size = time.perf_counter() - began, path.stat().st_size / 1e6
    sentences, kept, peak, cpu = done.stdout.split()
    print(
        f"{size:>6,.0f} MB, {workers} worker(s): {size / took:.1f} MB/s, {size / float(cpu):.1f} MB per second of CPU, "
        f"peak {peak} MB, {int(kept):,} of {int(sentences):,} sentences kept"
    )


def similarity(a: str, b: str) -> float:
    first, second = ({"".join(g) for g in zip(t, t[1:], t[2:], strict=False)} for t in (a, b))
    return len(first & second) / len(first | second)


def changed(text: str, places: int, rng: random.Random) -> str:
    letters = list(text)
    for at in rng.sample(range(len(letters)), places):
        letters[at] = "花"
    return "".join(letters)


def recall(count: int = 100_000, planted: int = 20_000) -> None:
    """Of planted repeats, by their true similarity, how many go; and how many of the others do."""
    rng = random.Random(2)
    texts = ["".join(rng.choices(SYLLABLES, k=50)) for _ in range(count)]
    seen = Duplicates(0.8, 1 << 20)
    false = sum(map(bool, seen.find_twins(compute_signatures(texts))))
    print(f"{count:,} different sentences: {false} wrongly removed as repeats")
    repeats = [(text, changed(text, i % 8, rng)) for i, text in enumerate(texts[:planted])]
    found = list(seen.find_twins(compute_signatures([new for _, new in repeats])))
    true = [similarity(*pair) for pair in repeats]
    edges: list[float] = [0.0, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.99, 1.01]
    for low, high in pairwise(edges):
        there = [bool(twin) for twin, value in zip(found, true, strict=True) if low <= value < high]
        if there:
            print(
                f"similarity {low:.2f} to {min(high, 1):.2f}: {sum(there) / len(there):>7.1%} of {len(there):,} removed"
            )


def main(runs: tuple[Callable[[], None], ...] = (recall,)) -> None:
    own = os.environ.get("NIKAWA_BENCH_TEXT")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (SIZE // 4, SIZE):
            path = Path(own) if own else folder / f"{size}.txt"
            if not own:
                write(path, size)
            cleaned(path, folder, 1)
        cleaned(path, folder, 2)
    for run in runs:
        run()
