"""The folder of a run: what defines it, its answers, its scores, how it came about, and a marker written last.

runs/<task>--<model>--<hash>/
    run.json              the value that defines it (RunSpec); its hash names the folder
    predictions/SET.jsonl one Prediction a line, in the order of the set
    scores.json           a list of SetScores
    about.json            times, versions of packages, data (About)
    done.json             size and digest of the files above; there only when all of them are whole
    state/                unfinished work of the model; gone when done unless it is asked to stay
    lock                  held by the process that works on it
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.answers.structures import restore_tags
from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json, pack_json, read_json, read_json_lines
from nikawa.io.jsonl import write_lines_of_records as write_lines
from nikawa.io.locks import is_locked, lock_file
from nikawa.records import Example, Prediction, Record, Score, Span, Task
from nikawa.runs.records import About, RunSpec, SetScores

RUN, ABOUT, SCORES, DONE, LOCK = "run.json", "about.json", "scores.json", "done.json", "lock"
PREDICTIONS, STATE = "predictions", "state"
LOCK_SECONDS = 3.0
"""Seconds to wait for the lock of a process that is just dying."""


class Busy(BadInput):
    """Another process works on the run."""


class Done(Record, frozen=True, kw_only=True):
    """The marker: file to (bytes, digest)."""

    files: dict[str, tuple[int, str]]


class StoredRun:
    """A run's folder, finished or not."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def spec(self) -> RunSpec:
        """The value that defines it."""
        return read_json(self.path / RUN, RunSpec)

    @property
    def done(self) -> bool:
        """Whether it was finished."""
        return (self.path / DONE).is_file()

    @property
    def state(self) -> Path:
        """Where a model keeps unfinished work."""
        return self.path / STATE

    @property
    def sets(self) -> list[str]:
        """The sets it has answered."""
        return sorted(path.stem for path in (self.path / PREDICTIONS).glob("*.jsonl"))

    def answers_file(self, name: str) -> Path:
        """Where the answers to a set are."""
        return self.path / PREDICTIONS / f"{name}.jsonl"

    def predictions(
        self, name: str, task: Task, examples: Sequence[Example] = ()
    ) -> list[Prediction]:
        """The answers to a set; held against its `examples` where they are given."""
        return read_predictions(self.answers_file(name), task, examples)

    def scores(self) -> list[SetScores]:
        """The scores of every set."""
        return [
            _with_nan(raw, self.path / SCORES) for raw in read_json(self.path / SCORES, list[Any])
        ]

    @property
    def diverged(self) -> bool:
        """Whether it was finished without a score, as its training diverged."""
        return self.done and any(part.diverged for part in self.scores())

    def about(self) -> About:
        """How it came about."""
        return read_json(self.path / ABOUT, About)

    def check(self) -> None:
        """Hold the files of a finished run against its marker."""
        cure = f"put it back, or do the run again after: nikawa run remove --yes {quote(str(self.path))}"
        try:
            written = read_json(self.path / DONE, Done).files
        except BadInput as problem:
            raise BadInput(problem.what, file=problem.file, line=problem.line, cure=cure) from None
        for name, (size, digest) in written.items():
            path = self.path / name
            if not path.is_file() or path.stat().st_size != size or digest_of(path) != digest:
                raise BadInput(
                    "is not what the run wrote" if path.exists() else "is gone",
                    file=path,
                    cure=cure,
                )

    def begin(self, spec: RunSpec) -> None:
        """Make the folder and write down what the run is."""
        (self.path / PREDICTIONS).mkdir(parents=True, exist_ok=True)
        if not (self.path / RUN).exists():
            write_json(self.path / RUN, spec)
        elif self.spec.hash != spec.hash:
            cure = f"run: nikawa run remove --yes {quote(str(self.path))}"
            raise BadInput(
                "does not hold the run its folder is named after", file=self.path / RUN, cure=cure
            )

    def finish(self, scores: Sequence[SetScores], about: About, keep_state: bool = False) -> None:
        """Write scores and circumstances, then the marker; unfinished work goes."""
        write_json(self.path / SCORES, scores)
        write_json(self.path / ABOUT, about)
        names = [RUN, SCORES, *(f"{PREDICTIONS}/{name}.jsonl" for name in self.sets)]
        files = {n: ((self.path / n).stat().st_size, digest_of(self.path / n)) for n in names}
        if not keep_state:
            shutil.rmtree(self.state, ignore_errors=True)
        write_json(self.path / DONE, Done(files=files))

    def withdraw(self) -> None:
        """Remove the folder of a run that came to nothing; one that holds work is left to go on with."""
        if all(
            f.name in (RUN, LOCK) and f.parent == self.path
            for f in self.path.rglob("*")
            if f.is_file()
        ):
            shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the lock dies with this one."""
        cure = "wait for it, or end it"
        busy = Busy("another process works on this run", file=self.path, cure=cure)
        with lock_file(self.path / LOCK, busy=busy, patience=LOCK_SECONDS):
            yield

    def busy(self) -> bool:
        """Whether a process works on it now."""
        return is_locked(self.path / LOCK)


def write_json(path: Path, value: Any) -> None:
    """One JSON document, indented; what cannot be a number is null."""
    with atomic_write(path, overwrite=True) as stream:
        stream.write(msgspec.json.format(pack_json(value, path), indent=1) + b"\n")


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """One answer a line, whole or not at all."""
    write_lines(path, predictions, overwrite=True)


def read_predictions(path: Path, task: Task, examples: Sequence[Example] = ()) -> list[Prediction]:
    """The answers of a file; where `examples` are given, one each and in their order."""
    cure = "remove the file and run the same command again"
    try:
        found = [_revived(prediction, task) for _, prediction in read_json_lines(path, Prediction)]
    except BadInput as problem:
        raise BadInput(problem.what, file=path, line=problem.line, cure=cure) from None
    if examples and [p.example for p in found] != [e.id for e in examples]:
        what = (
            f"holds other ids than the {len(examples)} of the set"
            if len(found) == len(examples)
            else (f"holds {len(found)} answers, the set has {len(examples)} examples")
        )
        raise BadInput(what, file=path, cure=cure)
    return found


def _revived(prediction: Prediction, task: Task) -> Prediction:
    if task.kind != "tagging" or prediction.answer is None:
        return prediction
    try:
        spans = msgspec.convert(prediction.answer, list[Span])
    except msgspec.ValidationError as problem:
        raise BadInput(
            f"the answer to {prediction.example!r} is no list of spans: {problem}"
        ) from None
    return msgspec.structs.replace(prediction, answer=restore_tags(spans, prediction.raw))


def _with_nan(raw: Any, path: Path) -> SetScores:
    """Scores as written; null stands for NaN."""
    try:
        for score in raw["scores"]:
            score["value"] = float("nan") if score["value"] is None else score["value"]
        return msgspec.convert(raw, SetScores)
    except (msgspec.ValidationError, TypeError, KeyError) as problem:
        raise BadInput(
            f"is not a list of scores: {problem}", file=path, cure="score the run again"
        ) from None


NOT_THE_MODEL = ("work", "state", "pretraining.json")
"""What lies in a checkpoint's folder and tells how it was made, not what it is."""


