"""A folder `datasets.load_dataset` takes as it is: Parquet below `data/`, and README.md with its front matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nikawa.datasets.export_columns import Layout, type_words
from nikawa.io.atomic import atomic_write
from nikawa.io.parquet import write_rows
from nikawa.records import Card, Dataset, Kind, Task

DATA, README = "data", "README.md"
BUILT = "made here: nikawa build"
"""How the homepage of a dataset begins that a build made."""

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
LICENCES = ("apache-2.0", "mit", "bsd-3-clause", "bsd-2-clause", "cc0-1.0")


def write_hf(dataset: Dataset, tasks: Sequence[Task], layout: Layout, folder: Path) -> None:
    """Write the data files and the dataset card."""
    shapes = {column.name: column.shape for column in layout.columns}
    for split, rows in layout.rows.items():
        write_rows(folder / data_file(split), rows, shapes=shapes)
    text = "\n".join([*front_matter(dataset, tasks, layout), "", *body(dataset, layout), ""])
    with atomic_write(folder / README) as stream:
        stream.write(text.encode())


def data_file(split: str) -> str:
    """Where the data of a split lies below the folder."""
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
    """The identifier for a licence in words: `CC BY-SA 4.0` is `cc-by-sa-4.0`; one that is not known is `other`."""
    tag = re.sub(r"\s+", "-", licence.strip().lower())
    known = tag in LICENCES or re.fullmatch(r"cc-by(-nc)?(-sa|-nd)?-[234]\.[05]", tag)
    return tag if known else "other"


def size_tag(count: int) -> str:
    """The size class of a dataset."""
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
    yield from _sections(card)


def _sections(card: Card) -> Iterator[str]:
    named = {
        "How the labels were made": card.labels,
        "Workers": card.workers,
        "Source of the texts": card.source,
        "Known problems": "\n".join(f"- {problem}" for problem in card.problems)
        or "None recorded.",
        "Licence": card.licence,
        **({"Procedure": after_paper(card)} if built(card) else {"Citation": card.citation}),
        "Homepage": card.homepage,
    }
    for title, text in named.items():
        yield from ("", f"## {title}", "", text)


def built(card: Card) -> bool:
    """Whether a build made the dataset here: the paper of its recipe is about another one."""
    return card.homepage.startswith(BUILT)


def after_paper(card: Card) -> str:
    """What a dataset made here says in the place of a citation."""
    return f"This is a dataset of its own, {card.name} {card.version}, made by the procedure of: {card.citation}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
