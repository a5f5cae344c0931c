"""A folder for Hugging Face `datasets.load_dataset`: Parquet below `data/`,
README.md with front matter.

The layout is a table: plain column names, one type per column over all splits, and the hub's names
of splits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nikawa.io.atomic import atomic_write
from nikawa.io.columns import columns_of, flatten
from nikawa.io.parquet import write_rows
from nikawa.io.shapes import ListOf, Shape, Struct, column_shape
from nikawa.printable import plain_markdown
from nikawa.records import Card, Dataset, Kind, Task

SPLIT_NAMES = {"dev": "validation", "all": "full"}
"""The hub's names of splits; `all` means all splits together there."""
FIXED = ("id", "group", "tags", "origin")
"""Columns that every example may have, under these names."""
DATA, README = "data", "README.md"
BUILT = "made here: nikawa build"
"""The prefix of the homepage of a dataset that a build made."""

CATEGORIES: dict[Kind, str] = {
    "text": "text-classification",
    "inference": "text-classification",
    "similarity": "sentence-similarity",
    "choice": "multiple-choice",
    "reading": "question-answering",
    "tagging": "token-classification",
    "relation": "text-classification",
    "tree": "token-classification",
    "dialogue": "other",
}
SIZES = (
    (1e3, "n<1K"),
    (1e4, "1K<n<10K"),
    (1e5, "10K<n<100K"),
    (1e6, "100K<n<1M"),
    (1e7, "1M<n<10M"),
)
"""Upper bounds of examples to the size classes of the Hugging Face hub."""
LICENCES = ("apache-2.0", "mit", "bsd-3-clause", "bsd-2-clause", "cc0-1.0")
"""Known licence identifiers of the hub, in addition to those of Creative Commons."""


@dataclass(frozen=True)
class Column:
    """A column of the export."""

    name: str
    """The name others see: plain, and different from all other columns."""
    source: str
    """The column here: `inputs.premise`, `gold.label`, …"""
    shape: Shape


@dataclass(frozen=True)
class Layout:
    """Columns and rows by split, under the names others see."""

    columns: tuple[Column, ...]
    splits: dict[str, str]
    """Our name of a split to theirs."""
    rows: dict[str, list[dict[str, Any]]]
    """Their name of a split to its rows."""


def lay_out(dataset: Dataset) -> Layout:
    """Flatten every split into columns that all splits share."""
    flat = {
        split: [flatten(example) for example in examples]
        for split, examples in dataset.splits.items()
    }
    everything = [row for rows in flat.values() for row in rows]
    sources = columns_of(everything)
    names = column_names(sources)
    columns = []
    for source in sources:
        shape = column_shape(row[source] for row in everything if source in row)
        columns.append(Column(names[source], source, simplify(shape)))
    splits = make_distinct(
        (split, SPLIT_NAMES.get(split, re.sub(r"\W+", "_", split))) for split in dataset.splits
    )
    rows = {
        splits[split]: [{names[source]: value for source, value in row.items()} for row in rows]
        for split, rows in flat.items()
    }
    return Layout(tuple(columns), splits, rows)


def column_names(sources: Sequence[str]) -> dict[str, str]:
    """Inputs and gold under their own names, gold as `gold_…` where an input has the name; meta as
    `meta_…`.

    >>> column_names(["id", "inputs.text", "gold.text", "meta.source"])
    {'id': 'id', 'inputs.text': 'text', 'gold.text': 'gold_text', 'meta.source': 'meta_source'}
    """
    inputs = {source.partition(".")[2] for source in sources if source.startswith("inputs.")}
    names = []
    for source in sources:
        head, dot, name = source.partition(".")
        if not dot:
            names.append(source)
            continue
        clashes = name in FIXED or (head != "inputs" and name in inputs)
        prefixed = f"{head.removesuffix('s')}_{name}" if head == "meta" or clashes else name
        names.append(re.sub(r"\W+", "_", prefixed))
    return make_distinct(zip(sources, names, strict=True))


