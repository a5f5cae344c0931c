"""The interface of models, and what they share: settings, gold, inputs, seeded order.

A model answers the examples of a task; some models first learn from other examples. Each file next
to this one declares `MODELS`, a tuple of `Model` that says how to make each model from a `Setup`.
That is all a new model needs: `nikawa.models.model("char-linear", seed=1)` makes it, `nikawa run` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import (
    Any,
    Literal,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import msgspec

from nikawa.errors import BadInput, missing_extra
from nikawa.records import Example, Kind, Prediction, Task

Progress = Callable[[str, int, int | None], None]
"""Called with the name of the work, the amount that is done, and the total if it is known."""

Scorer = Callable[[Task, Sequence[Example], Sequence[Prediction]], float]
"""The first metric of the task over examples with gold, as a number to maximise."""


def ignore_progress(_what: str, _done: int, _total: int | None) -> None:
    """Report nothing: the default `Progress`."""


@dataclass(frozen=True)
class SpendingScope:
    """The runs that share a budget: it covers all runs of a command, in any process."""

    ledger: Path
    """The file in which the runs record what they pay."""
    run: str
    """The hash of the run that the model is made for."""
    runs: frozenset[str] = frozenset()
    """The hashes of all runs of the command; empty: the budget is for this run only."""
    is_running: Callable[[str], bool] = lambda _run: False
    """Whether a process is working on a run now, so that its reserved requests will end."""


@dataclass(frozen=True)
class Setup:
    """The parts that a model is made from; those that define its answers come first."""

    argument: str = ""
    """The text after the colon of its name: `FILE` in `replay:FILE`."""
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    """Where unfinished work may be stored, so that a killed run resumes where it stopped; None:
    store nothing."""
    progress: Progress = ignore_progress
    score: Scorer | None = None
    """How good answers are (more is better), for models that stop early or keep their best state.
    """
    spending: SpendingScope | None = None
    """The runs that share the budget, for models that cost money; None: only this run."""


@runtime_checkable
class Predictor(Protocol):
    """A model that can answer. It sees only the inputs that the task names."""

    name: str

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """One prediction per example, in the order of the examples."""
        ...


@runtime_checkable
class Trainable(Predictor, Protocol):
    """A model that learns first; the same examples in the same order make the same model."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn from examples with gold and forget what was learned before.

        `dev` is for models that stop early.
        """
        ...


@dataclass(frozen=True)
class Model:
    """The declaration of a kind of model, as its file makes it."""

    name: str
    title: str
    """One line for the list of models."""
    kinds: tuple[Kind, ...]
    """The kinds of task it answers."""
    make: Callable[[Setup], Predictor]
    settings: type[msgspec.Struct] | None = None
    """The settings it takes, with their defaults; None: it has no settings."""
    argument: str = ""
    """The argument after the colon (`FILE`, `NAME`); empty: the name takes no argument."""
    runtime_settings: tuple[str, ...] = ()
    """Settings that change how the work is done, but not its result: they do not define a
    run."""
    home: Callable[[str], str] = str
    """The file or folder that its argument names; its content is part of what defines a run.
    """
    check_argument: Callable[[str], None] = lambda _argument: None
    """Raises BadInput for an unusable argument. It is called before a run begins, so it must be
    quick."""
    task_settings: Callable[[Task], Mapping[str, Any]] = lambda _task: {}
    """Settings that the model chooses by the task. A run stores them: a later version may
    choose others."""

    resolve_settings: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] = (
        lambda _argument, settings: settings
    )
    """The settings with names for several settings replaced by what they mean for this argument. A
    run stores the result."""

    count_parallel: Callable[[Mapping[str, Any]], int] = lambda _settings: 1
    """How many runs a machine can do at a time under the user's settings, for a model with an
    argument: it shares a resource, such as a GPU."""

    shipped_files: Callable[[Task, Mapping[str, Any]], Mapping[str, str]] = lambda _task, _: {}
    """The digest, by name, of the files that come with the model and that its answers depend on
    under these settings, such as a prompt. They define the run."""

    path_settings: tuple[str, ...] = ()
    """Settings that name a file or a folder. Its content defines a run even if the name looks like
    a plain word, without a slash or a dot."""

    @property
    def default_settings(self) -> dict[str, Any]:
        """Each setting it takes and the default; `msgspec.NODEFAULT` where a factory makes one."""
        if self.settings is None:
            return {}
        return {field.encode_name: field.default for field in msgspec.structs.fields(self.settings)}


S = TypeVar("S", bound=msgspec.Struct)


def read_settings(kind: type[S], setup: Setup) -> S:
    """Convert the settings of a setup to a model's own type.

    Raises BadInput for names that the type does not have and for values of a wrong type or range.
    """
    known = {f.encode_name for f in msgspec.structs.fields(kind)}
    for name in setup.settings:
        if name not in known:
            raise BadInput(
                f"there is no setting {name!r}", cure=f"use one of: {', '.join(sorted(known))}"
            )
    try:
        return msgspec.convert(dict(setup.settings), kind)
    except msgspec.ValidationError as problem:
        reason, _, place = str(problem).partition(" - at `$.")
        name = place.rstrip("`")
        what = f"{name}: {reason[:1].lower()}{reason[1:]}" if name else reason
        hint = get_type_hints(kind).get(name)
        cure = "run `nikawa run models` to see the settings and their defaults"
        if get_origin(hint) is Literal:
            cure = f"use one of: {', '.join(map(str, get_args(hint)))}"
        raise BadInput(f"a setting is invalid: {what}", cure=cure) from None


class Diverged(BadInput):
    """A training ended with weights that are not finite: the settings are unusable."""


def not_fitted_error(name: str, task: Task) -> BadInput:
    """The error for a model that must answer before it learned."""
    return BadInput(f"the model {name} is not trained on {task.name}", cure="call fit first")


def check_kind(name: str, kinds: Sequence[Kind], task: Task) -> None:
    """Raise BadInput for a task of a kind that the model `name` does not answer."""
    if task.kind not in kinds:
        raise BadInput(
            f"{name} does not answer {task.kind} tasks", cure=f"use it for: {', '.join(kinds)}"
        )


def get_gold(task: Task, examples: Sequence[Example]) -> list[Any]:
    """The gold answer of each example to the task's question.

    Raises BadInput if there are no examples, or one has no gold.
    """
    for example in examples:
        if task.question not in example.gold:
            what = f"example {example.id!r} has no gold label for {task.question!r}"
            raise BadInput(what, cure="train on a split with gold labels")
    if not examples:
        raise BadInput(
            f"there are no examples to train {task.name} on", cure="name a split with examples"
        )
    return [example.gold[task.question] for example in examples]


def get_text(example: Example, name: str) -> str:
    """The input of this name; raises BadInput if it is not a text."""
    value = example.inputs.get(name)
    if not isinstance(value, str):
        raise BadInput(f"example {example.id!r} has no input {name!r}", cure="name other inputs")
    return value


def get_inputs(task: Task, example: Example) -> Mapping[str, Any]:
    """The inputs of an example that the task shows."""
    return {name: example.inputs[name] for name in task.inputs if name in example.inputs}


def draw_number(seed: int, *key: object) -> int:
    """A pseudo-random number of 64 bits for an item: it depends on the seed and the key, not on the
    item's position.
    """
    data = "\0".join(map(str, (seed, *key))).encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def shuffle_indexes(examples: Sequence[Example], seed: int) -> list[int]:
    """The places of examples in an order that depends on the seed and their ids, not on the order
    they come in.
    """
    return sorted(range(len(examples)), key=lambda i: draw_number(seed, examples[i].id))


def load_sklearn(module: str) -> Any:
    """Import a module of scikit-learn; raises MissingExtra where it is not installed."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise missing_extra("the package 'scikit-learn'", "models") from None
