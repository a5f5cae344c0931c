"""Recompute the figures of the KLUE paper from the files at hand.

Totals need test files, which are not published: they stay partial. Where a total is not the sum of the
splits printed beside it, that sum is what is given, as no file is needed to see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

from nikawa.datasets.klue import klue_dp, klue_mrc, klue_ner, klue_nli, klue_re, klue_sts, wos, ynat
from nikawa.datasets.load import load
from nikawa.datasets.locate import files_here, find_files, repository_folder
from nikawa.metrics.base import Items, Mode, f1
from nikawa.metrics.classes import split_counts
from nikawa.metrics.klue_ner import TYPES, entity_macro_f1
from nikawa.records import Example, Span
from nikawa.reproduce.figures import Number, Partial, read_figures

Value = Number | Partial
Splits = Mapping[str, tuple[Example, ...]]
SPLITS = ("train", "dev", "test")
TOPICS = dict(
    zip(
        ("politics", "economy", "society", "culture", "world", "it-science", "sports"),
        ynat.LABELS,
        strict=True,
    )
)
JUDGEMENTS = 400
"""Of section 3.3.1: four people on 100 pairs."""


def compute(data: Path | None = None) -> dict[str, Value]:
    """Figure id to value; what needs a file that is not here is left out or partial."""
    folder = repository_folder(klue_ner.DATASET, data)
    splits = {
        module.NAME: (
            load(module.DATASET.name, data=data).splits if files_here(module.DATASET, data) else {}
        )
        for module in _MODULES
    }
    printed = read_figures("klue").printed
    figures: dict[str, Value] = {**dict(_arithmetic(printed)), **dict(_worked_example())}
    for name, value in chain(
        _table1(splits, folder),
        _table("table3", splits["ynat"], lambda e: [_TOPIC_OF[e.gold["label"]]] if e.gold else []),
        _table("table4", splits["klue-sts"], lambda e: [e.meta["corpus"].upper()]),
        _table("table6", splits["klue-nli"], _source),
        _lengths(splits["klue-nli"]),
        _rounded_up(splits["klue-sts"]),
        _table("table8", splits["klue-ner"], _source),
        _table9(splits["klue-ner"]),
    ):
        # A value over all splits outweighs the paper's arithmetic, a partial one does not.
        if name in printed and not (isinstance(value, Partial) and name in figures):
            figures[name] = value
    return figures


_MODULES = (ynat, klue_sts, klue_nli, klue_ner, klue_re, klue_dp, klue_mrc, wos)
_TOPIC_OF = {korean: topic for topic, korean in TOPICS.items()}


def _source(example: Example) -> list[str]:
    return [example.meta["source"].upper()]


def _over_all(value: Number, splits: Iterable[str]) -> Value:
    splits = set(splits)
    missing = [split for split in SPLITS if split not in splits]
    return Partial(value, " and ".join(missing)) if missing else value


def _table(
    table: str, splits: Splits, rows_of: Callable[[Example], Iterable[str]]
) -> Iterator[tuple[str, Value]]:
    """Counts by row and split, and their totals, of a table whose rows `rows_of` names."""
    overall: Counter[str] = Counter()
    counted = []
    for split, examples in splits.items():
        counts = Counter(row for example in examples for row in rows_of(example))
        if counts:  # a test file that hides its labels has none
            counts["total"] = counts.total()
            counted.append(split)
            overall += counts
            yield from ((f"{table}.{row}.{split}", count) for row, count in counts.items())
    yield from (
        (f"{table}.{row}.total", _over_all(count, counted)) for row, count in overall.items()
    )


def _table1(splits: Mapping[str, Splits], folder: Path) -> Iterator[tuple[str, Value]]:
    for name, parts in splits.items():
        for split, examples in parts.items():
            size = len({e.group for e in examples}) if name == "wos" else len(examples)
            yield f"table1.{name}.{split}", size / 1000
    yield from _classes(splits)
    for path in folder.glob(klue_re.RELATION_LIST):
        yield "table1.klue-re.classes", len(klue_re.relations(path))
    for path in find_files(wos.ONTOLOGY, folder):
        yield "table1.wos.classes", len(wos.ontology(path))


def _classes(splits: Mapping[str, Splits]) -> Iterator[tuple[str, Value]]:
    """Kinds of gold that occur; dev holds all but the rarest labels of DP."""
    kinds: dict[str, Callable[[dict[str, Any]], Iterable[Any]]] = {
        "ynat.classes": lambda gold: [gold["label"]],
        "klue-sts.classes": lambda gold: [gold["binary"]],
        "klue-nli.classes": lambda gold: [gold["label"]],
        "klue-ner.classes": lambda gold: (span.label for span in gold["spans"]),
        "klue-ner.tags": lambda gold: (
            tag
            for span in gold["spans"]
            for tag in (
                {f"B-{span.label}", f"I-{span.label}"}
                if (span.end - span.start) > 1
                else {f"B-{span.label}"}
            )
        ),
        "klue-mrc.classes": lambda gold: [bool(gold["answers"])],
        "klue-dp.classes": lambda gold: gold["tree"]["labels"],
    }
    for figure, kinds_of in kinds.items():
        found = splits[figure.split(".")[0]]
        seen = {
            kind
            for examples in found.values()
            for e in examples
            if e.gold
            for kind in kinds_of(e.gold)
        }
        if seen:
            count = len(seen)
            yield (
                f"table1.{figure}",
                _over_all(count, found) if figure.startswith("klue-dp") else count,
            )


def _lengths(splits: Splits) -> Iterator[tuple[str, Value]]:
    """Mean characters of premise and hypothesis by source, over all pairs."""
    pairs = [example for examples in splits.values() for example in examples]
    by_row: dict[str, list[Example]] = {"total": pairs} if pairs else {}
    for example in pairs:
        by_row.setdefault(_source(example)[0], []).append(example)
    for row, examples in by_row.items():
        for side in ("premise", "hypothesis"):
            mean = sum(len(example.inputs[side]) for example in examples) / len(examples)
            yield f"table6.{row}.{side}", _over_all(mean, splits)


def _table9(splits: Splits) -> Iterator[tuple[str, Value]]:
    """Entities, and distinct ones, by type; the totals of types add the types up."""
    yield from _table("table9", splits, lambda e: (span.label for span in e.gold.get("spans", ())))
    everything: set[tuple[str, str]] = set()
    labelled = [
        split for split, examples in splits.items() if any(example.gold for example in examples)
    ]
    for split, examples in splits.items():
        kinds = {
            (span.label, example.inputs["text"][span.start : span.end])
            for example in examples
            for span in example.gold.get("spans", ())
        }
        everything |= kinds
        yield from (
            (f"table9.types.{row}.{split}", count) for row, count in _by_type(kinds).items()
        )
    for row, count in _by_type(everything).items():
        yield f"table9.types.{row}.total", _over_all(count, labelled)


def _by_type(kinds: set[tuple[str, str]]) -> Counter[str]:
    counts = Counter(label for label, _ in kinds)
    if counts:
        counts["total"] = counts.total()
    return counts


def _arithmetic(printed: Mapping[str, Number]) -> Iterator[tuple[str, Number]]:
    """What the paper's own numbers say of others of its numbers."""
    yield "section3-1-1.valid", printed["section3-1-1.collected"] - printed["section3-1-1.invalid"]
    yield "section3-1-1.kept", printed["section3-1-1.valid"] - printed["section3-1-1.no-majority"]
    yield "section3-1-1.unanimous", printed["section3-1-1.kept"] - printed["section3-1-1.two-votes"]
    shares = ("none-agrees", "one-agrees", "two-agree", "three-agree", "four-agree")
    agreed = sum(share * printed[f"table7.klue-nli.{name}"] for share, name in enumerate(shares))
    yield "table7.klue-nli.individual", 100 * agreed / JUDGEMENTS
    yield "section3-3-1.same-as-gold", round(agreed)
    for name, total in printed.items():
        table, _, column = name.rpartition(".")
        if column == "total" and not name.startswith(
            "table9."
        ):  # its totals are said not to add up
            added = sum(printed[f"{table}.{split}"] for split in SPLITS)
            if added != total:
                yield name, added


