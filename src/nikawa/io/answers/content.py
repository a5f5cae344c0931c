"""Which example a sample of another tool's log is about: one rule for every tool.

A sample of a task that Nikawa exported repeats an item with its id and its inputs, which decide. For any other, what a sample
holds decides, not how it is numbered: inspect counts samples from 1 where JGLUE's ids
count from 0, and a number that happens to be an id means nothing. In this order:

1. the texts of the task's inputs in what the sample holds (fields, messages, choices). All of them
   must be there, each at a place of its own. Of several items the one that is a record by itself
   counts, then the one that comes last: few-shot examples come before the question.
2. the id, where texts do not decide. The ids of a log count only if none of them contradicts the
   texts of its sample, and numbers that the tool gave only if the texts confirm some of them.
3. the order, among items of the same texts, if the rest of the log keeps to the split's order.

What is left is refused with the reason, unless all the items that a sample could mean got the same
answer.

Texts are looked up by their first characters, so the time that a sample takes does not depend on how
many examples there are. Width and blanks are ignored; where that makes two items one, they decide.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from nikawa.io.answers.base import ID_NAMES, RawAnswer, Target, UnfitAnswer, id_text
from nikawa.records import Example, Span

START_CHARS = 8
"""Characters of a text that it is looked up by."""
MIN_IN_ORDER = 5
"""Samples that must come in the order of the split before their order counts; five do so by chance
once in 120 times."""
MAX_SAMPLES = 1000
"""Samples of one item that are kept until the end of the log."""
MIN_SHARED = 0.7
"""The share of an example's character pairs that a sample must hold to be about the same text,
changed: segmented, normalised, cut."""
TITLE_MARK = " [SEP] "
"""What JSQuAD puts between the title and the paragraph of a context; prompts often leave out both."""
BETWEEN = "\0"
"""What parts the segments of a sample."""

NO_FIELDS: Mapping[str, Any] = {}


class LogSample(NamedTuple):
    """What a record of a log tells about the example it is about."""

    place: int
    """Line, record or sample, counted from 1."""
    segments: tuple[str, ...]
    """Every text it holds: fields, messages, choices."""
    fields: Mapping[str, Any]
    """What it repeats of the example, by name."""
    own_id: str | None
    """An id that somebody wrote, or None."""
    number: str | None
    """An id that the tool may have counted, or None."""
    order: int | None
    """The place in the split, from 0, if the log runs in its order."""
    payload: Any
    """What the answer is read from; small, since undecided samples are kept until the end."""
    prompt: tuple[str, ...] = ()
    """What the model was asked with, for samples whose segments hold no example."""
    offer: Any = None
    """What the prompt offered (`readings.Offer`), where the sample is of an exported task."""


class SampleMatch(NamedTuple):
    """A sample and its example: None if it has none, or `unfit` with the reason why it is ambiguous."""

    sample: LogSample
    example: Example | None
    unfit: UnfitAnswer | None = None
    is_confirmed: bool = False
    """Whether it holds all texts of the example."""

    def make_answer(self, answer: Any = None, **more: Any) -> RawAnswer:
        """The answer of a file for the example; without one it has no id unless `more` gives it."""
        if self.example is not None:
            more["id"] = self.example.id
        own = {"unfit": self.unfit, "confirmed": self.is_confirmed, "order": self.sample.order}
        own["offer"] = self.sample.offer
        return RawAnswer(place=self.sample.place, answer=answer, **{"id": None, **own, **more})


def fold_content(text: str) -> str:
    """`text` without difference of width and without blanks.

    >>> fold_content("ＪＲ の 駅")
    'JRの駅'
    """
    folded = "".join(unicodedata.normalize("NFKC", text).split())
    return text if folded == text else folded  # most are: one copy is enough


def list_texts(value: Any) -> Iterator[str]:
    """Every text inside a value: of mappings the values, of lists the items.

    >>> list(list_texts({"turns": [{"role": "user", "text": "네"}], "n": 1}))
    ['user', '네']
    """
    ahead = [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, str):
            if part.strip():
                yield part
        elif isinstance(part, Mapping):
            ahead.extend(reversed([*part.values()]))
        elif isinstance(part, list | tuple):
            ahead.extend(reversed(part))


def list_fields(record: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a record, without those that are ids."""
    for name, value in record.items():
        if name not in ID_NAMES:
            yield from list_texts(value)


