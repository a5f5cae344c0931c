"""The sets that a run learns from, chooses settings on and reports results on, given the available data.

The plan marks what departs from the published sets.
"""

from __future__ import annotations

from dataclasses import dataclass

from nikawa.datasets.base import RunProtocol
from nikawa.datasets.reader import ExampleReader
from nikawa.datasets.task_lookup import declared_protocol
from nikawa.errors import BadInput
from nikawa.io.folders import check_split_names
from nikawa.io.remote import to_path
from nikawa.records import Task
from nikawa.runs.records import EvaluationProtocol, ProtocolKind, Variation
from nikawa.spec import name_and_split

SPLITS_AS_PUBLISHED = ("train", "dev", "test")
FOLDS = 5
SELECT_SHARE = 0.1
"""Share of the training data that chooses settings if there is no other set for it."""
SELECT_SHARE_OF_FOLDS = 0.2
"""The same if the only set is split into folds, because it is small."""


@dataclass(frozen=True)
class Sets:
    """The sets with gold that are here for a task, by full name; empty without one."""

    train: str
    dev: str
    test: str
    more: tuple[str, ...]
    """Further sets to evaluate: out of domain, stress sets."""
    stand_in: bool = False
    hidden: bool = False
    """Whether there is a test set whose labels are all hidden."""
    withheld: tuple[str, ...] = ()
    """Sets whose labels are in a key file: they are answered, not scored."""

    @property
    def main(self) -> tuple[str, ...]:
        """What is evaluated where there is a test set, or only further ones."""
        return ((self.test,) if self.test else ()) + self.more

    @property
    def why_no_test(self) -> str:
        """Why there is no test set, for messages."""
        if self.hidden:
            return "the labels of the test set are hidden"
        return "no test set with gold is here"


def _find_sets(task: Task, reader: ExampleReader) -> Sets:
    """The sets that are here for a task.

    Its dataset may declare that another one has its train, dev and test.
    """
    declared = declared_protocol(task.dataset)
    home = declared.learns_from or task.dataset
    names = {}
    for split in SPLITS_AS_PUBLISHED:
        names[split] = f"{home}:{split}" if reader.has_gold(home, split, task) else ""
    more = []
    for split in reader.splits(task.dataset):
        if split not in SPLITS_AS_PUBLISHED and reader.has_gold(task.dataset, split, task):
            more.append(f"{task.dataset}:{split}")
    stand_in = bool(declared.stand_in and names["train"] and not names["test"])
    if stand_in:
        names["test"] = f"{task.dataset}:{declared.stand_in}"
    hidden = not names["test"] and reader.hides_gold(home, "test", task)
    withheld = tuple(
        f"{task.dataset}:{split}"
        for split in reader.splits(task.dataset)
        if reader.withholds_gold(task.dataset, split)
    )
    answered = [name_and_split(name)[1] for name in (*more, *withheld)]
    check_split_names(
        dict.fromkeys(answered), to_path(task.dataset)
    )  # before the work: files of answers
    return Sets(**names, more=tuple(more), stand_in=stand_in, hidden=hidden, withheld=withheld)


