"""The systems of a report: loaded runs by task, each system with a unique name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
from msgspec import UNSET

from nikawa.datasets import benchmarks
from nikawa.datasets.reader import ExampleReader
from nikawa.datasets.task_lookup import typed_name
from nikawa.io.json import encode_json
from nikawa.metrics import metrics
from nikawa.records import Example, Prediction, Task
from nikawa.reporting.markup import slug
from nikawa.reporting.sources import address
from nikawa.runs.data import task_of
from nikawa.runs.load import AnsweredSets, LoadedRun, LoadedSystem, load_systems
from nikawa.runs.records import RunSpec, SetScores
from nikawa.runs.scores import score_set
from nikawa.runs.store import PREDICTIONS, SCORES, StoredRun

OnProgress = Callable[[str], None]


@dataclass(frozen=True)
class ReportRun:
    """One run: what it is, its scores and its answers."""

    loaded: LoadedRun
    scores: tuple[SetScores, ...]
    folder: str
    """Its folder as an address from the folder of the report."""
    why_scored_again: str = ""
    """Why the scores are not those that the run stored, such as `its data changed`; empty where they are."""

    @property
    def stored(self) -> StoredRun:
        """Its folder."""
        return self.loaded.stored

    @property
    def spec(self) -> RunSpec:
        """What defines it."""
        return self.loaded.spec

    @property
    def answers(self) -> Mapping[str, Sequence[Prediction]]:
        """Set to answers, in the order of its examples."""
        return self.loaded.answers

    def answers_place(self, name: str) -> str:
        """Where the answers to a set are, as an address."""
        return f"{self.folder}/{PREDICTIONS}/{address(name)}.jsonl"

    def score_place(self, number: int, *steps: str | int) -> str:
        """Where a score is, as an address: in the run's scores, or the answers that were scored again."""
        if self.why_scored_again:
            return self.answers_place(self.scores[number].set)
        return f"{self.folder}/{SCORES}#/{'/'.join(map(str, (number, *steps)))}"


@dataclass(frozen=True)
class SystemRuns:
    """A system on one task: runs that differ in their seeds alone."""

    name: str
    runs: tuple[ReportRun, ...]
    loaded: LoadedSystem

    @property
    def spec(self) -> RunSpec:
        """Of its first run."""
        return self.runs[0].spec


@dataclass(frozen=True)
class TaskRuns:
    """The systems that answered the same examples of a task."""

    name: str
    main: str
    """The set that results are reported on."""
    answered: AnsweredSets
    systems: tuple[SystemRuns, ...]
    shares: tuple[SystemRuns, ...] = ()
    """Systems that learned from a part of the training data, for learning curves."""

    @property
    def task(self) -> Task:
        """As published."""
        return self.answered.task

    @property
    def sets(self) -> dict[str, list[Example]]:
        """Set to all of its examples."""
        return self.answered.examples

    def scored(self, name: str = "") -> list[Example]:
        """The examples of a set (else the main one) that are scored: those whose labels are not hidden."""
        return self.answered.shown[name or self.main]


def load_task_runs(
    runs: Iterable[StoredRun], data: Path | None = None, out: Path | None = None
) -> list[TaskRuns]:
    """Runs by task, with their examples and answers; `out` is the folder of the report."""
    systems, _ = load_systems(runs, ExampleReader(data))
    return group_by_task(systems, out)


