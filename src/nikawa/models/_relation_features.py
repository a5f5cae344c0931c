"""What tells the relation of two marked entities: their types and letters, the text between and around, their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nikawa.models._crf_features import squeeze
from nikawa.records import Span

WINDOW = 14
"""Characters before the first entity and behind the second that are looked at closely."""
BETWEEN = 80
"""Characters between the two after which only the ends count."""
_STEPS = (0, 1, 2, 4, 8, 12, 20, 30, 50, 80)


def features(seen: Mapping[str, Any]) -> list[str]:
    """Names of the features of an example, from the inputs that may be seen."""
    text = str(seen.get("text", ""))
    ends = {role: seen[role] for role in ("subject", "object") if isinstance(seen.get(role), Span)}
    pair = "|".join(span.label for span in ends.values())
    found = ["bias", f"pair={pair}"]
    for role, span in ends.items():
        found += [f"{role}:{name}" for name in _entity(text[span.start : span.end], span.label)]
        found += [f"{role}:{name}" for name in _beside(text, span)]
    if len(ends) == 2:
        found += _relative(text, ends["subject"], ends["object"], pair)
    found += [f"all={gram}" for gram in _grams(_masked(text, list(ends.values())), 2, 3)]
    return list(dict.fromkeys(found))


def _entity(surface: str, label: str) -> Iterator[str]:
    yield f"type={label}"
    yield f"is={surface}"
    yield f"shape={squeeze(surface)}"
    yield f"long={min(len(surface), 8)}"
    yield f"first={surface[:1]}"
    for size in (1, 2, 3):
        yield f"end={surface[-size:]}"
    for gram in _grams(surface, 2, 3):
        yield f"has={gram}"


def _beside(text: str, span: Span) -> Iterator[str]:
    """Particles and titles stand directly behind an entity, modifiers before it."""
    before, after = text[: span.start], text[span.end :]
    for size in (1, 2, 3):
        yield f"after={after[:size]}"
        yield f"before={before[-size:]}"
    for side, words in (("next", after.split()[:2]), ("last", before.split()[-2:])):
        for word in words:
            yield f"{side}={word}"


def _relative(text: str, subject: Span, thing: Span, pair: str) -> Iterator[str]:
    first, second = sorted((subject, thing), key=lambda span: (span.start, span.end))
    order = "<" if first == subject else ">"
    between = text[first.end : second.start]
    far = next((step for step in _STEPS if len(between) <= step), "far")
    yield f"order={order}|{pair}"
    yield f"far={far}|{order}"
    yield f"far={far}|{pair}"
    if len(between) > BETWEEN:
        between = between[: BETWEEN // 2] + "…" + between[-BETWEEN // 2 :]
    if len(between) <= WINDOW:
        yield f"mid={order}{between}"
        yield f"mid={between}|{pair}"
    for word in between.split():
        yield f"midword={word}"
        yield f"midword={word}|{pair}"
    for name, part in (
        ("mid", between),
        ("left", text[: first.start][-WINDOW:]),
        ("right", text[second.end :][:WINDOW]),
    ):
        for gram in _grams(part, 2, 4 if name == "mid" else 3):
            yield f"{name}={order}{gram}"
            yield f"{name}={gram}|{pair}"


def _masked(text: str, spans: list[Span]) -> str:
    """The text without the letters of the entities, so that it can be told what is said about them."""
    for span in sorted(spans, key=lambda span: -span.start):
        text = f"{text[: span.start]}\N{WHITE SQUARE}{text[span.end :]}"
    return text


def _grams(text: str, low: int, high: int) -> Iterator[str]:
    for size in range(low, high + 1):
        for start in range(len(text) - size + 1):
            yield text[start : start + size]