def _worked_example() -> Iterator[tuple[str, Number]]:
    """F1 of the two entity types of the example, and how many classes the character mean runs over."""
    example = read_figures("klue").inputs["section3-4-2"]
    gold, answer = (
        [Span(start, end, kind) for start, end, kind in example[side]]
        for side in ("gold", "answer")
    )
    items = Items([gold], [answer], [{"text": "x" * example["characters"]}])
    classes_of: dict[Mode, int] = {"official": 2 * len(TYPES) + 1, "documented": 2 * len(TYPES)}
    for mode, classes in classes_of.items():
        counts = split_counts(entity_macro_f1(items, mode).statistics.sum(axis=0))
        by_type = dict(zip(TYPES, f1(*counts), strict=True))
        for kind in ("PS", "OG"):
            yield f"section3-4-2.{mode}.entity.{kind}", float(by_type[kind])
        yield f"section3-4-2.{mode}.character-classes", classes


def _rounded_up(splits: Splits) -> Iterator[tuple[str, Value]]:
    """Labels of KLUE-STS dev that are the mean rounded up to one decimal."""
    examples = [e for e in splits.get("dev", ()) if e.gold]
    if examples:
        up = sum(ceil(round(10 * e.gold["score"], 9)) / 10 == e.meta["rounded"] for e in examples)
        yield "section3-2-1.labels-rounded-up", up
