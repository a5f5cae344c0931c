"""What a model is: something that answers the examples of a task, and perhaps learns from others first.

A file beside this one declares `MODELS`, a tuple of `Model`: how each is made from a `Setup`. Nothing else is touched
to add one; `nikawa.models.model("char-linear", seed=1)` makes it, `run` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from nikawa.errors import BadInput
from nikawa.records import Example, Kind, Prediction, Task

Progress = Callable[[str, int, int | None], None]
"""What is being done, how much of it is done, and of how much, where that is known."""


Scorer = Callable[[Task, Sequence[Example], Sequence[Prediction]], float]
"""The first official metric of the task over examples with gold, as a number to maximise."""


def _silent(_what: str, _done: int, _total: int | None) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Setup:
    """What a model is made from; what defines its answers comes first."""

    argument: str = ""
    """What follows the colon of its name: `FILE` of `replay:FILE`."""
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    """Where unfinished work may be kept, so that a killed run goes on where it stopped; None: keep nothing."""
    progress: Progress = _silent
    score: Scorer | None = None
    """How good answers are (more is better), for models that stop early or keep their best state."""


@runtime_checkable
class Predictor(Protocol):
    """Answers in the order of the examples, one each; it sees the inputs the task names and nothing else."""

    name: str

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """One prediction an example."""
        ...


@runtime_checkable
class Trainable(Predictor, Protocol):
    """A model that learns; the same examples in the same order make the same model."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn from examples with gold, watching `dev` where the model stops early; what it knew is forgotten."""
        ...


@dataclass(frozen=True)
class Model:
    """A kind of model, as its file declares it."""

    name: str
    title: str
    """One line for the list of models."""
    kinds: tuple[Kind, ...]
    """The kinds of task it answers."""
    make: Callable[[Setup], Predictor]
    settings: type[msgspec.Struct] | None = None
    """The settings it takes, with their defaults; None: none at all."""
    argument: str = ""
    """What must follow the colon (`FILE`, `NAME`); empty: the name stands alone."""
    outside: tuple[str, ...] = ()
    """Settings that tell how the work is done, not what comes out: a run is the same whatever they are."""
    home: Callable[[str], str] = str
    """The file or folder that its argument stands for; its content is a part of what defines a run."""
    ready: Callable[[str], None] = lambda _argument: None
    """Refuses an argument that nothing can be made of. It is asked before a run begins, so it must be quick."""


S = TypeVar("S", bound=msgspec.Struct)


def settings_of(kind: type[S], setup: Setup) -> S:
    """The settings of a model, checked: unknown names and wrong types are told."""
    known = {f.encode_name for f in msgspec.structs.fields(kind)}
    for name in setup.settings:
        if name not in known:
            raise BadInput(
                f"there is no setting {name!r}", cure=f"settings: {', '.join(sorted(known))}"
            )
    try:
        return msgspec.convert(dict(setup.settings), kind)
    except msgspec.ValidationError as problem:
        said, _, place = str(problem).partition(" - at `$.")
        name = place.rstrip("`")
        what = f"{name}: {said[:1].lower()}{said[1:]}" if name else said
        raise BadInput(
            f"a setting is wrong: {what}",
            cure="nikawa run models shows the settings with their defaults",
        ) from None


class Diverged(BadInput):
    """A training whose weights ended as no numbers: these settings cannot be learned with."""


def gold_of(task: Task, examples: Sequence[Example]) -> list[Any]:
    """What the examples answer to the task's question; none may be without."""
    for example in examples:
        if task.question not in example.gold:
            what = f"example {example.id!r} has no gold for {task.question!r}"
            raise BadInput(what, cure="learn from a split whose gold is published")
    if not examples:
        raise BadInput(
            f"there is nothing to learn {task.name} from", cure="name a split with examples"
        )
    return [example.gold[task.question] for example in examples]


def not_fitted(name: str, task: Task) -> BadInput:
    """The error for a model that is asked before it learned."""
    return BadInput(f"the model {name} has not learned {task.name}", cure="call fit first")


def text_of(example: Example, name: str) -> str:
    """An input that must be a text."""
    value = example.inputs.get(name)
    if not isinstance(value, str):
        raise BadInput(f"example {example.id!r} has no text {name!r}", cure="name other inputs")
    return value
