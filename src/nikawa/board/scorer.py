"""The scoring process: it alone opens the labels, and hands out scores and comparisons, nothing about an item.

`nikawa board serve` starts it as a child, as another system user where it may; `nikawa board scorer` runs it apart, behind a Unix socket.
It reads no file of a submitter: answers come as `Prediction` lines that the check made (`checker`). Each request is done in a limited
child (`wire.run_limited`). All numbers are those of `scoring/`: `nikawa score --hidden --keys` prints the same.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from nikawa.board.folder import Board, open_board
from nikawa.board.ladder import measure_noise
from nikawa.board.leakage import label_bits
from nikawa.board.records import BoardSet, TrueComparison, TrueScore
from nikawa.board.wire import (
    HelperFailed,
    Limits,
    Message,
    answer_requests,
    run_limited,
    serve_inherited,
)
from nikawa.datasets.keys import LabelKeys, read_keys, restore_labels, sort_as_before
from nikawa.datasets.load import load
from nikawa.errors import BadInput
from nikawa.io.answers import Answers
from nikawa.io.answers.structures import restore_tags
from nikawa.metrics import metrics
from nikawa.records import Prediction, Score, Span, Task
from nikawa.scoring.compare import ComparedSystem, compare_systems
from nikawa.scoring.match import MatchedAnswers
from nikawa.scoring.score import (
    AnsweredTask,
    ScoreOptions,
    ScoreResult,
    ScoreWork,
    compute_scores,
    cut_slices,
    make_report,
)
from nikawa.stats.resample import SCORE_RESAMPLES
from nikawa.stats.seeds import ResampledRuns, interval_over_seeds

Predictions = dict[str, Prediction]
_PREDICTION = msgspec.json.Decoder(Prediction)


def decode_predictions(lines: bytes, task: Task) -> Predictions:
    """The answers of one file by item, from `Prediction` lines."""
    predictions: Predictions = {}
    for line in lines.splitlines():
        prediction = _PREDICTION.decode(line)
        if task.kind == "tagging" and prediction.answer is not None:
            spans = msgspec.convert(prediction.answer, list[Span])
            answer = restore_tags(spans, prediction.raw)
            prediction = msgspec.structs.replace(prediction, answer=answer)
        predictions[prediction.example] = prediction
    return predictions


class LabelledSet:
    """The items of a set with their labels, in the order that resamples of the owner's own files go by."""

    def __init__(self, board: Board, one: BoardSet, keys: LabelKeys) -> None:
        self.task = board.tasks[one.task]
        self.split = one.split
        place = str(board.dataset_path(one.dataset))
        dataset = restore_labels(load(place, hidden=True), keys, place)
        self.version = dataset.version
        examples = tuple(
            example
            for example in dataset.splits[one.split]
            if self.task.asks(example) and self.task.question in example.gold
        )
        # slices are made of what is published, never of what was removed with the labels
        published = {example.id: example for example in board.examples(one.task, one.split)}
        self.examples = tuple(
            msgspec.structs.replace(
                example, tags=published[example.id].tags, meta=published[example.id].meta
            )
            for example in sort_as_before(examples, keys, one.split)
        )
        self.by = board.slice_keys(one)

    def score(self, files: Sequence[Predictions]) -> list[TrueScore]:
        """The scores of a submission: of its one file, or the means of its seeds."""
        options = ScoreOptions(by=self.by, hidden=True, lenient=True)
        runs = [
            compute_scores(ScoreWork(self.task, None, self.examples, one, options)).scores
            for one in files
        ]
        if len(runs) == 1:
            return [self._true_score([score], score.low, score.high) for score in runs[0]]
        ends = self._seed_intervals(files)
        by_name = [{(s.metric, s.mode, s.where): s for s in run} for run in runs]
        return [
            self._true_score([run[name] for run in by_name], *ends.get(name, (None, None)))
            for name in by_name[0]
            if all(name in run for run in by_name)
        ]

    def _true_score(
        self, scores: Sequence[Score], low: float | None, high: float | None
    ) -> TrueScore:
        first, values = scores[0], [score.value for score in scores]
        return TrueScore(
            submission="",
            task=self.task.name,
            split=self.split,
            metric=first.metric,
            mode=first.mode,
            where=first.where,
            value=float(np.mean(values)) if len(values) > 1 else values[0],
            low=low,
            high=high,
            sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            n=first.n,
            unit=first.unit,
            values=tuple(values),
        )

    def _seed_intervals(
        self, files: Sequence[Predictions]
    ) -> dict[tuple[str, str, str], tuple[float | None, float | None]]:
        """The intervals over items and seeds, by metric, mode and slice."""
        ends: dict[tuple[str, str, str], tuple[float | None, float | None]] = {}
        for where, part in cut_slices(self.examples, self.by, self.task):
            answered = [AnsweredTask.pair(self.task, part, one) for one in files]
            for name in self.task.metrics:
                metric = metrics()[name]
                for mode in metric.modes:
                    with suppress(BadInput):
                        runs = [one.evaluate(metric, mode) for one in answered]
                        units = runs[0][1]
                        if not all(np.array_equal(units, other) for _, other in runs):
                            continue
                        low, high, _ = interval_over_seeds(
                            [run for run, _ in runs],
                            units,
                            SCORE_RESAMPLES,
                            partial(ResampledRuns, units),
                        )
                        scale = metric.scale(self.task)
                        ends[name, mode, where] = (
                            None if np.isnan(low) else low * scale,
                            None if np.isnan(high) else high * scale,
                        )
        return ends

    def describe_labels(self) -> dict[str, float]:
        """How much the labels hold, for the leak budget: items, bits, and the share of the most frequent label."""
        counts = Counter(
            msgspec.json.encode(example.gold[self.task.question], order="deterministic")
            for example in self.examples
        )
        n = len(self.examples)
        start = max(counts.values()) / n if n else 0.0
        return {"n": n, "bits": label_bits(counts.values()), "start": start}

    def measure_noise(
        self,
        first: Sequence[Predictions],
        second: Sequence[Predictions],
        by: tuple[str, ...] = (),
    ) -> dict[tuple[str, str], float]:
        """The standard error of the difference between two submissions, by metric and slice, in the unit of the scores."""
        noise: dict[tuple[str, str], float] = {}
        for where, part in cut_slices(self.examples, by, self.task):
            sides = [
                [AnsweredTask.pair(self.task, part, one) for one in side]
                for side in (first, second)
            ]
            for name in self.task.metrics:
                metric = metrics()[name]
                try:
                    left, right = (
                        [one.evaluate(metric, "official") for one in side] for side in sides
                    )
                except BadInput:
                    continue
                units = left[0][1]
                if not all(np.array_equal(units, other) for _, other in (*left, *right)):
                    continue
                error = measure_noise([e for e, _ in left], [e for e, _ in right], units)
                noise[name, where] = error * metric.scale(self.task)
        return noise

    def compare(
        self, first: Sequence[Predictions], second: Sequence[Predictions]
    ) -> list[TrueComparison]:
        """The paired tests of two submissions, one for each metric."""
        systems = [
            ComparedSystem(name, tuple(map(self._result, files)))
            for name, files in (("first", first), ("second", second))
        ]
        tests = compare_systems([systems], [self.task.name])
        noise = self.measure_noise(first, second)
        return [
            TrueComparison(
                task=self.task.name,
                split=self.split,
                metric=pair.metric,
                first="",
                second="",
                difference=pair.difference,
                low=pair.low,
                high=pair.high,
                p=pair.p,
                se=noise.get((pair.metric, ""), float("nan")),
                n=pair.n,
            )
            for pair in tests.comparison.pairs
        ]

    def _result(self, predictions: Predictions) -> ScoreResult:
        answers = Answers(form="", predictions=predictions)
        matched = MatchedAnswers(self.split, self.version, self.examples, answers)
        report = make_report(self.task, matched, 0, False, (), {})
        return ScoreResult(report, self.task, self.examples, predictions)


