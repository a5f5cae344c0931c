"""Pair the sentences of a file: examples of two sentences without judgements, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, cast, get_args
from unicodedata import normalize

from nikawa.datasets.load import open_file
from nikawa.datasets.stream import open_shard_files
from nikawa.errors import BadInput, list_names, name_faulty_file, unknown
from nikawa.execute.ordered import choose_place
from nikawa.io.atomic import refuse_existing
from nikawa.io.lines import read_lines
from nikawa.io.records import SUFFIXES, write_records
from nikawa.io.shards import read_manifest
from nikawa.pairing import METHODS
from nikawa.pairing.greedy import Variant, algorithm1, best_first
from nikawa.pairing.linked import Linked, pair_different_links, pair_same_link
from nikawa.pairing.translate import round_trip
from nikawa.pairing.units import encode, split_all
from nikawa.records import Example, Origin, Record
from nikawa.tables import ShownAsTables

LINK_FIELDS = {"image": ("image", "image_id"), "intent": ("intent", "intent_id")}
"""What a sentence's image or intent is called in its meta values."""
TEXT_INPUTS = ("text", "sentence", "premise")
"""The inputs of a record that may be the sentence, the first that is there."""
PLACE_FIELDS = frozenset({"start", "end"})
"""The position of a sentence in its document: never a thing two sentences have in common, even where
the numbers agree."""
MAX_UNRELATED_SHARE = 0.5
"""Share of pairs without a common unit above which a note doubts the units."""

OnProgress = Callable[[int, int], None]
"""Called with how many sentences are done and how many there are."""