def find_own_id(record: Any, target: Target) -> str | None:
    """The id that a record of the dataset names, where the split has it."""
    if not isinstance(record, Mapping):
        return None
    for name in ID_NAMES:
        own = id_text(record.get(name))
        if own is not None and target.find(own) is not None:
            return own
    return None


def list_inputs(example: Example, names: Sequence[str]) -> list[str]:
    """The texts of an example that a sample about it must hold.

    A title is not included: it is already in the context, or the prompt omits it. Words of a
    tree and spans are in the text.
    """
    inputs = {name: example.inputs[name] for name in names if name in example.inputs}
    texts = []
    for name, value in inputs.items():
        if name == "title" and "context" in inputs:
            continue
        if isinstance(value, str):
            head, mark, rest = value.partition(TITLE_MARK)
            texts.append(rest if mark and name == "context" else head + mark + rest)
        elif isinstance(value, list) and not (name == "words" and "text" in inputs):
            for item in value:
                part = item.get("text") if isinstance(item, Mapping) else item
                texts.extend([part] if isinstance(part, str) else [])
    return [text for text in texts if text.strip()]


class Fit(NamedTuple):
    """Examples of one content that a sample holds, and where."""

    texts: tuple[str, ...]
    """The content, in an order that a pair and its reverse share."""
    places: tuple[int, ...]
    """Places of the examples in the split; several where they have the same texts."""
    spans: tuple[tuple[int, int], ...]
    """Where each text is in the sample."""
    is_record: bool
    """Whether every text is a segment by itself."""

    @property
    def size(self) -> int:
        """How many characters of the sample it is."""
        return sum(end - start for start, end in self.spans)

    @property
    def rank(self) -> tuple[bool, list[int], int]:
        """The order in which fits count: records, what comes last, what is longer."""
        ends = sorted((end for _, end in self.spans), reverse=True)
        return self.is_record, ends, self.size

    @property
    def shape(self) -> tuple[int, ...]:
        """The order in which the texts come in the sample."""
        return tuple(sorted(range(len(self.spans)), key=self.spans.__getitem__))


