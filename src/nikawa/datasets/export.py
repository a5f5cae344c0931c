"""Give a dataset to other tools: a dataset folder, Parquet, a Hugging Face folder, Croissant metadata.

The folder appears whole or not at all; it replaces only what the list that an earlier export left names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.export_columns import lay_out
from nikawa.datasets.export_croissant import write_croissant
from nikawa.datasets.export_hf import write_hf
from nikawa.datasets.export_manifest import refuse_strangers, write_manifest
from nikawa.datasets.hidden import veiled
from nikawa.errors import unknown
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.folders import check_split_name, write_folder
from nikawa.records import Dataset, Example, Task

INHERITED = "inherited_"
"""What keys of meta begin with that hold the label of a parent."""
Writer = Callable[[Dataset, Sequence[Task], Path], None]


def export(
    dataset: Dataset, tasks: Sequence[Task], to: str, out: Path, *, overwrite: bool = False
) -> None:
    """Write `dataset` to the folder `out` as `jsonl`, `parquet`, `hf` or `croissant`; labels that are hidden stay behind."""
    if to not in WRITERS:
        raise unknown("export format", to, WRITERS)
    refuse_existing(out, overwrite)
    refuse_strangers(out)
    for split in dataset.splits:
        check_split_name(split)
    with atomic_folder(out, overwrite=overwrite) as folder:
        WRITERS[to](_public(veiled(dataset)), tasks, folder)
        write_manifest(folder)


def _public(dataset: Dataset) -> Dataset:
    """The dataset without labels that are hidden, whether or not the copy at hand holds them."""
    if not any(example.hidden for examples in dataset.splits.values() for example in examples):
        return dataset
    splits = {name: tuple(map(_bare, examples)) for name, examples in dataset.splits.items()}
    return replace(dataset, splits=splits)


def _bare(example: Example) -> Example:
    if not example.hidden:
        return example
    meta = {key: value for key, value in example.meta.items() if not key.startswith(INHERITED)}
    return replace(example, gold={}, meta=meta)


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


WRITERS: dict[str, Writer] = {
    "jsonl": _jsonl,
    "parquet": _parquet,
    "hf": _hf,
    "croissant": _croissant,
}
