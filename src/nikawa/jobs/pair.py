"""Pair the sentences of a file: examples of two sentences that nobody has judged yet, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import refuse_existing
from nikawa.io.lines import read_lines
from nikawa.io.records import SUFFIXES, read_examples, write_records
from nikawa.pair import METHODS
from nikawa.pair.greedy import Pair, Variant, algorithm1, best_first
from nikawa.pair.linked import Linked, different, same
from nikawa.pair.translate import round_trip
from nikawa.pair.units import encode, units_of
from nikawa.records import Example, Origin, Record

FIELDS = {"image": ("image", "image_id"), "intent": ("intent", "intent_id")}
"""What a sentence's image or intent is called in its meta values."""
TEXTS = ("text", "sentence", "premise")

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


class PairReport(Record, frozen=True, kw_only=True):
    """What was paired."""

    method: str
    sentences: int
    pairs: int
    paired: int
    """Different sentences that are in a pair."""
    left: int
    """Sentences that are in none."""
    mean: float | None
    """Mean ROUGE of greedy matching."""
    zero: int | None
    """Its pairs that share nothing."""
    out: str | None


@dataclass(frozen=True)
class Sentence:
    """A sentence of the file."""

    name: str
    text: str
    meta: dict[str, object]


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
    tally = _Tally(method, len(sentences))
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
            yield Sentence(example.id, _text(example, path), dict(example.meta))
        return
    for number, line in read_lines(path):
        if line.strip():
            yield Sentence(str(number), line.strip(), {})


def _text(example: Example, path: Path) -> str:
    for name in TEXTS:
        if isinstance(example.inputs.get(name), str):
            return str(example.inputs[name])
    what = f"{example.id!r} holds no text ({', '.join(example.inputs) or 'no inputs'})"
    raise BadInput(what, file=path, cure=f"name its sentence {TEXTS[0]!r}")


Made = tuple[Sentence, Sentence, dict[str, object]]
"""Two sentences and what is worth knowing of the pair."""


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
    made = same(linked, most=how.most, seed=how.seed) if kind == "same" else different(linked, seed=how.seed)
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
        raise BadInput("no translator is named", cure="--translator 'COMMAND', line in, line out; twice for there and back")  # fmt: skip
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


class _Tally:
    """Counts as the pairs pass."""

    def __init__(self, method: str, sentences: int) -> None:
        self.method, self.sentences = method, sentences
        self.pairs, self.zero, self.total = 0, 0, 0.0
        self.paired: set[str] = set()

    def watch(self, made: Iterable[Made], source: str) -> Iterator[Example]:
        """Examples of the pairs, numbered."""
        for first, second, facts in made:
            self.pairs += 1
            self.paired |= {first.name, second.name}
            score = facts.get("rouge")
            if isinstance(score, float):
                self.zero += score == 0
                self.total += score
            yield self._example(first, second, facts, source)

    def _example(self, first: Sentence, second: Sentence, facts: dict[str, object], source: str) -> Example:
        kept = {key: value for key, value in first.meta.items() if second.meta.get(key) == value}
        parents = tuple(dict.fromkeys(f"{source}/{s.name}" for s in (first, second)))
        return Example(
            id=f"{self.method}-{self.pairs}",
            inputs={"sentence1": first.text, "sentence2": second.text},
            meta={**kept, "pairing": self.method, **facts},
            origin=Origin(recipe="pair", step=self.method, parents=parents),
        )

    def report(self, out: Path | None) -> PairReport:
        """The counts."""
        greedy = self.method.startswith("greedy")
        return PairReport(
            method=self.method,
            sentences=self.sentences,
            pairs=self.pairs,
            paired=len(self.paired),
            left=self.sentences - len(self.paired),
            mean=self.total / self.pairs if greedy and self.pairs else None,
            zero=self.zero if greedy else None,
            out=None if out is None else str(out),
        )
