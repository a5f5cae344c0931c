"""`replay:FILE`: the answers of a file in any form that `nikawa score` reads, as if a model gave
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec

from nikawa.errors import BadInput
from nikawa.io.remote import to_path
from nikawa.models.base import Model, Setup, read_settings
from nikawa.records import Example, Kind, Prediction, Task


class ReplaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of `replay:FILE`."""

    extract: tuple[str, ...] = ()
    """Regular expressions that extract the answer from a longer text, tried in order."""
    form: str = ""
    """The form of the file, as `nikawa score --form` takes it; empty: detected from its content."""


class Replay:
    """Looks answers up by id; an example that is not in the file gets no answer, with the reason."""

    name = "replay"

    def __init__(self, setup: Setup) -> None:
        settings = read_settings(ReplaySettings, setup)
        self._extract, self._form = settings.extract, settings.form or None
        self._path = to_path(setup.argument)
        if not self._path.exists():
            raise BadInput(
                "no such file or folder",
                file=self._path,
                cure="pass an existing file or folder as replay:FILE",
            )

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The answers of the file."""
        from nikawa.datasets.task_lookup import has_numbered_labels
        from nikawa.io.answers import read_answers

        numbered = has_numbered_labels(task)
        answers = read_answers(
            self._path,
            task,
            examples,
            form=self._form,
            numbered_labels=numbered,
            extract=self._extract,
        )
        if examples and not answers.predictions:
            what = f"none of its {len(answers.unknown)} ids is among the {len(examples)} examples"
            cure = "check the task and the split; if the task has further sets, add answers to them"
            raise BadInput(what, file=self._path, cure=cure)
        return [
            answers.predictions.get(example.id)
            or Prediction(example=example.id, why="not in the file")
            for example in examples
        ]


MODELS = (
    Model(
        "replay",
        "answers from a file, written by any tool",
        get_args(Kind),
        Replay,
        settings=ReplaySettings,
        argument="FILE",
    ),
)