class Scorer:
    """The helper's side: the labels of the board, and the work of a child."""

    def __init__(self, board: Board) -> None:
        scoring = board.settings.scoring
        self.limits = Limits(scoring.seconds, scoring.memory)

        @cache
        def keys_of(dataset: str) -> LabelKeys:
            close_to_others(board.keys_path(dataset))
            return read_keys(board.keys_path(dataset))

        self.sets: Mapping[tuple[str, str], LabelledSet] = {
            (one.task, one.split): LabelledSet(board, one, keys_of(one.dataset))
            for one in board.sets
        }

    def answer(self, request: Message) -> Message:
        """Do a request in a child."""
        if request.header.get("do") == "labels":
            return self.compute(request.header, ())
        # seeds take time in turn
        files = max(1, len(request.blocks))
        limits = Limits(self.limits.seconds * files, self.limits.megabytes)
        return run_limited(self.compute, request, limits, gives_reasons=False)

    def compute(self, header: dict[str, Any], blocks: Sequence[bytes]) -> Message:
        """Do a request, in this process."""
        if header["do"] == "labels":
            described = [
                {"task": task, "split": split, **one.describe_labels()}
                for (task, split), one in self.sets.items()
            ]
            return Message({"labels": described})
        one = self.sets[header["task"], header["split"]]
        files = [decode_predictions(block, one.task) for block in blocks]
        count = header.get("first", 0)
        if header["do"] == "score":
            return _pack("scores", one.score(files))
        if header["do"] == "noise":
            noise = one.measure_noise(files[:count], files[count:], one.by)
            rows = [[metric, where, value] for (metric, where), value in noise.items()]
            return Message({"noise": rows})
        if header["do"] == "compare":
            return _pack("comparisons", one.compare(files[:count], files[count:]))
        raise HelperFailed(f"the scorer cannot {header['do']!r}")


