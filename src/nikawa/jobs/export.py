"""Give a dataset to other tools: a dataset folder, Parquet, a Hugging Face folder, Croissant metadata.

The folder appears whole or not at all; it never replaces a folder that holds anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.folders import CARD, check_split_name, write_folder
from nikawa.jobs._export_columns import lay_out
from nikawa.jobs._export_croissant import CROISSANT, write_croissant
from nikawa.jobs._export_hf import DATA, README, write_hf
from nikawa.records import Dataset, Task

Writer = Callable[[Dataset, Sequence[Task], Path], None]

OURS = (CARD, README, CROISSANT, DATA, "*.jsonl", "*.jsonl.gz", "*.jsonl.zst", "*.parquet", ".*.part")
"""What an export may find and replace in a folder."""


def export(dataset: Dataset, tasks: Sequence[Task], to: str, out: Path, *, overwrite: bool = False) -> None:
    """Write `dataset` to the folder `out` as `jsonl`, `parquet`, `hf` or `croissant`."""
    if to not in WRITERS:
        raise unknown("export format", to, WRITERS)
    refuse_existing(out, overwrite)
    refuse_strangers(out)
    for split in dataset.splits:
        check_split_name(split)
    with atomic_folder(out, overwrite=overwrite) as folder:
        WRITERS[to](dataset, tasks, folder)


def refuse_strangers(folder: Path) -> None:
    """Refuse to replace what no export wrote."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", file=folder, cure="choose another name")
    for found in sorted(folder.iterdir()) if folder.exists() else ():
        if not any(fnmatch(found.name, pattern) for pattern in OURS):
            what = f"holds {found.name!r}, which is no part of an export"
            raise BadInput(what, file=folder, cure="move it away, or choose another folder")


def _jsonl(dataset: Dataset, tasks: Sequence[Task], folder: Path) -> None:
    write_folder(dataset, folder)


def _parquet(dataset: Dataset, tasks: Sequence[Task], folder: Path) -> None:
    write_folder(dataset, folder, suffix=".parquet")


def _hf(dataset: Dataset, tasks: Sequence[Task], folder: Path) -> None:
    write_hf(dataset, tasks, lay_out(dataset), folder)


def _croissant(dataset: Dataset, tasks: Sequence[Task], folder: Path) -> None:
    layout = lay_out(dataset)
    write_hf(dataset, tasks, layout, folder)
    write_croissant(dataset, layout, folder)


WRITERS: dict[str, Writer] = {"jsonl": _jsonl, "parquet": _parquet, "hf": _hf, "croissant": _croissant}
