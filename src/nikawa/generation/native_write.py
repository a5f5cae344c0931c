"""A template in the native notation, whatever it was written in."""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.generation.condition import NEVER, Every, written
from nikawa.generation.template import Choice, Element, Literal, Side, Template, Time, Word
from nikawa.generation.time import INTERVALS, POINTS

WIDTH = 18


def write_native(template: Template) -> str:
    """The block of lines that `native` reads back to an equal template."""
    lines = [f"template {template.id}"]
    lines += [f"  {f'{name}:':{WIDTH}} {text}" for name, text in _fields(template)]
    return "\n".join(lines) + "\n"


def _fields(template: Template) -> Iterator[tuple[str, str]]:
    yield "category", template.category
    yield "premise", _side(template.premise)
    yield "hypothesis", _side(template.hypothesis)
    if template.given:
        given = template.given[0] if len(template.given) == 1 else Every(template.given)
        yield "given", written(given)
    if template.entails != NEVER:
        yield "entails when", written(template.entails)
    if template.contradicts != NEVER:
        yield "contradicts when", written(template.contradicts)
    if template.formats not in ((), POINTS, INTERVALS):
        yield "formats", " ".join(fmt.name(template.language) for fmt in template.formats)
    if template.test_format:
        yield "test format", template.test_format.name(template.language)
    if template.note:
        yield "note", template.note.replace("\n", "\n" + " " * (WIDTH + 3))


def _side(side: Side) -> str:
    return "".join(_element(element) for element in side)


def _element(element: Element) -> str:
    match element:
        case Literal(text):
            return text
        case Choice(_, options):
            return "{" + "|".join(options) + "}"
        case Time():
            return _braced(element.slot, _time(element))
        case Word():
            return _braced(element.slot, _word(element))


def _braced(slot: str, words: Iterator[str]) -> str:
    kind, _, index = slot.rpartition("_")
    return "{" + " ".join((f"{kind}{index}", *words)) + "}"


def _time(time: Time) -> Iterator[str]:
    if time.days:
        yield f"{time.days:+d}day"
    if time.apart:
        yield f"!={time.apart[0]}{time.apart[1]:+d}day"
    if time.particle:
        yield f"+{time.particle}"


def _word(word: Word) -> Iterator[str]:
    if word.case:
        yield word.case
    if word.transitive is not None:
        yield "transitive" if word.transitive else "intransitive"
    yield from word.frame
    if word.wants:
        yield word.wants
    if word.form and word.form != "dictionary":
        yield word.form
    if word.particle:
        yield f"+{word.particle}"
