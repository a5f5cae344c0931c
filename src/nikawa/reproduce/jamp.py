"""Recompute the JAMP paper's figures from its published files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from nikawa.datasets.jamp import jamp
from nikawa.datasets.jamp.jamp import LEFT_OVER
from nikawa.datasets.jamp.splits import WAKATI, fragment_of, is_identical, split_names
from nikawa.datasets.load import load
from nikawa.datasets.locate import files_here
from nikawa.datasets.names import benchmarks
from nikawa.records import Example
from nikawa.reproduce.figures import Number, Partial

Figure = tuple[str, Number]

_INTERVAL = re.compile(r"(\d+)(?:年間|ヶ月間|日間|時間)")
_YEAR = re.compile(r"(?<!\d)(\d{4})年")


def compute(data: Path | None) -> Mapping[str, Number | Partial]:
    """Figure id to value, for the files that are here."""
    files = {split: paths[0] for split, paths in files_here(jamp.DATASET, data).items()}
    figures: dict[str, Number | Partial] = dict(_same_files(files))
    for split in ("train", "test"):
        if split in files:
            examples = tuple(jamp.read(files[split]))
            figures.update(_table12(split, examples))
            if split == "train":
                figures.update(_section3(examples))
    if f"train{WAKATI}" in files:
        figures.update(_appendix_d(jamp.read(files[f"train{WAKATI}"])))
    figures.update(_table13(data))
    return figures


def _same_files(files: Mapping[str, Path]) -> Iterator[Figure]:
    for ending in ("", WAKATI):
        train = files.get(f"train{ending}")
        for split in (f"{name}{ending}" for name in split_names()):
            if train is not None and split in files:
                yield f"splits.{split}.identical", int(is_identical(train, split, files[split]))


def _table12(split: str, examples: Iterable[Example]) -> Iterator[Figure]:
    counts = Counter((e.gold["label"], e.meta["template"] == LEFT_OVER) for e in examples)
    for label in jamp.LABELS:
        yield f"table12.{split}.{label}", counts[label, False] + counts[label, True]
        yield f"table12.without-template-20.{split}.{label}", counts[label, False]
    yield f"table12.{split}.total", counts.total()
    yield (
        f"table12.without-template-20.{split}.total",
        sum(n for (_, left), n in counts.items() if not left),
    )


def _section3(examples: tuple[Example, ...]) -> Iterator[Figure]:
    names = {e.meta["category"] for e in examples}
    yield "section1.tense-fragments", len(names)
    yield "table10.fragments", len({fragment_of(name)[0] for name in names})
    yield "table10.sub-fragments", len({fragment_of(name) for name in names})
    formats = {e.meta["time_format"] for e in examples} - {None}
    intervals = {name for name in formats if name.endswith("間")}
    yield "section3.interval-formats", len(intervals)
    yield "section3.time-point-formats", len(formats - intervals)
    yield "section3.time-spans", len({e.meta["time_span"] for e in examples} - {None})
    yield from _ends("section3.year", ("first", "last"), _values(_YEAR, examples))
    timed = [e for e in examples if e.meta["time_format"] in intervals]
    short = [e for e in timed if e.meta["time_span"] == "short"]
    yield from _ends("section3.interval", ("least", "most"), _values(_INTERVAL, timed))
    yield from _ends("appendixC.short-interval", ("least", "most"), _values(_INTERVAL, short))


def _values(pattern: re.Pattern[str], examples: Iterable[Example]) -> set[int]:
    return {
        int(value)
        for e in examples
        for side in ("premise", "hypothesis")
        for value in pattern.findall(e.inputs[side])
    }


def _ends(name: str, ends: tuple[str, str], values: set[int]) -> Iterator[Figure]:
    if values:
        yield from zip((f"{name}.{end}" for end in ends), (min(values), max(values)), strict=True)


def _appendix_d(segmented: Iterable[Example]) -> Iterator[Figure]:
    """The tokens over the line of Figure 3, on the rows the paper counts."""
    from nikawa.checks.artifacts import count_tokens, find_pairs, tabulate
    from nikawa.text import analyser

    sides = ("premise", "hypothesis")
    items = (
        (e.gold["label"], tuple(e.inputs[side] for side in sides))
        for e in segmented
        if e.meta["template"] != LEFT_OVER
    )
    tally = count_tokens(items, sides, analyser("whitespace", cache=0))
    if not tally.examples:
        return
    tokens = {pair.token for pair in find_pairs(tabulate(tally, jamp.LABELS))}
    yield "appendixD.tokens-over", len(tokens)
    yield "appendixD.ita.over", int("いた" in tokens)


def _table13(data: Path | None) -> Iterator[Figure]:
    """JSICK as the authors trained on it: train and dev together."""
    if "jsick" in benchmarks() and files_here(benchmarks()["jsick"], data):
        splits = load("jsick", data=data).splits
        yield "table13.jsick", len(splits["train"]) + len(splits["dev"])
