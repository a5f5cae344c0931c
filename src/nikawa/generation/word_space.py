"""The words of a template as numbers: item k has words of its own, and no two items of a template
share all of them.

A `WordSpace` holds every way to fill a template's word slots, frame by frame, and unfolds a number
into one of them. Frames take turns, so that a verb with few nouns comes up as often as one with
many until its nouns are used up.

Words also keep the splits apart: no premise and no hypothesis of one split is in another. Every
word has a residue, every side (premise, hypothesis) the sum of its words' residues modulo
`RESIDUE_COUNT`, every split owns residues. The last word of a side is drawn from those that bring
the sum into an owned residue.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from nikawa.errors import BadInput
from nikawa.generation.lexicon import Frame, Lexicon
from nikawa.generation.randomness import MASK_32, STEP, hash_key, permute_place
from nikawa.generation.template import (
    TIME_KINDS,
    ProblemCell,
    Slot,
    Template,
    Word,
    attach_particle,
    strip_case_number,
)

if TYPE_CHECKING:
    from nikawa.generation.randomness_arrays import Numbers

RESIDUE_COUNT = 5
"""Residues there are to share among the splits."""
TURN_FACTOR = 7919
"""A prime, by which the last word of a side is turned."""
MIN_VERBS_FOR_UNIT = 4
"""Verbs below which a verb need not suit the unit of the times."""
MAX_VERB_COMBINATIONS = 4096
"""Combinations of verbs looked at where a template has several."""
GENERAL_KINDS = ("noun", "agent", "verb")
"""Slot kinds that take any word of their case; another kind takes nouns of that kind only."""


Words = tuple[str, ...]
"""The words that a slot may be filled with, in the order of the lexicon."""
Residues = tuple[int, ...]
"""The residue of each of some words, or the residues that a split owns."""


class SlotWords(NamedTuple):
    """What a slot may be filled with."""

    slot: str
    words: Words
    residues: Residues
    smaller: int = 0
    """How many words may be gone already, taken by slots before it."""

    @property
    def size(self) -> int:
        """How many choices are always left."""
        return max(0, len(self.words) - self.smaller)


class FillStage(NamedTuple):
    """Slots that are filled together: those of both sides, those of the premise alone, those of the
    hypothesis alone.
    """

    free: tuple[SlotWords, ...]
    last: SlotWords | None
    """The slot that settles a side; None where a later stage does."""
    by_residue: tuple[Words, ...]
    """Words of the last slot with an owned residue, by the residue of all others."""
    least: int
    """How many choices the last slot always has."""
    before: int
    """Ways to fill everything before the last slot."""
    shared: bool
    """Whether its words are in the side of every later stage too."""


Sides = tuple[frozenset[str], frozenset[str]]
"""The slots of the premise and of the hypothesis."""
NO_SIDES: Sides = (frozenset(), frozenset())
"""Where whole problems are kept apart, not sides."""
SlotGroup = tuple[frozenset[str], bool, bool]
"""Slots of one stage, whether the last of them settles a side, whether both sides have them."""


def plan_stages(
    lists: Sequence[SlotWords], sides: Sides, owned: Residues
) -> tuple[tuple[FillStage, ...], int]:
    """The stages in which slots are filled, and how many ways there are.

    `owned` are the residues of the split.
    """
    stages: list[FillStage] = []
    placed: list[SlotWords] = []
    total = 1 if lists or 0 in owned else 0
    was_settled = False
    slots = tuple(one.slot for one in lists)
    for names, settles, is_shared in group_slots(slots, sides):
        own = []
        for one in lists:
            if one.slot in names:
                smaller = sum(_share_words(one.words, other.words) for other in placed)
                own.append(one._replace(smaller=smaller))
                placed.append(one)
        free, last = (own[:-1], own[-1]) if settles else (own, None)
        total *= prod(one.size for one in free)
        before, least = total, 1
        by_residue: tuple[Words, ...] = ()
        if last is not None:
            by_residue = words_by_residue(last.words, last.residues, owned)
            # Where nothing is between two settled sides, the others are already in an owned residue.
            residues = owned if was_settled and not free else range(RESIDUE_COUNT)
            fewest = min(len(by_residue[residue]) for residue in residues)
            least = max(0, fewest - last.smaller)
        total *= least
        stages.append(FillStage(tuple(free), last, by_residue, least, before, is_shared))
        was_settled = settles and is_shared
    return tuple(stages), total


@lru_cache(maxsize=1 << 13)
def _share_words(some: Words, others: Words) -> bool:
    """Whether two lists have a word in common."""
    return some is others or not set(some).isdisjoint(others)


@lru_cache(maxsize=1 << 10)
def group_slots(slots: tuple[str, ...], sides: Sides) -> list[SlotGroup]:
    """The slots by stage, whether the last of a stage settles a side, and whether both sides have
    them.
    """
    premise, hypothesis = (side.intersection(slots) for side in sides)
    if not premise or not hypothesis:  # a side without words is the same in all splits
        return [(frozenset(slots), True, True)] if slots else []
    both = premise & hypothesis
    alone = [part for part in (premise - hypothesis, hypothesis - premise) if part]
    groups = [(part, True, False) for part in alone]
    return [(both, len(alone) < 2, True), *groups] if both else groups


@lru_cache(maxsize=1 << 12)
def words_by_residue(words: Words, residues: Residues, owned: Residues) -> tuple[Words, ...]:
    """The words that bring the sum into an owned residue, by the residue of the others."""
    groups = []
    for others in range(RESIDUE_COUNT):
        pairs = zip(words, residues, strict=True)
        fitting = [word for word, own in pairs if (others + own) % RESIDUE_COUNT in owned]
        groups.append(tuple(fitting))
    return tuple(groups)


def unfold_number(stages: tuple[FillStage, ...], number: int) -> dict[str, str]:
    """Slot to word, for the way with this number."""
    words: dict[str, str] = {}
    base, whole = 0, number
    for free, last, by_residue, least, before, is_shared in stages:
        residue = base
        for slot, offered, residues, smaller in free:
            number, place = divmod(number, len(offered) - smaller)
            if smaller:
                place = _skip_taken(_taken_places(offered, words), place)
            words[slot] = offered[place]
            residue += residues[place]
        if last is not None:
            fitting = by_residue[residue % RESIDUE_COUNT]
            taken = _taken_places(fitting, words) if last.smaller else ()
            # Turned by what the other words are, so that the end of the list comes up as often as its start.
            turn = (whole - number * before) * TURN_FACTOR
            number, place = divmod(number, least)
            place = (place + turn) % (len(fitting) - len(taken))
            word = words[last.slot] = fitting[_skip_taken(taken, place) if taken else place]
            if is_shared and len(stages) > 1:
                residue += last.residues[last.words.index(word)]
        if is_shared:
            base = residue
    return words


def _taken_places(offered: Words, words: dict[str, str]) -> list[int]:
    """The places of the words that other slots hold already."""
    return sorted(offered.index(word) for word in words.values() if word in offered)


def _skip_taken(taken: Sequence[int], place: int) -> int:
    """The place once those that are taken are left out."""
    for one in taken:
        place += place >= one
    return place


@lru_cache(maxsize=1 << 12)
def word_residues(words: Words) -> Residues:
    """The residue of each word, which depends on the word alone."""
    return tuple(crc32(word.encode()) % RESIDUE_COUNT for word in words)


@lru_cache(maxsize=8)
def turn_residues(n: int) -> Residues:
    """Residues of a list whose words take turns, so that every residue has its share."""
    return tuple(i % RESIDUE_COUNT for i in range(n))


class _Ways(NamedTuple):
    """Every way to fill a template with one choice of verbs."""

    texts: dict[str, str]
    """Keys of the verbs to their forms."""
    stages: tuple[FillStage, ...]
    total: int


class WordSpace:
    """Every way to fill the word slots of a template, for one split.

    `unit` is the unit of time that verbs must suit, `owned` the residues of the split.
    """

    def __init__(
        self, template: Template, lexicon: Lexicon, unit: str, owned: Sequence[int]
    ) -> None:
        self._lexicon, self._language = lexicon, lexicon.language
        uses = [use for use in template.uses if isinstance(use, Word)]
        self._particles = {use.key: (use.slot, use.particle) for use in uses if use.particle}
        forms = [use for use in uses if use.form]
        self._inflected = [use for use in forms if use.kind != "verb"]
        finder = _WordFinder(template, lexicon, unit)
        choices = []
        for frames in finder.combine_frames():
            texts = {}
            for use in forms:
                if use.slot in frames:
                    frame = frames[use.slot]
                    word, ctype = frame.verb, frame.ctype
                    try:
                        texts[use.key] = inflect_word(word, use.form, ctype, self._language)
                    except BadInput as problem:
                        raise lexicon.place_fault(word, problem) from None
            choices.append((texts, finder.list_words(frames)))
        nouns = [use for use in uses if use.kind != "verb"]
        premise = frozenset(use.slot for use in nouns if use in template.premise)
        hypothesis = frozenset(use.slot for use in nouns if use in template.hypothesis)
        # Where there are too few words to keep each side apart, whole problems are kept apart.
        for sides in ((premise, hypothesis), NO_SIDES):
            ways = []
            for texts, lists in choices:
                way = _Ways(texts, *plan_stages(lists, sides, tuple(owned)))
                if way.total:
                    ways.append(way)
            self._ways = sorted(ways, key=lambda way: way.total)
            if self._ways:
                break
        self._plan_turns([way.total for way in self._ways])

    def _plan_turns(self, counts: list[int]) -> None:
        """Plan in which order the ways of the choices of verbs come up.

        In turn t every choice with more than t ways is used once; choices are sorted by their ways.
        """
        self._starts: list[int] = []
        """The numbers at which the turns lose a choice."""
        self._firsts: list[tuple[int, int]] = []
        """At each of them the first choice that is left, and the turns so far."""
        self.size = 0
        """How many ways there are."""
        done = 0
        for first, count in enumerate(counts):
            if count > done:
                self._starts.append(self.size)
                self._firsts.append((first, done))
                self.size += (count - done) * (len(counts) - first)
                done = count

    @property
    def even_size(self) -> int:
        """The numbers up to which every choice of verbs comes up equally often.

        It is `size` where all choices have equally many ways: then they also do when numbers begin
        again.
        """
        return self._starts[1] if len(self._starts) > 1 else self.size

    def fill(self, k: int, seed: int) -> dict[str, str]:
        """The texts of all word keys for number k; numbers from `size` on begin again."""
        k %= self.size
        segment = bisect_right(self._starts, k) - 1
        first, base = self._firsts[segment]
        members = len(self._ways) - first
        turn, place = divmod(k - self._starts[segment], members)
        turn += base
        turn_seed = (seed + turn * STEP) >> 16 & MASK_32
        chosen = first + permute_place(place, members, turn_seed)
        way_seed = (seed ^ (chosen + 1) * STEP) >> 16 & MASK_32
        number = permute_place(turn, self._ways[chosen].total, way_seed)
        return self._texts(chosen, number)

    def fill_many(self, numbers: Numbers, seed: int) -> Iterator[dict[str, str]]:
        """`fill` of all these numbers, computed together."""
        import numpy as np

        from nikawa.generation.randomness_arrays import (
            permutation_seeds,
            permute_places,
            step_multiples,
        )

        starts = np.array(self._starts, dtype=np.uint64)
        firsts = np.array(self._firsts, dtype=np.uint64)
        segments = np.searchsorted(starts, numbers, side="right") - 1
        first = firsts[segments, 0]
        members = np.uint64(len(self._ways)) - first
        turn, place = np.divmod(numbers - starts[segments], members)
        turn += firsts[segments, 1]
        whole = np.uint64(seed)
        seeds = permutation_seeds(whole + step_multiples(turn))
        chosen = first + permute_places(place, members, seeds)
        totals = np.array([way.total for way in self._ways], dtype=np.uint64)[chosen]
        way_seeds = permutation_seeds(whole ^ step_multiples(chosen + np.uint64(1)))
        ways = permute_places(turn, totals, way_seeds)
        return map(self._texts, chosen.tolist(), ways.tolist())

    def _texts(self, chosen: int, number: int) -> dict[str, str]:
        """The texts of one way of one choice of verbs."""
        way = self._ways[chosen]
        words = unfold_number(way.stages, number)
        texts = {**way.texts, **words}
        for key, (slot, particle) in self._particles.items():
            texts[key] = attach_particle(words[slot], particle)
        for use in self._inflected:
            word = words[use.slot]
            try:
                texts[use.key] = inflect_word(word, use.form, "", self._language, use.kind)
            except BadInput as problem:
                raise self._lexicon.place_fault(word, problem) from None
        return texts


class _WordFinder:
    """The frames and nouns of a lexicon that suit a template.

    `unit` is the unit of time that verbs must suit.
    """

    def __init__(self, template: Template, lexicon: Lexicon, unit: str) -> None:
        self.template, self.lexicon, self.unit = template, lexicon, unit
        self.slots = template.slots.values()

    def combine_frames(self) -> list[dict[str, Frame]]:
        """Every choice of a frame for each verb slot; different verbs where there are several."""
        verbs = [slot for slot in self.slots if slot.kind == "verb"]
        names = [slot.name for slot in verbs]
        offered = [self.find_frames(slot) for slot in verbs]
        size = prod(map(len, offered))
        combinations = []
        if size <= MAX_VERB_COMBINATIONS:
            combinations = list(product(*offered))
        else:
            # As many as are looked at, spread evenly by chance.
            for i in range(MAX_VERB_COMBINATIONS):
                number, chosen = permute_place(i, size, hash_key(self.template.id)), []
                for frames in offered:
                    number, place = divmod(number, len(frames))
                    chosen.append(frames[place])
                combinations.append(tuple(chosen))
        choices = [
            dict(zip(names, frames, strict=True))
            for frames in combinations
            if len({frame.verb for frame in frames}) == len(frames)
        ]
        if not choices:
            name = self.lexicon.about.name
            what = f"template {self.template.id} has a verb that no frame of the lexicon {name!r} suits"
            wishes = ", ".join(map(_describe_verb, verbs))
            cure = f"it asks for {wishes}: change it, or add frames"
            raise BadInput(what, file=self.lexicon.folder / "frames.tsv", cure=cure)
        return choices

    def find_frames(self, verb: Slot) -> tuple[Frame, ...]:
        """The frames that suit a verb slot, in the unit of the times as long as there are some."""
        kinds = {}
        for slot in self.slots:
            if slot.kind not in GENERAL_KINDS and slot.case in verb.frame:
                kinds[strip_case_number(slot.case)] = slot.kind
        frames = self.lexicon.find_frames(
            verb.frame,
            transitive=verb.transitive,
            wants=verb.wants,
            tag=verb.tag,
            state=verb.is_stative,
            kinds=kinds,
        )
        in_unit = tuple(frame for frame in frames if frame.suits(unit=self.unit))
        return in_unit if len(in_unit) >= MIN_VERBS_FOR_UNIT else frames

    def list_words(self, frames: dict[str, Frame]) -> list[SlotWords]:
        """What each slot that is no verb takes.

        Agents come last, because they keep the splits apart.
        """
        other_kinds = ("verb", "choice", *TIME_KINDS)
        slots = [slot for slot in self.slots if slot.kind not in other_kinds]
        lists: list[SlotWords] = []
        for slot in sorted(slots, key=lambda slot: slot.kind == "agent"):
            if slot.kind == "agent":
                words = self.lexicon.agents
                residues = turn_residues(len(words))
            else:
                words = self.find_nouns(slot, frames)
                residues = word_residues(words)
            lists.append(SlotWords(slot.name, words, residues))
        return lists

    def find_nouns(self, slot: Slot, frames: dict[str, Frame]) -> Words:
        """The nouns of the slot's case in the frame of its verb.

        Without a verb, the nouns of the class or kind that the slot is named by.
        """
        for verb, frame in frames.items():
            if slot.case and slot.case in self.template.slots[verb].frame:
                nouns = frame.nouns[strip_case_number(slot.case)]
                if slot.kind in GENERAL_KINDS:
                    return nouns
                return tuple(noun for noun in nouns if self.lexicon.kinds.get(noun) == slot.kind)
        nouns = nouns_of_kind(self.lexicon, slot.kind)
        if not nouns:
            name = self.lexicon.about.name
            what = f"template {self.template.id} asks for {slot.name}, of which the lexicon {name!r} has none"
            cure = f"add a class {slot.kind!r} to its nouns.tsv, or name its case"
            raise BadInput(what, file=self.lexicon.folder / "nouns.tsv", cure=cure)
        return nouns


def _describe_verb(slot: Slot) -> str:
    """What a verb slot asks for, in a message: `transitive ガ ヲ during`."""
    voice = {True: "transitive", False: "intransitive", None: ""}[slot.transitive]
    state = "state" if slot.is_stative else ""
    tag = f"#{slot.tag}" if slot.tag else ""
    return " ".join(filter(None, (voice, *slot.frame, slot.wants, tag, state)))


def nouns_of_kind(lexicon: Lexicon, kind: str) -> Words:
    """The words of a class with this name, else of all classes of this kind, else (for `noun`) all
    nouns.
    """
    if kind in lexicon.classes:
        return lexicon.classes[kind].nouns
    nouns: dict[str, None] = {}
    for noun_class in lexicon.classes.values():
        if noun_class.kind == kind:
            nouns.update(dict.fromkeys(noun_class.nouns))
    return tuple(nouns) or (lexicon.nouns if kind == "noun" else ())


@lru_cache(maxsize=1 << 16)
def inflect_word(word: str, form: str, ctype: str, language: str, kind: str = "verb") -> str:
    """A form of a verb or an adjective.

    `ctype` is its conjugation class, empty where the spelling tells it.
    """
    if language == "ko":
        from nikawa.text.conjugation_ko import RESULTATIVE, inflect

        if word in RESULTATIVE:
            form = {"progressive": "perfect", "progressive_past": "perfect_past"}.get(form, form)
        return inflect(word, form, kind == "adjective", ctype or None)
    from nikawa.text.conjugation_ja import conjugate

    return conjugate(word, form, ctype or None)


def verb_unit(cell: ProblemCell) -> str:
    """The unit a verb must suit: that of an interval, the smallest of a point; none for numbers and
    for `every`.

    Where a verb lasts from one point of a wide span to another, it is the largest unit.
    """
    slots, fmt = cell.template.slots.values(), cell.format
    kinds = {slot.kind for slot in slots}
    if fmt is None or fmt.kind == "number" or not kinds & {"time", "interval"}:
        return ""
    is_wide = cell.span is not None and not cell.span.window
    lasts = any(slot.wants == "during" or slot.is_stative for slot in slots)
    return fmt.largest if "interval" in kinds or (is_wide and lasts) else fmt.smallest
