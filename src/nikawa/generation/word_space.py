"""Words that keep the splits apart: no premise and no hypothesis of one split stands in another.

Every word has a residue, every side (premise, hypothesis) the sum of its words' residues modulo `SIDES`, every split owns
residues. The last word of a side is drawn from those that bring the sum into an owned residue.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from nikawa.errors import BadInput
from nikawa.generation.lexicon import Frame, Lexicon
from nikawa.generation.randomness import SHORT, STEP, hash_key, shuffled
from nikawa.generation.template import TIME_KINDS, Slot, Template, Word, strip_case_number
from nikawa.generation.time_sampling import Cell

if TYPE_CHECKING:
    from nikawa.generation.randomness_arrays import Numbers


RESIDUE_COUNT = 5
"""Residues there are to share among the splits."""
_TURN = 7919


class SlotWords(NamedTuple):
    """What a slot may be filled with."""

    slot: str
    words: tuple[str, ...]
    residues: tuple[int, ...]
    smaller: int = 0
    """How many words may be gone already, taken by slots before it."""

    @property
    def size(self) -> int:
        """How many choices are always left."""
        return max(0, len(self.words) - self.smaller)


class FillStage(NamedTuple):
    """Slots that are filled together: those of both sides, those of the premise alone, those of the hypothesis alone."""

    free: tuple[SlotWords, ...]
    last: SlotWords | None
    """The slot that settles a side; None where a later stage does."""
    by_residue: tuple[tuple[str, ...], ...]
    """Words of the last slot that lie in an owned residue, by the residue of all others."""
    least: int
    """How many choices the last slot always has."""
    before: int
    """Ways to fill everything before the last slot."""
    shared: bool
    """Whether its words stand in the side of every later stage too."""


Sides = tuple[frozenset[str], frozenset[str]]
"""The slots of the premise and of the hypothesis."""


def plan_stages(
    lists: Sequence[SlotWords], sides: Sides, owned: tuple[int, ...]
) -> tuple[tuple[FillStage, ...], int]:
    """The stages in which slots are filled, and how many ways there are."""
    found: list[FillStage] = []
    placed: list[SlotWords] = []
    total, settled = 1 if lists or 0 in owned else 0, False
    for names, settles, shared in _parted(tuple(one.slot for one in lists), sides):
        mine = []
        for one in (one for one in lists if one.slot in names):
            smaller = sum(_meet(one.words, other.words) for other in placed)
            mine.append(one._replace(smaller=smaller))
            placed.append(one)
        free, last = (mine[:-1], mine[-1]) if settles else (mine, None)
        for one in free:
            total *= one.size
        by_residue: tuple[tuple[str, ...], ...] = ()
        least, before = 1, total
        if last is not None:
            by_residue, fewest, owned_fewest = _by_residue(last.words, last.residues, owned)
            least = max(0, (owned_fewest if settled and not free else fewest) - last.smaller)
        total *= least
        found.append(FillStage(tuple(free), last, by_residue, least, before, shared))
        settled = settles and shared
    return tuple(found), total


@lru_cache(maxsize=1 << 13)
def _meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two lists have a word in common."""
    return some is others or not set(some).isdisjoint(others)


@lru_cache(maxsize=1 << 10)
def _parted(slots: tuple[str, ...], sides: Sides) -> list[tuple[frozenset[str], bool, bool]]:
    """The slots by stage, whether the last of a stage settles a side, and whether both sides have them."""
    one, other = (side.intersection(slots) for side in sides)
    if not one or not other:  # a side without words is the same in all splits
        return [(frozenset(slots), True, True)] if slots else []
    both, alone = one & other, [part for part in (one - other, other - one) if part]
    found = [(part, True, False) for part in alone]
    return [(both, len(alone) < 2, True), *found] if both else found


@lru_cache(maxsize=1 << 12)
def _by_residue(
    words: tuple[str, ...], residues: tuple[int, ...], owned: tuple[int, ...]
) -> tuple[tuple[tuple[str, ...], ...], int, int]:
    """The words that bring the sum into an owned residue, by that of the others; the fewest of all, and of owned ones."""
    found = tuple(
        tuple(
            word
            for word, r in zip(words, residues, strict=True)
            if (rest + r) % RESIDUE_COUNT in owned
        )
        for rest in range(RESIDUE_COUNT)
    )
    return found, min(map(len, found)), min(len(found[rest]) for rest in owned)