def close_to_others(path: Path) -> None:
    """Give a key file of this user mode 0600 again: a copy that was put back may be open to everybody."""
    with suppress(OSError):  # a missing one is reported by who reads it
        state = path.stat()
        if state.st_uid == os.geteuid() and state.st_mode & 0o077:
            path.chmod(0o600)


def _pack(name: str, records: Iterable[Any]) -> Message:
    return Message({name: [msgspec.json.encode(one).decode() for one in records]})


def listen(
    board: Board, path: Path, group: str = "", on_start: Callable[[], None] = lambda: None
) -> None:
    """Serve requests on a Unix socket, until interrupted; `group` may connect too. `on_start` is called once it can be reached."""
    import shutil

    scorer = Scorer(board)
    if path.is_socket():  # that of a scorer that was killed
        path.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        mask = os.umask(0o177)
        try:
            listening.bind(str(path))
        except OSError as problem:
            what = f"cannot listen: {problem.strerror or problem}"
            raise BadInput(what, file=path, cure="choose another --socket") from None
        finally:
            os.umask(mask)
        if group:
            try:
                shutil.chown(path, group=group)
            except (LookupError, OSError):
                what = f"cannot be given to the group {group!r}"
                cure = "choose a group that this user belongs to"
                raise BadInput(what, file=path, cure=cure) from None
            path.chmod(0o660)
        listening.listen(4)
        on_start()
        try:
            while True:
                connection, _ = listening.accept()
                with connection:
                    answer_requests(connection, scorer.answer)
        finally:
            with suppress(FileNotFoundError):
                path.unlink()


if __name__ == "__main__":
    serve_inherited(lambda folder: Scorer(open_board(folder, with_secret=False)).answer)
