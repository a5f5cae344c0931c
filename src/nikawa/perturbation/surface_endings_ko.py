"""Korean endings of statements: plain (한다), polite (합니다) and informal polite (해요), each turned into
the other.

Only the last ending of a statement changes; its tense and honorific stay. 해요 of a verb may be a
request, so it counts as a statement only with a tense, or where the sentence has a subject. Kiwi
joins the new ending; what it would not join back to the very text that was there (하였다: it would
write 했다) changes after a tense only, and is left alone otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from nikawa.perturbation._surface import surface_perturbation
from nikawa.perturbation.base import Stretch, Tokens, analyse_text, replace_stretches
from nikawa.text import Analyser
from nikawa.text.conjugation_ko import copula, join_by_kiwi

STYLES = {
    "plain": frozenset({"다", "ᆫ다", "는다"}),
    "polite": frozenset({"습니다", "ᆸ니다"}),
    "informal": frozenset({"어요", "아요", "에요", "예요", "여요"}),
}
"""The endings of each style."""
_STATEMENTS = frozenset[str]().union(*STYLES.values())
_NEW_ENDINGS = {"plain": "다", "polite": "습니다", "informal": "어요"}
"""The ending of each style, in the shape Kiwi starts from; a plain verb without a tense has ᆫ다."""
_STEMS = frozenset({"VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA"})
_VERBS = frozenset({"VV", "XSV", "VX"})
_STATES = frozenset({"있", "없", "싶"})
_FOLLOWS_MAIN = frozenset({"않", "못하"})
"""Auxiliaries that are verbs after a verb, adjectives after an adjective."""
_TENSES = ("었", "겠")
"""Past and future, as Kiwi names the morphemes."""


class Statement(NamedTuple):
    """The end of a statement, by tokens."""

    tokens: Tokens
    begin: int
    """Where its sentence begins."""
    stem: int
    end: int
    """The ending, after the stem and the tense or honorific between them."""

    @property
    def has_tense(self) -> bool:
        """Whether a tense is before the ending."""
        return any(token.form in _TENSES for token in self.tokens[self.stem + 1 : self.end])

    @property
    def is_verb(self) -> bool:
        """Whether its predicate is a verb, not an adjective."""
        stem = self.tokens[self.stem]
        if stem.pos[0] not in _VERBS or stem.form in _STATES:
            return False
        if stem.pos[0] == "VX" and stem.form in _FOLLOWS_MAIN:
            before = reversed(self.tokens[self.begin : self.stem])
            main = next((token for token in before if token.pos[0] in _STEMS), None)
            return main is not None and main.pos[0] in _VERBS and main.form not in _STATES
        return True

    @property
    def may_be_request(self) -> bool:
        """Whether it may ask for something instead: 닫아요 alone may."""
        is_informal = self.tokens[self.end].form in STYLES["informal"]
        if not is_informal or not self.is_verb or self.has_tense:
            return False
        before = self.tokens[self.begin : self.stem]
        return not any(token.pos[0] == "JKS" or token.form in ("은", "는") for token in before)


def _find_statements(tokens: Tokens) -> Iterator[Statement]:
    """Each statement that a full stop, ! or the end of the text closes."""
    begin = 0
    for i, token in enumerate(tokens):
        tag, is_last = token.pos[0], i + 1 == len(tokens)
        is_closed = is_last
        if not is_last:
            after = tokens[i + 1]
            is_closed = after.pos[0] == "SF" and after.surface[0] in ".!。！"
        is_ending = tag == "EF" or (tag == "EC" and is_last)
        if is_closed and is_ending and token.form in _STATEMENTS:
            stem = i - 1
            while stem > begin and tokens[stem].pos[0] == "EP":
                stem -= 1
            if stem >= begin and tokens[stem].pos[0] in _STEMS:
                statement = Statement(tokens, begin, stem, i)
                if not statement.may_be_request:
                    yield statement
        if tag == "SF":
            begin = i + 1


def change_style(text: str, analyser: Analyser, *, style: str) -> str:
    """The text with its statements in a style; those whose new form is in doubt stay."""
    stretches: list[Stretch] = []
    for statement in _find_statements(analyse_text(text, analyser)):
        if statement.tokens[statement.end].form not in STYLES[style]:
            stretch = _rewrite_statement(text, statement, style)
            if stretch is not None:
                stretches.append(stretch)
    return replace_stretches(text, stretches)


def _rewrite_statement(text: str, statement: Statement, style: str) -> Stretch | None:
    """Stem and ending, and what replaces them; None where that is in doubt."""
    tokens, _, stem, end = statement
    first = stem - 1 if tokens[stem].pos[0] == "VCP" and stem else stem
    if tokens[first].pos[0] == "VCP":
        return None
    start, stop = tokens[first].start, tokens[end].end
    parts = []
    for token in tokens[first:end]:
        tag = f"{token.pos[0]}-{token.ctype}" if token.ctype else token.pos[0]
        parts.append((token.form, tag))
    if join_by_kiwi([*parts, (tokens[end].form, "EF")]) != text[start:stop]:
        # The ending alone, if a tense written in full is before it: 하였다, which Kiwi would join as 했다.
        tense, ending = tokens[end - 1], tokens[end]
        is_tense = tense.pos[0] == "EP" and tense.form in _TENSES
        if not is_tense or ending.start < tense.end:
            return None
        return ending.start, ending.end, _NEW_ENDINGS[style]
    if style == "informal":
        if end == stem + 1 and tokens[stem].pos[0] in ("VCP", "VCN"):
            is_copula = first < stem
            noun = tokens[first].surface
            new = copula(noun, "polite") if is_copula else f"{tokens[stem].form}에요"
            return start, stop, new
        if tokens[end - 1].form == "시":
            return None  # 가세요 may be a request
    ending_form = _NEW_ENDINGS[style]
    whole = statement._replace(begin=0)
    if style == "plain" and whole.is_verb and not statement.has_tense:
        ending_form = "ᆫ다"
    new = join_by_kiwi([*parts, (ending_form, "EF")])
    if parts[0] == ("거", "NNB"):
        new = new.replace("거입니다", "겁니다")
    return start, stop, new


PERTURBATIONS = (
    surface_perturbation(
        "polite",
        "ko",
        "end statements politely (합니다)",
        partial(change_style, style="polite"),
        ("kiwi",),
    ),
    surface_perturbation(
        "polite-informal",
        "ko",
        "end statements in informal politeness (해요)",
        partial(change_style, style="informal"),
        ("kiwi",),
    ),
    surface_perturbation(
        "plain",
        "ko",
        "end statements plainly (한다)",
        partial(change_style, style="plain"),
        ("kiwi",),
    ),
)