class ContentIndex:
    """The examples of a split by their texts."""

    def __init__(self, target: Target) -> None:
        self.examples, self._names = target.examples, target.task.inputs
        self._find = target.find
        places: dict[tuple[str, ...], list[int]] = {}
        fold = cache(fold_content)  # a passage has many questions
        for place, example in enumerate(self.examples):
            key = tuple(filter(None, map(fold, list_inputs(example, self._names))))
            if key:
                places.setdefault(key, []).append(place)
        self._places = places
        counts = Counter(text for key in places for text in set(key))
        keys: dict[str, list[tuple[str, ...]]] = {}
        lengths: dict[int, dict[str, tuple[int, ...]]] = defaultdict(dict)
        for key in places:
            rarest = min(key, key=lambda text: (counts[text], -len(text)))
            keys.setdefault(rarest, []).append(key)
            start, size = rarest[:START_CHARS], len(rarest)
            starts = lengths[len(start)]
            if size not in starts.get(start, ()):
                starts[start] = (*starts.get(start, ()), size)
        self._keys, self._lengths = keys, dict(lengths)
        """Each content under its rarest text; and how long these texts are, by the number of their
        first characters and by these."""
        sizes = Counter[tuple[str, ...]]()
        for key, own in places.items():
            sizes[tuple(sorted(key))] += len(own)
        self._sizes = {texts: size for texts, size in sizes.items() if size > 1}
        self.shortest = min((max(map(len, key)) for key in self._places), default=0)
        """A sample that is shorter than this holds the texts of no example."""

    def count_items(self, texts: tuple[str, ...]) -> int:
        """How many examples have a content, either way round."""
        return self._sizes.get(texts, 1)

    def find_fits(self, sample: LogSample) -> tuple[str, list[Fit]]:
        """What a sample holds, folded, and every content of the split that is in it."""
        content = BETWEEN.join(map(fold_content, sample.segments))
        fits = self._find_in(content, sample)
        if not fits and sample.prompt:
            whole = sample._replace(segments=(*sample.segments, *sample.prompt))
            content = BETWEEN.join(map(fold_content, whole.segments))
            fits = self._find_in(content, whole)
        return content, fits

    def _find_in(self, content: str, sample: LogSample) -> list[Fit]:
        fits: dict[tuple[str, ...], list[Fit]] = defaultdict(list)
        segments = Counter(content.split(BETWEEN))
        for text in self._find_rarest(content):
            for key in self._keys[text]:
                spans = place_texts(key, content)
                if spans is not None:
                    is_record = all(key.count(text) <= segments[text] for text in key)
                    texts, places = tuple(sorted(key)), tuple(self._places[key])
                    fits[texts].append(Fit(texts, places, spans, is_record))
        kept = []
        for texts, group in fits.items():
            if self.count_items(texts) == 1:
                kept += group
                continue
            meant = set(self.tell_apart([place for fit in group for place in fit.places], sample))
            for fit in group:
                places = tuple(place for place in fit.places if place in meant)
                kept += [fit._replace(places=places)] if places else []
        # what a sample repeats of its item, field by field, is the item; the rest is in its prompt
        return [fit for fit in kept if fit.is_record] or kept

    def _find_rarest(self, content: str) -> set[str]:
        texts = set()
        for size, starts in self._lengths.items():
            for at in range(len(content) - size + 1):
                lengths = starts.get(content[at : at + size])
                for length in lengths or ():
                    text = content[at : at + length]
                    if text in self._keys:
                        texts.add(text)
        return texts

    def count_texts(self, place: int, content: str, *, changed: bool = False) -> int:
        """How many texts of an example a sample holds, as they are or also `changed` a little."""
        texts = filter(None, map(fold_content, list_inputs(self.examples[place], self._names)))
        pairs = {content[at : at + 2] for at in range(len(content) - 1)} if changed else set()

        def is_there(text: str) -> bool:
            own = [text[at : at + 2] for at in range(len(text) - 1)] if changed else []
            shared = sum(pair in pairs for pair in own)
            return text in content or (bool(own) and shared >= MIN_SHARED * len(own))

        return sum(map(is_there, texts))

    def tell_apart(self, places: Sequence[int], sample: LogSample) -> list[int]:
        """The examples that a sample means by what folding left out: width, blanks, names of
        fields, words of spans.
        """
        raw = BETWEEN.join(sample.segments)
        segments = {segment.strip() for segment in sample.segments}

        def is_exact(example: Example) -> bool:
            return all(text.strip() in raw for text in list_inputs(example, self._names))

        def has_names(example: Example) -> bool:
            return all(
                fold_content(value) == fold_content(str(sample.fields[name]))
                for name, value in example.inputs.items()
                if isinstance(value, str) and isinstance(sample.fields.get(name), str)
            )

        def has_words(example: Example) -> bool:
            text = example.inputs.get("text")
            spans = [value for value in example.inputs.values() if isinstance(value, Span)]
            return isinstance(text, str) and all(
                text[span.start : span.end].strip() in segments for span in spans
            )

        kept = list(places)
        for is_meant in (has_names, is_exact, has_words):  # a log may have changed the width
            kept = [p for p in kept if is_meant(self.examples[p])] or kept
        own = None if sample.own_id is None else self._find(sample.own_id)
        named = [p for p in places if self.examples[p] is own and p not in kept]
        return kept + named  # two hints that disagree decide nothing here


