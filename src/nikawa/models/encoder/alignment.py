"""The characters of a text that each sub-word represents.

`align_subwords` is for tokenizers that do not return offsets. Sub-words may have lost marks (`##`, `▁`),
case, width or accents, and unknown sub-words carry no text. Both sides are decomposed (NFKD) and
case-folded. Runs of known sub-words must occur in the text unchanged. If a run fits several places,
the search takes the place that leaves each unknown sub-word a word of its own (a beam search over
runs, by cost).

`make_disjoint` makes the spans exact, whether they come from here or from the tokenizer: each
character belongs to one sub-word at most.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

Place = tuple[int, int]
"""Start and end (exclusive) of characters."""
State = tuple[float, tuple[int, ...]]
"""What it cost to place the runs so far, and where they start."""
CONTINUATION, WORD_START = "##", "▁"
MARKS = (CONTINUATION, WORD_START, "Ġ")
"""What tokenizers put before a sub-word that continues or begins a word."""
ACCENT_CATEGORIES = frozenset({"Mn", "Cf", "Cc", "Co"})
"""Unicode categories of accents and of marks that show nothing."""
BYTE = re.compile(r"<0x([0-9A-F]{2})>\Z")
"""A sub-word that represents a byte."""
MAX_CANDIDATES = 32
"""Places a run of known sub-words is looked for after an unknown one."""
MAX_STATES = 16
"""States that are followed up after each run: a text of mostly unknown sub-words has thousands."""
UNITS = (
    re.compile(r"\S+"),
    re.compile(r"[一-鿿㐀-䶿々〆]|[^\W_一-鿿㐀-䶿々〆]+|[^\w\s]|_"),
    re.compile(r"\S"),
)
"""What an unknown sub-word may represent, the largest first: a word, a part of one script or a sign,
a character."""


def align_subwords(text: str, subwords: Sequence[str], unknown: str | None) -> list[Place]:
    """Start and end (exclusive) in `text` of every sub-word; empty if it represents nothing.

    `subwords` are names as the vocabulary has them; `unknown` is the name of the one for unknown
    text.

    >>> align_subwords("뷁뷁이 왔다", ["[UNK]", "왔", "##다"], "[UNK]")
    [(0, 3), (4, 5), (5, 6)]
    """
    for strip_accents in (False, True):  # accents count unless the tokenizer drops them
        places = align_runs(text, subwords, unknown, strip_accents)
        if places is not None:
            return places
    return align_one_by_one(text, subwords, unknown)


def make_disjoint(text: str, spans: Sequence[Place]) -> tuple[list[Place], str]:
    """Spans that share no character and have no outer white space, and the characters that none of
    them has.

    A character that several sub-words make up (bytes, the parts of ㍿) goes to the first of them; a
    mark that joins the character before it goes where that went.
    """
    disjoint: list[Place] = []
    lost: list[str] = []
    at = 0
    for first, last in spans:
        start = max(first, at)
        part = text[start:last]
        left = len(part) - len(part.lstrip())
        start, end = start + left, start + max(left, len(part.rstrip()))
        if end > start:
            lost += _close_gap(text, disjoint, at, start)
            at = end
        disjoint.append((start, end) if end > start else (at, at))
    lost += _close_gap(text, disjoint, at, len(text))
    return disjoint, "".join(lost)


def _close_gap(text: str, spans: list[Place], start: int, end: int) -> list[str]:
    """Give the marks at the start of a gap to the span before it.

    Other characters of the gap, except white space, are lost.
    """
    if start < end and spans and spans[-1][1] == start:
        stop = start
        while stop < end and _joins_previous(text[stop]):
            stop += 1
        last = len(spans) - 1
        while last > 0 and spans[last][0] == spans[last][1]:  # an empty span has nothing to join
            last -= 1
        spans[last] = (spans[last][0], stop)
        start = stop
    return [character for character in text[start:end] if not character.isspace()]


def _joins_previous(character: str) -> bool:
    """Whether a character joins the one before it: accents and marks, and vowels and finals of
    decomposed Hangul.
    """
    if "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return True
    return not fold_character(character, True) and not character.isspace()


def fold_character(character: str, strip_accents: bool) -> str:
    """A character decomposed and case-folded; with `strip_accents` without accents and marks."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    kept = [part for part in parts if not part.isspace()]
    if strip_accents:
        kept = [part for part in kept if unicodedata.category(part) not in ACCENT_CATEGORIES]
    return "".join(kept)