def unfold_number(found: tuple[FillStage, ...], number: int) -> dict[str, str]:
    """Slot to word, for the way with this number."""
    words: dict[str, str] = {}
    base, whole = 0, number
    for free, last, by_residue, least, before, shared in found:
        residue = base
        for slot, offered, residues, smaller in free:
            number, place = divmod(number, len(offered) - smaller)
            if smaller:
                place = _past(_taken(offered, words), place)
            words[slot] = offered[place]
            residue += residues[place]
        if last is not None:
            fitting = by_residue[residue % RESIDUE_COUNT]
            gone = _taken(fitting, words) if last.smaller else ()
            # Turned by what the other words are, so that the end of the list comes up as often as its start.
            turn = (whole - number * before) * _TURN
            number, place = divmod(number, least)
            place = (place + turn) % (len(fitting) - len(gone))
            word = words[last.slot] = fitting[_past(gone, place)] if gone else fitting[place]
            if shared and len(found) > 1:
                residue += last.residues[last.words.index(word)]
        if shared:
            base = residue
    return words


def _taken(offered: tuple[str, ...], words: dict[str, str]) -> list[int]:
    """The places of the words that other slots hold already."""
    return sorted(offered.index(word) for word in words.values() if word in offered)


def _past(gone: Sequence[int], place: int) -> int:
    """The place once those that are gone are left out."""
    for one in gone:
        place += place >= one
    return place


@lru_cache(maxsize=1 << 12)
def word_residues(words: tuple[str, ...]) -> tuple[int, ...]:
    """The residue of each word, which depends on the word alone."""
    return tuple(crc32(word.encode()) % RESIDUE_COUNT for word in words)


@lru_cache(maxsize=8)
def turn_residues(n: int) -> tuple[int, ...]:
    """Residues of a list whose words take turns, so that every residue has its share."""
    return tuple(i % RESIDUE_COUNT for i in range(n))


MIN_VERBS_FOR_UNIT = 4
"""Verbs below which the unit of time is no longer asked for."""
MAX_VERB_COMBINATIONS = 4096
"""Combinations of verbs looked at where a template has several."""
GENERAL_KINDS = ("noun", "agent", "verb")
"""Slot kinds that take any word of their case; another kind asks for nouns of that kind."""


NO_SIDES: Sides = (frozenset(), frozenset())


class _Ways(NamedTuple):
    """Every way to fill a template with one choice of verbs."""

    texts: dict[str, str]
    """Keys of the verbs to their forms."""
    stages: tuple[FillStage, ...]
    total: int