def place_texts(key: Sequence[str], content: str) -> tuple[tuple[int, int], ...] | None:
    """Where a sample holds the texts, each at a place of its own and as late as it can be.

    None where one of them is missing. Long texts go first: a short one may be inside them.

    >>> place_texts(("猫", "黒い猫"), "黒い猫"), place_texts(("猫", "黒い猫"), "猫と黒い猫")
    (None, ((0, 1), (2, 5)))
    """
    spans: dict[int, tuple[int, int]] = {}
    for place in sorted(range(len(key)), key=lambda place: (-len(key[place]), -place)):
        text, end = key[place], len(content)
        while True:
            start = content.rfind(text, 0, end)
            if start < 0:
                return None
            span = (start, start + len(text))
            taken = [one for one in spans.values() if one[0] < span[1] and start < one[1]]
            if not taken:
                break
            end = min(one[0] for one in taken)
        spans[place] = span
    return tuple(spans[place] for place in range(len(key)))


def is_clear(fit: Fit) -> bool:
    """Whether a fit can hardly be chance: a record, or more than a few characters."""
    return fit.is_record or fit.size >= START_CHARS


def is_shown_before(place: int, fits: Sequence[Fit]) -> bool:
    """Whether a sample holds other texts behind those of an example, as it does behind few-shot
    examples.
    """
    ends = [max(end for _, end in fit.spans) for fit in fits if place in fit.places]
    starts = [min(start for start, _ in fit.spans) for fit in fits if place not in fit.places]
    return any(start >= end for start in starts for end in ends)


@dataclass
class _Undecided:
    """A sample that its content alone does not tell the example of."""

    sample: LogSample
    """Without what it holds."""
    fits: list[Fit]
    is_silent: bool
    """Whether it holds no text to go by."""
    has_own_texts: bool = False
    """Whether it holds texts of the example that its id names."""
    support: dict[int, int] = field(default_factory=dict)
    """How many of their texts it holds, of the examples that its number and its order name."""
    places: list[int] = field(default_factory=list)
    """What the best fits leave."""


