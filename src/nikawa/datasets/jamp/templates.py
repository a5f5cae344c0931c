"""The published templates, as raw strings: their language is read elsewhere."""

from __future__ import annotations

from pathlib import Path

from nikawa.datasets.jamp.splits import categories
from nikawa.errors import BadInput, suggest
from nikawa.io.tsv import read_tsv
from nikawa.records import Record

TEMPLATES = "dataset/template/template_ver_1_5.tsv"
"""Where the templates lie below the repository folder."""
COLUMNS = (
    "id",
    "premise",
    "hypothesis",
    "entailment",
    "contradiction",
    "ng time unit",
    "test time format",
    "category",
)


class Template(Record, frozen=True, kw_only=True):
    """A line of the published template file."""

    id: int
    premise: str
    """Elements separated by single spaces; slots, choices and literal text."""
    hypothesis: str
    entailment: str
    """The condition under which the label is entailment; tested before `contradiction`, else neutral."""
    contradiction: str
    ng_time_unit: str
    """Time units this template cannot take, or `None`."""
    test_time_format: str
    """The one time format its test problems have, or `None`."""
    category: str


def read_templates(path: Path) -> list[Template]:
    """The templates of a published file, in file order; ids are unique and categories known."""
    seen: dict[int, int] = {}
    templates = []
    for line, row in read_tsv(path, COLUMNS):
        further = [name for name in row if name not in COLUMNS]
        if further:
            what = f"has a column {further[0]!r} too many"
            raise BadInput(what, file=path, line=1, cure="remove it")
        if not row["id"].isdecimal():
            what = f"template id {row['id']!r} is not a number"
            raise BadInput(what, file=path, line=line, cure="number it")
        if row["category"] not in categories():
            what = f"category {row['category']!r} is not known"
            cure = suggest(row["category"], categories())
            raise BadInput(what, file=path, line=line, cure=cure)
        number = int(row["id"])
        if number in seen:
            what = f"template {number} was on line {seen[number]} already"
            raise BadInput(what, file=path, line=line, cure="give each template its own id")
        seen[number] = line
        template = Template(
            id=number,
            premise=row["premise"],
            hypothesis=row["hypothesis"],
            entailment=row["entailment"],
            contradiction=row["contradiction"],
            ng_time_unit=row["ng time unit"],
            test_time_format=row["test time format"],
            category=row["category"],
        )
        templates.append(template)
    return templates
