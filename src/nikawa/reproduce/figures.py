"""The papers' printed figures: one TOML file a paper, beside the code that recomputes them.

Tables of the file nest; a figure's id joins the keys with dots (`table3.sts.4-5.total`). Four keys are
not figures: `about` (prose), `inputs` (printed numbers that others are computed from), `slips` and
`versions`, which map an id to what the published files give (`recomputed`) and why (`note`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Explained:
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
    slips: Mapping[str, Explained]
    versions: Mapping[str, Explained]
    inputs: Mapping[str, Any] = field(default_factory=dict)


Compute = Callable[[Path | None], Mapping[str, Number | Partial]]
"""`compute(data)` of a paper's file beside this one: figure id to value; ids left out have no data here."""


def papers() -> list[str]:
    """The papers that have a figures file."""
    return sorted(file.stem for file in Path(__file__).parent.glob("*.toml"))


def read_figures(paper: str) -> Figures:
    """The figures file of one paper."""
    text = (Path(__file__).parent / f"{paper}.toml").read_text("utf-8")
    raw = tomllib.loads(text, parse_float=Printed)
    slips, versions = (
        {name: _explained(entry) for name, entry in raw.pop(key, {}).items()}
        for key in ("slips", "versions")
    )
    raw.pop("about", None)
    inputs = raw.pop("inputs", {})
    return Figures(printed=dict(_flatten(raw)), slips=slips, versions=versions, inputs=inputs)


def _explained(entry: Mapping[str, Any]) -> Explained:
    value = entry["recomputed"]
    return Explained(tuple(value) if isinstance(value, list) else value, entry["note"])


def compute_of(paper: str) -> Compute:
    """The function that recomputes the figures of one paper."""
    compute: Compute = import_module(f"nikawa.reproduce.{paper}").compute
    return compute


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Number]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
