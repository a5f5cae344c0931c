"""Find stored runs and read them with the examples they answered: one loader for every command that
reads runs.

The same rules apply everywhere:

* A user names run folders, folders of runs, or patterns that match either.
* Only finished runs count. An unfinished run in a folder, and one whose `run.json` cannot be read, is skipped with
  the reason. A run that the user names by its own folder must be finished.
* A run that is in several folders (the same hash: a copy, or done again elsewhere) counts once, at the first
  place that was named.
* Runs that chose settings (stage `selection`) are not results and are listed separately.
* Files that changed since the run wrote them, and data that is missing or changed, are faults. A fault is raised. With
  `skip_faults`, its system is skipped with the reason; if no system is left, the first fault is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from glob import glob
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.reader import ExampleReader
from nikawa.datasets.task_lookup import card_and_language
from nikawa.errors import BadInput, MissingData
from nikawa.io.json import encode_json
from nikawa.io.remote import require_local
from nikawa.records import Card, Example, Prediction, Task
from nikawa.runs.data import check_data, load_answered_sets, task_of
from nikawa.runs.records import About, RunSpec, SetScores
from nikawa.runs.store import RUN, StoredRun, stored_runs

CHOOSES_SETTINGS = "a run of a sweep that only chooses settings"
UNFINISHED = "not finished"


@dataclass(frozen=True)
class FoundRuns:
    """The runs that a user named."""

    results: list[StoredRun]
    choosing: list[StoredRun]
    """Finished runs that settings were chosen by."""
    skipped: dict[str, str] = field(default_factory=dict)
    """For the folder of every run that is not a finished result, the reason."""

    def require_results(self) -> list[StoredRun]:
        """The results; raises BadInput if there is no result, with the reasons."""
        if not self.results:
            why = "; ".join(sorted(set(self.skipped.values()))) or "there are no runs"
            raise BadInput(
                f"no finished run: {why}", cure="run `nikawa run list` to see the state of the runs"
            )
        return self.results


def find_runs(names: Iterable[str | Path]) -> FoundRuns:
    """The runs of folders, of folders of runs, and of patterns; see the rule above."""
    results: dict[str, StoredRun] = {}
    choosing: dict[str, StoredRun] = {}
    skipped: dict[str, str] = {}
    for run, is_named in chain.from_iterable(list_runs_at(str(name)) for name in names):
        folder = run.path.name
        try:
            spec = run.spec
        except BadInput as problem:
            if is_named:
                raise
            skipped[folder] = str(problem)
            continue
        if not run.done and is_named:
            cure = "run the command that started it again"
            raise BadInput("is not finished", file=run.path, cure=cure)
        if spec.stage != "result":
            skipped[folder] = CHOOSES_SETTINGS
            if run.done:
                choosing.setdefault(spec.hash, run)
        elif not run.done:
            skipped[folder] = UNFINISHED
        else:
            results.setdefault(spec.hash, run)
    return FoundRuns(list(results.values()), list(choosing.values()), skipped)


def list_runs_at(name: str) -> Iterator[tuple[StoredRun, bool]]:
    """The runs that match a name or a pattern, each with whether the name is that run's own
    folder.

    Raises BadInput for a file, and if no run matches.
    """
    require_local(Path(name), "stored runs")
    path = Path(name)
    if path.is_file():
        raise BadInput("is a file", file=path, cure="pass the folder of a run, or a folder of runs")
    if (path / RUN).is_file():
        yield StoredRun(path), True
        return
    if path.is_dir():
        runs = stored_runs(path)
        if not runs:
            cure = "pass a folder that nikawa run wrote"
            raise BadInput("the folder contains no runs", file=path, cure=cure)
    else:
        runs = []
        for match in map(Path, sorted(glob(name))):  # noqa: PTH207 — the pattern may be absolute
            if (match / RUN).is_file():
                runs.append(StoredRun(match))
            elif match.is_dir():
                runs += stored_runs(match)
        if not runs:
            cure = "pass a folder that nikawa run wrote"
            raise BadInput("no such folder, and no run matches this name", file=path, cure=cure)
    for run in runs:
        yield run, False


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """One run with its answers; each of its files is read once."""

    stored: StoredRun
    spec: RunSpec
    answers: Mapping[str, Sequence[Prediction]]
    """Set to answers, in the order of its examples."""
    sets: AnsweredSets
    """The sets it answered."""

    def answers_to_shown(self, name: str) -> Mapping[str, Prediction] | Sequence[Prediction]:
        """The answers to the examples of a set whose gold may be shown: in their order, or by example where others are hidden."""
        is_whole = len(self.sets.shown[name]) == len(self.sets.examples[name])
        return self.answers[name] if is_whole else self.answers_by_id[name]

    @cached_property
    def scores(self) -> tuple[SetScores, ...]:
        """The scores of every set, as they were stored."""
        return tuple(self.stored.scores())

    @cached_property
    def about(self) -> About:
        """Times, versions and data of the run."""
        return self.stored.about()

    @property
    def answers_by_id(self) -> dict[str, Mapping[str, Prediction]]:
        """Set to example to answer."""
        return {
            name: _AnswersById(self.sets, name, predictions)
            for name, predictions in self.answers.items()
        }


@dataclass(frozen=True, eq=False)
class AnsweredSets:
    """The sets that runs answered; systems that answered the same ones share this."""

    task: Task
    """As published."""
    examples: dict[str, list[Example]]
    """Set to all of its examples."""
    card: Card
    """Of the task's dataset."""
    language: str
    answered: dict[str, list[Example]]
    """Set to its examples as the runs answered them: hidden labels are closed, and the order is that of the files of answers."""

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """Set to example to its place; runs that answered the set share this."""
        return {
            name: {example.id: place for place, example in enumerate(examples)}
            for name, examples in self.examples.items()
        }

    @cached_property
    def shown(self) -> dict[str, list[Example]]:
        """Set to the examples whose gold may be shown: the same list where it is all of them."""
        shown = {}
        for name, examples in self.examples.items():
            is_part = any(example.hidden for example in examples)
            shown[name] = [each for each in examples if not each.hidden] if is_part else examples
        return shown


