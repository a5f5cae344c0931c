"""What pre-training takes from other stages: cleaning, the texts of the benchmarks, morphemes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from nikawa.cleaning import Settings, Step, choose_steps
from nikawa.cleaning.engine import Cleaner, Passage
from nikawa.datasets import benchmarks
from nikawa.datasets.load import load
from nikawa.datasets.locate import present
from nikawa.datasets.names import find_benchmark
from nikawa.errors import BadInput
from nikawa.execute.ordered import map_ordered
from nikawa.io.lines import read_lines
from nikawa.pretrain.contamination import Text
from nikawa.pretrain.prepare import Cleaned
from nikawa.pretrain.stages import fingerprint
from nikawa.records import Dataset, reference, texts_inside
from nikawa.text.starts import starts

LEFT_OUT = ("sentences", "duplicates", "toxicity", "length")
"""Steps that choose sentences to be judged by people; an encoder learns from all that is text."""
MOST_OTHER, LEAST_OWN = 200, 0.3
"""Looser than for candidates: hanja and Latin words belong to what an encoder must read."""
_LINES = 256
"""Lines a process segments at a time."""


@dataclass(frozen=True)
class CleanLines:
    """Lines through the steps of `nikawa clean`, personal data replaced."""

    language: str
    any_language: bool = False

    def __call__(self, texts: Sequence[str]) -> Cleaned:
        """Each line as it is now; empty where it had to go."""
        settings = Settings(
            language=self.language, pii="replace", max_other=MOST_OTHER, min_own=LEAST_OWN
        )
        cleaner = Cleaner(_steps(self.any_language), settings)
        done = [" ".join(_kept(cleaner, text).split()) for text in texts]
        counts = cleaner.tally.counts.items()
        changed = Counter({step: count.changed for step, count in counts if count.changed})
        return Cleaned(
            done, changed, Counter({step: count.removed for step, count in counts if count.removed})
        )


@cache
def _steps(any_language: bool) -> tuple[Step, ...]:
    return choose_steps(None, (*LEFT_OUT, "script") if any_language else LEFT_OUT)


def _kept(cleaner: Cleaner, text: str) -> str:
    return " ".join(found.text for found in cleaner.clean(text) if isinstance(found, Passage))


@dataclass(frozen=True)
class BenchmarkTexts:
    """Every text of every benchmark at hand, and of further files."""

    data: Path | None = None
    against: tuple[str, ...] = ()
    """Datasets, records files or plain text files beside those found."""

    def published(self) -> bool:
        """Whether the data folder holds any benchmark, beside those that come with the package."""
        return any(b.repository and present(b, self.data) for b in benchmarks().values())

    def names(self) -> list[str]:
        """The benchmarks at hand and the further files, as a stage is known by them."""
        names = [
            benchmark.name for benchmark in benchmarks().values() if present(benchmark, self.data)
        ]
        for spec in self.against:
            is_file = find_benchmark(spec) is None and Path(spec).is_file()
            names.append(fingerprint(Path(spec)) if is_file else spec)
        return names

    def __call__(self) -> Iterator[Text]:
        """The texts, dataset by dataset."""
        for benchmark in benchmarks().values():
            if present(benchmark, self.data):
                yield from dataset_texts(load(benchmark.name, data=self.data))
        for spec in self.against:
            yield from _further(spec, self.data)


def dataset_texts(dataset: Dataset) -> Iterator[Text]:
    """Every text of a dataset with the example it belongs to."""
    for split, examples in dataset.splits.items():
        for example in examples:
            name = reference(dataset.name, split, example.id)
            yield from (Text(dataset.name, name, text) for text in texts_inside(example.inputs))


def _further(spec: str, data: Path | None) -> Iterator[Text]:
    plain = ".txt" in Path(spec).suffixes
    text = None
    for text in _lines(Path(spec)) if plain else dataset_texts(load(spec, data=data)):
        yield text
    if text is None:
        raise BadInput(
            "holds no text to compare with", file=spec, cure="name another with --against, or none"
        )


def _lines(path: Path) -> Iterator[Text]:
    return (
        Text(path.name, f"{path.name}:{number}", line)
        for number, line in read_lines(path)
        if line.strip()
    )


def texts_by_benchmark(texts: BenchmarkTexts, language: str) -> Iterator[tuple[str, list[str]]]:
    """The distinct texts of each benchmark of a language that is at hand."""
    for benchmark in benchmarks().values():
        if benchmark.language == language and present(benchmark, texts.data):
            found = dict.fromkeys(
                text.text for text in dataset_texts(load(benchmark.name, data=texts.data))
            )
            yield benchmark.name, list(found)


@dataclass(frozen=True)
class Morphemes:
    """Where the morphemes of texts begin, by an analyser; survives the trip to another process."""

    name: str
    workers: int = 1

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """For each text the places at which a morpheme begins, ascending."""
        if self.workers <= 1 or len(texts) < 2 * _LINES:
            return starts(texts, self.name)
        parts = [list(texts[at : at + _LINES]) for at in range(0, len(texts), _LINES)]
        found = map_ordered(partial(starts, name=self.name), parts, self.workers)
        return [places for part in found for places in part]
