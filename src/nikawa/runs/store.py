"""The folder of a run: its definition, answers, scores and circumstances, and a marker
written last.

runs/<task>--<model>--<hash>/
    run.json              the value that defines it (RunSpec); its hash names the folder
    predictions/SET.jsonl one Prediction per line, in the order of the set
    scores.json           a list of SetScores
    about.json            times, versions of packages, data (About)
    done.json             size and digest of the files above; written only when all of them are complete
    state/                unfinished work of the model; removed when done, unless it should stay
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
from typing import Any, overload

import msgspec

from nikawa.datasets.compact import MAX_SHARED
from nikawa.errors import BadInput, unknown
from nikawa.io.answers.structures import restore_tags
from nikawa.io.atomic import atomic_write
from nikawa.io.file_names import check_file_names, join_inside, refuse_outside
from nikawa.io.json import encode_json, pack_json, read_json, read_json_lines
from nikawa.io.jsonl import write_lines_of_records as write_lines
from nikawa.io.lines import open_packed
from nikawa.io.locks import is_locked, lock_file
from nikawa.models.secrets import mask_secrets
from nikawa.records import Example, Prediction, Record, Score, Span, Task
from nikawa.runs.records import About, RunSpec, SetScores

RUN, ABOUT, SCORES, DONE, LOCK = "run.json", "about.json", "scores.json", "done.json", "lock"
PREDICTIONS, STATE = "predictions", "state"
_REMOVE = "remove the file and run the same command again"
LOCK_SECONDS = 3.0
"""Seconds to wait for the lock of a process that is just dying."""


class Busy(BadInput):
    """Another process is working on the run."""


class Done(Record, frozen=True, kw_only=True):
    """The marker: file to (bytes, digest)."""

    files: dict[str, tuple[int, str]]


class StoredRun:
    """A run's folder, finished or not."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def spec(self) -> RunSpec:
        """The value that defines it; a key that an older version stored with it is not shown."""
        spec = read_json(self.path / RUN, RunSpec)
        return msgspec.structs.replace(spec, settings=mask_secrets(spec.settings))

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

    def write_answers(self, name: str, predictions: Iterable[Prediction]) -> None:
        """Write the answers to a set, whole or not at all."""
        check_file_names([name], "set")
        refuse_outside(self.answers_file(name), self.path)
        write_predictions(self.answers_file(name), predictions)

    def predictions(
        self, name: str, task: Task, examples: Sequence[Example] = ()
    ) -> list[Prediction]:
        """The answers to a set; checked against its `examples` if they are passed."""
        return read_predictions(self.answers_file(name), task, examples)

    def answers_in_order(
        self, name: str, task: Task, examples: Sequence[Example]
    ) -> Sequence[Prediction]:
        """The same for a set that may be large."""
        return read_answers_in_order(self.answers_file(name), task, examples)

    def scores(self) -> list[SetScores]:
        """The scores of every set."""
        path = self.path / SCORES
        parts = read_json(path, list[Any])
        try:
            for part in parts:
                for score in part["scores"]:
                    if score["value"] is None:  # JSON has no NaN
                        score["value"] = float("nan")
            return [msgspec.convert(part, SetScores) for part in parts]
        except (msgspec.ValidationError, TypeError, KeyError) as problem:
            what = f"is not a list of scores: {problem}"
            raise BadInput(what, file=path, cure="run the same command again") from None

    @property
    def diverged(self) -> bool:
        """Whether it was finished without a score, as its training diverged."""
        return self.done and any(part.diverged for part in self.scores())

    def about(self) -> About:
        """Times, versions and data of the run."""
        return read_json(self.path / ABOUT, About)

    def check(self) -> None:
        """Check the files of a finished run against its marker."""
        cure = f"restore it, or remove the run and start it again: nikawa run remove --yes {quote(str(self.path))}"
        try:
            written = read_json(self.path / DONE, Done).files
        except BadInput as problem:
            raise BadInput(problem.what, file=problem.file, line=problem.line, cure=cure) from None
        for name, (size, digest) in written.items():
            try:
                path = join_inside(self.path, name)
            except BadInput:
                what = f"names {name!r}, which is not a file of the run"
                raise BadInput(what, file=self.path / DONE, cure=cure) from None
            if not path.exists():
                raise BadInput(f"is listed in {DONE} but missing", file=path, cure=cure)
            if not path.is_file() or path.stat().st_size != size or digest_of(path) != digest:
                raise BadInput("has changed since the run wrote it", file=path, cure=cure)

    def begin(self, spec: RunSpec) -> None:
        """Make the folder and write the definition of the run."""
        (self.path / PREDICTIONS).mkdir(parents=True, exist_ok=True)
        if not (self.path / RUN).exists():
            write_json(self.path / RUN, spec)
        elif self.spec.hash != spec.hash:
            cure = f"run: nikawa run remove --yes {quote(str(self.path))}"
            what = "does not match the run that its folder is named after"
            raise BadInput(what, file=self.path / RUN, cure=cure)

    def finish(self, scores: Sequence[SetScores], about: About, keep_state: bool = False) -> None:
        """Write scores and circumstances, then the marker; remove unfinished work."""
        write_json(self.path / SCORES, scores)
        write_json(self.path / ABOUT, about)
        names = [RUN, SCORES, *(f"{PREDICTIONS}/{name}.jsonl" for name in self.sets)]
        files = {}
        for name in names:
            path = self.path / name
            files[name] = (path.stat().st_size, digest_of(path))
        if not keep_state:
            shutil.rmtree(self.state, ignore_errors=True)
        write_json(self.path / DONE, Done(files=files))

    def withdraw(self) -> None:
        """Remove the folder of a run without results.

        A folder with work stays, so that the run can be resumed.
        """
        files = {path for path in self.path.rglob("*") if path.is_file()}
        if files <= {self.path / RUN, self.path / LOCK}:
            shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out other processes; the lock ends with this process.

        Everything in the run is written under this lock: links that lead out of the folder are
        refused here.
        """
        for path in self.path.rglob("*"):
            if path.is_symlink():
                refuse_outside(path, self.path)
        cure = "wait for it, or stop it"
        busy = Busy("another process is working on this run", file=self.path, cure=cure)
        with lock_file(self.path / LOCK, busy=busy, patience=LOCK_SECONDS):
            yield

    def busy(self) -> bool:
        """Whether a process is working on it now."""
        return is_locked(self.path / LOCK)


def write_json(path: Path, value: Any) -> None:
    """One JSON document, indented; NaN is null."""
    with atomic_write(path, overwrite=True) as stream:
        stream.write(msgspec.json.format(pack_json(value, path), indent=1) + b"\n")


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """One answer per line, whole or not at all."""
    write_lines(path, predictions, overwrite=True)


def read_predictions(path: Path, task: Task, examples: Sequence[Example] = ()) -> list[Prediction]:
    """The answers of a file; where `examples` are given, one each and in their order."""
    predictions = list(_stream_predictions(path, task))
    if examples and [p.example for p in predictions] != [e.id for e in examples]:
        raise _other_ids(path, len(predictions), len(examples))
    return predictions


def read_answers_in_order(
    path: Path, task: Task, examples: Sequence[Example]
) -> Sequence[Prediction]:
    """The same in a tenth of the memory where answers are labels or numbers: each prediction is made when it is looked at."""
    answers: list[Any] = []
    shared: dict[str, str] = {}
    count, fits = 0, True
    for count, prediction in enumerate(_stream_predictions(path, task), start=1):
        fits = fits and count <= len(examples) and prediction.example == examples[count - 1].id
        answer = prediction.answer
        if prediction != Prediction(example=prediction.example, answer=answer):
            answers.append(prediction)
        elif type(answer) is str and len(shared) < MAX_SHARED:
            answers.append(shared.setdefault(answer, answer))
        else:
            answers.append(answer)
    if not fits or count != len(examples):
        raise _other_ids(path, count, len(examples))
    return _AnswersInOrder(examples, answers)


def _stream_predictions(path: Path, task: Task) -> Iterator[Prediction]:
    try:
        for _, prediction in read_json_lines(path, Prediction):
            yield restore_spans(prediction) if task.kind == "tagging" else prediction
    except BadInput as problem:
        raise BadInput(problem.what, file=path, line=problem.line, cure=_REMOVE) from None


def _other_ids(path: Path, answers: int, examples: int) -> BadInput:
    what = f"has other ids than the {examples} examples of the set"
    if answers != examples:
        what = f"has {answers} answers, but the set has {examples} examples"
    return BadInput(what, file=path, cure=_REMOVE)


class _AnswersInOrder(Sequence[Prediction]):
    """Predictions that say nothing but an answer as that answer, the others as they are."""

    def __init__(self, examples: Sequence[Example], answers: list[Any]) -> None:
        self._examples, self._answers = examples, answers

    def __len__(self) -> int:
        return len(self._answers)

    @overload
    def __getitem__(self, place: int) -> Prediction: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Prediction]: ...
    def __getitem__(self, place: int | slice) -> Prediction | Sequence[Prediction]:
        if isinstance(place, slice):
            return _AnswersInOrder(self._examples[place], self._answers[place])
        answer = self._answers[place]
        if isinstance(answer, Prediction):
            return answer
        return Prediction(example=self._examples[place].id, answer=answer)

    def __iter__(self) -> Iterator[Prediction]:
        for example, answer in zip(self._examples, self._answers, strict=True):
            is_whole = isinstance(answer, Prediction)
            yield answer if is_whole else Prediction(example=example.id, answer=answer)


def restore_spans(prediction: Prediction) -> Prediction:
    """A stored answer to a tagging task with its spans as values again, or as the tags that the
    model gave.

    Raises BadInput for an answer that is not a list of spans.
    """
    if prediction.answer is None:
        return prediction
    try:
        spans = msgspec.convert(prediction.answer, list[Span])
    except msgspec.ValidationError as problem:
        what = f"the answer to {prediction.example!r} is not a list of spans: {problem}"
        raise BadInput(what) from None
    return msgspec.structs.replace(prediction, answer=restore_tags(spans, prediction.raw))


NOT_THE_MODEL = ("work", "state", "pretraining.json")
"""Files in a checkpoint's folder that describe how it was made and do not affect the model."""


