"""What is special to JAMP's published files: left-over template, generator errors, odd years, twins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nikawa.datasets.jamp.splits import WAKATI, split_names
from nikawa.records import Dataset, Example, Finding, reference

LEFT_OVER = 20
LABEL_ERRORS = frozenset({"3763", "3767", "7807", "7809"})
YEARS = range(2000, 2021)
SINCE = (1, 3, 4, 5)
"""Templates whose premise says `A以来…。現在、Bである。`"""

_YEAR = re.compile(r"(?<!\d)(\d{4})年")
_TIME = r"((?:\d+[年月日時])+)"
_SINCE = re.compile(f"{_TIME}以来")
_NOW = re.compile(f"現在、{_TIME}である")


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Every special finding of the splits that were loaded."""
    for split in ("train", "test"):
        if split in dataset.splits:
            yield from _rows(split, dataset.splits[split])
    for split in dataset.splits:
        if split.endswith(WAKATI):
            yield from _twin(split, dataset)
        elif split in split_names():
            yield from _strangers(split, dataset)


def _rows(split: str, examples: tuple[Example, ...]) -> Iterator[Finding]:
    yield from _found(
        "left-over-template",
        split,
        [e for e in examples if e.meta["template"] == LEFT_OVER],
        "template 20, all contradiction; the paper's counts leave it out",
    )
    yield from _found(
        "generator-label",
        split,
        [e for e in examples if split == "train" and wrong_label(e)],
        "12月 was taken to end a year later; by the calendar the label is not entailment",
    )
    yield from _found(
        "year-out-of-range",
        split,
        [e for e in examples if strange_year(e)],
        "the paper draws years from 2000 to 2020",
    )
    yield from _found(
        "present-before-since",
        split,
        [e for e in examples if present_before_since(e)],
        "the premise contradicts itself: 現在 lies before 以来",
    )
    categories = {e.meta["category"] for e in examples}
    if len(categories) == 45:
        note = "45 categories; the paper speaks of 46 tense fragments"
        yield Finding(check="category-count", where=split, count=45, note=note, known=True)


def _found(check: str, split: str, examples: list[Example], note: str) -> Iterator[Finding]:
    if examples:
        ids = tuple(reference("jamp", split, e.id) for e in examples)
        yield Finding(check=check, where=split, count=len(ids), ids=ids, note=note, known=True)


def wrong_label(example: Example) -> bool:
    """Whether this is one of the four rows with the generator's error, and still carries it."""
    meta = example.meta
    return (
        example.id in LABEL_ERRORS
        and (meta["time_format"], meta["time_span"]) == ("月", "random")
        and "12月" in example.inputs["hypothesis"]
        and example.gold.get("label") == "entailment"
    )


def strange_year(example: Example) -> bool:
    """Whether a time point names a year the paper's range does not hold."""
    texts = example.inputs["premise"] + example.inputs["hypothesis"]
    return any(int(year) not in YEARS for year in _YEAR.findall(texts))


def present_before_since(example: Example) -> bool:
    """Whether the premise's present lies before the time its state began."""
    if example.meta["template"] not in SINCE:
        return False
    since, now = (pattern.search(example.inputs["premise"]) for pattern in (_SINCE, _NOW))
    return since is not None and now is not None and _numbers(now[1]) < _numbers(since[1])


def _numbers(time: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", time)]


def _twin(split: str, dataset: Dataset) -> Iterator[Finding]:
    plain = split.removesuffix(WAKATI)
    if plain not in dataset.splits:
        return
    texts = {e.id: _content(e) for e in dataset.splits[plain]}
    twins = {e.id: _content(e) for e in dataset.splits[split]}
    differ = sorted(id for id in texts.keys() | twins.keys() if texts.get(id) != twins.get(id))
    if differ:
        ids = tuple(reference("jamp", split, id) for id in differ)
        note = "tokens joined do not give the plain row"
        yield Finding(
            check="wakati-mismatch",
            where=f"{split} and {plain}",
            count=len(ids),
            ids=ids,
            note=note,
        )


def _strangers(split: str, dataset: Dataset) -> Iterator[Finding]:
    if "train" not in dataset.splits:
        return
    known = {(e.id, *_content(e)) for e in dataset.splits["train"]}
    strange = [e.id for e in dataset.splits[split] if (e.id, *_content(e)) not in known]
    if strange:
        ids = tuple(reference("jamp", split, id) for id in strange)
        yield Finding(
            check="not-in-train", where=split, count=len(ids), ids=ids, note="absent from train_all"
        )


def _content(example: Example) -> tuple[str, str, str, int]:
    premise, hypothesis = (
        example.inputs[side].replace(" ", "") for side in ("premise", "hypothesis")
    )
    return premise, hypothesis, example.gold["label"], example.meta["template"]