def group_by_task(
    systems: Sequence[LoadedSystem],
    out: Path | None = None,
    on_progress: OnProgress = lambda what: None,
) -> list[TaskRuns]:
    """Systems by task and answered examples, in the order of the registered tasks.

    `out` is the folder of the report, which addresses are seen from. Of datasets of the same task name, and of sets with
    other examples, each is a separate task: their systems cannot be compared.
    """
    groups: dict[tuple[str, tuple[str, ...], str], list[LoadedSystem]] = {}
    for system in systems:
        spec = system.spec
        main, examples = next(iter(system.sets.examples.items()))
        ids = [example.id for example in examples]
        digest = ""  # ids do not distinguish two custom datasets
        if spec.own is not UNSET:
            digests = {data.name: data.digest for data in reversed(spec.data)}
            digest = digests.get(spec.protocol.evaluate[0], "")
        key = (system.task.name, (main, *ids), digest)
        groups.setdefault(key, []).append(system)
    registered = [task.name for each in benchmarks().values() for task in each.tasks]
    order = {name: i for i, name in enumerate(registered)}

    def place(group: tuple[tuple[str, tuple[str, ...], str], list[LoadedSystem]]) -> Any:
        (task, (main, *_), _), members = group
        return order.get(task, len(order)), main, members[0].spec.variation.limit

    ordered = sorted(groups.items(), key=place)
    words = []
    for (task, (main, *_), _), members in ordered:
        limit = members[0].spec.variation.limit
        first = f"first {limit:,} items" if limit else ""
        words.append((task, first, f"on {main}", f"({members[0].task.dataset})"))
    tasks = []
    for name, (_, members) in zip(tell_slugs_apart(tell_apart(words)), ordered, strict=True):
        whole = []
        for system in members:
            variation = system.spec.variation
            if variation.share == 1.0 and not variation.shots:
                whole.append(system)
        shares = [system for system in members if system not in whole] if whole else []
        answered = members[0].sets
        tasks.append(
            TaskRuns(
                name=name,
                main=next(iter(answered.examples)),
                answered=answered,
                systems=name_systems(whole or members, out, on_progress),
                shares=name_systems(shares, out, on_progress),
            )
        )
    return tasks


def tell_apart(words: Sequence[tuple[str, ...]]) -> list[str]:
    """Unique names with as few words as possible: a further word only for names that are not unique.

    >>> tell_apart([("nli", "on dev"), ("nli", "on test"), ("sts", "on dev")])
    ['nli on dev', 'nli on test', 'sts']
    """
    names = [first for first, *_ in words]
    for place in range(1, len(words[0]) if words else 0):
        counts = Counter(names)
        names = [
            f"{name} {more[place]}".rstrip() if counts[name] > 1 else name
            for name, more in zip(names, words, strict=True)
        ]
    return names


def tell_slugs_apart(names: Iterable[str]) -> list[str]:
    """The names, with a number behind one whose slug an earlier one has: they would share ids of the page, files and notes.

    >>> tell_slugs_apart(["my_nli", "my-nli", "sts"])
    ['my_nli', 'my-nli (2)', 'sts']
    """
    slugs: dict[str, str] = {}
    for name in names:
        others = (f"{name} ({number})" for number in count(2))
        free = next(each for each in chain([name], others) if slug(each) not in slugs)
        slugs[slug(free)] = free
    return list(slugs.values())


def name_systems(
    systems: Sequence[LoadedSystem], out: Path | None, on_progress: OnProgress
) -> tuple[SystemRuns, ...]:
    """The systems of a task under unique names: by title, otherwise by settings, otherwise by hash."""
    specs = [system.spec for system in systems]
    words = []
    for system in systems:
        first = min(system.runs, key=lambda run: run.stored.path)
        settings = find_telling_settings(first.spec, specs)
        words.append((title_system(first.spec), settings, f"#{first.spec.hash[:4]}"))
    named = []
    for name, system in zip(tell_apart(words), systems, strict=True):
        runs = tuple(take_or_score(run, system.sets, out, on_progress) for run in system.runs)
        named.append(SystemRuns(name, runs, system))
    return tuple(named)


def take_or_score(
    run: LoadedRun, sets: AnsweredSets, out: Path | None, on_progress: OnProgress
) -> ReportRun:
    """A run with its stored scores; where those are not of these examples and metrics, it is scored again."""
    folder = relative_address(out, run.stored.path)
    reason = explain_stale_scores(run, sets)
    if not reason:
        return ReportRun(run, run.scores, folder)
    on_progress(f"rescoring {run.stored.path.name}: {reason}")
    scores = [
        score_set(run.spec, sets.task, name, sets.examples[name], answers)
        for name, answers in run.answers.items()
    ]
    return ReportRun(run, tuple(scores), folder, reason)


