"""What a training leaves on disk while it runs: the state it is resumed from, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write

STATE_FILE = "state.safetensors"


class TrainingProgress(msgspec.Struct):
    """The progress of a training; `total` is fixed at its start, whatever the clock shows later."""

    key: str
    """Identifies the training: see `training.training_key`."""
    total: int
    """Steps in all."""
    done: int = 0
    seen: int = 0
    """Steps since the mean loss was last reset."""
    seconds: float = 0.0
    """Time spent on steps."""
    looks: int = 0
    """How often held-out text is evaluated, if the minutes decide; otherwise as in the settings."""
    history: list[dict[str, float]] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


def save_state(folder: Path, tensors: dict[str, Any], progress: TrainingProgress) -> None:
    """Replace the state in the folder by this one."""
    from safetensors.torch import save

    on_cpu = {}
    for name, value in tensors.items():
        on_cpu[name] = value.detach().cpu().contiguous()
    data = save(on_cpu, {"marks": msgspec.json.encode(progress).decode()})
    with atomic_write(folder / STATE_FILE, overwrite=True) as file:
        file.write(data)


def load_state(folder: Path, key: str) -> tuple[dict[str, Any], TrainingProgress] | None:
    """The state of a training with this key; None without one, or if it has another key."""
    with _open_state(folder) as state:
        if state is None or state[1].key != key:
            return None
        file, progress = state
        return {name: file.get_tensor(name) for name in file.keys()}, progress  # noqa: SIM118  (no mapping)


def read_progress(folder: Path) -> TrainingProgress | None:
    """The progress of the training whose state is here."""
    with _open_state(folder) as state:
        return None if state is None else state[1]


@contextmanager
def _open_state(folder: Path) -> Iterator[tuple[Any, TrainingProgress] | None]:
    """The state in a folder, open; None without one."""
    path = folder / STATE_FILE
    if not path.is_file():
        yield None
        return
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            yield file, msgspec.json.decode(file.metadata()["marks"], type=TrainingProgress)
    except (SafetensorError, KeyError, TypeError, msgspec.DecodeError):
        what = "the training state cannot be read"
        raise BadInput(what, file=path, cure="remove the file to train from the start") from None