class SampleMatcher:
    """Matches the samples of one file of a log.

    With `by_order` a whole log that holds nothing else to go by is matched by its order; with
    `trust_ids` an id counts also where the sample has other texts that are of no example.
    """

    def __init__(self, target: Target, *, by_order: bool, trust_ids: bool = False) -> None:
        self._target, self._by_order, self._trust_ids = target, by_order, trust_ids
        self._index = ContentIndex(target)
        self._place_of = {example.id: place for place, example in enumerate(target.examples)}
        self._undecided: list[_Undecided] = []
        self._decided: dict[int, list[SampleMatch]] = defaultdict(list)
        """The samples of each example, by its place."""
        self._in_order: list[tuple[int, int]] = []
        """(Order, place) of the samples that are decided."""
        self._shapes: set[tuple[int, ...]] = set()
        """The orders in which decided samples have their texts."""
        self._sample_counts = Counter[tuple[str, ...]]()
        """How many samples hold a content."""
        self._sole_counts = Counter[tuple[str, ...]]()
        """How many samples hold a content and no other."""
        self._ids_contradict, self._numbers_contradict = False, False
        self._confirmed_numbers, self._count = 0, 0
        self._confirmed_ids = 0
        """Samples whose id names what comes last in them, not an example shown before it."""

    def match(self, samples: Iterable[LogSample]) -> Iterator[SampleMatch]:
        """Every sample with its example, in the order of the log; those without one may come before."""
        for sample in samples:
            self._count += 1
            content, fits = self._index.find_fits(sample)
            contents = {fit.texts for fit in fits}
            self._sample_counts.update(contents)
            if len(contents) == 1:
                self._sole_counts.update(contents)
            self._compare_ids(sample, fits)
            exported = self._find_exported(sample)
            if exported is not None:
                self._decide(sample, exported, fits, is_repeated=True)
                continue
            if len(fits) == 1 and len(fits[0].places) == 1 and is_clear(fits[0]):
                (place,) = fits[0].places
                if len(self._decided[place]) >= MAX_SAMPLES:
                    name = self._index.examples[place].id
                    what = f"is one of more than {MAX_SAMPLES:,} samples of the item {name!r}"
                    yield SampleMatch(sample, None, UnfitAnswer(what, "keep one sample per item"))
                    continue
                self._learn_shape(fits[0])
                self._decide(sample, place, fits)
                continue
            longest = max(map(len, content.split(BETWEEN)))
            has_inputs = any(sample.fields.get(name) for name in self._target.task.inputs)
            is_silent = not fits and not has_inputs and longest < self._index.shortest
            undecided = _Undecided(sample, fits, is_silent)
            if not fits:
                self._count_support(undecided, content)
            undecided.sample = sample._replace(segments=(), fields=NO_FIELDS, prompt=())
            if self._is_of_none(undecided):
                yield SampleMatch(undecided.sample, None)
            else:
                self._undecided.append(undecided)
        self._decide_rest()
        self._release_others()
        matches = [match for group in self._decided.values() for match in group]
        yield from sorted(matches, key=lambda match: match.sample.place)
        for undecided in self._undecided:
            yield SampleMatch(undecided.sample, None, self._explain(undecided))

    def _is_of_none(self, undecided: _Undecided) -> bool:
        """Whether nothing that is still to come can give a sample an example."""
        is_past_order = not self._by_order or self._count > len(self._index.examples)
        return (
            not undecided.fits
            and self._find_place(undecided.sample.own_id) is None
            and not any(undecided.support.values())
            and (is_past_order or not undecided.is_silent)
        )

    def _count_support(self, undecided: _Undecided, content: str) -> None:
        """Count the texts of the examples that the id, the number and the order of a sample name."""
        sample = undecided.sample
        own = self._find_place(sample.own_id)
        if own is not None:
            count = self._index.count_texts(own, content, changed=True)
            dataset = self._target.task.dataset
            names_dataset = bool(dataset) and str(sample.own_id).startswith(dataset)
            undecided.has_own_texts = count > 0 or names_dataset or self._trust_ids
        order = sample.order
        if order is not None and not 0 <= order < len(self._index.examples):
            order = None
        for place in (self._find_place(sample.number), order):
            if place is not None:
                undecided.support[place] = self._index.count_texts(place, content)

    def _find_place(self, name: str | None) -> int | None:
        example = None if name is None else self._target.find(name)
        return None if example is None else self._place_of[example.id]

    def _find_exported(self, sample: LogSample) -> int | None:
        """The place of the example that a sample of an exported task repeats: the same id and the same inputs."""
        place = None if sample.offer is None else self._find_place(id_text(sample.fields.get("id")))
        if place is None:
            return None
        inputs = self._index.examples[place].inputs
        is_same = all(
            sample.fields.get(name) == msgspec.to_builtins(inputs.get(name))
            for name in self._target.task.inputs
        )
        return place if is_same else None

    def _compare_ids(self, sample: LogSample, fits: Sequence[Fit]) -> None:
        """Note whether the id or number of a sample is that of an example whose texts it holds."""
        places = {place for fit in fits for place in fit.places}
        if not places:
            return
        own = self._find_place(sample.own_id)
        self._ids_contradict |= own is not None and own not in places
        if own in places:
            self._confirmed_ids += not is_shown_before(own, fits)
        if sample.number is not None:
            number = self._find_place(sample.number)
            self._confirmed_numbers += places == {number}
            self._numbers_contradict |= number not in places

    def _learn_shape(self, fit: Fit) -> None:
        if len(set(fit.texts)) == len(fit.texts):  # a pair of one text comes either way round
            self._shapes.add(fit.shape)

    def _decide(
        self, sample: LogSample, place: int, fits: Sequence[Fit], *, is_repeated: bool = False
    ) -> None:
        if sample.order is not None:
            self._in_order.append((sample.order, place))
        kept = sample._replace(segments=(), fields=NO_FIELDS, prompt=())
        is_confirmed = is_repeated or any(place in fit.places for fit in fits)
        match = SampleMatch(kept, self._index.examples[place], None, is_confirmed)
        self._decided[place].append(match)

    def _decide_rest(self) -> None:
        steps: tuple[Callable[[list[_Undecided]], Iterator[tuple[_Undecided, int]]], ...] = (
            self._by_id,
            self._by_last,
            self._by_direction,
            self._by_support,
            self._by_place_in_order,
            self._by_same_answer,
            self._by_order_alone,
        )
        for step in steps:
            places = {id(undecided): place for undecided, place in step(self._undecided)}
            rest = []
            for undecided in self._undecided:
                if id(undecided) in places:
                    self._decide(undecided.sample, places[id(undecided)], undecided.fits)
                else:
                    rest.append(undecided)
            self._undecided = rest

    def _release_others(self) -> None:
        """Take from an example the samples of items that have its texts and are not among the
        examples: a run may ask a part of a split.
        """
        offsets = {
            match.sample.order - place
            for place, group in self._decided.items()
            for match in group
            if len(group) == 1 and match.sample.order is not None
        }
        for place, group in self._decided.items():
            if all(match.sample.payload == group[0].sample.payload for match in group):
                continue
            by_id = [m for m in group if place == self._find_place(m.sample.own_id)]
            orders = [match.sample.order for match in group]
            in_turn = [
                match
                for match, order in zip(group, orders, strict=True)
                if order is not None and {order - place} == offsets
            ]
            own = by_id or in_turn
            if len(own) == 1 and (by_id or len(self._decided) > 2):
                self._decided[place] = own
                others = [match.sample for match in group if match is not own[0]]
                self._undecided += [_Undecided(sample, [], is_silent=True) for sample in others]

    def _by_id(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """By ids, if those of the log are the dataset's."""
        are_numbers_ids = self._confirmed_numbers > 0 and not self._numbers_contradict
        for undecided in rest:
            sample, places = undecided.sample, {p for fit in undecided.fits for p in fit.places}
            own = None if self._ids_contradict else self._find_place(sample.own_id)
            if own in places and not self._confirmed_ids:
                continue  # all ids name examples that were shown: whose they are is not clear
            number = self._find_place(sample.number) if are_numbers_ids else None
            if own is not None and (
                own in places or undecided.is_silent or undecided.has_own_texts
            ):
                yield undecided, own
            elif number is not None and (number in places or undecided.support.get(number)):
                yield undecided, number

    def _by_last(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """By the best fit, where it is of one example.

        What more samples hold than there are items of it is a few-shot example, or a word of the
        instruction, in all of them but its own, which may hold nothing else.
        """

        def is_rare(fit: Fit, counts: Counter[tuple[str, ...]]) -> bool:
            return counts[fit.texts] <= self._index.count_items(fit.texts)

        for undecided in rest:
            shown = {place for fit in undecided.fits for place in fit.places}
            fits = [fit for fit in undecided.fits if is_rare(fit, self._sample_counts)]
            if not fits:
                fits = [f for f in undecided.fits if is_clear(f) or is_rare(f, self._sole_counts)]
            best = max((fit.rank for fit in fits), default=None)
            undecided.fits = [fit for fit in fits if fit.rank == best]
            undecided.places = [place for fit in undecided.fits for place in fit.places]
            own = self._find_place(undecided.sample.own_id)
            if own in shown and not self._ids_contradict and own not in undecided.places:
                undecided.places.append(own)  # the id says one thing, the place another
            elif len(undecided.places) == 1:
                self._learn_shape(undecided.fits[0])
                yield undecided, undecided.places[0]

    def _by_direction(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """Of a pair that the split has both ways round: the way that the rest of the log has.

        A log that repeats the record of the dataset has its order.
        """
        for undecided in rest:
            if len(undecided.fits) < 2:
                continue
            first = undecided.fits[0]
            as_written = tuple(range(len(first.spans)))
            shapes = {shape for shape in self._shapes if len(shape) == len(first.spans)}
            if not shapes and first.is_record:
                shapes = {as_written}
            if len(shapes) == 1:
                undecided.fits = [f for f in undecided.fits if f.shape in shapes]
                undecided.places = [place for fit in undecided.fits for place in fit.places]
            if len(undecided.places) == 1:
                yield undecided, undecided.places[0]

    def _by_support(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """Of the examples that its number and its order name, the one of which the sample holds
        more texts: prompts may leave one out.
        """
        runs_in_order = all(order == place for order, place in self._in_order)
        for undecided in rest:
            sample, support = undecided.sample, dict(undecided.support)
            if undecided.fits or self._find_place(sample.own_id) is not None:
                continue
            if self._numbers_contradict:
                support = {p: n for p, n in support.items() if p == sample.order}
            if not runs_in_order:
                support.pop(-1 if sample.order is None else sample.order, None)
            most = max(support.values(), default=0)
            places = [place for place, count in support.items() if count == most > 0]
            if len(places) == 1:
                yield undecided, places[0]

    def _by_place_in_order(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """Of items of the same texts, the one whose turn it is."""
        rows = [(u.sample.order, u) for u in rest if u.places and u.sample.order is not None]
        offsets = {place - order for order, place in self._in_order} or {0}
        if len(offsets) == 1:
            offset = offsets.pop()
            fits = [order + offset in undecided.places for order, undecided in rows]
            contents = {tuple(sorted(undecided.places)) for _, undecided in rows}
            if all(fits) and len(self._in_order) + len(contents) > 2:
                yield from ((undecided, order + offset) for order, undecided in rows)
                return
        if len(self._in_order) >= MIN_IN_ORDER:
            yield from find_only_order(self._in_order, rows)

    def _by_same_answer(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """Items of the same texts that all got the same answer: which is whose does not matter."""
        alike: dict[tuple[int, ...], list[_Undecided]] = defaultdict(list)
        for undecided in rest:
            alike[tuple(sorted(undecided.places))].append(undecided)
        for places, group in alike.items():
            is_one = all(u.sample.payload == group[0].sample.payload for u in group)
            if is_one and len(group) == len(places):
                yield from zip(group, places, strict=True)

    def _by_order_alone(self, rest: list[_Undecided]) -> Iterator[tuple[_Undecided, int]]:
        """A whole log of which no sample holds anything to go by, in the order of the split."""
        size = len(self._index.examples)
        orders = [u.sample.order for u in rest if u.is_silent and u.sample.own_id is None]
        is_whole = len(orders) == self._count == size
        counted = sorted(order for order in orders if order is not None)
        if self._by_order and is_whole and counted == list(range(size)):
            for undecided, order in zip(rest, orders, strict=True):
                if order is not None:
                    yield undecided, order

    def _explain(self, undecided: _Undecided) -> UnfitAnswer | None:
        """Return why the example of a sample is ambiguous; None if it belongs to no example."""
        cure = "add the id of its item to each sample, as its id or in its metadata"
        names = [repr(self._index.examples[place].id) for place in undecided.places[:3]]
        if len(undecided.places) > 1:
            what = f"has the texts of the items {' and '.join(names)}"
            return UnfitAnswer(f"{what}, so the item is ambiguous", cure)
        own = undecided.sample.own_id
        is_named = self._find_place(own) is not None and not self._ids_contradict
        if undecided.fits or not is_named:
            return None
        what = f"the id {own!r} has different texts in the split"
        return UnfitAnswer(what, "check the split and the dataset's version")


def find_only_order(
    decided: Sequence[tuple[int, int]], rows: Sequence[tuple[int, _Undecided]]
) -> Iterator[tuple[_Undecided, int]]:
    """Examples for the rows, each (order, sample), where the order of the log leaves one only.

    All samples must run in the order of the split. The earliest examples that the rows can have and
    the latest ones are compared.
    """
    fixed = sorted(decided)
    if any(one[1] >= other[1] for one, other in pairwise(fixed)):
        return
    every: list[tuple[int, list[int], _Undecided | None]] = [
        *((order, [place], None) for order, place in fixed),
        *((order, sorted(undecided.places), undecided) for order, undecided in rows),
    ]
    every.sort(key=lambda row: row[0])
    earliest: list[int] = []
    for _, places, _ in every:
        last = earliest[-1] if earliest else -1
        place = next((place for place in places if place > last), None)
        if place is None:
            return
        earliest.append(place)
    latest = 1 << 62
    for at in range(len(every) - 1, -1, -1):
        _, places, undecided = every[at]
        latest = max(place for place in places if place < latest)
        if undecided is not None and latest == earliest[at]:
            yield undecided, latest
