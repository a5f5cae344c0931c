"""Korean morphemes (Kiwi) as phrases: what each is, which case it bears, and whether a predicate describes or acts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from nikawa.text import Token

Kind = Literal[
    "subject",
    "topic",
    "argument",
    "case",
    "of",
    "list",
    "modifier",
    "adverb",
    "link",
    "and",
    "final",
    "bare",
]
CASES = {
    "을": "eul",
    "를": "eul",
    "ᆯ": "eul",
    "에": "e",
    "에게": "e",
    "한테": "e",
    "께": "e",
    "에서": "eseo",
}
"""Particle to the name of its case; ᆯ is 를 run into its noun (날, 그걸)."""
PAUSES = frozenset({"SP", "SF", "SE"})
_SUBJECTS = frozenset({"이", "가", "께서"})
_TOPICS = frozenset({"은", "는", "ᆫ", "도"})
_LIMITS = frozenset({"만", "까지", "조차", "마저"})
"""Particles that a case may follow: 여우만이."""
_NOMINAL = ("NN", "NP", "NR", "XSN", "SL", "SH", "SN", "SW", "SSC", "ETN", "W_")
_PREDICATES = frozenset({"VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA"})
_PREDICATE_ENDS: dict[str, Kind] = {"ETM": "modifier", "EF": "final", "EC": "and"}
_WORDS: dict[str, Kind] = {"MM": "modifier", "MAJ": "link", "IC": "link", "MAG": "adverb"}
_DESCRIBING = frozenset({"VA", "VCP", "VCN", "XSA"})
_THERE = frozenset({"있", "없", "계시"})
_RESULTS = frozenset(
    {
        "놓이",
        "쌓이",
        "열리",
        "닫히",
        "걸리",
        "덮이",
        "박히",
        "적히",
        "섞이",
        "묶이",
        "잠기",
        "매달리",
        "남",
        "죽",
        "마르",
        "젖",
        "익",
        "썩",
        "얼",
        "녹",
        "식",
        "늙",
        "낡",
        "되",
        "당하",
    }
)
"""Verbs that say how a thing is: their subject is the noun they stand before."""
_TRANSITIVE = frozenset({"가지", "던지", "만지", "지"})
"""Verbs in 지 that are no such passives (깨지다, 버려지다)."""

CLAUSE_NOUNS = frozenset(
    {
        "것",
        "거",
        "줄",
        "수",
        "때",
        "동안",
        "후",
        "뒤",
        "전",
        "다음",
        "채",
        "듯",
        "만큼",
        "대로",
        "중",
        "사이",
        "순간",
        "적",
        "바",
    }
)
"""After a predicate these make a clause of its own of it, not a modifier."""


class Phrase(NamedTuple):
    """Tokens `first` to `end` (exclusive)."""

    first: int
    end: int
    kind: Kind
    mark: str = ""
    """The case of an argument."""
    comma: bool = False
    acts: bool = False
    """Whether a modifier is a verb that may have a subject of its own: 잡은, not 낡은 or 깨진."""
    predicate: bool = False


def phrases(tokens: Sequence[Token]) -> list[Phrase]:
    """The phrases of an analysis, in order; punctuation other than a pause stays with its neighbour."""
    found: list[Phrase] = []
    first = 0
    for i, token in enumerate(tokens):
        tag = _tag(token)
        if tag in PAUSES:
            _pause(found, first, i)
            first = i + 1
            continue
        if tag in ("VV", "VA") and i > first and nominal(tokens[i - 1]):
            found.append(Phrase(first, i, "bare"))
            first = i
        closed = _closed(tokens, first, i)
        if closed is not None:
            found.append(closed)
            first = i + 1
    if first < len(tokens):
        found.append(Phrase(first, len(tokens), "bare"))
    return found


def nominal(token: Token) -> bool:
    """Whether a particle after it marks a noun phrase."""
    return _tag(token).startswith(_NOMINAL)


def _tag(token: Token) -> str:
    return token.pos[0]


def _pause(found: list[Phrase], first: int, end: int) -> None:
    if first < end:
        found.append(Phrase(first, end, "bare", comma=True))
    elif found:
        found[-1] = found[-1]._replace(comma=True)


def _closed(tokens: Sequence[Token], first: int, i: int) -> Phrase | None:
    """The phrase that token i closes."""
    tag = _tag(tokens[i])
    after = _tag(tokens[i + 1]) if i + 1 < len(tokens) else ""
    if tag.startswith("J"):
        return None if after.startswith("J") or after == "VCP" else _marked(tokens, first, i)
    if tag in _PREDICATE_ENDS:
        goes_on = tag == "EC" and (after == "VX" or after.startswith("J"))
        acts = tag == "ETM" and _acts(tokens[first : i + 1])
        return (
            None
            if goes_on
            else Phrase(first, i + 1, _PREDICATE_ENDS[tag], acts=acts, predicate=True)
        )
    if tag in _WORDS and not (tag == "MAG" and after.startswith(("J", "XS", "VCP"))):
        return Phrase(first, i + 1, _WORDS[tag])
    return Phrase(first, i + 1, "link") if _ends_clause(tokens, i, after) else None


def _ends_clause(tokens: Sequence[Token], i: int, after: str) -> bool:
    """Whether token i is 동안, 후 or 전 of a clause, bare before the next noun: 닦는 동안 곰이."""
    token, before = tokens[i], _tag(tokens[i - 1]) if i else ""
    return (
        token.form in CLAUSE_NOUNS
        and before in ("ETM", "ETN")
        and after.startswith(("NN", "NP", "NR", "MM"))
    )


def _acts(tokens: Sequence[Token]) -> bool:
    """Whether a verb before a noun may have a subject other than that noun: 여우가 잡은, 축제가 시작되는 (날)."""
    verbs = [token for token in tokens if _tag(token) in _PREDICATES]
    lasting = tokens[-1].form != "는"
    return bool(verbs) and not any(_describes(verb, lasting) for verb in (verbs[0], verbs[-1]))


def _describes(verb: Token, lasting: bool) -> bool:
    """Whether the verb says how a thing is; a passive does so in what has come of it (깨진), not while it goes on."""
    tag, form = _tag(verb), verb.form
    if tag in _DESCRIBING or (form in _THERE and tag != "VX"):
        return True
    passive = form.endswith("지") and (form not in _TRANSITIVE or tag == "VX")
    return lasting and (passive or form in _RESULTS)


def _marked(tokens: Sequence[Token], first: int, i: int) -> Phrase:
    start = i
    while start > first and _tag(tokens[start - 1]).startswith("J"):
        start -= 1
    kind, mark = _case(tokens[start : i + 1])
    if kind in ("subject", "topic", "argument") and not (
        start > first and nominal(tokens[start - 1])
    ):
        kind, mark = "case", ""
    return Phrase(first, i + 1, kind, mark)


def _case(run: Sequence[Token]) -> tuple[Kind, str]:
    """What a run of particles says of its noun."""
    last = run[-1]
    tag, form = _tag(last), last.form
    if tag in ("JKG", "JC"):
        return ("of" if tag == "JKG" else "list"), ""
    if all(token.form in _LIMITS for token in run[:-1]):
        if tag == "JKS" and form in _SUBJECTS:
            return "subject", ""
        if tag in ("JKO", "JKB") and form in CASES:
            return "argument", CASES[form]
        if tag == "JX" and form in _TOPICS and len(run) == 1:
            return "topic", ""
    return "case", ""
