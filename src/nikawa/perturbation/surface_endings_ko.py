"""Korean endings of statements: plain (한다), polite (합니다) and informal polite (해요), each turned into the other.

Only the last ending of a statement changes; its tense and honorific stay. 해요 of a verb may be a request, so it counts as a
statement only with a tense, or where the sentence has a subject. Kiwi joins the new ending; what it would not join back to
the very text that was there (하였다: it would write 했다) changes after a tense only, and is left alone otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from nikawa.perturbation._surface import replace_stretches, surface_perturbation
from nikawa.perturbation.base import analyse_text
from nikawa.text import Analyser, Token
from nikawa.text.korean_forms import copula, join

_PLAIN = frozenset({"다", "ᆫ다", "는다"})
_POLITE = frozenset({"습니다", "ᆸ니다"})
_INFORMAL = frozenset({"어요", "아요", "에요", "예요", "여요"})
_STATEMENTS = _PLAIN | _POLITE | _INFORMAL
_STEMS = frozenset({"VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA"})
_VERBS = frozenset({"VV", "XSV", "VX"})
_STATES = frozenset({"있", "없", "싶"})
_FOLLOWS_MAIN = frozenset({"않", "못하"})
"""Auxiliaries that are verbs after a verb, adjectives after an adjective."""


def _endings(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Stem and ending (tokens) of each statement that a full stop, ! or the end of the text closes."""
    begin = 0
    for i, token in enumerate(tokens):
        last = i + 1 == len(tokens)
        closed = last or (tokens[i + 1].pos[0] == "SF" and tokens[i + 1].surface[0] in ".!。！")
        tag = token.pos[0]
        if closed and token.form in _STATEMENTS and (tag == "EF" or (tag == "EC" and last)):
            stem = i - 1
            while stem > begin and tokens[stem].pos[0] == "EP":
                stem -= 1
            if stem >= begin and tokens[stem].pos[0] in _STEMS and _states(tokens, begin, stem, i):
                yield stem, i
        if tag == "SF":
            begin = i + 1


def _states(tokens: Sequence[Token], begin: int, stem: int, end: int) -> bool:
    """Whether the ending states something: 닫아요 alone may be a request."""
    if tokens[end].form not in _INFORMAL or not _is_verb(tokens, begin, stem):
        return True
    return _tensed(tokens, stem, end) or any(
        t.pos[0] == "JKS" or t.form in ("은", "는") for t in tokens[begin:stem]
    )


def _tensed(tokens: Sequence[Token], stem: int, end: int) -> bool:
    return any(token.form in ("었", "겠") for token in tokens[stem + 1 : end])


def _is_verb(tokens: Sequence[Token], begin: int, stem: int) -> bool:
    token = tokens[stem]
    if token.pos[0] not in _VERBS or token.form in _STATES:
        return False
    if token.pos[0] == "VX" and token.form in _FOLLOWS_MAIN:
        main = next((t for t in reversed(tokens[begin:stem]) if t.pos[0] in _STEMS), None)
        return main is not None and main.pos[0] in _VERBS and main.form not in _STATES
    return True


def _ending(tokens: Sequence[Token], stem: int, end: int, style: str) -> str:
    """The ending of that style, in the shape Kiwi starts from."""
    if style == "polite":
        return "습니다"
    if style == "informal":
        return "어요"
    return "ᆫ다" if not _tensed(tokens, stem, end) and _is_verb(tokens, 0, stem) else "다"


def _changed(text: str, analyser: Analyser, *, style: str, other: frozenset[str]) -> str:
    tokens = analyse_text(text, analyser)
    changes: list[tuple[int, int, str]] = []
    for stem, end in _endings(tokens):
        if tokens[end].form not in other:
            found = _rejoined(text, tokens, stem, end, style)
            changes += [] if found is None else [found]
    return replace_stretches(text, changes)


def _rejoined(
    text: str, tokens: Sequence[Token], stem: int, end: int, style: str
) -> tuple[int, int, str] | None:
    """The stretch of stem and ending, and what stands there now."""
    first = stem - 1 if tokens[stem].pos[0] == "VCP" and stem else stem
    span = tokens[first].start, tokens[end].end
    parts = [(t.form, f"{t.pos[0]}-{t.ctype}" if t.ctype else t.pos[0]) for t in tokens[first:end]]
    if tokens[first].pos[0] == "VCP":
        return None
    if join([*parts, (tokens[end].form, "EF")]) != text[span[0] : span[1]]:
        return _after_tense(tokens, end, style)
    if style == "informal" and end == stem + 1 and tokens[stem].pos[0] in ("VCP", "VCN"):
        noun = tokens[first].surface
        return *span, copula(noun, "polite") if first < stem else f"{tokens[stem].form}에요"
    if style == "informal" and tokens[end - 1].form == "시":
        return None  # 가세요 may be a request
    made = join([*parts, (_ending(tokens, stem, end, style), "EF")])
    return *span, made.replace("거입니다", "겁니다") if parts[0] == ("거", "NNB") else made


def _after_tense(tokens: Sequence[Token], end: int, style: str) -> tuple[int, int, str] | None:
    """The ending alone, where a tense written in full stands before it: 하였다, which Kiwi would join as 했다."""
    tense, ending = tokens[end - 1], tokens[end]
    if tense.pos[0] != "EP" or tense.form not in ("었", "겠") or ending.start < tense.end:
        return None
    return ending.start, ending.end, {"polite": "습니다", "informal": "어요"}.get(style, "다")


def _style(style: str, own: frozenset[str]) -> Callable[[str, Analyser], str]:
    return partial(_changed, style=style, other=own)


PERTURBATIONS = (
    surface_perturbation(
        "polite", "ko", "end statements politely (합니다)", _style("polite", _POLITE), ("kiwi",)
    ),
    surface_perturbation(
        "polite-informal",
        "ko",
        "end statements in informal politeness (해요)",
        _style("informal", _INFORMAL),
        ("kiwi",),
    ),
    surface_perturbation(
        "plain", "ko", "end statements plainly (한다)", _style("plain", _PLAIN), ("kiwi",)
    ),
)