def make_distinct(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Our names to theirs; a name of theirs that another had first gets a number.

    >>> make_distinct([("dev", "validation"), ("valid", "validation")])
    {'dev': 'validation', 'valid': 'validation_2'}
    """
    names: dict[str, str] = {}
    for ours, theirs in pairs:
        base = theirs or "_"
        options = [base, *(f"{base}_{number}" for number in range(2, len(names) + 3))]
        names[ours] = next(option for option in options if option not in names.values())
    return names


def simplify(shape: Shape) -> Shape:
    """`shape` if others can describe it (values, lists of them, mappings of those, lists of
    mappings), else JSON text.
    """
    inner = shape.item if isinstance(shape, ListOf) else shape
    if isinstance(inner, Struct):
        plain = all(
            _is_values(part) and re.fullmatch(r"[A-Za-z_]\w*", name) for name, part in inner.fields
        )
        return shape if plain else "json"
    return shape if _is_values(inner) else "json"


def _is_values(shape: Shape) -> bool:
    while isinstance(shape, ListOf):
        shape = shape.item
    return not isinstance(shape, Struct)


def type_words(shape: Shape) -> str:
    """A shape in words, for the dataset card."""
    if isinstance(shape, ListOf):
        return f"list of {type_words(shape.item)}"
    if isinstance(shape, Struct):
        return "{" + ", ".join(f"{name}: {type_words(part)}" for name, part in shape.fields) + "}"
    return {"flag": "true or false", "long": "integer", "json": "JSON text"}.get(shape, shape)


def write_hf(dataset: Dataset, tasks: Sequence[Task], layout: Layout, folder: Path) -> None:
    """Write the data files and the dataset card."""
    shapes = {column.name: column.shape for column in layout.columns}
    sources = {column.name: column.source for column in layout.columns}
    for split, rows in layout.rows.items():
        write_rows(folder / data_file(split), rows, shapes=shapes, sources=sources)
    text = "\n".join([*front_matter(dataset, tasks, layout), "", *body(dataset, layout), ""])
    with atomic_write(folder / README) as stream:
        stream.write(text.encode())


def data_file(split: str) -> str:
    """Return the path of a split's data below the folder."""
    return f"{DATA}/{split}.parquet"


def front_matter(dataset: Dataset, tasks: Sequence[Task], layout: Layout) -> Iterator[str]:
    """The YAML between the dashes; every scalar is quoted as JSON, which is YAML too."""
    card, licence = dataset.card, licence_tag(dataset.card.licence)
    yield from ("---", f"license: {licence}")
    if licence == "other":
        yield f"license_name: {_quoted(card.licence)}"
    yield f"language: {_quoted(card.languages)}"
    yield f"pretty_name: {_quoted(card.title)}"
    yield f"task_categories: {_quoted(sorted({CATEGORIES[task.kind] for task in tasks}))}"
    yield f"size_categories: {_quoted([size_tag(len(dataset))])}"
    yield from ("configs:", "- config_name: default", "  data_files:")
    for split in layout.splits.values():
        yield from (f"  - split: {_quoted(split)}", f"    path: {_quoted(data_file(split))}")
    yield "---"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def licence_tag(licence: str) -> str:
    """The identifier for a licence in words: `CC BY-SA 4.0` is `cc-by-sa-4.0`.

    One that is not known is `other`.

    >>> licence_tag("CC BY-SA 4.0"), licence_tag("ask the authors")
    ('cc-by-sa-4.0', 'other')
    """
    tag = re.sub(r"\s+", "-", licence.strip().lower())
    known = tag in LICENCES or re.fullmatch(r"cc-by(-nc)?(-sa|-nd)?-[234]\.[05]", tag)
    return tag if known else "other"


def size_tag(count: int) -> str:
    """The size class of a dataset.

    >>> size_tag(5000)
    '1K<n<10K'
    """
    return next((tag for limit, tag in SIZES if count < limit), "10M<n<100M")


def body(dataset: Dataset, layout: Layout) -> Iterator[str]:
    """The part for people."""
    card = dataset.card
    yield from (f"# {card.title}", "", card.description, "", f"Version {dataset.version}.", "")
    yield from ("## Splits", "", "| split | examples | name in the source |", "|---|---:|---|")
    for ours, theirs in layout.splits.items():
        yield f"| {theirs} | {len(layout.rows[theirs])} | {_cell(ours)} |"
    yield from ("", "## Columns", "", "| column | holds | from |", "|---|---|---|")
    for column in layout.columns:
        yield f"| {column.name} | {_cell(type_words(column.shape))} | {_cell(column.source)} |"
    yield from (
        "",
        "A value that an example does not have is null; gold that is hidden is null too.",
    )
    problems = "\n".join(f"- {problem}" for problem in card.problems)
    paper = ("Procedure", procedure_note(card)) if is_built(card) else ("Citation", card.citation)
    sections = (
        ("How the labels were made", plain_markdown(card.labels)),
        ("Workers", card.workers),
        ("Source of the texts", card.source),
        ("Known problems", problems or "None recorded."),
        ("Licence", card.licence),
        paper,
        ("Homepage", card.homepage),
    )
    for title, text in sections:
        yield from ("", f"## {title}", "", text)


def is_built(card: Card) -> bool:
    """Whether a build made the dataset here: the paper of its recipe is about another one."""
    return card.homepage.startswith(BUILT)


def procedure_note(card: Card) -> str:
    """Return the text of a dataset made by Nikawa in place of a citation."""
    return f"This is a dataset of its own, {card.name} {card.version}, made by the procedure of: {card.citation}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
