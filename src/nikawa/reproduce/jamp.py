"""Recompute the JAMP paper's figures from its published files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from nikawa.datasets.jamp import jamp
from nikawa.datasets.jamp.jamp import LEFT_OVER
from nikawa.datasets.jamp.splits import WAKATI, fragment_of, is_identical, split_names
from nikawa.datasets.locate import files_here
from nikawa.errors import name_faulty_file
from nikawa.records import Example
from nikawa.reproduce.figures import FigureValues, Value, load_splits

SIDES = ("premise", "hypothesis")
_INTERVAL = re.compile(r"(\d+)(?:年間|ヶ月間|日間|時間)")
_YEAR = re.compile(r"(?<!\d)(\d{4})年")


def compute(data: Path | None) -> Mapping[str, Value]:
    """Figure id to value, for the files that are here."""
    files = {split: paths[0] for split, paths in files_here(jamp.DATASET, data).items()}
    figures: dict[str, Value] = dict(compare_splits(files))
    for split in ("train", "test"):
        if split in files:
            examples = tuple(jamp.read(files[split]))
            figures.update(count_labels(split, examples))
            if split == "train":
                with name_faulty_file(files[split]):
                    figures.update(count_times(examples))
    if f"train{WAKATI}" in files:
        figures.update(count_artifacts(jamp.read(files[f"train{WAKATI}"])))
    jsick = load_splits("jsick", data)
    if {"train", "dev"} <= jsick.keys():  # as the authors trained on it: train and dev together
        figures["table13.jsick"] = len(jsick["train"]) + len(jsick["dev"])
    return figures


def compare_splits(files: Mapping[str, Path]) -> FigureValues:
    """Whether our drawing of each split from train gives the published file: 1 or 0."""
    for ending in ("", WAKATI):
        train = files.get(f"train{ending}")
        for name in split_names():
            split = f"{name}{ending}"
            if train is not None and split in files:
                yield f"splits.{split}.identical", int(is_identical(train, split, files[split]))


def count_labels(split: str, examples: Iterable[Example]) -> FigureValues:
    """Table 12: labels of a split, with and without the template that the paper leaves out."""
    counts = Counter((e.gold["label"], e.meta["template"] == LEFT_OVER) for e in examples)
    for label in jamp.LABELS:
        yield f"table12.{split}.{label}", counts[label, False] + counts[label, True]
        yield f"table12.without-template-20.{split}.{label}", counts[label, False]
    kept = sum(count for (_, is_left_over), count in counts.items() if not is_left_over)
    yield f"table12.{split}.total", counts.total()
    yield f"table12.without-template-20.{split}.total", kept


def count_times(examples: tuple[Example, ...]) -> FigureValues:
    """Sections 1 and 3, Table 10, Appendix C: tense fragments, time formats and the range of years and intervals."""
    names = {e.meta["category"] for e in examples}
    yield "section1.tense-fragments", len(names)
    yield "table10.fragments", len({fragment_of(name)[0] for name in names})
    yield "table10.sub-fragments", len({fragment_of(name) for name in names})
    formats = {e.meta["time_format"] for e in examples} - {None}
    intervals = {name for name in formats if name.endswith("間")}
    yield "section3.interval-formats", len(intervals)
    yield "section3.time-point-formats", len(formats - intervals)
    yield "section3.time-spans", len({e.meta["time_span"] for e in examples} - {None})
    timed = [e for e in examples if e.meta["time_format"] in intervals]
    short = [e for e in timed if e.meta["time_span"] == "short"]
    for figure, least, most, pattern, part in (
        ("section3.year", "first", "last", _YEAR, examples),
        ("section3.interval", "least", "most", _INTERVAL, timed),
        ("appendixC.short-interval", "least", "most", _INTERVAL, short),
    ):
        texts = [e.inputs[side] for e in part for side in SIDES]
        values = {int(value) for text in texts for value in pattern.findall(text)}
        if values:
            yield f"{figure}.{least}", min(values)
            yield f"{figure}.{most}", max(values)


def count_artifacts(segmented: Iterable[Example]) -> FigureValues:
    """The tokens over the line of Figure 3, on the rows the paper counts."""
    from nikawa.checks.artifacts import count_tokens, find_pairs, tabulate
    from nikawa.text import analyser

    items = (
        (e.gold["label"], tuple(e.inputs[side] for side in SIDES))
        for e in segmented
        if e.meta["template"] != LEFT_OVER
    )
    tally = count_tokens(items, SIDES, analyser("whitespace", cache=0))
    if not tally.examples:
        return
    tokens = {pair.token for pair in find_pairs(tabulate(tally, jamp.LABELS))}
    yield "appendixD.tokens-over", len(tokens)
    yield "appendixD.ita.over", int("いた" in tokens)
