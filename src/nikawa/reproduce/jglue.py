"""Recomputes the counts that the JGLUE papers print, from whichever files are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from nikawa.datasets.base import Splits
from nikawa.datasets.load import load
from nikawa.errors import MissingData
from nikawa.metrics import Items
from nikawa.metrics.jsquad import character_f1_mean, exact_match
from nikawa.records import Example
from nikawa.reproduce.figures import Number, Partial, read_figures

SPLITS = ("train", "dev", "test")
SETS = ("marc-ja", "jsts", "jnli", "jsquad", "jcommonsenseqa")
BINS = ("0-1", "1-2", "2-3", "3-4", "4-5")

Value = tuple[str, Number | Partial]


def compute(data: Path | None = None) -> Mapping[str, Number | Partial]:
    """Figure id to value; a total over splits that are not all here is a `Partial`."""
    splits = {name: _splits(name, data) for name in SETS}
    values = [
        *_sizes(splits),
        *_workers(splits["jsts"]),
        *_origins(splits),
        *_human(splits["jsquad"]),
        *_arithmetic(),
        *_majority(splits["jnli"]),
    ]
    for tables, name, rows, row_of in (
        (("table2", "ja.table5"), "marc-ja", ("positive", "negative"), _label),
        (("table4", "ja.table6"), "jsts", BINS, _bin),
        (("table5", "ja.table7"), "jnli", ("entailment", "neutral", "contradiction"), _label),
    ):
        counts = _counts(_labelled(splits[name]), row_of)
        for table in tables:
            values += _table(table, rows, counts)
    return dict(values)


def _splits(name: str, data: Path | None) -> Splits:
    try:
        return load(name, data=data).splits
    except MissingData:
        return {}


def _labelled(splits: Splits) -> Splits:
    return {split: examples for split, examples in splits.items() if examples and examples[0].gold}


def _label(example: Example) -> str:
    return str(example.gold["label"])


def _bin(example: Example) -> str:
    """Bins take in their lower bound; the last takes in 5 as well."""
    return BINS[min(int(example.gold["score"]), len(BINS) - 1)]


def _source(example: Example) -> str:
    return str(example.meta["source"])


def _counts(splits: Splits, row_of: Callable[[Example], str]) -> dict[str, Counter[str]]:
    return {split: Counter(map(row_of, splits[split])) for split in SPLITS if split in splits}


def _sizes(found: Mapping[str, Splits]) -> Iterator[Value]:
    for name, splits in found.items():
        for split in SPLITS:
            if split in splits:
                yield f"table1.{name}.{split}", len(splits[split])
                yield f"ja.table1.{name}.{split}", len(splits[split])


def _table(
    table: str, rows: tuple[str, ...], counts: Mapping[str, Counter[str]]
) -> Iterator[Value]:
    """A table of counts with its margins."""
    for split, of_split in counts.items():
        for row in rows:
            yield f"{table}.{row}.{split}", of_split[row]
        yield f"{table}.overall.{split}", of_split.total()
    if counts:
        total = sum(counts.values(), Counter[str]())
        for row in rows:
            yield f"{table}.{row}.total", _whole(total[row], counts)
        yield f"{table}.overall.total", _whole(total.total(), counts)


def _origins(splits: Mapping[str, Splits]) -> Iterator[Value]:
    for name, flows in (("jsts", "ABC"), ("jnli", "AC")):
        counts = _counts(splits[name], _source)
        if counts:
            total = sum(counts.values(), Counter[str]())
            for flow in flows:
                yield f"origin.{name}.{flow}", _whole(total[flow], counts)


def _whole(value: int, counts: Mapping[str, object]) -> Number | Partial:
    missing = [split for split in SPLITS if split not in counts]
    if not missing:
        return value
    return Partial(value, f"the {' and '.join(missing)} file{'s' if len(missing) > 1 else ''}")


def _workers(splits: Splits) -> Iterator[Value]:
    """The fewest workers whose mean answer can give every label: 5 where labels step by 0.2."""
    labels = {e.gold["score"] for examples in _labelled(splits).values() for e in examples}
    if labels:
        steps = (n for n in range(1, 11) if all(abs(n * x - round(n * x)) < 1e-6 for x in labels))
        fewest = next(steps, None)
        if fewest is not None:
            yield "table6.workers", fewest


def _human(splits: Splits) -> Iterator[Value]:
    """What a person scores on JSQuAD: the first answer against the others, by the official scorer."""
    for split in ("dev", "test"):
        examples = [e for e in splits.get(split, ()) if len(e.gold.get("answers", ())) > 1]
        if examples:
            items = Items(
                [e.gold["answers"][1:] for e in examples],
                [e.gold["answers"][0]["text"] for e in examples],
            )
            for table in ("table9", "ja.table3"):
                yield f"{table}.human.jsquad.{split}.em", exact_match(items).value
                yield f"{table}.human.jsquad.{split}.f1", character_f1_mean(items).value


def _arithmetic() -> Iterator[Value]:
    """What the papers' own numbers say of another: 14 questions were taken out at the end."""
    printed = read_figures("jglue").printed
    for name, table, taken in (
        ("jcommonsenseqa", "table1", 14),
        ("jcommonsenseqa-by-ja-table1", "ja.table1", 0),
    ):
        yield (
            f"section3-4-2.{name}",
            taken + sum(printed[f"{table}.jcommonsenseqa.{split}"] for split in SPLITS),
        )


def _majority(splits: Splits) -> Iterator[Value]:
    """Share of neutral in all of JNLI dev."""
    labels = [_label(example) for example in splits.get("dev", ()) if example.gold]
    if labels:
        yield "table10.majority", labels.count("neutral") / len(labels)