class WordSpace:
    """Every way to fill the word slots of a template, for one split."""

    def __init__(
        self, template: Template, lexicon: Lexicon, unit: str, owned: Sequence[int]
    ) -> None:
        self._language = lexicon.language
        words = [use for use in template.uses if isinstance(use, Word)]
        self._particles = list(
            {u.key: (u.key, u.slot, u.particle) for u in words if u.particle}.values()
        )
        self._forms = [use for use in words if use.form]
        self._inflected = [use for use in self._forms if use.kind != "verb"]
        frames = _frames(template, lexicon, unit)
        for sides in (
            _sides(template),
            NO_SIDES,
        ):  # too few words to keep each side apart: keep whole problems apart
            found = [
                self._ways(template, lexicon, chosen, (sides, tuple(owned))) for chosen in frames
            ]
            self._all = sorted((w for w in found if w.total), key=lambda w: w.total)
            if self._all:
                break
        self._starts, self._firsts, self.size = _turns([w.total for w in self._all])

    def fill(self, k: int, seed: int) -> dict[str, str]:
        """The texts of all word keys for number k; numbers from `size` on begin again."""
        k %= self.size
        segment = bisect_right(self._starts, k) - 1
        first, base = self._firsts[segment]
        turn, place = divmod(k - self._starts[segment], len(self._all) - first)
        turn += base
        chosen = first + shuffled(place, len(self._all) - first, (seed + turn * STEP) >> 16 & SHORT)
        total = self._all[chosen].total
        return self._texts(
            chosen, shuffled(turn, total, (seed ^ (chosen + 1) * STEP) >> 16 & SHORT)
        )

    def fill_many(self, numbers: Numbers, seed: int) -> Iterator[dict[str, str]]:
        """`fill` of all these numbers, together."""
        import numpy as np

        from nikawa.generation import randomness_arrays as batch

        starts, firsts = (
            np.array(found, dtype=np.uint64) for found in (self._starts, self._firsts)
        )
        segments = np.searchsorted(starts, numbers, side="right") - 1
        first = firsts[segments, 0]
        width = np.uint64(len(self._all)) - first
        turn, place = np.divmod(numbers - starts[segments], width)
        turn += firsts[segments, 1]
        whole = np.uint64(seed)
        chosen = first + batch.shuffled(place, width, batch.seeds_from(whole + batch.steps(turn)))
        totals = np.array([ways.total for ways in self._all], dtype=np.uint64)[chosen]
        keys = batch.seeds_from(whole ^ batch.steps(chosen + np.uint64(1)))
        found = batch.shuffled(turn, totals, keys)
        return map(self._texts, chosen.tolist(), found.tolist())

    def _texts(self, chosen: int, number: int) -> dict[str, str]:
        """The texts of one way of one choice of verbs."""
        ways = self._all[chosen]
        words = unfold_number(ways.stages, number)
        texts = {**ways.texts, **words}
        for name, slot, particle in self._particles:
            texts[name] = attach_particle(words[slot], particle)
        for use in self._inflected:
            texts[use.key] = inflect_word(words[use.slot], use.form, "", self._language, use.kind)
        return texts

    def _ways(
        self,
        template: Template,
        lexicon: Lexicon,
        frames: dict[str, Frame],
        apart: tuple[Sides, tuple[int, ...]],
    ) -> _Ways:
        texts = {
            use.key: inflect_word(
                frames[use.slot].verb, use.form, frames[use.slot].ctype, self._language
            )
            for use in self._forms
            if use.slot in frames
        }
        found, total = plan_stages(_lists(template, lexicon, frames), *apart)
        return _Ways(texts, found, total)


def _sides(template: Template) -> Sides:
    """The slots of agents and nouns on each side."""
    premise, hypothesis = (
        frozenset(use.slot for use in side if isinstance(use, Word) and use.kind != "verb")
        for side in (template.premise, template.hypothesis)
    )
    return premise, hypothesis


def _turns(counts: list[int]) -> tuple[list[int], list[tuple[int, int]], int]:
    """Where the turns lose a member: numbers at which that is so, (first member left, turns so far), and the sum.

    In turn t every member with more than t ways is used once; members are sorted by their ways.
    """
    starts, firsts, done, total = [], [], 0, 0
    for first, count in enumerate(counts):
        if count > done:
            starts.append(total)
            firsts.append((first, done))
            total += (count - done) * (len(counts) - first)
            done = count
    return starts, firsts, total


def _frames(template: Template, lexicon: Lexicon, unit: str) -> list[dict[str, Frame]]:
    """Every choice of a frame for each verb slot; different verbs where there are several."""
    verbs = [slot for slot in template.slots.values() if slot.kind == "verb"]
    offered = [_fitting(slot, template, lexicon, unit) for slot in verbs]
    names = [slot.name for slot in verbs]
    found = [
        dict(zip(names, frames, strict=True))
        for frames in _combined(offered, template.id)
        if len({frame.verb for frame in frames}) == len(frames)
    ]
    if not found:
        what = f"template {template.id} has a verb that no frame of the lexicon {lexicon.about.name!r} suits"
        raise BadInput(
            what, cure=f"it asks for {', '.join(map(_asked, verbs))}: change it, or add frames"
        )
    return found


def _asked(slot: Slot) -> str:
    voice = {True: "transitive", False: "intransitive", None: ""}[slot.transitive]
    return " ".join(filter(None, (voice, *slot.frame, slot.wants, "state" if slot.stative else "")))


def _combined(offered: list[tuple[Frame, ...]], name: str) -> list[tuple[Frame, ...]]:
    """All combinations, or as many as are looked at, spread evenly by chance."""
    size = 1
    for frames in offered:
        size *= len(frames)
    if size <= MAX_VERB_COMBINATIONS:
        return list(product(*offered))
    found = []
    for i in range(MAX_VERB_COMBINATIONS):
        number, chosen = shuffled(i, size, hash_key(name)), []
        for frames in offered:
            number, place = divmod(number, len(frames))
            chosen.append(frames[place])
        found.append(tuple(chosen))
    return found


