"""Export a dataset for other tools: a dataset folder, Parquet, a Hugging Face folder, Croissant
metadata.

The folder is written completely or not at all. An export writes a list of its files with their hashes, and
replaces only those: never a user's own file or a card that was edited since.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from nikawa.datasets.export_croissant import sha256, write_croissant
from nikawa.datasets.export_hf import lay_out, write_hf
from nikawa.datasets.hidden import hide_inherited, remove_hidden_labels
from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_folder, atomic_write, refuse_existing
from nikawa.io.folders import check_split_names, write_folder
from nikawa.io.json import encode_json, read_json
from nikawa.io.remote import UNFINISHED, RemotePath
from nikawa.records import Dataset, Record, Task

FORMATS = ("jsonl", "parquet", "hf", "croissant")
"""The values of `nikawa data export --to`."""
MANIFEST = ".nikawa-export.json"
"""The file that lists the files of an export."""


class Manifest(Record, frozen=True, kw_only=True):
    """The files of an export."""

    files: dict[str, str]
    """Path below the folder, with `/` between its parts, to SHA-256."""


def export(
    dataset: Dataset,
    tasks: Sequence[Task],
    to: str,
    out: Path,
    *,
    overwrite: bool = False,
    extra_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write `dataset` to the folder `out` in one of `FORMATS`, without hidden labels.

    `extra_files` are further files of a dataset folder, name to content.

    Raises `BadInput` if `out` contains a file that an export did not write, or one that was changed since,
    even with `overwrite`.
    """
    if to not in FORMATS:
        raise unknown("export format", to, FORMATS)
    refuse_existing(out, overwrite)
    refuse_strangers(out)
    check_split_names(dataset.splits)
    public = remove_hidden_labels(hide_inherited(dataset))
    with atomic_folder(out, overwrite=overwrite) as folder:
        if to in ("jsonl", "parquet"):
            write_folder(public, folder, suffix=f".{to}", extra_files=extra_files)
        else:
            layout = lay_out(public)
            write_hf(public, tasks, layout, folder)
            if to == "croissant":
                write_croissant(public, layout, folder)
        manifest = Manifest(files={name: sha256(folder / name) for name in files_in(folder)})
        with atomic_write(folder / MANIFEST) as stream:
            stream.write(encode_json(manifest) + b"\n")


def files_in(folder: Path) -> list[str]:
    """Return everything below `folder` that is not a folder (a link to a folder is not one), by its path
    below it.
    """
    if isinstance(folder, RemotePath):
        return folder.list_names() if folder.is_dir() else []
    paths: list[str] = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        names = [*files, *(name for name in folders if (here / name).is_symlink())]
        paths.extend((here / name).relative_to(folder).as_posix() for name in names)
    return sorted(paths)


def refuse_strangers(folder: Path) -> None:
    """Refuse to replace files that an export did not write."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", file=folder, cure="choose another name")
    manifest = folder / MANIFEST
    exported = read_json(manifest, Manifest).files if manifest.is_file() else {}
    cure = "move it away, or choose another folder"
    for name in files_in(folder):
        if name not in (MANIFEST, UNFINISHED, *exported):
            raise BadInput(
                f"contains {name!r}, which an export did not write", file=folder, cure=cure
            )
        if name in exported and sha256(folder / name) != exported[name]:
            what = f"contains {name!r}, which was changed after the export"
            raise BadInput(what, file=folder, cure=cure)
