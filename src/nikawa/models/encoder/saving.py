"""A trained model on disk: written beside, then moved into place, so that no half of one is ever there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder
from nikawa.models.encoder.backbone import quiet


@contextmanager
def saved_to(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A folder to save in, which appears as `folder` when all is written; an empty one may be there already."""
    from safetensors import SafetensorError

    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", file=folder, cure="choose another place")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise BadInput(
            "is not empty", file=folder, cure="choose another folder, or say overwrite=True"
        )
    try:
        with atomic_folder(folder, overwrite=overwrite or folder.is_dir()) as place, quiet():
            yield place
    except (OSError, SafetensorError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise BadInput(
            f"the model cannot be written: {why}",
            file=folder,
            cure="make room, or choose another place",
        ) from None
