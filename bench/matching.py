"""Greedy matching against rouge-score's way at 10,000 sentences, and Algorithm 1 as sentences grow.

`NIKAWA_BENCH_TEXT` names a text file, a sentence a line; without it sentences of invented words with natural
frequencies are drawn. `NIKAWA_BENCH_SIZES` sets the sizes (default 10000,100000; a million takes some minutes).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

from nikawa.pair.greedy import Variant, algorithm1, best_first
from nikawa.pair.units import encode, words

AT = 10_000
TRIED = 20_000

GROW = """
import resource, sys, time
from itertools import islice
from nikawa.pair.greedy import algorithm1
from nikawa.pair.units import encode, words
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
with open(sys.argv[1], encoding="utf-8") as file:
    texts = [line.rstrip("\\n") for line in islice(file, int(sys.argv[2]))]
before, start = peak(), time.process_time()
pairs = sum(1 for _ in algorithm1(encode(words(texts)), sys.argv[3]))
print(pairs, sum(len(t.encode()) for t in texts) / 1e6, before, peak(), time.process_time() - start)
"""


def invented(count: int) -> list[str]:
    """Sentences of 6 to 14 words; the word of rank r is drawn about 1/r of the time."""
    chance = random.Random(0)
    return [
        " ".join(f"w{int(200_000 ** chance.random())}" for _ in range(chance.randint(6, 14)))
        for _ in range(count)
    ]


def naive(first: str, second: str, variant: str) -> float:
    """What rouge-score does a call with a tokeniser that splits at blanks."""
    a, b = first.split(), second.split()
    if variant == "L":
        return _measure(_lcs(a, b), len(a), len(b))
    size = int(variant)
    x, y = _grams(a, size), _grams(b, size)
    common = sum(min(count, y[gram]) for gram, count in x.items())
    return _measure(common, max(sum(x.values()), 1), max(sum(y.values()), 1))


def _grams(tokens: list[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))


def _lcs(a: list[str], b: list[str]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, left in enumerate(a, start=1):
        for j, right in enumerate(b, start=1):
            table[i][j] = table[i - 1][j - 1] + 1 if left == right else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def _measure(common: int, own: int, other: int) -> float:
    precision, recall = common / max(other, 1), common / max(own, 1)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _against_naive(texts: Sequence[str]) -> None:
    coded, chance = encode(words(texts)), random.Random(1)
    drawn = [(chance.choice(texts), chance.choice(texts)) for _ in range(TRIED)]
    count = len(texts)
    for variant in get_args(Variant):
        start = time.process_time()
        for first, second in drawn:
            naive(first, second, variant)
        call = (time.process_time() - start) / TRIED
        for name, match, calls in (
            ("Algorithm 1", algorithm1, count**2 / 4),
            ("global", best_first, count * (count - 1) / 2),
        ):
            start = time.process_time()
            sum(1 for _ in match(coded, variant))
            took = time.process_time() - start
            print(
                f"ROUGE-{variant} {name:<12} {took:7.2f} s; naive {calls * call:7,.0f} s: {calls * call / took:6,.0f} times"
            )


def main() -> None:
    sizes = [int(size) for size in os.environ.get("NIKAWA_BENCH_SIZES", "10000,100000").split(",")]
    given = os.environ.get("NIKAWA_BENCH_TEXT")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given) if given else Path(folder) / "invented.txt"
        if not given:
            path.write_text("\n".join(invented(max(AT, *sizes))) + "\n", "utf-8")
        with path.open(encoding="utf-8") as file:
            _against_naive([line.rstrip("\n") for line in islice(file, AT)])
        print("sentences  text MB  before MB  peak MB  seconds (Algorithm 1, ROUGE-1)")
        for size in sizes:
            done = subprocess.run(
                [sys.executable, "-c", GROW, str(path), str(size), "1"],
                capture_output=True,
                text=True,
                check=True,
            )
            _, text, before, peak, took = map(float, done.stdout.split())
            print(f"{size:>9,}  {text:7.1f}  {before:9.0f}  {peak:7.0f}  {took:7.1f}")


if __name__ == "__main__":
    main()
