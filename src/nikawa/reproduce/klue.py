"""Recompute the figures of the KLUE paper from the available files.

Totals need test files, which are not published: they stay partial. Where a total is not the sum of the
splits printed next to it, the value is that sum, which needs no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

from nikawa.datasets.base import Splits
from nikawa.datasets.klue import klue_dp, klue_mrc, klue_ner, klue_nli, klue_re, klue_sts, wos, ynat
from nikawa.datasets.locate import find_files, repository_folder
from nikawa.metrics.base import Items, Mode, f1
from nikawa.metrics.classes import split_counts
from nikawa.metrics.klue_ner import TYPES, entity_macro_f1
from nikawa.records import Example, Span
from nikawa.reproduce.figures import (
    SPLITS,
    FigureValues,
    Number,
    Partial,
    Value,
    load_splits,
    missing_splits,
    read_figures,
)

MODULES = (ynat, klue_sts, klue_nli, klue_ner, klue_re, klue_dp, klue_mrc, wos)
TOPICS = dict(
    zip(
        ("politics", "economy", "society", "culture", "world", "it-science", "sports"),
        ynat.LABELS,
        strict=True,
    )
)
JUDGEMENTS = 400
"""Of section 3.3.1: four people on 100 pairs."""


TOPIC_OF = {korean: topic for topic, korean in TOPICS.items()}


def compute(data: Path | None = None) -> dict[str, Value]:
    """Figure id to value; what needs a file that is not here is left out or partial."""
    folder = repository_folder(klue_ner.DATASET, data)
    splits = {module.NAME: load_splits(module.DATASET.name, data) for module in MODULES}
    printed = read_figures("klue").printed
    figures: dict[str, Value] = dict(chain(add_printed(printed), score_worked_example()))
    for name, value in chain(
        count_examples(splits, folder),
        count_rows("table3", splits["ynat"], topics_of),
        count_rows("table4", splits["klue-sts"], lambda e: [e.meta["corpus"].upper()]),
        count_rows("table6", splits["klue-nli"], sources_of),
        measure_lengths(splits["klue-nli"]),
        count_rounded_up(splits["klue-sts"]),
        count_rows("table8", splits["klue-ner"], sources_of),
        count_entities(splits["klue-ner"]),
    ):
        # A value over all splits outweighs the paper's arithmetic, a partial one does not.
        if name in printed and not (isinstance(value, Partial) and name in figures):
            figures[name] = value
    return figures


def topics_of(example: Example) -> list[str]:
    """The topic of a headline in English; none where labels are hidden."""
    return [TOPIC_OF[example.gold["label"]]] if example.gold else []


def sources_of(example: Example) -> list[str]:
    """The corpus an example comes from, as the tables print it."""
    return [example.meta["source"].upper()]


def total_or_partial(value: Number, splits: Collection[str]) -> Value:
    """A value over `splits`; partial where they are not train, dev and test."""
    missing = missing_splits(splits)
    return Partial(value, " and ".join(missing)) if missing else value


def count_rows(
    table: str, splits: Splits, rows_of: Callable[[Example], Iterable[str]]
) -> FigureValues:
    """Counts by row and split, and their totals, of a table whose rows `rows_of` names."""
    overall: Counter[str] = Counter()
    counted = []
    for split, examples in splits.items():
        counts = Counter(row for example in examples for row in rows_of(example))
        if counts:  # a test file that hides its labels has none
            counts["total"] = counts.total()
            counted.append(split)
            overall += counts
            for row, count in counts.items():
                yield f"{table}.{row}.{split}", count
    for row, count in overall.items():
        yield f"{table}.{row}.total", total_or_partial(count, counted)


def count_examples(splits: Mapping[str, Splits], folder: Path) -> FigureValues:
    """Table 1: thousands of examples (dialogues of WoS) by split, and classes."""
    for name, parts in splits.items():
        for split, examples in parts.items():
            size = len({e.group for e in examples}) if name == wos.NAME else len(examples)
            yield f"table1.{name}.{split}", size / 1000
    yield from count_classes(splits)
    for path in folder.glob(klue_re.RELATION_LIST):
        yield "table1.klue-re.classes", len(klue_re.relations(path))
    for path in find_files(wos.ONTOLOGY, folder):
        yield "table1.wos.classes", len(wos.ontology(path))


def count_classes(splits: Mapping[str, Splits]) -> FigureValues:
    """Kinds of gold that occur; dev holds all but the rarest labels of DP."""
    classes_in: dict[str, Callable[[dict[str, Any]], Iterable[Any]]] = {
        "ynat.classes": lambda gold: [gold["label"]],
        "klue-sts.classes": lambda gold: [gold["binary"]],
        "klue-nli.classes": lambda gold: [gold["label"]],
        "klue-ner.classes": lambda gold: (span.label for span in gold["spans"]),
        "klue-ner.tags": tags_in,
        "klue-mrc.classes": lambda gold: [bool(gold["answers"])],
        "klue-dp.classes": lambda gold: gold["tree"]["labels"],
    }
    for figure, find_classes in classes_in.items():
        name = figure.partition(".")[0]
        golds = [e.gold for examples in splits[name].values() for e in examples if e.gold]
        count = len({each for gold in golds for each in find_classes(gold)})
        if count:
            is_partial = name == klue_dp.NAME
            value = total_or_partial(count, splits[name]) if is_partial else count
            yield f"table1.{figure}", value


def tags_in(gold: Mapping[str, Any]) -> set[str]:
    """The character tags of entities: B-X, and I-X where one is longer than a character."""
    tags = set()
    for span in gold["spans"]:
        tags.add(f"B-{span.label}")
        if span.end - span.start > 1:
            tags.add(f"I-{span.label}")
    return tags


def measure_lengths(splits: Splits) -> FigureValues:
    """Mean characters of premise and hypothesis by source, over all pairs."""
    pairs = [example for examples in splits.values() for example in examples]
    by_row: dict[str, list[Example]] = {"total": pairs} if pairs else {}
    for example in pairs:
        by_row.setdefault(sources_of(example)[0], []).append(example)
    for row, examples in by_row.items():
        for side in ("premise", "hypothesis"):
            mean = sum(len(example.inputs[side]) for example in examples) / len(examples)
            yield f"table6.{row}.{side}", total_or_partial(mean, splits)


def count_entities(splits: Splits) -> FigureValues:
    """Table 9: entities, and distinct ones, by type; the totals of types add the types up."""

    def types_of(example: Example) -> list[str]:
        return [span.label for span in example.gold.get("spans", ())]

    yield from count_rows("table9", splits, types_of)
    columns: dict[str, set[tuple[str, str]]] = {split: set() for split in splits}
    for split, examples in splits.items():
        for example in examples:
            text = example.inputs["text"]
            for span in example.gold.get("spans", ()):
                columns[split].add((span.label, text[span.start : span.end]))
    labelled = [split for split, examples in splits.items() if any(e.gold for e in examples)]
    columns["total"] = set().union(*columns.values())
    for column, entities in columns.items():
        counts = Counter(label for label, _ in entities)
        if counts:
            counts["total"] = counts.total()
        for row, count in counts.items():
            value = total_or_partial(count, labelled) if column == "total" else count
            yield f"table9.types.{row}.{column}", value


def add_printed(printed: Mapping[str, Number]) -> FigureValues:
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
        if column == "total" and table.partition(".")[0] != "table9":  # said not to add up
            added = sum(printed[f"{table}.{split}"] for split in SPLITS)
            if added != total:
                yield name, added


def score_worked_example() -> FigureValues:
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


def count_rounded_up(splits: Splits) -> FigureValues:
    """Labels of KLUE-STS dev that are the mean rounded up to one decimal."""
    examples = [e for e in splits.get("dev", ()) if e.gold]
    up = 0
    for example in examples:
        tenths = ceil(round(10 * example.gold["score"], 9))
        up += tenths / 10 == example.meta["rounded"]
    if examples:
        yield "section3-2-1.labels-rounded-up", up