def digest_of(path: Path) -> str:
    """The digest of a file, or of all files of a folder with their names.

    Of a checkpoint's folder, only the files that make the model count.
    """
    if path.is_dir():
        is_checkpoint = (path / "config.json").is_file()
        digests = []
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path)
            if is_checkpoint:
                is_hidden = any(part.startswith(".") for part in name.parts)
                if is_hidden or name.suffix == ".md" or name.parts[0] in NOT_THE_MODEL:
                    continue
            if file.is_file():
                digests.append((str(name), digest_of(file)))
        return blake2b(encode_json(digests), digest_size=8).hexdigest()
    state = blake2b(digest_size=8)
    with open_packed(path) as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def stored_runs(out: Path, *, broken: bool = False) -> list[StoredRun]:
    """Every run below a folder, by name.

    Broken runs, without a readable definition, are listed only with `broken`.
    """
    if not out.is_dir():
        cure = "pass the folder that nikawa run wrote: --out DIR"
        raise BadInput("no such folder", file=out, cure=cure)
    names = (RUN, LOCK, DONE) if broken else (RUN,)
    folders = {path.parent for name in names for path in out.glob(f"*/{name}")}
    return [StoredRun(folder) for folder in sorted(folders)]


def locate_run(out: Path, spec: RunSpec) -> StoredRun:
    """The folder of a run, finished, unfinished or still to be made.

    One that an earlier version, or its owner, named otherwise is found by the hash at its end.
    """
    path = out / spec.folder
    if path.exists():
        return StoredRun(path)
    others = [folder for folder in sorted(out.glob(f"*--{spec.hash}")) if (folder / RUN).is_file()]
    return StoredRun(others[0] if others else path)


def is_run_busy(out: Path, run_hash: str) -> bool:
    """Whether a process is working on the run with this hash now."""
    return any(StoredRun(folder).busy() for folder in out.glob(f"*--{run_hash}"))


def open_run(name: str | Path, out: Path | None = None) -> StoredRun:
    """The run of a folder, or of a name or the beginning of a hash below `out`."""
    path = Path(name)
    if any((path / part).is_file() for part in (RUN, LOCK, DONE)):
        return StoredRun(path)
    runs = stored_runs(out, broken=True) if out is not None and out.is_dir() else []
    word = str(name).rstrip("/")
    by_name = {run.path.name: run for run in runs}
    if word in by_name:
        return by_name[word]
    matches = [run for name, run in by_name.items() if name.rpartition("--")[2].startswith(word)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise BadInput(
            f"{len(matches)} runs begin with {word!r}", cure="write more digits of the hash"
        )
    raise unknown("run", word, list(by_name))


def official_scores(scores: Iterable[SetScores], name: str, where: str = "") -> list[Score]:
    """The scores of one set, or of a part of it, in official mode."""
    whole = [score for part in scores if part.set == name for score in part.scores]
    return [score for score in whole if score.where == where and score.mode == "official"]
