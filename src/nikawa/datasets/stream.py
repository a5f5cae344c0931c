"""A dataset as a stream of examples: a records file is read as it is used, anything else is loaded.

For stages that look at one example at a time (tagging, perturbation), so that a file of any size
fits into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.load import guess_language, guess_split, load, loose_dataset, open_file
from nikawa.datasets.names import benchmarks
from nikawa.errors import unknown
from nikawa.io.records import SUFFIXES
from nikawa.io.remote import to_path
from nikawa.records import Dataset, Example

EXAMPLES_FOR_LANGUAGE = 100
"""Examples looked at to tell the language of a loose file."""

SplitExamples = Iterable[tuple[str, Example]]
"""Each example with the name of its split."""


@dataclass
class ExampleStream:
    """Examples with their splits, and what is known of them as a whole."""

    dataset: Dataset
    """Without examples where they come from a file as they are read."""
    pairs: SplitExamples
    """Split and example; a file can be passed over once."""
    total: int | None
    """How many there are; None where that is not known before the end."""


def open_stream(spec: str, data: Path | None = None, *, hidden: bool = False) -> ExampleStream:
    """The examples of a dataset given as `load` takes it, hidden labels removed unless `hidden`.

    A records file is not read completely: its language is detected from the first examples, and its
    size is not known.
    """
    path = to_path(spec)
    if spec not in benchmarks() and spec.endswith(SUFFIXES) and path.is_file():
        examples = open_file(path, data=data, hidden=hidden)
        first = list(islice(examples, EXAMPLES_FOR_LANGUAGE))
        split = guess_split(path)
        dataset = replace(loose_dataset(path, ()), language=guess_language(first))
        return ExampleStream(dataset, ((split, one) for one in chain(first, examples)), None)
    dataset = load(spec, data=data, hidden=hidden)
    pairs = ((split, one) for split, examples in dataset.splits.items() for one in examples)
    return ExampleStream(dataset, pairs, len(dataset))


def refuse_missing_inputs(
    pairs: SplitExamples, names: Sequence[str], text_inputs: Callable[[Example], set[str]]
) -> None:
    """Raise `BadInput` for an input that no example has.

    The first example settles it where all are alike.

    `text_inputs` gives the names of the inputs of an example that may be chosen.
    """
    missing, seen = dict.fromkeys(names), set[str]()
    for _, example in pairs:
        inputs = text_inputs(example)
        seen |= inputs
        missing = {name: None for name in missing if name not in inputs}
        if not missing:
            return
    if seen:
        raise unknown("text input", next(iter(missing)), seen)
