"""The papers' printed figures: one TOML file per paper, next to the code that recomputes them.

Tables of the file nest; a figure's id joins the keys with dots (`table3.sts.4-5.total`). Four keys are
not figures: `about` (prose), `inputs` (printed numbers that others are computed from), `slips` and
`versions`, which map an id to what the published files give (`recomputed`) and why (`note`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from nikawa.datasets.base import Splits
from nikawa.datasets.load import load
from nikawa.errors import MissingData
from nikawa.records import Example

SPLITS = ("train", "dev", "test")
"""The splits that tables of the papers count, in their order."""
Number = int | float


class Printed(float):
    """A number as the paper prints it: 0.870 has three decimals."""

    decimals: int

    def __new__(cls, text: str) -> Printed:
        """Keep the decimals that the value alone would lose."""
        number = super().__new__(cls, text)
        number.decimals = len(text.partition(".")[2])
        return number


@dataclass(frozen=True)
class Partial:
    """A value computed from some of the files a figure needs."""

    value: Number
    missing: str
    """The files that are not here, in words."""


Value = Number | Partial
FigureValues = Iterator[tuple[str, Value]]
"""Ids of figures with what the files give for them."""


@dataclass(frozen=True)
class Explanation:
    """What the files give where the paper prints something else, and why."""

    recomputed: Number | tuple[Number, ...]
    """One value, or one a release."""
    note: str

    @property
    def values(self) -> tuple[Number, ...]:
        """All values it explains."""
        return self.recomputed if isinstance(self.recomputed, tuple) else (self.recomputed,)


@dataclass(frozen=True)
class Figures:
    """The figures of one paper."""

    printed: Mapping[str, Number]
    """Figure id to the number in the paper."""
    slips: Mapping[str, Explanation]
    """Figures that the paper's own files or arithmetic contradict."""
    versions: Mapping[str, Explanation]
    """Figures that another release of the files changed."""
    inputs: Mapping[str, Any] = field(default_factory=dict)


Compute = Callable[[Path | None], Mapping[str, Value]]
"""`compute(data)` of the module of a paper in this folder: figure id to value. Figures without data are missing."""


def papers() -> list[str]:
    """The papers that have a figures file."""
    return sorted(file.stem for file in Path(__file__).parent.glob("*.toml"))


def read_figures(paper: str) -> Figures:
    """The figures file of one paper; the order of `printed` is that of the file."""
    text = (Path(__file__).parent / f"{paper}.toml").read_text("utf-8")
    raw = tomllib.loads(text, parse_float=Printed)
    raw.pop("about", None)
    return Figures(
        slips=read_explained(raw.pop("slips", {})),
        versions=read_explained(raw.pop("versions", {})),
        inputs=raw.pop("inputs", {}),
        printed=dict(flatten_table(raw)),
    )


def read_explained(entries: Mapping[str, Any]) -> dict[str, Explanation]:
    """A table of explanations: figure id to what the files give and why."""
    explained = {}
    for name, entry in entries.items():
        value = entry["recomputed"]
        explained[name] = Explanation(
            tuple(value) if isinstance(value, list) else value, entry["note"]
        )
    return explained


def flatten_table(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Number]]:
    """The numbers of a nested table, each under its keys joined with dots.

    >>> dict(flatten_table({"table1": {"train": 3, "dev": 2}}))
    {'table1.train': 3, 'table1.dev': 2}
    """
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flatten_table(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def compute_of(paper: str) -> Compute:
    """The function that recomputes the figures of one paper."""
    compute: Compute = import_module(f"nikawa.reproduce.{paper}").compute
    return compute


def load_splits(name: str, data: Path | None) -> Splits:
    """The splits of a published dataset; none where its files are not here."""
    try:
        return load(name, data=data).splits
    except MissingData:
        return {}


def missing_splits(splits: Container[str]) -> list[str]:
    """Which of train, dev and test are not among some splits."""
    return [split for split in SPLITS if split not in splits]


def label_of(example: Example) -> str:
    """The gold label."""
    return str(example.gold["label"])
