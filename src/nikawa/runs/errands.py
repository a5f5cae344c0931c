"""A run on another machine: what it needs travels there by content, its answers come back, and this machine writes and scores them.

The other machine gets no dataset: it gets the examples that the model learns from, with the gold of the question, and the inputs
of the examples that it answers. So gold of a test set, hidden labels and key files stay here. A checkpoint, a file of answers, a
prompt or any other file that the model or a setting names travels as it is. The variable of an API key goes only with a run whose
model reads it, in memory: not in a command line, a log, or the environment of a node.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, MissingExtra, UnknownName
from nikawa.execute.base import Content, Errand
from nikawa.execute.contents import disk_error, is_disk_full, node_folder, read_blocks
from nikawa.io.file_names import join_inside
from nikawa.io.json import encode_json
from nikawa.models import find_model, parse_model_name
from nikawa.models.secrets import list_secret_variables, restore_secrets
from nikawa.records import revive
from nikawa.runs.data import RunData, load_run_data, strip_to_inputs, strip_to_training
from nikawa.runs.plan import runtime_settings
from nikawa.runs.records import FILE, Outcome, RunSpec, Status
from nikawa.runs.store import PREDICTIONS, STATE, StoredRun, locate_run
from nikawa.runs.work import (
    Circumstances,
    RunClock,
    RunJob,
    RunPlace,
    do_run,
    key_of_settings,
    report_outcome,
    score_and_finish,
)

MAX_DATA_KEPT = 8
"""Data of runs that this process keeps at a time: the runs of a sweep share theirs."""
RECEIVED = ".received"
"""The folder in a run's state with what a machine has sent so far."""
MODEL, DATA, UNFINISHED = ":model", ":data", ":unfinished"
"""Names of contents; a setting that names a file is a content under the name of the setting."""


@dataclass(frozen=True)
class RunWork:
    """The work on runs, here or as errands to other machines."""

    place: RunPlace
    _data: OrderedDict[bytes, tuple[RunData, bytes]] = field(
        default_factory=OrderedDict, repr=False, compare=False
    )

    def __call__(self, spec: RunSpec) -> Outcome:
        """Do a run here."""
        return do_run(spec, self.place)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunWork, (self.place,)

    def prepare_errand(self, spec: RunSpec) -> tuple[Errand[Outcome] | None, Outcome | None]:
        """The errand of a run; or None, and the outcome of a run that is done, or cannot be done."""
        begin = time.perf_counter()
        stored = locate_run(self.place.out, spec)
        errands: list[RunErrand] = []

        def prepare() -> Status:
            if stored.done:
                stored.check()
                return "skipped"
            errand = RunErrand(spec, stored, self.place)
            try:
                errand.prepare(self._load_data)
            except BaseException:
                errand.close()
                raise
            errands.append(errand)
            return "skipped"

        outcome = report_outcome(spec, stored, begin, prepare)
        if not errands:
            return None, outcome
        (errand,) = errands
        if errand.unanswered or errand.data.folds:
            return errand, None
        errand.close()  # a process that was killed left all answers: they only have to be scored
        return None, do_run(spec, self.place)

    def _load_data(self, spec: RunSpec) -> tuple[RunData, bytes]:
        """The data of a run, and the part of it that travels. Runs that differ in model and settings share it."""
        varies = spec.variation.share != 1.0 or spec.variation.shots
        sets = [part for part in spec.data if part.version != FILE]
        own = None if spec.own is msgspec.UNSET else spec.own  # a registered task has none
        values = [spec.task, own, spec.variation, spec.protocol, sets, spec.stage]
        key = encode_json([values, spec.seed if varies else 0])
        if key not in self._data:
            data = load_run_data(spec, ExampleReader(self.place.data))
            self._data[key] = data, msgspec.json.encode(strip_for_travel(data))
            while len(self._data) > MAX_DATA_KEPT:
                self._data.popitem(last=False)
        self._data.move_to_end(key)
        return self._data[key]


def strip_for_travel(data: RunData) -> RunData:
    """The data of a run without the gold of what it answers, and without anything that no model sees."""
    seen = data.seen
    return RunData(
        task=data.task,
        seen=seen,
        train=strip_to_training(seen, data.train),
        select=strip_to_training(seen, data.select),
        sets={name: strip_to_inputs(seen, examples) for name, examples in data.sets.items()},
        folds=data.folds,
        folded=strip_to_training(seen, data.folded),
    )


