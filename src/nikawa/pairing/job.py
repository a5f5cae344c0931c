"""Pair the sentences of a file: examples of two sentences that nobody has judged yet, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import refuse_existing
from nikawa.io.lines import read_lines
from nikawa.io.records import SUFFIXES, read_examples, write_records
from nikawa.pairing import METHODS
from nikawa.pairing.greedy import Pair, Variant, algorithm1, best_first
from nikawa.pairing.linked import Linked, different, same
from nikawa.pairing.tally import Made, PairReport, Sentence, Tally
from nikawa.pairing.translate import round_trip
from nikawa.pairing.units import encode, units_of
from nikawa.records import Example

FIELDS = {"image": ("image", "image_id"), "intent": ("intent", "intent_id")}
"""What a sentence's image or intent is called in its meta values."""
TEXTS = ("text", "sentence", "premise")

__all__ = ["Options", "PairReport", "Sentence", "pair", "read_sentences"]

Progress = Callable[[int, int], None]
"""Called with how many sentences are done and how many there are."""


@dataclass(frozen=True)
class Options:
    """How to pair."""

    rouge: str = "L"
    """1, 2 or L."""
    units: str = "words"
    """`words`, `characters`, or an analyser."""
    field: str | None = None
    """The meta value that names the image or intent; the usual names when None."""
    within: str | None = None
    """The meta value both sentences of a pair must share."""
    most: int = 1
    """Pairs an image or intent."""
    translators: tuple[str, ...] = ()
    """Commands that translate there and back, in turn."""
    seconds: float | None = None
    """How long a translator may take; as long as it will when None."""
    seed: int = 0
    out: Path | None = None
    overwrite: bool = False


def pair(
    method: str, path: Path, *, options: Options | None = None, progress: Progress | None = None
) -> PairReport:
    """Pair the sentences of a text file (one a line) or a records file; writes examples where `out` is given."""
    how = options or Options()
    if method not in METHODS:
        raise unknown("way to pair", method, METHODS)
    if how.out is not None:
        refuse_existing(how.out, how.overwrite)
    sentences = list(read_sentences(path))
    if not sentences:
        raise BadInput("holds no sentence", file=path, cure="write one a line")
    tally = Tally(method, sentences, how.units)
    if method.startswith("greedy"):
        sentences = tally.distinct(sentences)
    examples = tally.watch(_examples(method, sentences, how, progress), path.name)
    if how.out is None:
        for _ in examples:
            pass
    else:
        write_records(how.out, examples, overwrite=how.overwrite)
    return tally.report(how.out)


def read_sentences(path: Path) -> Iterator[Sentence]:
    """The sentences of a file: one a line, empty ones passed over, or one a record."""
    if path.name.endswith(SUFFIXES):
        for example in read_examples(path):
            yield _sentence(example, path)
        return
    for number, line in read_lines(path):
        if line.strip():
            yield Sentence(str(number), line.strip(), {})


def _sentence(example: Example, path: Path) -> Sentence:
    here = [name for name, value in example.inputs.items() if isinstance(value, str)]
    for name in TEXTS:
        if name in here:
            others = tuple(other for other in here if other != name)
            return Sentence(example.id, str(example.inputs[name]), dict(example.meta), name, others)
    what = f"{example.id!r} holds no text ({', '.join(example.inputs) or 'no inputs'})"
    raise BadInput(what, file=path, cure=f"name its sentence {TEXTS[0]!r}")


def _examples(
    method: str, sentences: Sequence[Sentence], how: Options, progress: Progress | None
) -> Iterator[Made]:
    if method == "round-trip":
        return _round_trips(sentences, how)
    if method.startswith("greedy"):
        found = _matched(method, sentences, how, progress)
        return ((sentences[p.first], sentences[p.second], {"rouge": p.score}) for p in found)
    kind, _, of = method.partition("-")
    linked = _linked(sentences, of, how)
    made = (
        same(linked, most=how.most, seed=how.seed)
        if kind == "same"
        else different(linked, seed=how.seed)
    )
    return ((sentences[a], sentences[b], {}) for a, b in made)


def _matched(
    method: str, sentences: Sequence[Sentence], how: Options, progress: Progress | None
) -> Iterator[Pair]:
    if how.rouge not in get_args(Variant):
        raise unknown("ROUGE", how.rouge, get_args(Variant))
    variant = cast(Variant, how.rouge)
    coded = encode(units_of(how.units)(sentence.text for sentence in sentences))
    if method == "greedy":
        return algorithm1(coded, variant, seed=how.seed, progress=progress)
    return best_first(coded, variant, progress=progress)


def _round_trips(sentences: Sequence[Sentence], how: Options) -> Iterator[Made]:
    """What comes back unchanged, or empty, is no pair."""
    if not how.translators:
        raise BadInput(
            "no translator is named",
            cure="--translator 'COMMAND', line in, line out; twice for there and back",
        )
    texts = [sentence.text for sentence in sentences]
    back = round_trip(texts, *how.translators, seconds=how.seconds)
    for sentence, text in zip(sentences, back, strict=True):
        if text and text.split() != sentence.text.split():
            yield sentence, Sentence(sentence.name, text, sentence.meta), {}


def _linked(sentences: Sequence[Sentence], of: str, how: Options) -> list[Linked]:
    names = (how.field,) if how.field else FIELDS[of]
    found = []
    for sentence in sentences:
        link = next((sentence.meta[name] for name in names if name in sentence.meta), None)
        within = sentence.meta.get(how.within) if how.within else ""
        if link is None or within is None:
            lacks = " or ".join(names) if link is None else str(how.within)
            cure = "write it into the record's meta, or name another value with --field or --within"
            raise BadInput(f"sentence {sentence.name!r} names no {lacks}", cure=cure)
        found.append(Linked(sentence.name, str(link), str(within)))
    return found
