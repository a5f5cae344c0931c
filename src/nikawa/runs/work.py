"""Do one run: learn, answer, score, each step written down before the next, so that a killed run goes on."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, NikawaError
from nikawa.models import Predictor, Trainable, model, named
from nikawa.models.base import Diverged, Progress, _silent
from nikawa.records import Example, Prediction, Task
from nikawa.runs.material import Material, bare, gather, to_learn, varied
from nikawa.runs.packages import packages, python
from nikawa.runs.plan import outside_of
from nikawa.runs.scored import Scoring, reason, scored
from nikawa.runs.store import Busy, StoredRun, read_predictions, write_predictions
from nikawa.runs.value import DIVERGED, About, Outcome, RunSpec, Status

__all__ = ["Place", "Scoring", "work"]

ERROR, TRAINED = "error.txt", "trained"
SHAPES: dict[str, tuple[type, ...]] = {
    "similarity": (float, int),
    "choice": (int,),
    "tagging": (list, tuple),
    "tree": (dict,),
    "dialogue": (list, tuple),
}
"""What answers are, by kind of task; a text where nothing is said."""


@dataclass(frozen=True)
class Place:
    """Where runs are kept and data lies: what a run needs of the machine it is done on."""

    out: Path
    data: Path | None = None
    keep_state: bool = False
    progress: Progress = _silent
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that tell how models work, not what comes out; each takes those it declares to be so."""


@dataclass
class _Clock:
    seconds: dict[str, float] = field(default_factory=dict)
    trained: int = 0
    about: dict[str, object] = field(default_factory=dict)

    def time(self, what: str, begin: float) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - begin, 3)


def work(spec: RunSpec, place: Place, score: Scoring) -> Outcome:
    """Do a run unless it is done; whatever goes wrong is told, never raised, but for an interruption."""
    begin, stored = time.perf_counter(), StoredRun(place.out / spec.folder)
    status: Status = "failed"
    problem, bad = "", True
    try:
        status = _tried(spec, stored, place, score)
        problem, bad = _told(spec, stored, status), False
    except Busy as said:
        status, problem = "busy", str(said)
    except NikawaError as said:
        problem = str(said)
    except OSError as said:
        problem = f"{said.filename}: {said.strerror}" if said.filename else str(said)
    except Exception as said:  # one run's failure must not stop the others
        problem, bad = _written(stored, said), False
    seconds = round(time.perf_counter() - begin, 3)
    return Outcome(
        run=spec, status=status, problem=problem, bad_input=bad and bool(problem), seconds=seconds
    )


def _tried(spec: RunSpec, stored: StoredRun, place: Place, score: Scoring) -> Status:
    if not stored.done:
        with stored.locked():
            if not stored.done:
                try:
                    _do(spec, stored, place, score)
                except BadInput:
                    stored.withdraw()
                    raise
                return "done"
    stored.check()
    return "skipped"


def _told(spec: RunSpec, stored: StoredRun, status: Status) -> str:
    """What there is to tell of a run that is done."""
    return DIVERGED if status == "done" and spec.stage == "selection" and stored.diverged else ""


def _written(stored: StoredRun, problem: Exception) -> str:
    """One line about a program's failure; the whole of it is kept beside the run."""
    said = " ".join(f"{type(problem).__name__}: {problem}".split())
    try:
        stored.state.mkdir(parents=True, exist_ok=True)
        (stored.state / ERROR).write_text(traceback.format_exc(), "utf-8")
    except OSError:
        return said
    return f"{said}; see {stored.state / ERROR}"


def _do(spec: RunSpec, stored: StoredRun, place: Place, score: Scoring) -> None:
    started, clock = _now(), _Clock()
    stored.begin(spec)
    material = gather(spec, ExampleReader(place.data))
    job = _Job(spec, stored, place, material, score, clock)
    try:
        job.answer_folds() if material.folds else job.answer_sets()
    except Diverged as problem:
        if spec.stage != "selection":
            raise
        job.answer_nothing(problem)
    begin = time.perf_counter()
    scores = [scored(spec, material, stored, name, score) for name in material.sets]
    clock.time("score", begin)
    about = About(
        started=started,
        finished=_now(),
        seconds=clock.seconds,
        trained=clock.trained,
        python=python(),
        packages=packages(),
        data=spec.data,
        seed=spec.seed,
        model=clock.about,
    )
    stored.finish(scores, about, place.keep_state)