@dataclass(frozen=True)
class PairOptions:
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
    workers: int = 1
    """Number of processes of the greedy methods; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""


class PairReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """What was paired."""

    main_table: ClassVar[str] = ""

    method: str
    sentences: int
    pairs: int
    paired: int
    """Different sentences that are in a pair."""
    left: int
    """Sentences that are in none."""
    repeated: int
    """Sentences left out before greedy matching because they are the same as an earlier one; pairs
    of two such otherwise."""
    mean: float | None
    """Mean ROUGE of greedy matching."""
    zero: int | None
    """Its pairs that share nothing."""
    out: str | None
    notes: tuple[str, ...] = ()
    """What the reader should know before the pairs are used."""


def pair(
    method: str,
    path: Path,
    *,
    options: PairOptions | None = None,
    on_progress: OnProgress | None = None,
) -> PairReport:
    """Pair the sentences of a text file (one a line) or a records file.

    Writes examples where the options name an `out`.
    """
    options = options or PairOptions()
    choose_place(options)  # refuse it before the work starts
    if method not in METHODS:
        raise unknown("way to pair", method, METHODS)
    if options.out is not None:
        refuse_existing(options.out, options.overwrite)
    sentences = list(read_sentences(path))
    if not sentences:
        raise BadInput("holds no sentence", file=path, cure="write one per line")
    tally = _Tally(method, sentences, options.units)
    if tally.is_greedy:
        sentences = tally.drop_repeated(sentences)
        pairs = match_greedily(method, sentences, options, on_progress)
    elif method == "round-trip":
        pairs = pair_by_translation(sentences, options)
    else:
        with name_faulty_file(path):
            pairs = pair_by_link(method, sentences, options)
    examples = tally.to_examples(pairs, path.name)
    if options.out is None:
        for _ in examples:
            pass
    else:
        write_records(options.out, examples, overwrite=options.overwrite)
    return tally.report(options.out)


@dataclass(frozen=True)
class Sentence:
    """A sentence of the file."""

    name: str
    text: str
    meta: dict[str, object]
    field: str = ""
    """The input it was taken from, where the record has other texts too."""
    others: tuple[str, ...] = ()
    """Those other texts."""
    group: str | None = None
    """What it belongs to, where the record says so."""

    @property
    def key(self) -> str:
        """What two equal sentences have in common: blanks and the way Hangul is composed do not
        count.
        """
        return normalize("NFC", " ".join(self.text.split()))


def read_sentences(path: Path) -> Iterator[Sentence]:
    """The sentences of a file: one a line, empty ones passed over, or one a record; those of a folder of shards in its order."""
    is_folder = read_manifest(path) is not None if path.is_dir() else False
    if not is_folder and not path.name.endswith(SUFFIXES):
        for number, line in read_lines(path):
            if line.strip():
                yield Sentence(str(number), line.strip(), {})
        return
    examples: Iterator[Example]
    if is_folder:
        examples = (example for _, example in open_shard_files(str(path)).read_all())
    else:
        examples = open_file(path)
    for example in examples:
        texts = {name: text for name, text in example.inputs.items() if isinstance(text, str)}
        field = next((name for name in TEXT_INPUTS if name in texts), None)
        if field is None:
            what = f"{example.id!r} contains no text ({', '.join(example.inputs) or 'no inputs'})"
            raise BadInput(what, file=path, cure=f"name its sentence {TEXT_INPUTS[0]!r}")
        others = tuple(name for name in texts if name != field)
        meta, group = dict(example.meta), example.group
        yield Sentence(example.id, texts[field], meta, field, others, group)


SentencePair = tuple[Sentence, Sentence, dict[str, object]]
"""Two sentences, each with the group of its pair, and further meta values of the pair."""


def match_greedily(
    method: str,
    sentences: Sequence[Sentence],
    options: PairOptions,
    on_progress: OnProgress | None,
) -> Iterator[SentencePair]:
    """Pairs of the greedy methods, each with its ROUGE."""
    if options.rouge not in get_args(Variant):
        raise unknown("ROUGE", options.rouge, get_args(Variant))
    variant = cast(Variant, options.rouge)
    place = choose_place(options)
    where = place if place.executor not in ("", "here") or place.workers > 1 else None
    texts = (sentence.text for sentence in sentences)
    coded = encode(split_all(texts, options.units, where))
    if method == "greedy":
        pairs = algorithm1(coded, variant, seed=options.seed, on_progress=on_progress, where=where)
    else:
        pairs = best_first(coded, variant, on_progress=on_progress, where=where)
    return (
        (sentences[first], sentences[second], {"rouge": score}) for first, second, score in pairs
    )


def pair_by_translation(
    sentences: Sequence[Sentence], options: PairOptions
) -> Iterator[SentencePair]:
    """Each sentence with its round trip; what comes back unchanged, or empty, is not a pair."""
    if not options.translators:
        cure = "pass --translator 'COMMAND', which reads and writes one line per sentence; pass it twice for a round trip"
        raise BadInput("no translator is given", cure=cure)
    texts = [sentence.text for sentence in sentences]
    back = round_trip(texts, *options.translators, seconds=options.seconds)
    for sentence, text in zip(sentences, back, strict=True):
        if text and text.split() != sentence.text.split():
            yield sentence, replace(sentence, text=text), {}


def pair_by_link(
    method: str, sentences: Sequence[Sentence], options: PairOptions
) -> Iterator[SentencePair]:
    """Pairs of one image or intent, or of two: `method` is same- or different-, then the kind of
    link.
    """
    kind, _, link_kind = method.partition("-")
    names = (options.field,) if options.field else LINK_FIELDS[link_kind]
    linked = []
    for sentence in sentences:
        link = next((sentence.meta[name] for name in names if name in sentence.meta), None)
        within = sentence.meta.get(options.within) if options.within else ""
        if link is None or within is None:
            missing = " or ".join(names) if link is None else str(options.within)
            cure = (
                "add it to the meta of the record, or choose another field with --field or --within"
            )
            raise BadInput(f"sentence {sentence.name!r} has no {missing}", cure=cure)
        linked.append(Linked(sentence.name, str(link), str(within)))
    if kind == "same":
        pairs = pair_same_link(linked, most=options.most, seed=options.seed)
    else:
        pairs = pair_different_links(linked, seed=options.seed)
    grouped = [
        replace(sentence, group=one.link) for sentence, one in zip(sentences, linked, strict=True)
    ]
    return ((grouped[first], grouped[second], {}) for first, second in pairs)


def group_of_pair(first: Sentence, second: Sentence, *, linked: bool) -> str | None:
    """What a pair belongs to: the image or intent of a pair that is made by those, both where they
    differ; of other pairs the group that both records name.
    """
    if first.group is None or second.group is None:
        return None
    if first.group != second.group and not linked:
        return None
    return " + ".join(sorted({first.group, second.group}))


class _Tally:
    """Makes examples of the pairs and counts them as they pass."""

    def __init__(self, method: str, sentences: Sequence[Sentence], units: str) -> None:
        self.method, self.sentences, self.units = method, len(sentences), units
        self.is_greedy = method.startswith("greedy")
        self.is_linked = method.startswith(("same-", "different-"))
        self.pairs = self.zero = self.repeated = 0
        self.total = 0.0
        self.paired: set[str] = set()
        self.fields = Counter((s.field, s.others) for s in sentences if s.others)

    def drop_repeated(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences without those that repeat an earlier one: matched with it they would be no
        pair to judge.
        """
        first: dict[str, Sentence] = {}
        for sentence in sentences:
            first.setdefault(sentence.key, sentence)
        self.repeated = len(sentences) - len(first)
        return list(first.values())

    def to_examples(self, pairs: Iterable[SentencePair], source: str) -> Iterator[Example]:
        """Examples of the pairs, numbered; two that are the same sentence are no pair."""
        for first, second, facts in pairs:
            if first.key == second.key:
                self.repeated += 1
                continue
            self.pairs += 1
            self.paired |= {first.name, second.name}
            score = facts.get("rouge")
            if isinstance(score, float):
                self.zero += score == 0
                self.total += score
            meta: dict[str, object] = {}
            for key, value in first.meta.items():
                if second.meta.get(key) == value and key not in PLACE_FIELDS:
                    meta[key] = value
            parents = tuple(dict.fromkeys(f"{source}/{s.name}" for s in (first, second)))
            yield Example(
                id=f"{self.method}-{self.pairs}",
                inputs={"sentence1": first.text, "sentence2": second.text},
                meta={**meta, "pairing": self.method, **facts},
                group=group_of_pair(first, second, linked=self.is_linked),
                origin=Origin(recipe="pair", step=self.method, parents=parents),
            )

    def report(self, out: Path | None) -> PairReport:
        """The counts."""
        return PairReport(
            method=self.method,
            sentences=self.sentences,
            pairs=self.pairs,
            paired=len(self.paired),
            left=self.sentences - len(self.paired) - (self.repeated if self.is_greedy else 0),
            repeated=self.repeated,
            mean=self.total / self.pairs if self.is_greedy and self.pairs else None,
            zero=self.zero if self.is_greedy else None,
            out=None if out is None else str(out),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        for (field, others), count in self.fields.items():
            yield f"in {count:,} records {field} was used as the sentence, not {list_names(others)}"
        if self.repeated and self.is_greedy:
            yield f"{self.repeated:,} sentences were skipped because they repeat another one"
        elif self.repeated:
            yield f"{self.repeated:,} pairs were skipped because both sentences are the same"
        if self.is_greedy and self.zero > MAX_UNRELATED_SHARE * self.pairs:
            cure = ""
            if self.units == "words":
                cure = (
                    "; text without blanks needs --units characters, or an analyser's (ja, ko, …)"
                )
            yield f"{self.zero:,} of {self.pairs:,} pairs share no unit, so only their order paired them{cure}"
