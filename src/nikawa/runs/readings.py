"""What the answers of stored runs were read from, for `nikawa run --show-reading`.

A run stores the model's text with each answer (`raw`). It is read again with the reader that
made the answer, and the reading is shown only if both agree: nothing is claimed about an answer that
came by another way, such as log-probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from string import ascii_uppercase

from nikawa.datasets.reader import ExampleReader
from nikawa.io.answers.base import ShownReading
from nikawa.io.answers.extract import read_extracts
from nikawa.io.answers.reader import make_reader
from nikawa.io.answers.readings import Offer, Reader, Reading, show_reading
from nikawa.records import Example, Prediction, Record, Task
from nikawa.runs.load import LoadedSystem, load_systems
from nikawa.runs.store import StoredRun

BY_SCORES = "scores"
"""The pattern of an answer that the model's numbers for the labels chose, not its text."""
AS_STORED = "as stored"
"""The pattern of an answer without the text it came from, or that another reader made."""
MAX_READINGS = 10_000
"""Readings of a command that are collected; what is more is counted."""


class RunReadings(Record, frozen=True, kw_only=True):
    """What one run read on one set."""

    task: str
    model: str
    seed: int
    set: str
    readings: tuple[ShownReading, ...]
    left_out: int = 0
    """Further answers, past the limit of a report."""


def collect_readings(
    out: Path, folders: Iterable[str], data: Path | None = None
) -> Iterator[RunReadings]:
    """The readings of the runs in these folders below `out`."""
    runs = [StoredRun(out / folder) for folder in dict.fromkeys(folders)]
    systems, _ = load_systems(runs, ExampleReader(data))
    left = MAX_READINGS
    for system in systems:
        readers = list(list_readers(system))
        for run in system.runs:
            for name, examples in system.sets.examples.items():
                pairs = zip(examples, run.answers[name], strict=True)
                every = [explain_prediction(p, example, readers) for example, p in pairs]
                yield RunReadings(
                    task=system.task.name,
                    model=run.spec.model,
                    seed=run.spec.seed,
                    set=name,
                    readings=tuple(every[:left]),
                    left_out=len(every[left:]),
                )
                left = max(0, left - len(every))


def list_readers(system: LoadedSystem) -> Iterator[Reader]:
    """The readers that may have made the answers of a system: with letters offered, and without."""
    task: Task = system.task
    expressions = tuple(map(str, system.spec.settings.get("extract", ())))
    keys = tuple(ascii_uppercase[: len(task.labels) or None])
    for offer in (Offer(keys=keys), None):
        yield read_extracts(make_reader(task, offer=offer), expressions)


def explain_prediction(
    prediction: Prediction, example: Example, readers: Iterable[Reader]
) -> ShownReading:
    """What an answer was read from."""
    raw, answer = prediction.raw, prediction.answer
    if answer is None:
        why = prediction.why or "no reason given"
        return show_reading(example.id, raw or "", Reading(why=why))
    if raw is None:
        pattern = BY_SCORES if prediction.scores else AS_STORED
        return show_reading(example.id, "", Reading(answer, pattern=pattern))
    for read in readers:
        reading = read(raw, example)
        if reading.why is None and reading.answer == answer:
            return show_reading(example.id, raw, reading)
    pattern = BY_SCORES if prediction.scores else AS_STORED
    return show_reading(example.id, raw, Reading(answer, pattern=pattern))
