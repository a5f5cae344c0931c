"""Read what `nikawa analyse` wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nikawa.analysis.results import Across, Analysis, Index
from nikawa.errors import BadInput
from nikawa.io.json import read_json

INDEX, ACROSS, FOLDER, SUSPECTS = "index.json", "across.json", "analyses", "suspects"


@dataclass(frozen=True)
class Analyses:
    """The analyses of some runs."""

    index: Index
    each: tuple[Analysis, ...]
    """One a system and set, in the order of the index."""
    across: Across


def read_analyses(folder: Path) -> Analyses:
    """The analyses of `folder`, or of `folder/analyses`."""
    place = folder if (folder / INDEX).is_file() else folder / FOLDER
    if not (place / INDEX).is_file():
        cure = f"run: nikawa analyse {folder}"
        raise BadInput("holds no analyses", file=folder, cure=cure)
    index = read_json(place / INDEX, Index)
    each = tuple(read_json(place / name, Analysis) for name in index.analyses)
    return Analyses(index, each, read_json(place / index.across, Across))