def _fold(text: str, strip_accents: bool) -> tuple[str, list[int]]:
    """The folded text without spaces, and the character each part of it came from."""
    parts: list[str] = []
    origins: list[int] = []
    for i, character in enumerate(text):
        for part in fold_character(character, strip_accents):
            parts.append(part)
            origins.append(i)
    return "".join(parts), [*origins, len(text)]


def _fold_subwords(
    subwords: Sequence[str], unknown: str | None, strip_accents: bool
) -> list[str | None]:
    """The folded text of every sub-word; None for unknown ones.

    The first of bytes in a row has the text of them all.
    """
    texts: list[str | None] = []
    raw: list[int] = []
    for i, subword in enumerate(subwords):
        byte = BYTE.match(subword)
        if byte:
            raw.append(int(byte[1], 16))
            texts.append("")
        if raw and (not byte or i + 1 == len(subwords)):
            first = i - len(raw) + (1 if byte else 0)
            texts[first] = _fold(bytes(raw).decode("utf-8", "ignore"), strip_accents)[0]
            raw = []
        if byte:
            continue
        if subword == unknown:
            texts.append(None)
            continue
        mark = next((m for m in MARKS if subword.startswith(m)), "")
        bare = subword[len(mark) :] if subword != CONTINUATION else subword
        texts.append(_fold(bare, strip_accents)[0])
    return texts


