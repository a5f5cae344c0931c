"""Do one run: learn, answer, score. Each step is written before the next, so that a killed run can
resume.
"""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, NikawaError
from nikawa.io.json import encode_json, read_json
from nikawa.models import Predictor, Trainable, find_model, model
from nikawa.models.base import Diverged, Progress, SpendingScope, ignore_progress
from nikawa.models.chat.ledger import LEDGER_FILE
from nikawa.models.chat.usage import sum_usage
from nikawa.models.secrets import restore_secrets
from nikawa.records import Example, Prediction, Task
from nikawa.runs.data import (
    RunData,
    load_run_data,
    strip_to_inputs,
    strip_to_training,
    take_training_part,
)
from nikawa.runs.plan import runtime_settings
from nikawa.runs.records import DIVERGED, About, Outcome, RunSpec, Status
from nikawa.runs.scores import score_first, score_set, unanswered_reason
from nikawa.runs.store import (
    ABOUT,
    Busy,
    StoredRun,
    is_run_busy,
    locate_run,
    read_predictions,
    write_json,
    write_predictions,
)

PACKAGES = (
    "nikawa",
    "numpy",
    "scipy",
    "scikit-learn",
    "python-crfsuite",
    "torch",
    "transformers",
    "tokenizers",
    "peft",
    "httpx",
    "fugashi",
    "ipadic",
    "kiwipiepy",
)
"""Packages that a result may depend on."""
ERROR, TRAINED = "error.txt", "trained"
ANSWER_TYPES: dict[str, tuple[type, ...]] = {
    "similarity": (float, int),
    "choice": (int,),
    "tagging": (list, tuple),
    "tree": (dict,),
    "dialogue": (list, tuple),
}
"""The types of answers by kind of task; text for every other kind."""


@dataclass(frozen=True)
class RunPlace:
    """The folders of runs and data: what a run needs from its machine."""

    out: Path
    data: Path | None = None
    keep_state: bool = False
    progress: Progress = ignore_progress
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that change how models work but not their results; each model uses those that it
    declares as such."""
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same with secrets, by run (`key_of_settings`), where several requests run together: the
    key of one server must not go to another."""
    runs: frozenset[str] = frozenset()
    """The hashes of all runs of the command, where they share a budget."""
    begun_in: Path | None = None
    """The folder that the command began in: paths of datasets, models and settings are relative to it."""


def key_of_settings(task: str, predictor: str, settings: Mapping[str, Any]) -> str:
    """The key that identifies the request of a run: its task, its model and the settings that define it."""
    return encode_json([task, predictor, settings]).decode()


def do_run(spec: RunSpec, place: RunPlace) -> Outcome:
    """Do a run unless it is done.

    Every error is in the outcome, never raised, except an interruption.
    """
    begin = time.perf_counter()
    with work_where_begun(place):
        stored = locate_run(place.out, spec)
        return report_outcome(spec, stored, begin, lambda: _complete_run(spec, stored, place))


@contextmanager
def work_where_begun(place: RunPlace) -> Iterator[None]:
    """Work in the folder that the command began in, to which the paths in a run are relative."""
    if place.begun_in is None or not place.begun_in.is_dir() or place.begun_in == Path.cwd():
        yield
        return
    with chdir(place.begun_in):
        yield


def report_outcome(
    spec: RunSpec, stored: StoredRun, begin: float, work: Callable[[], Status]
) -> Outcome:
    """The outcome of the work on a run, with every error in it; `begin` is when the work began."""
    status: Status = "failed"
    problem, is_bad_input = "", True
    try:
        status = work()
        is_bad_input = False
        if status == "done" and spec.stage == "selection" and stored.diverged:
            problem = DIVERGED
    except Busy as error:
        status, problem = "busy", str(error)
    except NikawaError as error:
        problem = str(error)
    except OSError as error:
        problem = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except Exception as error:  # one run's failure must not stop the others
        problem, is_bad_input = write_traceback(stored, error), False
    return Outcome(
        run=spec,
        status=status,
        problem=problem,
        bad_input=is_bad_input and bool(problem),
        seconds=round(time.perf_counter() - begin, 3),
    )


def _complete_run(spec: RunSpec, stored: StoredRun, place: RunPlace) -> Status:
    """Do a run unless it is done; check a finished one against its marker.

    Raises Busy if another process is working on it, and BadInput if it cannot be done; then an empty
    folder is removed.
    """
    if not stored.done:
        with stored.locked():
            # another process may have done it while this one waited for the lock
            if not stored.done:
                try:
                    learn_and_score(spec, stored, place)
                except BadInput:
                    stored.withdraw()
                    raise
                return "done"
    stored.check()
    return "skipped"