def explain_stale_scores(run: LoadedRun, sets: AnsweredSets) -> str:
    """Why the stored scores of a run cannot be taken; empty where they can.

    They can where they are of all items that may be scored now, under every metric of the task that these answers allow.
    """
    stored = {scores.set: scores for scores in run.scores}
    for name, answers in run.answers.items():
        scores = stored.get(name)
        if scores is None:
            return f"its stored scores lack the set {name}"
        if scores.n + scores.hidden != len(answers):
            return "its data has changed"
        if scores.n != len(sets.shown[name]):
            is_opened = sets.examples[name] is not sets.answered[name]
            return "hidden labels are available now" if is_opened else "other labels are hidden now"
        known = {score.metric for score in scores.scores}
        for metric in sets.task.metrics:
            can_be_computed = not metrics()[metric].needs_scores or all(
                answer.scores is not None for answer in answers
            )
            if can_be_computed and metric not in known:
                return f"its stored scores lack {metric}"
    return ""


def list_scored_again(tasks: Iterable[TaskRuns]) -> dict[str, tuple[str, ...]]:
    """The reasons for which runs were scored again, each with the folders of its runs."""
    folders: dict[str, list[str]] = {}
    for task in tasks:
        for system in (*task.systems, *task.shares):
            for run in system.runs:
                if run.why_scored_again:
                    folders.setdefault(run.why_scored_again, []).append(run.stored.path.name)
    return {reason: tuple(names) for reason, names in folders.items()}


def find_telling_settings(spec: RunSpec, others: Sequence[RunSpec]) -> str:
    """The settings by which a system differs from others of its name; empty where it does not differ in them."""
    alike = [other.settings for other in others if title_system(other) == title_system(spec)]
    differ = []
    for key in dict.fromkeys(key for settings in alike for key in settings):
        values = {encode_json(settings.get(key)) for settings in alike}
        if len(values) > 1:
            differ.append(key)
    own = ", ".join(
        f"{key}={spell_setting(spec.settings[key])}" for key in differ if key in spec.settings
    )
    return f"[{own or 'default'}]" if differ else ""


def relative_address(out: Path | None, path: Path) -> str:
    """A path as an address from a folder; absolute if there is no relative path."""
    if out is not None:
        try:
            path = Path(os.path.relpath(path, out))
        except ValueError:  # on another drive
            path = path.absolute()
    return address(path.as_posix())


def title_system(spec: RunSpec) -> str:
    """The name of a system: its model, and its differences from the task."""
    return f"{spec.model} ({spec.variation.title})" if spec.variation.title else spec.model


def remake_command(spec: RunSpec, seeds: Sequence[int], out: str) -> str:
    """The `nikawa run` command that reproduces the runs of a system; default settings are left out."""
    variation = spec.variation
    model = spec.predictor if spec.name is UNSET else f"{spec.name}={spec.predictor}"
    words = ["nikawa run", f"--model {quote(model)}", f"--tasks {quote(typed_name(task_of(spec)))}"]
    words.append(f"--seeds {format_seeds(seeds)}")
    for key, value in spec.settings.items():
        if key == "extract":
            words += [f"--extract {quote(expression)}" for expression in value]
        else:
            words.append(f"--set {quote(f'{key}={spell_setting(value)}')}")
    if variation.inputs:
        words.append(f"--inputs {','.join(variation.inputs)}")
    if variation.share != 1.0:
        words.append(f"--share {variation.share:g}")
    if variation.shots:
        words.append(f"--shots {variation.shots}")
    if variation.limit:
        words.append(f"--limit {variation.limit}")
    if variation.train:
        words.append(f"--train {quote(','.join(variation.train))}")
    words += [f"--label {quote(f'{old}={new}')}" for old, new in variation.labels.items()]
    return " ".join([*words, f"--out {quote(out)}"])


def spell_setting(value: Any) -> str:
    """A value as `--set` reads it: text as it is, unless it would be read as JSON or lose blanks; all else as JSON.

    >>> spell_setting("mean"), spell_setting("1"), spell_setting(True), spell_setting(["a"])
    ('mean', '"1"', 'true', '["a"]')
    """
    if isinstance(value, str) and value == value.strip():
        try:
            msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return msgspec.json.encode(value).decode()


def format_seeds(seeds: Sequence[int]) -> str:
    """As `nikawa run` reads them: 3 for 0, 1 and 2; a lone number other than 0 has a comma behind it."""
    if list(seeds) == list(range(len(seeds))):
        return str(len(seeds))
    return ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")
