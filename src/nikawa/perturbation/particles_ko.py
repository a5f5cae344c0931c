"""Korean case particles: scramble, swap or delete 이/가 and 을/를, 에/에게 or 에서 of a clause.

A clause is `pre + [S p] + [X q] + post`, p one of 이/가, 께서, 은/는, 도, and q one of the case. As for Japanese:

    scramble   pre X q S p post        the meaning stays
    swap       pre S q X 이/가 post      the second particle is always 이/가
    delete     pre S X post

Particles take the shape their new noun asks for (곰을, 여우를), pronouns theirs (나를, 내가). 에 and 에게 are no such shapes: which of
them stands after a noun says whether it lives, so the one that was there is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from nikawa.perturbation.base import (
    NO_TEXT,
    Effect,
    Perturbation,
    analyse_text,
    changeable_inputs,
    replace_inputs,
    unless,
)
from nikawa.perturbation.particles_ja import INPUTS, NO_CLAUSE
from nikawa.perturbation.particles_ja_clauses import Clause
from nikawa.perturbation.particles_ko_clauses import clauses, first_pair
from nikawa.perturbation.particles_ko_phrases import PAUSES
from nikawa.perturbation.particles_ko_words import parts_words
from nikawa.records import Example
from nikawa.text import Analyser, Token
from nikawa.text.korean_forms import attach

CASES = {"eul": "을/를", "e": "에/에게", "eseo": "에서"}
_SIGNS = {"eul": ("",), "e": ("에", "한테", "께"), "eseo": ("에서",)}
"""What a text must hold to be worth an analysis; 를 may hide in any syllable (누굴)."""
_NOMINATIVE = {
    "나": "내가",
    "저": "제가",
    "너": "네가",
    "누구": "누가",
    "이거": "이게",
    "그거": "그게",
    "저거": "저게",
}
"""Pronouns that change before 가."""

Noun = tuple[str, bool]
"""A noun phrase without its particle, and whether a pronoun ends it."""
_Order = Callable[["_Parts"], str]


class _Parts:
    """The two phrases of a clause, as they stand and without their particles."""

    def __init__(self, text: str, tokens: Sequence[Token], clause: Clause) -> None:
        p, q = clause.subject, clause.argument
        start, self.end = tokens[clause.start].start, tokens[q].end
        first = next(t.start for t in tokens[p + 1 :] if t.pos[0] not in PAUSES)
        self.start = start
        self.gap = text[tokens[p].end : first]
        self.first, self.second = text[start : tokens[p].end], text[first : self.end]
        self.subject = _noun(text, tokens, start, p)
        self.other = _noun(text, tokens, first, q)
        self.particle = "를" if tokens[q].form == "ᆯ" else tokens[q].form
        self.borne = tokens[p].form
        self.movable = all(
            parts_words(text, place) for place in (start, tokens[p].end, first, self.end)
        )
        """Whether both phrases are whole words."""

    def swapped(self) -> str:
        """The particles exchanged; the second is always 이/가."""
        first = with_particle(self.subject, self.particle, self.borne)
        return first + self.gap + with_particle(self.other, "이/가", self.particle)


def _noun(text: str, tokens: Sequence[Token], start: int, particle: int) -> Noun:
    """The phrase before its particle; a noun run into it (내가, 그걸) in the form it has alone."""
    noun = particle - 1
    pronoun = tokens[noun].pos[0] == "NP"
    if tokens[noun].end > tokens[particle].start or (
        pronoun and tokens[noun].form != tokens[noun].surface
    ):
        return text[start : tokens[noun].start] + tokens[noun].form, pronoun
    return text[start : tokens[particle].start], pronoun


def with_particle(noun: Noun, particle: str, borne: str = "") -> str:
    """The phrase with a particle in the shape it asks for; the one it bore tells how a foreign word is read."""
    text, pronoun = noun
    if particle == "이/가" and pronoun:
        for own, shape in _NOMINATIVE.items():
            if text == own or text.endswith(f" {own}"):
                return text.removesuffix(own) + shape
    return attach(text, particle, borne)


OPERATIONS: dict[str, tuple[_Order, Effect, str]] = {
    "scramble": (
        lambda c: c.second + c.gap + c.first,
        "keeps",
        "put the {q} phrase before the subject",
    ),
    "swap": (
        _Parts.swapped,
        "neutral",
        "exchange the particles of subject and {q} phrase",
    ),
    "delete": (
        lambda c: c.subject[0] + c.gap + c.other[0],
        "neutral",
        "drop the particles of subject and {q} phrase",
    ),
}
MOVES = ("scramble",)
"""Operations that move a phrase; the others change particles where they stand."""
CUT = "a phrase begins or ends inside a word"


def why(example: Example, analyser: Analyser, *, case: str, moves: bool) -> str:
    """Why the text is not one to rewrite; "" where a clause has a subject and, at once after it, an argument in `case`."""
    for text in changeable_inputs(example, INPUTS).values():
        if not any(sign in text for sign in _SIGNS[case]):
            return NO_CLAUSE
        tokens = analyse_text(text, analyser)
        reasons = [c.against or _unmoved(text, tokens, c, moves) for c in clauses(tokens, case)]
        return "" if "" in reasons else next(iter(reasons), NO_CLAUSE)
    return NO_TEXT


def _unmoved(text: str, tokens: Sequence[Token], clause: Clause, moves: bool) -> str:
    """Why a phrase cannot stand elsewhere: a morpheme may end inside a word (사진에서 of 사진에서봤던)."""
    return CUT if moves and not _Parts(text, tokens, clause).movable else ""


def rewrite(
    example: Example, analyser: Analyser, random: Random, *, case: str, operation: str
) -> Example | None:
    """The example with its text rewritten; None where no subject is followed by an argument in `case`."""
    for name, text in changeable_inputs(example, INPUTS).items():
        tokens = analyse_text(text, analyser)
        found = [
            c
            for c in _candidates(tokens, case)
            if not _unmoved(text, tokens, c, operation in MOVES)
        ]
        chosen = [clause for clause in found if not clause.against] or found
        return replace_inputs(
            example, {name: _rewritten(text, tokens, chosen, OPERATIONS[operation][0])}
        )
    return None


def _candidates(tokens: Sequence[Token], case: str) -> list[Clause]:
    """The clauses that match, else the first pair of particles."""
    found = clauses(tokens, case)
    pair = None if found else first_pair(tokens, case)
    return found if pair is None else [pair]


def _rewritten(text: str, tokens: Sequence[Token], found: Sequence[Clause], order: _Order) -> str:
    parts: list[str] = []
    done = 0
    for clause in found:
        pieces = _Parts(text, tokens, clause)
        parts += text[done : pieces.start], order(pieces)
        done = pieces.end
    return "".join(parts) + text[done:]


PERTURBATIONS = tuple(
    Perturbation(
        name=f"{operation}-{case}",
        language="ko",
        inputs=INPUTS,
        effect=effect,
        title=title.format(q=particle),
        eligible=unless(partial(why, case=case, moves=operation in MOVES)),
        why=partial(why, case=case, moves=operation in MOVES),
        rewrite=partial(rewrite, case=case, operation=operation),
        analysers=("kiwi",),
    )
    for operation, (_, effect, title) in OPERATIONS.items()
    for case, particle in CASES.items()
)