def _fitting(slot: Slot, template: Template, lexicon: Lexicon, unit: str) -> tuple[Frame, ...]:
    """The frames that suit a verb slot, in the unit of the times as long as there are some."""
    kinds = {
        strip_case_number(s.case): s.kind
        for s in template.slots.values()
        if s.kind not in GENERAL_KINDS and s.case in slot.frame
    }
    found = lexicon.choose(
        slot.frame, transitive=slot.transitive, wants=slot.wants, state=slot.stative, kinds=kinds
    )
    measured = tuple(frame for frame in found if frame.suits(unit=unit))
    return measured if len(measured) >= MIN_VERBS_FOR_UNIT else found


def _lists(template: Template, lexicon: Lexicon, frames: dict[str, Frame]) -> list[SlotWords]:
    """What each slot that is no verb takes; agents come last, for they keep the splits apart."""
    slots = [s for s in template.slots.values() if s.kind not in ("verb", "choice", *TIME_KINDS)]
    lists: list[SlotWords] = []
    for slot in sorted(slots, key=lambda s: s.kind == "agent"):
        if slot.kind == "agent":
            words, residues = lexicon.agents, turn_residues(len(lexicon.agents))
        else:
            words = _nouns(slot, template, lexicon, frames)
            residues = word_residues(words)
        lists.append(SlotWords(slot.name, words, residues))
    return lists


def _nouns(
    slot: Slot, template: Template, lexicon: Lexicon, frames: dict[str, Frame]
) -> tuple[str, ...]:
    """The nouns of the slot's case in the frame of its verb; without a verb, the class or the kind of its name."""
    for verb, frame in frames.items():
        if slot.case and slot.case in template.slots[verb].frame:
            words = frame.nouns[strip_case_number(slot.case)]
            return (
                words
                if slot.kind in GENERAL_KINDS
                else tuple(w for w in words if lexicon.kinds.get(w) == slot.kind)
            )
    words = nouns_of_kind(lexicon, slot.kind)
    if not words:
        what = f"template {template.id} asks for {slot.name}, of which the lexicon {lexicon.about.name!r} has none"
        raise BadInput(
            what, cure=f"add a class {slot.kind!r} to its nouns.tsv, or name the case it stands in"
        )
    return words


def nouns_of_kind(lexicon: Lexicon, kind: str) -> tuple[str, ...]:
    """The words of a class with this name, else of all classes of this kind, else (for `noun`) all nouns."""
    if kind in lexicon.classes:
        return lexicon.classes[kind].nouns
    found = dict.fromkeys(n for c in lexicon.classes.values() if c.kind == kind for n in c.nouns)
    return tuple(found) or (lexicon.nouns if kind == "noun" else ())


@lru_cache(maxsize=1 << 16)
def attach_particle(word: str, particle: str) -> str:
    """A word with a particle in its right shape."""
    from nikawa.text.korean_forms import attach

    return attach(word, particle)


@lru_cache(maxsize=1 << 16)
def inflect_word(word: str, form: str, ctype: str, language: str, kind: str = "verb") -> str:
    """A form of a verb or an adjective."""
    if language == "ko":
        from nikawa.text.korean_forms import RESULTATIVE, inflect

        if word in RESULTATIVE:
            form = {"progressive": "perfect", "progressive_past": "perfect_past"}.get(form, form)
        return inflect(word, form, kind == "adjective", ctype or None)
    from nikawa.text.conjugate import conjugate

    return conjugate(word, form, ctype or None)


def verb_unit(cell: Cell) -> str:
    """The unit a verb must suit: that of an interval, the smallest of a point; the largest where a verb lasts
    from one point of a wide span to another. None for numbers and for `every`.
    """
    slots, fmt = cell.template.slots.values(), cell.format
    kinds = {slot.kind for slot in slots}
    if fmt is None or fmt.kind == "number" or not kinds & {"time", "interval"}:
        return ""
    wide = cell.span is not None and not cell.span.window
    lasts = any(slot.wants == "during" or slot.stative for slot in slots)
    return fmt.largest if "interval" in kinds or (wide and lasts) else fmt.smallest