def write_traceback(stored: StoredRun, error: Exception) -> str:
    """One line about a program's failure; the full text is stored with the run."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    try:
        stored.state.mkdir(parents=True, exist_ok=True)
        (stored.state / ERROR).write_text(traceback.format_exc(), "utf-8", "backslashreplace")
    except OSError:
        return line
    return f"{line}; see {stored.state / ERROR}"


def learn_and_score(spec: RunSpec, stored: StoredRun, place: RunPlace) -> None:
    """Learn, answer every set and score the answers; resume what a killed run left."""
    circumstances, clock = Circumstances(), RunClock()
    stored.begin(spec)
    data = load_run_data(spec, ExampleReader(place.data))
    RunJob(spec, stored, place, data, clock).answer()
    score_and_finish(spec, stored, data, clock, circumstances, keep_state=place.keep_state)


def score_and_finish(
    spec: RunSpec,
    stored: StoredRun,
    data: RunData,
    clock: RunClock,
    circumstances: Circumstances,
    *,
    keep_state: bool,
) -> None:
    """Score the stored answers and write the marker of a finished run."""
    begin = time.perf_counter()
    scores = []
    for name, examples in data.sets.items():
        answers = stored.predictions(name, data.task, examples)
        scores.append(score_set(spec, data.task, name, examples, answers))
    clock.add("score", begin)
    about = About(
        started=circumstances.started,
        finished=format_now(),
        seconds=clock.seconds,
        trained=clock.trained,
        python=circumstances.python,
        packages=circumstances.packages,
        data=spec.data,
        seed=spec.seed,
        model=clock.about,
    )
    stored.finish(scores, about, keep_state)


def format_now() -> str:
    """The time of now, as files store it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def package_versions() -> dict[str, str]:
    """The version of each of `PACKAGES` that is installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def describe_python() -> str:
    """The interpreter, and the kind of machine without its name."""
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{interpreter} {platform.system()} {platform.machine()}"


@dataclass(frozen=True)
class Circumstances:
    """When and with what a run is done, on the machine that does it."""

    started: str = field(default_factory=format_now)
    python: str = field(default_factory=describe_python)
    packages: dict[str, str] = field(default_factory=package_versions)


def make_run_model(spec: RunSpec, place: RunPlace, folder: Path | None) -> Predictor:
    """The model of a run with its settings, including secrets; `folder` stores its work."""
    key = key_of_settings(spec.task, spec.predictor, spec.settings)
    given = place.given.get(key, place.settings)
    outside = runtime_settings(find_model(spec.predictor)[0], given)
    inside = restore_secrets(spec.settings, given)
    return model(
        spec.predictor,
        seed=spec.seed,
        settings={**inside, **outside},
        folder=folder,
        progress=place.progress,
        score=score_first,
        spending=SpendingScope(
            ledger=place.out / LEDGER_FILE,
            run=spec.hash,
            runs=place.runs,
            is_running=partial(is_run_busy, place.out),
        ),
    )


@dataclass
class RunClock:
    """Notes of a run in progress."""

    seconds: dict[str, float] = field(default_factory=dict)
    trained: int = 0
    about: dict[str, object] = field(default_factory=dict)

    def add(self, what: str, begin: float) -> None:
        """Count the seconds since `begin` for a part of the work."""
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - begin, 3)


@dataclass(frozen=True)
class RunJob:
    """One run in progress."""

    spec: RunSpec
    stored: StoredRun
    place: RunPlace
    data: RunData
    clock: RunClock

    def answer(self) -> None:
        """Learn and answer every set; a training that diverges while settings are chosen answers nothing."""
        try:
            if self.data.folds:
                self.answer_folds()
            else:
                self.answer_sets()
        except Diverged as problem:
            if self.spec.stage != "selection":
                raise
            self.answer_nothing(problem)

    def answer_sets(self) -> None:
        """Learn once and answer every set that is not answered yet."""
        task = self.data.seen
        unanswered = {
            name: examples
            for name, examples in self.data.sets.items()
            if not self.stored.answers_file(name).exists()
        }
        if unanswered:
            predictor = self.make_model("model")
            self.learn(predictor, self.data.train, "model")
            for name, examples in unanswered.items():
                answers = self.ask(predictor, task, examples, "model")
                self.stored.write_answers(name, answers)
        self.read_about(["model"])

    def answer_folds(self) -> None:
        """Answer fold by fold; reuse the answers of a killed run."""
        ((name, examples),) = self.data.sets.items()
        parts = list(self.data.parts())
        answers: dict[str, Prediction] = {}
        for fold, training, held_out in () if self.stored.answers_file(name).exists() else parts:
            path = self.stored.state / f"fold-{fold}.jsonl"
            if not path.exists():
                predictor = self.make_model(f"model-{fold}")
                learned = take_training_part(self.spec, self.data.task, training)
                self.learn(predictor, learned, f"model-{fold}")
                write_predictions(
                    path, self.ask(predictor, self.data.seen, held_out, f"model-{fold}")
                )
            for prediction in read_predictions(path, self.data.task, held_out):
                answers[prediction.example] = prediction
        if answers:
            self.stored.write_answers(name, [answers[e.id] for e in examples])
        self.read_about([f"model-{fold}" for fold, _, _ in parts])

    def answer_nothing(self, problem: Diverged) -> None:
        """Record missing answers with the reason: diverged settings are not tried again."""
        why = f"{DIVERGED}: {problem.what}"
        for name, examples in self.data.sets.items():
            predictions = [Prediction(example=example.id, why=why) for example in examples]
            self.stored.write_answers(name, predictions)

    def make_model(self, folder: str) -> Predictor:
        """A fresh model with its own folder."""
        path = self.stored.state / folder
        path.mkdir(parents=True, exist_ok=True)
        return make_run_model(self.spec, self.place, path)

    def learn(self, predictor: Predictor, examples: Sequence[Example], folder: str) -> None:
        """Train the model if it can learn.

        A model that can be saved is saved with the run's state, if the run keeps it.
        """
        if not isinstance(predictor, Trainable) or not examples:
            return
        begin, task = time.perf_counter(), self.data.seen
        try:
            predictor.fit(
                task,
                strip_to_training(task, examples),
                strip_to_training(task, self.data.select),
            )
        except Diverged:
            if hasattr(predictor, "about"):
                self.clock.about.update(predictor.about())  # how its losses went
            raise
        finally:
            self.clock.add("fit", begin)
            self.clock.trained = len(examples)
        if self.place.keep_state and hasattr(predictor, "save"):
            predictor.save(self.stored.state / folder / TRAINED, overwrite=True)

    def ask(
        self, predictor: Predictor, task: Task, examples: Sequence[Example], folder: str
    ) -> list[Prediction]:
        """The model's answers, one an example and in order.

        The model's report is written next to its folder: a run that is killed later
        still knows the model's cost.
        """
        begin, name = time.perf_counter(), self.spec.predictor
        predictions = predictor.predict(task, strip_to_inputs(task, examples))
        if [p.example for p in predictions] != [e.id for e in examples]:
            what = f"the model {name} did not answer each of the {len(examples)} examples once, in order"
            raise BadInput(what, cure="fix its predict method: return one prediction per example")
        _check_answer_types(name, task, predictions)
        self.clock.add("predict", begin)
        if hasattr(predictor, "about"):
            self.clock.about.update(predictor.about())
            write_json(self.stored.state / f"{folder}.{ABOUT}", self.clock.about)
        if predictions and all(
            p.answer is None and unanswered_reason(p) == DIVERGED for p in predictions
        ):
            what = f"training on {task.name} diverged: the scores of all answers are not finite"
            raise Diverged(what, cure="set a smaller learning_rate")
        return predictions

    def read_about(self, folders: Sequence[str]) -> None:
        """Collect the reports of a run's models: the last report, and the usage of
        all models, including those of a killed process.
        """
        usages = []
        for folder in folders:
            path = self.stored.state / f"{folder}.{ABOUT}"
            if path.is_file():
                about = read_json(path, dict[str, Any])
                self.clock.about.update(about)
                if isinstance(about.get("usage"), dict):
                    usages.append(about["usage"])
        if usages:
            self.clock.about["usage"] = sum_usage(usages)


def _check_answer_types(name: str, task: Task, predictions: Sequence[Prediction]) -> None:
    """Refuse answers of another shape than the task's: once written, they would be taken up again
    and again.
    """
    types = ANSWER_TYPES.get(task.kind, (str,))
    for prediction in predictions:
        answer = prediction.answer
        if answer is None or (isinstance(answer, types) and not isinstance(answer, bool)):
            continue
        kind = type(answer).__name__
        what = f"the model {name} answers {prediction.example!r} with a {kind}, which is not an answer to a {task.kind} task"
        raise BadInput(what, cure=f"return {' or '.join(shape.__name__ for shape in types)}")