def digest_of(path: Path) -> str:
    """The digest of a file, or of all files of a folder with their names; of a checkpoint's, those that make the model."""
    if path.is_dir():
        found = [f.relative_to(path) for f in sorted(path.rglob("*")) if f.is_file()]
        if (path / "config.json").is_file():
            found = [
                f
                for f in found
                if f.suffix != ".md"
                and f.parts[0] not in NOT_THE_MODEL
                and not any(part.startswith(".") for part in f.parts)
            ]
        parts = [(str(f), digest_of(path / f)) for f in found]
        return blake2b(encode_json(parts), digest_size=8).hexdigest()
    state = blake2b(digest_size=8)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def stored_runs(out: Path, *, broken: bool = False) -> list[StoredRun]:
    """Every run below a folder, by name; `broken` ones, which do not say what they are, only where asked for."""
    if not out.is_dir():
        raise BadInput(
            "no such folder", file=out, cure="name the folder that nikawa run wrote: --out DIR"
        )
    names = (RUN, LOCK, DONE) if broken else (RUN,)
    return [
        StoredRun(path)
        for path in sorted({found.parent for name in names for found in out.glob(f"*/{name}")})
    ]


def open_run(name: str | Path, out: Path | None = None) -> StoredRun:
    """The run of a folder, or of a name or the beginning of a hash below `out`."""
    path = Path(name)
    if any((path / part).is_file() for part in (RUN, LOCK, DONE)):
        return StoredRun(path)
    runs = stored_runs(out, broken=True) if out is not None and out.is_dir() else []
    word = str(name).rstrip("/")
    found = [run for run in runs if run.path.name == word]
    found = found or [run for run in runs if run.path.name.rpartition("--")[2].startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"{word!r} begins {len(found)} runs", cure="write more of the hash")
    raise unknown("run", word, [run.path.name for run in runs])


def official_scores(scores: Iterable[SetScores], name: str, where: str = "") -> list[Score]:
    """The scores of one set, or of a part of it, in official mode."""
    return [
        s
        for part in scores
        if part.set == name
        for s in part.scores
        if s.where == where and s.mode == "official"
    ]
