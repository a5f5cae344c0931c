"""Precision of the particle operations on running text: random rewrites of a corpus, and what a reader said of them.

`python -m bench.perturb_sample --language ja --list` prints random rewrites with their keys. The verdicts are in
bench/perturb_sample.tsv: language, key, right or wrong, reason. A key is a hash of the rewrite, so that no text of the
corpus is kept here. Without `--list` the command draws the same sentences again and counts the verdicts of the rewrites
that the present rules make of them.

The corpus is the folder `corpus` of the shared data: ja.txt.xz and ko.txt.xz, a paragraph a line.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nikawa.perturbation import apply, perturbations
from nikawa.records import Example
from nikawa.text import analyser, sentences

VERDICTS = Path(__file__).with_name("perturb_sample.tsv")
CORPUS = Path(os.environ.get("NIKAWA_SHARED", "../shared")) / "corpus"
CASES = {"ja": ("o", "ni", "de"), "ko": ("eul", "e", "eseo")}
OPERATIONS = ("scramble", "swap", "delete")
SHORTEST, LONGEST = 8, 100
"""Characters of a sentence."""


def draw_sentences(language: str, seed: int) -> Iterator[tuple[str, str]]:
    """Random sentences, at most one of a line, each with a random operation."""
    with lzma.open(CORPUS / f"{language}.txt.xz", "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    rng = random.Random(seed)
    for i in rng.sample(range(len(lines)), len(lines)):
        parts = [lines[i][span.start : span.end] for span in sentences(lines[i], language)]
        parts = [part for part in parts if SHORTEST <= len(part) <= LONGEST]
        if parts:
            operation = f"{rng.choice(OPERATIONS)}-{rng.choice(CASES[language])}"
            yield rng.choice(parts), operation


def draw_rewrites(language: str, seed: int, count: int) -> Iterator[tuple[str, str, str, str]]:
    """Key, operation, sentence and rewrite of the first `count` sentences that are rewritten."""
    known, made = perturbations(language), 0
    for sentence, operation in draw_sentences(language, seed):
        if made == count:
            return
        example = Example(id="0", inputs={"text": sentence})
        for child in apply(known[operation], [example], analyser(language)):
            rewrite = str(child.inputs["text"])
            key = hashlib.sha256(f"{operation} {rewrite}".encode()).hexdigest()[:12]
            yield key, operation, sentence, rewrite
            made += 1


def main() -> None:
    options = argparse.ArgumentParser(description="Judge random rewrites of running text.")
    options.add_argument("--language", choices=tuple(CASES))
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--list", action="store_true", help="print the rewrites, to be read")
    chosen, _ = options.parse_known_args()  # `python -m bench NAME`
    if not CORPUS.is_dir():
        print(f"skipped: {CORPUS} does not exist")
        return
    rows = (line.split("\t") for line in VERDICTS.read_text("utf-8").splitlines())
    verdicts = {(row[0], row[1]): row[2] for row in rows}
    for language in (chosen.language,) if chosen.language else tuple(CASES):
        counts: Counter[str] = Counter()
        for key, operation, sentence, rewrite in draw_rewrites(language, chosen.seed, chosen.count):
            verdict = verdicts.get((language, key), "not judged")
            counts[verdict] += 1
            if chosen.list:
                print(f"{key}  {operation}  {verdict}\n  {sentence}\n  {rewrite}")
        print(language, ", ".join(f"{verdict} {n}" for verdict, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