class UnitCounts:
    """How many units of each size a stretch of a text has, counted once for all stretches."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._begun: list[list[int]] = []
        self._inside: list[list[bool]] = []
        for units in UNITS:
            begins = [0] * (len(text) + 1)
            inside = [False] * (len(text) + 1)
            for match in units.finditer(text):
                start, end = match.span()
                begins[start + 1] += 1
                inside[start + 1 : end] = [True] * (end - start - 1)
            self._begun.append(list(accumulate(begins)))
            self._inside.append(inside)

    def counts(self, start: int, end: int) -> list[int]:
        """For each size the units between two places, a part of one counted as one."""
        if end <= start:
            return [0] * len(UNITS)
        return [
            begun[end] - begun[start] + inside[start]
            for begun, inside in zip(self._begun, self._inside, strict=True)
        ]


@dataclass
class SubwordRun:
    """Consecutive known sub-words, and the number of unknown ones before them."""

    unknown: int = 0
    subwords: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    first: str = ""
    """The first sub-word as it is, which shows whether it begins a word."""


def align_runs(
    text: str, subwords: Sequence[str], unknown: str | None, strip_accents: bool
) -> list[Place] | None:
    """Every run where it is found whole, at the least cost; None where one is not found."""
    runs = [SubwordRun()]
    for i, bare in enumerate(_fold_subwords(subwords, unknown, strip_accents)):
        if bare is None:
            if runs[-1].subwords:
                runs.append(SubwordRun())
            runs[-1].unknown += 1
        else:
            runs[-1].first = runs[-1].first or subwords[i]
            runs[-1].subwords.append(i)
            runs[-1].texts.append(bare)
    folded, origins = _fold(text, strip_accents)
    units = UnitCounts(text)
    states: dict[int, State] = {0: (0.0, ())}  # by where the last run ends, the cheapest way there
    for run in runs:
        states = _place_run(run, states, units, folded, origins)
        if len(states) > MAX_STATES:  # keep the cheapest, and the one that leaves most of the text
            cheapest = sorted(states, key=lambda end: (states[end][0], end))[:MAX_STATES]
            states = {end: states[end] for end in {*cheapest, min(states)}}
    if runs[-1].subwords or not runs[-1].unknown:
        states = {end: state for end, state in states.items() if end == len(folded)}
    if not states:
        return None
    starts = min(states.values())[1]
    return place_subwords(text, len(subwords), runs, starts, origins)


def _place_run(
    run: SubwordRun, states: dict[int, State], units: UnitCounts, folded: str, origins: list[int]
) -> dict[int, State]:
    """The states after one more run, the cheapest for each end."""
    whole = "".join(run.texts)
    after: dict[int, State] = {}
    for end, (cost, starts) in states.items():
        for start in _find_run_places(whole, run, end, folded):
            gap_start = origins[end] if end else 0
            state = (cost + cost_of_gap(run, units, gap_start, origins[start]), (*starts, start))
            stop = start + len(whole)
            if stop not in after or state < after[stop]:
                after[stop] = state
    return after


def _find_run_places(whole: str, run: SubwordRun, end: int, folded: str) -> list[int]:
    """Where a run of this text may start, after the end of the run before it."""
    if not run.unknown:
        return [end] if folded.startswith(whole, end) else []
    if not run.subwords:
        return [len(folded)] if len(folded) > end else []
    starts: list[int] = []
    at = folded.find(whole, end + 1)
    while at >= 0 and len(starts) < MAX_CANDIDATES:
        starts.append(at)
        at = folded.find(whole, at + 1)
    if starts and (last := folded.rfind(whole)) > starts[-1]:
        starts.append(last)
    return starts


def cost_of_gap(run: SubwordRun, units: UnitCounts, start: int, end: int) -> float:
    """The cost of a place: how badly the gap before it fits its unknown sub-words, and the place the run's
    first sub-word.
    """
    if not run.unknown:
        return 0.0
    text = units.text
    counts = units.counts(start, end)
    cost = min(abs(count - run.unknown) + level / 4 for level, count in enumerate(counts))
    begins_word = run.first.startswith(WORD_START)
    if run.first.startswith(CONTINUATION) or (begins_word and not text[end - 1 : end].isspace()):
        cost += 1.5
    within_word = text[end - 1 : end].isalnum() and text[end : end + 1].isalnum()
    return cost + (0.5 if within_word and not begins_word else 0.0)


def place_subwords(
    text: str, count: int, runs: Sequence[SubwordRun], starts: Sequence[int], origins: list[int]
) -> list[Place]:
    """The places of all sub-words from where the runs start."""
    places: list[Place] = [(0, 0)] * count
    at, number = 0, 0
    for run, first in zip(runs, starts, strict=True):
        unknown = slice(number, number + run.unknown)
        places[unknown] = _share_out(text, at, origins[first], run.unknown)
        number += run.unknown + len(run.subwords)
        start = first
        for subword, bare in zip(run.subwords, run.texts, strict=True):
            stop = start + len(bare)
            end = origins[stop - 1] + 1 if bare else origins[start]
            places[subword] = (origins[start], end)
            start, at = stop, end
    return places


def _share_out(text: str, start: int, end: int, parts: int) -> list[Place]:
    """Divide a stretch of text among unknown sub-words: words, or parts of words if there are
    not enough.
    """
    if not parts:
        return []
    places: list[Place] = []
    for units in UNITS:
        places = [match.span() for match in units.finditer(text, start, end)]
        if len(places) >= parts:
            break
    if len(places) > parts:
        places[parts - 1 :] = [(places[parts - 1][0], places[-1][1])]
    last = places[-1][1] if places else end
    return places + [(last, last)] * (parts - len(places))


def align_one_by_one(text: str, subwords: Sequence[str], unknown: str | None) -> list[Place]:
    """Align one sub-word after another, if the tokenizer lost or changed characters.

    A sub-word that is not found represents nothing; unknown ones share the text between their neighbours.
    """
    folded, origins = _fold(text, True)
    known: list[Place | None] = []
    at = 0
    for bare in _fold_subwords(subwords, unknown, True):
        start = folded.find(bare, at) if bare else -1
        if bare is None:
            known.append(None)
        elif start < 0:
            known.append((origins[at], origins[at]))
        else:
            at = start + len(bare)
            known.append((origins[start], origins[at - 1] + 1))
    places: list[Place] = []
    i = 0
    while i < len(known):
        place = known[i]
        if place is not None:
            places.append(place)
            i += 1
            continue
        last = i
        while last < len(known) and known[last] is None:
            last += 1
        start = max((end for _, end in places), default=0)
        after = known[last] if last < len(known) else None
        places += _share_out(text, start, len(text) if after is None else after[0], last - i)
        i = last
    return places