def choose_protocol(
    task: Task, variation: Variation, reader: ExampleReader, *, learns: bool, sweep: bool
) -> EvaluationProtocol:
    """The protocol of a run, by the sets that are here.

    `learns`: whether the model learns from examples; `sweep`: whether settings are to be chosen.
    Raises BadInput if no set has gold, or no set can choose settings.
    """
    sets = _find_sets(task, reader)
    if not (sets.train or sets.dev or sets.main or (sets.withheld and not learns)):
        if sets.hidden:
            what = f"all labels of {task.dataset} for {task.name} are hidden"
            cure = "if you have the labels, use `nikawa score --hidden` to score answers to them"
            raise BadInput(what, cure=cure)
        what = f"no available split of {task.dataset} has gold labels for {task.name}"
        raise BadInput(what, cure="run `nikawa data list` to see the available data")
    evaluate = sets.main
    if sets.dev and not sets.test:
        evaluate = (sets.dev, *sets.more)
    evaluate += sets.withheld
    if not learns:
        return _ask_at_once(sets, evaluate or (sets.train,), sweep)
    declared = declared_protocol(task.dataset)
    train = variation.train or ((sets.train,) if sets.train else ())
    if train and evaluate:
        return _learn_from_train(sets, train, evaluate, sweep, declared)
    if not train and sets.dev and sets.test:
        return EvaluationProtocol(
            kind="dev",
            train=(sets.dev,),
            select=sets.dev if sweep else "",
            select_share=SELECT_SHARE if sweep else 0.0,
            evaluate=evaluate,
            mark="trained on dev",
            why="no training set is here: dev is learned from",
        )
    # one set is all there is: each example is answered by a model of the other folds
    only = sets.train if train else evaluate[0]
    split = name_and_split(only)[1]
    which = "its train" if train else split
    part = f"{1 - SELECT_SHARE_OF_FOLDS:.0%} of " if sweep else ""
    unit = declared.kept_whole or "group"
    return EvaluationProtocol(
        kind="folds",
        train=(only,),
        select=only if sweep else "",
        select_share=SELECT_SHARE_OF_FOLDS if sweep else 0.0,
        evaluate=(only,),
        folds=FOLDS,
        mark=f"{FOLDS} folds of {part}{split}",
        why=f"only {which} is here: whole {unit}s in {FOLDS} folds, each answered by a model of the others",
    )


def _learn_from_train(
    sets: Sets,
    train: tuple[str, ...],
    evaluate: tuple[str, ...],
    sweep: bool,
    declared: RunProtocol,
) -> EvaluationProtocol:
    """Learn from `train`; settings are chosen on dev, or on a part of the training data where dev
    has the result.
    """
    is_on_dev = evaluate[0] == sets.dev
    homes = {name_and_split(name)[0] for name in (sets.train, sets.dev) if name}
    learns_at_home = any(name_and_split(name)[0] in homes for name in train)
    select, share = "", 0.0
    if sets.dev and not is_on_dev and learns_at_home:
        select = sets.dev
    elif is_on_dev or sweep:
        select, share = "+".join(train), SELECT_SHARE
    kind: ProtocolKind = "standard"
    mark = why = ""
    if sets.stand_in:
        kind, mark = "stand-in", f"{declared.stand_in} test"
        why = "the test file is not here: two rows of every cell of train are held out and stand in for it"
    elif is_on_dev:
        kind, mark = "dev", "on dev"
        why = f"{sets.why_no_test}: settings are chosen on {SELECT_SHARE:.0%} of the training data, the result is on dev"
    elif evaluate == sets.withheld:
        mark = "not scored"
        why = f"{sets.why_no_test}: it is answered, and whoever has the key file scores it"
    return EvaluationProtocol(
        kind=kind,
        train=train,
        select=select,
        select_share=share,
        evaluate=evaluate,
        mark=mark,
        why=why,
    )


def _ask_at_once(sets: Sets, evaluate: tuple[str, ...], sweep: bool) -> EvaluationProtocol:
    """The protocol of a model that does not learn: it answers `evaluate`, and dev where settings
    are chosen.

    Raises BadInput if settings are to be chosen and there is no dev set.
    """
    is_on_dev = evaluate[0] == sets.dev
    if sweep and (is_on_dev or not sets.dev):
        what = f"settings cannot be chosen: {evaluate[0]} is the only available set"
        raise BadInput(what, cure="pass one value per setting: --set KEY=VALUE")
    mark = ""
    if sets.stand_in:
        mark = "stand-in test"
    elif is_on_dev:
        mark = "on dev"
    elif evaluate == sets.withheld:
        mark = "not scored"
    elif not sets.test and not sets.more:
        mark = f"on {name_and_split(evaluate[0])[1]}"
    return EvaluationProtocol(
        kind="answers",
        select=sets.dev if sweep else "",
        evaluate=evaluate,
        mark=mark,
        why=sets.why_no_test if mark else "",
    )
