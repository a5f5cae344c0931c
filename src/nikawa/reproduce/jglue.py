"""Recomputes the counts that the JGLUE papers print, from whichever files are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from pathlib import Path

from nikawa.datasets.base import Splits
from nikawa.metrics import Items
from nikawa.metrics.jsquad import character_f1_mean, exact_match
from nikawa.records import Example
from nikawa.reproduce.figures import (
    SPLITS,
    FigureValues,
    Partial,
    Value,
    label_of,
    load_splits,
    missing_splits,
    read_figures,
)

SETS = ("marc-ja", "jsts", "jnli", "jsquad", "jcommonsenseqa")
BINS = ("0-1", "1-2", "2-3", "3-4", "4-5")
MAX_WORKERS = 10
"""Numbers of workers per item that are tried for the labels of JSTS."""


def compute(data: Path | None = None) -> Mapping[str, Value]:
    """Figure id to value; a total over splits that are not all here is a `Partial`."""
    splits = {name: load_splits(name, data) for name in SETS}
    values = [
        *count_examples(splits),
        *count_workers(splits["jsts"]),
        *count_origins(splits),
        *score_humans(splits["jsquad"]),
        *add_questions(),
        *measure_majority(splits["jnli"]),
    ]
    for tables, name, rows, row_of in (
        (("table2", "ja.table5"), "marc-ja", ("positive", "negative"), label_of),
        (("table4", "ja.table6"), "jsts", BINS, bin_of),
        (("table5", "ja.table7"), "jnli", ("entailment", "neutral", "contradiction"), label_of),
    ):
        counts = count_rows(keep_labelled(splits[name]), row_of)
        for table in tables:
            values += tabulate_counts(table, rows, counts)
    return dict(values)


def keep_labelled(splits: Splits) -> Splits:
    """The splits whose labels are published."""
    return {split: examples for split, examples in splits.items() if examples and examples[0].gold}


def bin_of(example: Example) -> str:
    """The bin of a gold similarity: its lower bound belongs to it; the last bin holds 5 as well."""
    return BINS[min(int(example.gold["score"]), len(BINS) - 1)]


def count_rows(splits: Splits, row_of: Callable[[Example], str]) -> dict[str, Counter[str]]:
    """Split to row of a table to examples."""
    return {split: Counter(map(row_of, splits[split])) for split in SPLITS if split in splits}


def total_or_partial(value: int, splits: Container[str]) -> Value:
    """A total over `splits`; partial where they are not train, dev and test."""
    missing = missing_splits(splits)
    if not missing:
        return value
    return Partial(value, f"the {' and '.join(missing)} file{'s' if len(missing) > 1 else ''}")


def count_examples(every: Mapping[str, Splits]) -> FigureValues:
    """Table 1: examples of each split of each dataset."""
    for name, splits in every.items():
        for split in SPLITS:
            if split in splits:
                yield f"table1.{name}.{split}", len(splits[split])
                yield f"ja.table1.{name}.{split}", len(splits[split])


def tabulate_counts(
    table: str, rows: tuple[str, ...], counts: Mapping[str, Counter[str]]
) -> FigureValues:
    """A table of counts with its margins."""
    for split, of_split in counts.items():
        for row in rows:
            yield f"{table}.{row}.{split}", of_split[row]
        yield f"{table}.overall.{split}", of_split.total()
    if counts:
        total = sum(counts.values(), Counter[str]())
        for row in rows:
            yield f"{table}.{row}.total", total_or_partial(total[row], counts)
        yield f"{table}.overall.total", total_or_partial(total.total(), counts)


def count_origins(splits: Mapping[str, Splits]) -> FigureValues:
    """Pairs by the flow (A, B or C) that made them."""
    for name, flows in (("jsts", "ABC"), ("jnli", "AC")):
        counts = count_rows(splits[name], lambda example: str(example.meta["source"]))
        if counts:
            total = sum(counts.values(), Counter[str]())
            for flow in flows:
                yield f"origin.{name}.{flow}", total_or_partial(total[flow], counts)


def count_workers(splits: Splits) -> FigureValues:
    """The fewest workers whose mean answer can give every label: 5 where labels step by 0.2."""
    labels = {e.gold["score"] for examples in keep_labelled(splits).values() for e in examples}
    for workers in range(1, MAX_WORKERS + 1):
        sums = [workers * label for label in labels]
        if labels and all(abs(total - round(total)) < 1e-6 for total in sums):
            yield "table6.workers", workers
            return


def score_humans(splits: Splits) -> FigureValues:
    """What a person scores on JSQuAD: the first answer against the others, by the official scorer."""
    for split in ("dev", "test"):
        answers = [example.gold.get("answers", ()) for example in splits.get(split, ())]
        several = [each for each in answers if len(each) > 1]
        if several:
            items = Items([each[1:] for each in several], [each[0]["text"] for each in several])
            for table in ("table9", "ja.table3"):
                yield f"{table}.human.jsquad.{split}.em", exact_match(items).value
                yield f"{table}.human.jsquad.{split}.f1", character_f1_mean(items).value


def add_questions() -> FigureValues:
    """What the papers' own numbers say of another: 14 questions were taken out at the end."""
    printed = read_figures("jglue").printed
    for name, table, taken in (
        ("jcommonsenseqa", "table1", 14),
        ("jcommonsenseqa-by-ja-table1", "ja.table1", 0),
    ):
        kept = sum(printed[f"{table}.jcommonsenseqa.{split}"] for split in SPLITS)
        yield f"section3-4-2.{name}", taken + kept


def measure_majority(splits: Splits) -> FigureValues:
    """Share of neutral in all of JNLI dev."""
    labels = [label_of(example) for example in splits.get("dev", ()) if example.gold]
    if labels:
        yield "table10.majority", labels.count("neutral") / len(labels)