class RunErrand:
    """A run while another machine does it. The run's folder stays locked until the errand ends."""

    def __init__(self, spec: RunSpec, stored: StoredRun, place: RunPlace) -> None:
        self.spec, self.stored, self.place = spec, stored, place
        self.data: RunData
        self.contents: dict[str, Content] = {}
        self.work: AnswerRun
        self.unanswered: list[str] = []
        """The sets that have no answers yet."""
        self._answered: Answered | None = None
        self._lock = ExitStack()

    def prepare(self, load_data: Callable[[RunSpec], tuple[RunData, bytes]]) -> None:
        """Lock the run and collect what travels. Raises Busy or BadInput."""
        spec, stored = self.spec, self.stored
        self._lock.enter_context(stored.locked())
        try:
            stored.begin(spec)
            kind, argument = find_model(spec.predictor)
            given = self.place.given.get(
                key_of_settings(spec.task, spec.predictor, spec.settings), self.place.settings
            )
            settings = {
                **restore_secrets(spec.settings, given),
                **runtime_settings(kind, given),
            }
            refuse_shared_settings(settings)
            self.data, packed = load_data(spec)
        except BadInput:
            stored.withdraw()
            raise
        is_answered = {name: stored.answers_file(name).exists() for name in self.data.sets}
        self.unanswered = [name for name, has_answers in is_answered.items() if not has_answers]
        files = list_model_files(kind.home(argument), argument, settings, kind.path_settings)
        self.contents = {DATA: Content(packed, "data.json"), **files}
        if any(path.is_file() for path in stored.state.rglob("*")):
            self.contents[UNFINISHED] = Content(stored.state, STATE)
        variables = list_secret_variables({**kind.default_settings, **settings})
        self.work = AnswerRun(
            spec=spec,
            settings=settings,
            sets=tuple(self.unanswered),
            keep_state=self.place.keep_state,
            environment={name: os.environ[name] for name in variables if name in os.environ},
            home=str(stored.path),
            names={name: argument if name == MODEL else settings[name] for name in files},
        )

    @property
    def _received(self) -> Path:
        return self.stored.state / RECEIVED

    def begin(self) -> None:
        """Forget what a machine sent before it was lost."""
        self._answered = None
        shutil.rmtree(self._received, ignore_errors=True)

    def receive(self, part: FilePart | Answered) -> None:
        """Keep a part of a file, or the report that comes last."""
        if isinstance(part, Answered):
            self._answered = part
            return
        path = join_inside(self._received, part.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(part.data)

    def finish(self) -> Outcome:
        """Write what came back into the run's folder; score it and write the marker if all sets are answered."""
        begin, answered = time.perf_counter(), self._answered
        if answered is None:
            return self.fail("the node sent no report: run the same command again")
        outcome = report_outcome(self.spec, self.stored, begin, lambda: self._complete(answered))
        seconds = round(outcome.seconds + answered.seconds, 3)
        if outcome.ok and answered.problem:
            return Outcome(
                run=self.spec,
                status="failed",
                problem=answered.problem,
                bad_input=answered.bad_input,
                seconds=seconds,
            )
        return msgspec.structs.replace(outcome, seconds=seconds)

    def _complete(self, answered: Answered) -> Status:
        stored = self.stored
        for path in sorted(self._received.rglob("*")):
            if path.is_file():
                target = stored.path / path.relative_to(self._received)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        shutil.rmtree(self._received, ignore_errors=True)
        if not answered.problem:
            keep_state = self.place.keep_state
            score_and_finish(
                self.spec,
                stored,
                self.data,
                answered.clock,
                answered.circumstances,
                keep_state=keep_state,
            )
            return "done"
        if answered.bad_input:
            stored.withdraw()
        return "skipped"

    def fail(self, problem: str) -> Outcome:
        """The outcome of a run that no machine could do; it can be resumed."""
        shutil.rmtree(self._received, ignore_errors=True)
        self.stored.withdraw()
        return Outcome(run=self.spec, status="failed", problem=problem)

    def close(self) -> None:
        """Unlock the run."""
        self._lock.close()


def refuse_shared_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that need a file which all runs share: nodes share no disk."""
    if settings.get("budget") is not None:
        cure = "leave out the budget, or run without --executor ray"
        raise BadInput("the runs on a cluster cannot share a budget", cure=cure)
    if settings.get("cache"):
        cure = "leave out cache=, or run without --executor ray"
        raise BadInput("the runs on a cluster cannot share a folder of replies", cure=cure)


def list_model_files(
    home: str, argument: str, settings: Mapping[str, Any], path_settings: tuple[str, ...]
) -> dict[str, Content]:
    """The files and folders that a model is made from, or that a setting names, as contents: the same as define the run."""
    files = {}
    folder = Path(home) if home and Path(home).exists() else find_hub_folder(argument)
    if folder is not None:
        name = folder.absolute().name if Path(home).exists() else argument
        files[MODEL] = Content(folder, name)
    for name, value in settings.items():
        if not isinstance(value, str) or not value:
            continue
        is_path = name in path_settings or "/" in value or "." in value
        if is_path and Path(value).exists():
            files[name] = Content(Path(value), Path(value).absolute().name)
    return files


def find_hub_folder(argument: str) -> Path | None:
    """The folder of a checkpoint that is in the cache of transformers under the name of a model hub."""
    if argument.count("/") != 1:
        return None
    try:
        from nikawa.models.encoder.checkpoint import find_cached

        config = find_cached(argument)
    except ImportError:  # without the packages of encoders there is no such cache
        return None
    return None if config is None else Path(config).parent


@dataclass(frozen=True)
class FilePart:
    """The next bytes of a file of the run's folder."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Answered:
    """The report of a machine that did a run, or could not."""

    clock: RunClock
    circumstances: Circumstances
    seconds: float
    problem: str = ""
    bad_input: bool = False


@dataclass(frozen=True)
class AnswerRun:
    """The part of a run that another machine does: learn, and answer the sets that have no answers yet."""

    spec: RunSpec
    settings: Mapping[str, Any] = field(repr=False)
    """All settings of the model, with secrets."""
    sets: tuple[str, ...]
    keep_state: bool
    environment: Mapping[str, str] = field(repr=False)
    """Variables with keys that the model reads."""
    home: str
    """The folder of the run, as messages name it."""
    names: Mapping[str, str]
    """What the user called each content that is a file."""

    def __call__(self, files: Mapping[str, Path], folder: Path) -> Iterator[FilePart | Answered]:
        """Do it in an empty folder, and send back the answers; also the state, if it is kept or the run failed."""
        begin, clock, circumstances = time.perf_counter(), RunClock(), Circumstances()
        stored = StoredRun(folder)
        if UNFINISHED in files:
            shutil.copytree(files[UNFINISHED], stored.state)
        (folder / PREDICTIONS).mkdir()
        data = read_travelled_data(files[DATA])
        if not data.folds:
            data = replace(data, sets={name: data.sets[name] for name in self.sets})
        spec, settings = self._point_to(files)
        place = RunPlace(folder, keep_state=self.keep_state, settings=settings)

        def answer() -> Status:
            with name_node(UnknownName):  # the command has this model
                find_model(self.spec.predictor)
            with name_node(MissingExtra), set_environment(self.environment):
                RunJob(spec, stored, place, data, clock).answer()
            return "skipped"

        outcome = report_outcome(spec, stored, begin, answer)
        paths = {str(files[name]): text for name, text in self.names.items() if name in files}
        paths[str(folder)] = self.home
        clock.about = rename_paths(clock.about, paths)
        wanted = [PREDICTIONS] if outcome.ok and not self.keep_state else [PREDICTIONS, STATE]
        for name in wanted:
            for path in sorted((folder / name).rglob("*")):
                if path.is_file():
                    yield from send_file(path, str(path.relative_to(folder)))
        problem = "" if outcome.ok else str(rename_paths(outcome.problem, paths))
        if is_disk_full(
            problem
        ):  # the paths in the message are those of the machine that sent the run
            problem = str(disk_error(node_folder(), "its disk is full"))
        yield Answered(clock, circumstances, outcome.seconds, problem, outcome.bad_input)

    def _point_to(self, files: Mapping[str, Path]) -> tuple[RunSpec, dict[str, Any]]:
        """The run and its settings with the paths of this machine."""
        here = {name: str(path) for name, path in files.items() if name in self.names}
        settings = {name: here.get(name, value) for name, value in self.settings.items()}
        predictor = self.spec.predictor
        if MODEL in here:
            name = parse_model_name(predictor)
            predictor = f"{name.kind}:{here[MODEL]}"
            for setting, value in settings.items():
                if (
                    value == name.argument
                ):  # it names the checkpoint again, as the leave to run its code does
                    settings[setting] = here[MODEL]
        stored = {name: settings.get(name, value) for name, value in self.spec.settings.items()}
        return msgspec.structs.replace(self.spec, predictor=predictor, settings=stored), settings


@contextmanager
def name_node(missing: type[BadInput]) -> Iterator[None]:
    """Say that it is this machine which lacks something: the user is at another one, which may have it."""
    try:
        yield
    except missing as problem:
        what = f"on the node {socket.gethostname()}, {problem}"
        raise BadInput(what, cure="install the same packages on every node") from None


@lru_cache(2)
def read_travelled_data(path: Path) -> RunData:
    """The data of a run, which a process reads once for all runs that share it."""
    data = msgspec.json.decode(path.read_bytes(), type=RunData)
    for examples in (data.train, data.select, data.folded, *data.sets.values()):
        for example in examples:
            revive(example)
    return data


def send_file(path: Path, name: str) -> Iterator[FilePart]:
    """A file in parts of bounded size; an empty one is one empty part."""
    if not path.stat().st_size:
        yield FilePart(name, b"")
    for block in read_blocks(path):
        yield FilePart(name, block)


@contextmanager
def set_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables while the block runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def rename_paths(value: Any, paths: Mapping[str, str]) -> Any:
    """A value of plain JSON with the paths of one machine replaced by those of another.

    >>> rename_paths({"notes": ["/node/1/base was trained"]}, {"/node/1/base": "models/base"})
    {'notes': ['models/base was trained']}
    """
    if isinstance(value, Mapping):
        return {key: rename_paths(one, paths) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rename_paths(one, paths) for one in value]
    if isinstance(value, str):
        for path, text in paths.items():
            value = value.replace(path, text)
    return value