@dataclass(frozen=True)
class _Job:
    """One run under way."""

    spec: RunSpec
    stored: StoredRun
    place: Place
    material: Material
    score: Scoring
    clock: _Clock

    def answer_sets(self) -> None:
        """Learn once and answer every set that is not answered yet."""
        task, sets = self.material.seen, self.material.sets
        open_ = {name: e for name, e in sets.items() if not self.stored.answers_file(name).exists()}
        if not open_:
            return
        made = self.make("model")
        self.learn(made, self.material.train, "model")
        for name, examples in open_.items():
            write_predictions(self.stored.answers_file(name), self.ask(made, task, examples))

    def answer_folds(self) -> None:
        """Answer fold by fold; what a killed run had answered is taken up."""
        ((name, examples),) = self.material.sets.items()
        if self.stored.answers_file(name).exists():
            return
        answers: dict[str, Prediction] = {}
        for fold, learned, asked in self.material.parts():
            path = self.stored.state / f"fold-{fold}.jsonl"
            if not path.exists():
                made = self.make(f"model-{fold}")
                self.learn(made, varied(self.spec, self.material.task, learned), f"model-{fold}")
                write_predictions(path, self.ask(made, self.material.seen, asked))
            found = read_predictions(path, self.material.task, asked)
            answers |= {prediction.example: prediction for prediction in found}
        write_predictions(self.stored.answers_file(name), [answers[e.id] for e in examples])

    def answer_nothing(self, problem: Diverged) -> None:
        """Write down that there is no answer and why: settings that diverge are not tried again."""
        why = f"{DIVERGED}: {problem.what}"
        for name, examples in self.material.sets.items():
            write_predictions(
                self.stored.answers_file(name),
                [Prediction(example=e.id, why=why) for e in examples],
            )

    def make(self, folder: str) -> Predictor:
        """A fresh model with a folder of its own."""
        path = self.stored.state / folder
        path.mkdir(parents=True, exist_ok=True)
        outside = outside_of(named(self.spec.predictor)[0], self.place.settings)
        return model(
            self.spec.predictor,
            seed=self.spec.seed,
            settings={**self.spec.settings, **outside},
            folder=path,
            progress=self.place.progress,
            score=self.score.first,
        )

    def learn(self, made: Predictor, examples: Sequence[Example], folder: str) -> None:
        """Let the model learn, if it is one that does; what can be saved is kept with its state, where that is kept."""
        if not isinstance(made, Trainable) or not examples:
            return
        begin, task = time.perf_counter(), self.material.seen
        try:
            made.fit(task, to_learn(task, examples), to_learn(task, self.material.select))
        except Diverged:
            self.hear(made)  # how its losses went
            raise
        finally:
            self.clock.time("fit", begin)
            self.clock.trained = len(examples)
        if self.place.keep_state and hasattr(made, "save"):
            made.save(self.stored.state / folder / TRAINED, overwrite=True)

    def ask(self, made: Predictor, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The model's answers, one an example and in order."""
        begin = time.perf_counter()
        found = made.predict(task, bare(task, examples))
        if [p.example for p in found] != [e.id for e in examples]:
            what = f"the model {self.spec.predictor} did not answer each of the {len(examples)} examples once, in order"
            raise BadInput(what, cure="mend its predict: one prediction an example")
        _check_shape(self.spec.predictor, task, found)
        self.clock.time("predict", begin)
        self.hear(made)
        if found and all(p.answer is None and reason(p) == DIVERGED for p in found):
            what = f"the training of {task.name} diverged: no score of an answer is a number"
            raise Diverged(what, cure="set a smaller learning_rate")
        return found

    def hear(self, made: Predictor) -> None:
        """Keep what the model tells of itself."""
        if hasattr(made, "about"):
            self.clock.about.update(made.about())


def _check_shape(name: str, task: Task, found: Sequence[Prediction]) -> None:
    """Refuse answers of another shape than the task's: once written, they would be taken up again and again."""
    wanted = SHAPES.get(task.kind, (str,))
    for given in found:
        if given.answer is None or (
            isinstance(given.answer, wanted) and not isinstance(given.answer, bool)
        ):
            continue
        kind = type(given.answer).__name__
        what = f"the model {name} answers {given.example!r} with a {kind}, which is no answer to a {task.kind} task"
        raise BadInput(what, cure=f"answer with {' or '.join(shape.__name__ for shape in wanted)}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