class _AnswersById(Mapping[str, Prediction]):
    """The answers of a run by example, which are in the order of the set.

    Reading in that order needs no table of places, which takes 100 bytes per example.
    """

    def __init__(self, sets: AnsweredSets, name: str, answers: Sequence[Prediction]) -> None:
        self._sets, self._name, self._answers = sets, name, answers
        self._expected = 0

    def __getitem__(self, example: str) -> Prediction:
        examples, place = self._sets.examples[self._name], self._expected
        if place >= len(examples) or examples[place].id != example:
            place = self._sets.places[self._name][example]
        self._expected = (place + 1) % len(examples)
        return self._answers[place]

    def __iter__(self) -> Iterator[str]:
        return (example.id for example in self._sets.examples[self._name])

    def __len__(self) -> int:
        return len(self._answers)


@dataclass(frozen=True, eq=False)
class LoadedSystem:
    """A model under one protocol with its examples and answers: runs that differ in their seeds
    alone, seeds in order.
    """

    runs: tuple[LoadedRun, ...]
    sets: AnsweredSets

    @property
    def spec(self) -> RunSpec:
        """That of the first seed."""
        return self.runs[0].spec

    @property
    def task(self) -> Task:
        """As published."""
        return self.sets.task

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of its runs."""
        return tuple(run.spec.seed for run in self.runs)

    @property
    def trained(self) -> int:
        """Examples learned from, mean over seeds."""
        counts = [run.about.trained for run in self.runs]
        return round(sum(counts) / len(counts))

    @property
    def full_names(self) -> dict[str, str]:
        """Set to its full name: `jsick:test`; folds answer the first evaluated set alone."""
        return dict(zip(self.sets.examples, self.spec.protocol.evaluate, strict=False))

    @cached_property
    def stem(self) -> str:
        """The name of its files: the folder of its run with seed 0."""
        return replace(self.spec, seed=0).folder


def load_systems(
    runs: Iterable[StoredRun], reader: ExampleReader, *, skip_faults: bool = False
) -> tuple[list[LoadedSystem], dict[str, str]]:
    """Runs by system, each with the examples it answered; and the runs skipped for a fault, with
    the reason.

    A dataset, a card and a file of answers is read once, however many systems rest on it.
    """
    groups: dict[str, list[StoredRun]] = {}
    for run in runs:
        groups.setdefault(replace(run.spec, seed=0).hash, []).append(run)
    loader = _Loader(reader)
    systems: list[LoadedSystem] = []
    skipped: dict[str, str] = {}
    first_fault: BadInput | None = None
    for group in groups.values():
        try:
            systems.append(loader.load(sorted(group, key=lambda run: run.spec.seed)))
        except BadInput as problem:
            if not skip_faults:
                # a command to fetch missing data stays as it is
                if isinstance(problem, MissingData) or problem.file is not None:
                    raise
                cure = f"{problem.cure}; or report on the other runs only"
                raise BadInput(problem.what, file=group[0].path, cure=cure) from problem
            first_fault = first_fault or problem
            skipped |= {run.path.name: str(problem) for run in group}
    if not systems and first_fault is not None:
        raise first_fault
    reader.refuse_unused_keys()
    return systems, skipped


@dataclass
class _Loader:
    """Reads systems; those that rest on the same sets share them."""

    reader: ExampleReader
    sets: dict[bytes, AnsweredSets] = field(default_factory=dict)
    cards: dict[str, tuple[Card, str]] = field(default_factory=dict)

    def load(self, runs: Sequence[StoredRun]) -> LoadedSystem:
        """The runs of one system; files that were changed are refused."""
        for run in runs:
            run.check()
        sets = self.read_sets(runs[0].spec)
        loaded = []
        for run in runs:
            answers: dict[str, Sequence[Prediction]] = {}
            for name, answered in sets.answered.items():
                answers[name] = run.answers_in_order(name, sets.task, answered)
                if sets.examples[name] is not answered:  # opened with keys, in the order of before
                    by_id = {prediction.example: prediction for prediction in answers[name]}
                    answers[name] = [by_id[example.id] for example in sets.examples[name]]
            loaded.append(LoadedRun(run, run.spec, answers, sets))
        return LoadedSystem(tuple(loaded), sets)

    def read_sets(self, spec: RunSpec) -> AnsweredSets:
        """The sets a run answered.

        Runs with other training data share them, unless the training data determines the examples.
        """
        check_data(spec, self.reader)
        task, protocol = task_of(spec), spec.protocol
        depends_on_training = bool(protocol.folds) or spec.stage == "selection"
        training = (protocol, spec.stage, spec.variation) if depends_on_training else None
        key = encode_json((task, protocol.evaluate, training, spec.variation.limit))
        if key not in self.sets:
            answered = load_answered_sets(spec, self.reader)
            full_names = dict(zip(answered, protocol.evaluate, strict=False))
            examples = {
                name: self.reader.open_labels(full_names[name], task, each)
                for name, each in answered.items()
            }
            if task.dataset not in self.cards:
                self.cards[task.dataset] = card_and_language(task.dataset)
            card, language = self.cards[task.dataset]
            self.sets[key] = AnsweredSets(task, examples, card, language, answered)
        return self.sets[key]
