"""Which sets a run learns from, chooses on and is told by, given what is here; what is not as published is marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nikawa.datasets.base import RunProtocol
from nikawa.datasets.custom import declared_protocol
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput
from nikawa.records import Task
from nikawa.runs.records import EvaluationProtocol, ProtocolKind, Variation
from nikawa.spec import name_and_split

ORDINARY = ("train", "dev", "test")
FOLDS = 5
SELECT = 0.1
"""Share of the training data that settings are chosen on where there is no set for it."""
SELECT_OF_FOLDS = 0.2
"""The same where the only set is parted into folds: it is small."""


@dataclass(frozen=True)
class Sets:
    """The sets with gold that are here for a task, by full name; empty where there is none."""

    train: str
    dev: str
    test: str
    more: tuple[str, ...]
    """Further sets to evaluate: out of domain, stress sets."""
    stand_in: bool = False
    hidden: bool = False
    """Whether there is a test set whose labels are all hidden."""

    @property
    def main(self) -> tuple[str, ...]:
        """What is evaluated where there is a test set, or only further ones."""
        return ((self.test,) if self.test else ()) + self.more


def find_sets(task: Task, reader: ExampleReader) -> Sets:
    """What is here for a task."""
    declared = declared_protocol(task.dataset)
    home = declared.learns_from or task.dataset
    here = {
        split: f"{home}:{split}" if reader.has_gold(home, split, task) else "" for split in ORDINARY
    }
    more = [s for s in reader.splits(task.dataset) if s not in ORDINARY]
    further = tuple(f"{task.dataset}:{s}" for s in more if reader.has_gold(task.dataset, s, task))
    standing = bool(declared.stand_in and here["train"] and not here["test"])
    test = f"{task.dataset}:{declared.stand_in}" if standing else here["test"]
    hidden = not test and reader.hides_gold(home, "test", task)
    return Sets(here["train"], here["dev"], test, further, standing, hidden)


def choose_protocol(
    task: Task, variation: Variation, reader: ExampleReader, *, learns: bool, sweep: bool
) -> EvaluationProtocol:
    """The protocol of a run; `sweep` where settings are to be chosen."""
    sets = find_sets(task, reader)
    if not (sets.train or sets.dev or sets.main):
        if sets.hidden:
            cure = "nikawa score --hidden scores answers to them, for whoever holds the labels"
            raise BadInput(
                f"the labels of {task.dataset} for {task.name} are all hidden", cure=cure
            )
        raise BadInput(
            f"no split of {task.dataset} here has gold for {task.name}",
            cure="nikawa data list shows what is here",
        )
    if not learns:
        return _ask_at_once(sets, sweep)
    declared = declared_protocol(task.dataset)
    train = variation.train or ((sets.train,) if sets.train else ())
    if not train:
        return _without_training(sets, sweep, declared)
    evaluate = sets.main
    if sets.dev and not sets.test:
        evaluate = (sets.dev, *sets.more)
    if not evaluate:
        return _folds(sets.train, sweep, "only its train is here", declared)
    return _train_and_evaluate(sets, train, evaluate, sweep, declared)


def _train_and_evaluate(
    sets: Sets, train: Sequence[str], evaluate: tuple[str, ...], sweep: bool, declared: RunProtocol
) -> EvaluationProtocol:
    """Learn from `train`; settings are chosen on dev, or on a part of the training data where dev has the result."""
    is_on_dev = bool(sets.dev) and evaluate[0] == sets.dev
    homes = {name_and_split(name)[0] for name in (sets.train, sets.dev) if name}
    learns_at_home = any(name_and_split(name)[0] in homes for name in train)
    select, share = "", 0.0
    if sets.dev and not is_on_dev and learns_at_home:
        select = sets.dev
    elif is_on_dev or sweep:
        select, share = "+".join(train), SELECT
    kind: ProtocolKind = "standard"
    mark = why = ""
    if sets.stand_in:
        kind, mark = "stand-in", f"{declared.stand_in} test"
        why = "the test file is not here: two rows of every cell of train are held out and stand in for it"
    elif is_on_dev:
        kind, mark = "dev", "on dev"
        why = f"{_lack(sets)}: settings are chosen on {SELECT:.0%} of the training data, the result is on dev"
    return EvaluationProtocol(
        kind=kind,
        train=tuple(train),
        select=select,
        select_share=share,
        evaluate=evaluate,
        mark=mark,
        why=why,
    )


def _lack(sets: Sets) -> str:
    """Why there is no test set."""
    if sets.hidden:
        return "the labels of the test set are hidden"
    return "no test set with gold is here"


def _ask_at_once(sets: Sets, sweep: bool) -> EvaluationProtocol:
    """A model that does not learn is asked at once."""
    evaluate = sets.main or (sets.train,)
    if sets.dev and not sets.test:
        evaluate = (sets.dev, *sets.more)
    is_on_dev = evaluate[0] == sets.dev
    if sweep and (is_on_dev or not sets.dev):
        what = f"settings cannot be chosen: {evaluate[0]} is all there is to ask"
        raise BadInput(what, cure="name one value of each setting: --set KEY=VALUE")
    mark = ""
    if sets.stand_in:
        mark = "stand-in test"
    elif is_on_dev:
        mark = "on dev"
    elif not sets.test and not sets.more:
        mark = f"on {name_and_split(evaluate[0])[1]}"
    return EvaluationProtocol(
        kind="answers",
        select=sets.dev if sweep else "",
        evaluate=evaluate,
        mark=mark,
        why=_lack(sets) if mark else "",
    )


def _without_training(sets: Sets, sweep: bool, declared: RunProtocol) -> EvaluationProtocol:
    if sets.dev and sets.test:
        why = "no training set is here: dev is learned from"
        share = SELECT if sweep else 0.0
        return EvaluationProtocol(
            kind="dev",
            train=(sets.dev,),
            select=sets.dev if sweep else "",
            select_share=share,
            evaluate=sets.main,
            mark="trained on dev",
            why=why,
        )
    only = sets.dev or sets.main[0]
    return _folds(only, sweep, f"only {name_and_split(only)[1]} is here", declared)


def _folds(only: str, sweep: bool, why: str, declared: RunProtocol) -> EvaluationProtocol:
    """Each example answered by a model of the other folds; a fifth is set apart where settings are chosen."""
    split, kept = name_and_split(only)[1], f"{1 - SELECT_OF_FOLDS:.0%} of " if sweep else ""
    return EvaluationProtocol(
        kind="folds",
        train=(only,),
        select=only if sweep else "",
        select_share=SELECT_OF_FOLDS if sweep else 0.0,
        evaluate=(only,),
        folds=FOLDS,
        mark=f"{FOLDS} folds of {kept}{split}",
        why=f"{why}: whole {declared.kept_whole or 'group'}s in {FOLDS} folds, each answered by a model of the others",
    )
