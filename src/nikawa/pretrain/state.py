"""What a training leaves on disk: its state while it runs, the finished model at the end; each whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.staged import recover, staged_files
from nikawa.pretrain.card import Figures, Story, render

if TYPE_CHECKING:
    from nikawa.pretrain.learn import Learned

NAME = "state.safetensors"
CONFIG, CARD, FIGURES = "config.json", "README.md", "pretraining.json"
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocabulary.json",
)


class Marks(msgspec.Struct):
    """Where a training stands; `total` is fixed at its start, whatever the clock says later."""

    key: str
    total: int
    done: int = 0
    seen: int = 0
    seconds: float = 0.0
    """Time spent on steps."""
    looks: int = 0
    """How often the held-out text is looked at, where the minutes decide; else as the settings say."""
    history: list[dict[str, float]] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


def save_state(folder: Path, tensors: dict[str, Any], marks: Marks) -> None:
    """Replace the state in the folder by this one."""
    from safetensors.torch import save

    flat = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    whole = save(flat, {"marks": msgspec.json.encode(marks).decode()})
    with atomic_write(folder / NAME, overwrite=True) as file:
        file.write(whole)


def load_state(folder: Path, key: str) -> tuple[dict[str, Any], Marks] | None:
    """The state a training of this key left; None where there is none, or another's."""
    with _state(folder) as file:
        if file is None or (marks := _marks(file)).key != key:
            return None
        return {name: file.get_tensor(name) for name in file.keys()}, marks  # noqa: SIM118  (no mapping)


def read_marks(folder: Path) -> Marks | None:
    """Where the training stands that left its state here."""
    with _state(folder) as file:
        return None if file is None else _marks(file)


def _marks(file: Any) -> Marks:
    return msgspec.json.decode(file.metadata()["marks"], type=Marks)


@contextmanager
def _state(folder: Path) -> Iterator[Any]:
    """The state that is kept in a folder, open; None where there is none."""
    path = folder / NAME
    if not path.is_file():
        yield None
        return
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, msgspec.DecodeError):
        raise BadInput(
            "the state of the training cannot be read",
            file=path,
            cure="remove the file to start again",
        ) from None


def write_model(
    learned: Learned, tokenizer: Path, out: Path, story: Story, *, overwrite: bool = False
) -> None:
    """Put the model, its tokenizer, its card and its figures into `out`; what else is there stays."""
    out.mkdir(parents=True, exist_ok=True)
    recover(out, CONFIG)
    refuse_existing(out / CONFIG, overwrite)
    mine = {
        CONFIG,
        CARD,
        FIGURES,
        *TOKENIZER,
        *(path.name for path in out.glob("model*.safetensors*")),
    }
    with staged_files(out, [name for name in mine if (out / name).is_file()], CONFIG) as place:
        _save(learned.model, place)
        for name in TOKENIZER:
            if (tokenizer / name).is_file():
                (place / name).write_bytes((tokenizer / name).read_bytes())
        (place / FIGURES).write_bytes(
            msgspec.json.format(msgspec.json.encode(learned.figures)) + b"\n"
        )
        (place / CARD).write_text(render(story, learned.figures), encoding="utf-8")


def _save(model: Any, place: Path) -> None:
    from safetensors import SafetensorError
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(place)
    except SafetensorError as problem:  # a full disk, in the words of another language
        raise BadInput(
            f"cannot be written: {problem}",
            file=place,
            cure="make room, then give the same command again",
        ) from None
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
    for path in place.glob("model*.safetensors"):  # the library lets nobody else read them
        path.chmod((place / CONFIG).stat().st_mode & 0o777)


def read_figures(folder: Path) -> Figures:
    """The figures of a finished model."""
    path = folder / FIGURES
    if not path.is_file():
        raise BadInput(
            "holds no encoder made by nikawa pretrain", file=folder, cure="name its folder"
        )
    return msgspec.json.decode(path.read_bytes(), type=Figures)
