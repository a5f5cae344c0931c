"""Greedy matching against rouge-score's way at 10,000 sentences, and Algorithm 1 as sentences grow.

`NIKAWA_BENCH_TEXT` names a text file, one sentence per line; without it sentences of invented words with natural
frequencies are drawn. `NIKAWA_BENCH_SIZES` sets the sizes (default 10000,100000; a million takes some minutes, empty: none),
`NIKAWA_BENCH_UNITS` the units (words, characters, an analyser), `NIKAWA_BENCH_ROUGE` the kinds of ROUGE (1,2,L).
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
from typing import cast

from nikawa.pairing.greedy import Variant, algorithm1, best_first
from nikawa.pairing.units import encode, find_units

AT = 10_000
TRIED = 5_000
UNITS = os.environ.get("NIKAWA_BENCH_UNITS", "words")
KINDS = cast(list[Variant], os.environ.get("NIKAWA_BENCH_ROUGE", "1,2,L").split(","))

GROW = """
import sys, time
from itertools import islice
from nikawa.pairing.greedy import algorithm1
from nikawa.pairing.units import encode, find_units
def peak():  # of this process; getrusage can report that of its parent
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
with open(sys.argv[1], encoding="utf-8") as file:
    texts = [line.rstrip("\\n") for line in islice(file, int(sys.argv[2]))]
before, start = peak(), time.process_time()
pairs = sum(1 for _ in algorithm1(encode(find_units(sys.argv[4])(texts)), sys.argv[3]))
print(pairs, sum(len(t.encode()) for t in texts) / 1e6, before, peak(), time.process_time() - start)
"""


def invented(count: int) -> list[str]:
    """Sentences of 6 to 14 words; the word of rank r is drawn about 1/r of the time."""
    chance = random.Random(0)
    return [
        " ".join(f"w{int(200_000 ** chance.random())}" for _ in range(chance.randint(6, 14)))
        for _ in range(count)
    ]


def naive(a: Sequence[str], b: Sequence[str], variant: str) -> float:
    """What rouge-score does a call with a tokeniser that splits at blanks; the splitting itself is not counted."""
    if variant == "L":
        return _measure(_lcs(a, b), len(a), len(b))
    size = int(variant)
    x, y = _grams(a, size), _grams(b, size)
    common = sum(min(count, y[gram]) for gram, count in x.items())
    return _measure(common, max(sum(x.values()), 1), max(sum(y.values()), 1))


def _grams(tokens: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))


def _lcs(a: Sequence[str], b: Sequence[str]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, left in enumerate(a, start=1):
        for j, right in enumerate(b, start=1):
            table[i][j] = (
                table[i - 1][j - 1] + 1 if left == right else max(table[i - 1][j], table[i][j - 1])
            )
    return table[-1][-1]


def _measure(common: int, own: int, other: int) -> float:
    precision, recall = common / max(other, 1), common / max(own, 1)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _against_naive(texts: Sequence[str]) -> None:
    sentences, chance = list(find_units(UNITS)(texts)), random.Random(1)
    coded, count = encode(sentences), len(texts)
    drawn = [(chance.choice(sentences), chance.choice(sentences)) for _ in range(TRIED)]
    for variant in KINDS:
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
    sizes = [
        int(size)
        for size in os.environ.get("NIKAWA_BENCH_SIZES", "10000,100000").split(",")
        if size
    ]
    given = os.environ.get("NIKAWA_BENCH_TEXT")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given) if given else Path(folder) / "invented.txt"
        if not given:
            path.write_text("\n".join(invented(max([AT, *sizes]))) + "\n", "utf-8")
        with path.open(encoding="utf-8") as file:
            _against_naive([line.rstrip("\n") for line in islice(file, AT)])
        print(f"ROUGE  sentences  text MB  before MB  peak MB  seconds (Algorithm 1, {UNITS})")
        for variant in KINDS:
            for size in sizes:
                _grow(path, size, variant)


def _grow(path: Path, size: int, variant: str) -> None:
    words = [sys.executable, "-c", GROW, str(path), str(size), variant, UNITS]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    _, text, before, peak, took = map(float, done.stdout.split())
    print(
        f"{variant:>5}  {size:>9,}  {text:7.1f}  {before:9.0f}  {peak:7.0f}  {took:7.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
