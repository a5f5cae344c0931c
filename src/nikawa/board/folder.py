"""The folder of a board: settings, texts about it, its datasets without labels, the scorer's own folder, and the secret."""

from __future__ import annotations

import hmac
import secrets
from base64 import b32encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nikawa.board.records import BoardSet, Role
from nikawa.board.settings import SETTINGS, BoardSettings, read_settings
from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.load import load
from nikawa.errors import BadInput
from nikawa.io.lines import read_bytes
from nikawa.records import Example, Task
from nikawa.serve.languages import LANGUAGES
from nikawa.stats.slices import slice_examples

SECRET, DATASETS, SCORER, SUBMISSIONS, DATABASE = (
    "secret.key",
    "datasets",
    "scorer",
    "submissions",
    "board.db",
)
KEYS = "keys"
"""The folder of key files, in the scorer's folder."""


@dataclass(frozen=True)
class Board:
    """An opened board. It holds no label: the key files are the scorer's."""

    folder: Path
    settings: BoardSettings
    secret: bytes
    """What ids and names that must not be guessed are made from."""

    @property
    def schema(self) -> str:
        """A short name that stays when the folder moves: the schema in PostgreSQL."""
        return f"nikawa_board_{self.keyed('schema', '').hex()[:16]}"

    @property
    def submissions(self) -> Path:
        """Where received files are kept."""
        return self.folder / SUBMISSIONS

    @property
    def scorer(self) -> Path:
        """The folder that the scoring process alone reads."""
        return self.folder / SCORER

    def dataset_path(self, name: str) -> Path:
        """The published folder of a dataset."""
        return self.folder / DATASETS / name

    def keys_path(self, name: str) -> Path:
        """The key file of a dataset; for the scoring process."""
        return self.scorer / KEYS / f"{name}.jsonl"

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name, in the order of the settings."""
        names = dict.fromkeys(one.dataset for one in self.settings.sets)
        tasks = [task for name in names for task in custom_tasks(str(self.dataset_path(name)))]
        return {task.name: task for task in tasks}

    @cached_property
    def sets(self) -> tuple[BoardSet, ...]:
        """Every task and split that is scored, in the order of the settings."""
        return tuple(self._list_sets())

    def _list_sets(self) -> Iterable[BoardSet]:
        for one in self.settings.sets:
            place = str(self.dataset_path(one.dataset))
            examples = load(place, hidden=True).splits.get(one.split, ())
            for task in self.tasks.values():
                if task.dataset == place and any(map(task.asks, examples)):
                    yield BoardSet(
                        task=task.name,
                        split=one.split,
                        role=one.role,
                        dataset=one.dataset,
                        metrics=task.metrics,
                    )

    def find_set(self, task: str, split: str) -> BoardSet:
        """The set of a task and split; an unknown one raises `BadInput`."""
        for one in self.sets:
            if (one.task, one.split) == (task, split):
                return one
        known = ", ".join(f"{one.task}:{one.split}" for one in self.sets)
        raise BadInput(f"the board has no {task}:{split}", cure=f"it has {known}")

    def sets_of(self, task: str, role: Role | None = None) -> tuple[BoardSet, ...]:
        """The sets of a task, of one role or all."""
        return tuple(
            one for one in self.sets if one.task == task and (role is None or one.role == role)
        )

    def examples(self, task: str, split: str) -> tuple[Example, ...]:
        """The items of a set, without labels."""
        one = self.find_set(task, split)
        dataset = load(str(self.dataset_path(one.dataset)), hidden=True)
        return tuple(filter(self.tasks[task].asks, dataset.splits[split]))

    def slice_keys(self, one: BoardSet) -> tuple[str, ...]:
        """The fields of the settings that the published items of a set can be sliced by, as `nikawa score --by` names them."""
        examples = self.examples(one.task, one.split)
        keys = (name.removeprefix("meta.") for name in self.settings.shown.slices)
        return tuple(key for key in keys if slice_examples(key, examples))

    def slices(self, one: BoardSet) -> dict[str, list[int]]:
        """The places of the items of each slice, as `key=value`."""
        examples = self.examples(one.task, one.split)
        return {
            f"{key}={value}": places
            for key in self.slice_keys(one)
            for value, places in slice_examples(key, examples).items()
        }

    def about(self, language: str) -> str:
        """What the board is about, in a language, else in the board's own."""
        for choice in (language, self.settings.language, *LANGUAGES):
            path = self.folder / f"about.{choice}.md"
            if path.is_file():
                # it may be saved again while visitors read it: half a character is no error
                return read_bytes(path, "settings").decode("utf-8", errors="replace")
        return ""

    def keyed(self, purpose: str, text: str) -> bytes:
        """32 bytes that only the secret gives; two purposes never share any."""
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, message, "sha256")


def make_public_id() -> str:
    """Twelve letters and digits: 60 random bits, for systems and submissions.

    >>> len(make_public_id())
    12
    """
    return b32encode(secrets.token_bytes(10)).decode().lower()[:12]


def open_board(folder: Path, *, with_secret: bool = True) -> Board:
    """Read and check a board's settings, datasets and secret.

    The scoring process is another system user who can read no secret: it opens the board without. Raises `BadInput` where a file
    is missing or wrong.
    """
    settings = read_settings(folder / SETTINGS)
    board = Board(folder, settings, _read_secret(folder / SECRET) if with_secret else b"")
    for one in settings.sets:
        place = board.dataset_path(one.dataset)
        if not place.is_dir():
            cure = "put back the folder that nikawa data hide wrote"
            raise BadInput("the dataset is missing", file=place, cure=cure)
        if not any((s.dataset, s.split) == (one.dataset, one.split) for s in board.sets):
            what = f"has no split {one.split!r} with a task"
            raise BadInput(what, file=place, cure=f"correct [[sets]] in {folder / SETTINGS}")
    return board


def _read_secret(path: Path) -> bytes:
    if not path.exists():
        cure = "restore it from your backup: without it the database of the board is not found"
        raise BadInput("is missing", file=path, cure=cure)
    try:
        secret = bytes.fromhex(read_bytes(path, "settings").decode("ascii").strip())
    except ValueError:
        raise BadInput("is not a secret key", file=path, cure="restore the file") from None
    if len(secret) < 32:
        raise BadInput("is too short to be a secret key", file=path, cure="restore the file")
    return secret
