"""A problem read back through its template: one regular expression for each template, made from its
elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nikawa.generation.template import Choice, Element, Literal, Template, Time, Word
from nikawa.generation.times import (
    TIME_WORDS,
    Format,
    Value,
    Values,
    day_before,
    interval_pattern,
    parse_interval,
    parse_point,
    point_pattern,
)

SEPARATOR = "\n"
"""The separator of premise and hypothesis, so that one expression covers both."""
MAX_WORD_CHARS = 40
"""Characters of a word; without a limit a long row that does not fit would take for ever to be
refused."""


@dataclass(frozen=True)
class ParsedProblem:
    """What a problem's slots hold."""

    texts: Mapping[str, str]
    """Key (`verb_1.past`, `agent_1`) to text, particles left out."""
    values: Values
    """The values of times, intervals and numbers by slot."""
    format: Format | None
    faults: tuple[str, ...] = ()
    """What is wrong with the times as written: names of checks of an audit."""


class ProblemReader:
    """Reads problems of one template."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self._groups: dict[str, str] = {}
        """Key to the group of the expression that holds its text."""
        premise = "".join(map(self._element_pattern, template.premise))
        hypothesis = "".join(map(self._element_pattern, template.hypothesis))
        self._pattern = re.compile(premise + SEPARATOR + hypothesis)
        self._times = [use for use in template.uses if isinstance(use, Time)]

    def read(self, premise: str, hypothesis: str) -> ParsedProblem | None:
        """The texts and values of a problem, or None where it is no problem of this template."""
        if self.template.language == "ja":
            premise, hypothesis = premise.replace(" ", ""), hypothesis.replace(" ", "")
        match = self._pattern.fullmatch(premise + SEPARATOR + hypothesis)
        if match is None:
            return None
        texts = {key: match[group] for key, group in self._groups.items()}
        times: dict[str, tuple[Format, Value]] = {}
        for use in self._times:
            key = _bare_key(use)
            time = self._parse_time(use, texts[key])
            if time is None:
                return None
            times[key] = time
        formats = [fmt for fmt, value in times.values() if isinstance(value, tuple)]
        formats += [fmt for fmt, _ in times.values()]
        fmt = formats[0] if formats else None
        values = {
            key.removesuffix(".bare"): value
            for key, (_, value) in times.items()
            if "-" not in key and not key.startswith("unit")
        }
        return ParsedProblem(texts, values, fmt, tuple(self._find_faults(times, fmt)))

    def _element_pattern(self, element: Element) -> str:
        """The expression of one element; the second use of a slot refers back to the first."""
        if isinstance(element, Literal):
            return re.escape(element.text)
        particle = "" if isinstance(element, Choice) else _particle_pattern(element.particle)
        key = _bare_key(element)
        if key in self._groups:
            return f"(?P={self._groups[key]}){particle}"
        group = self._groups[key] = f"g{len(self._groups)}"
        return f"(?P<{group}>{self._text_pattern(element)}){particle}"

    def _text_pattern(self, element: Choice | Word | Time) -> str:
        """What the text of a slot may be; a word is any text without a full stop."""
        language = self.template.language
        if isinstance(element, Choice):
            return "|".join(map(re.escape, element.options))
        if isinstance(element, Word):
            return f"[^。{SEPARATOR}]{{1,{MAX_WORD_CHARS}}}?"
        match element.kind:
            case "time":
                return point_pattern(language)
            case "interval":
                return interval_pattern(language, element.bare)
            case "unit":
                return "|".join(TIME_WORDS[language].unit.values())
            case _:
                return "|".join(_number_pattern(fmt) for fmt in self.template.formats)

    def _parse_time(self, use: Time, text: str) -> tuple[Format, Value] | None:
        """Format and value of a time as it is written; None where the date does not exist."""
        language = self.template.language
        match use.kind:
            case "time":
                return parse_point(text, language)
            case "interval":
                return parse_interval(text, language, is_bare=use.bare)
            case "unit":
                units = TIME_WORDS[language].unit
                unit = next(unit for unit, word in units.items() if word == text)
                return Format("interval", (unit,)), 1
            case _:
                formats = self.template.formats
                fmt = next(fmt for fmt in formats if re.fullmatch(_number_pattern(fmt), text))
                return fmt, int(re.findall(r"\d+", text)[0])

    def _find_faults(
        self, times: dict[str, tuple[Format, Value]], fmt: Format | None
    ) -> Iterator[str]:
        """What is wrong with times as they are written; `fmt` is that of the first of them."""
        points = {key: value for key, (_, value) in times.items() if isinstance(value, tuple)}
        if len({times[key][0] for key in points}) > 1:
            yield "mixed-formats"
            return
        if fmt is not None and any(other.largest != fmt.largest for other, _ in times.values()):
            yield "interval-unit"
        plain = [value for key, value in points.items() if "-" not in key]
        if len(set(plain)) < len(plain):
            yield "equal-times"
        if fmt is None or "day" not in fmt.units:
            return
        for use in self._times:
            if use.slot not in points:
                continue
            point = points[use.slot]
            if use.days and points[_bare_key(use)] != day_before(point, fmt):
                yield "day-before"
            if use.apart and point == day_before(points[use.apart[0]], fmt):
                yield "day-before"


def _bare_key(use: Choice | Word | Time) -> str:
    """The key of a use without its particle."""
    if isinstance(use, Choice) or not use.particle:
        return use.key
    return use.key.removesuffix(f"+{use.particle}")


def _number_pattern(fmt: Format) -> str:
    """A number with the text of its measure around it."""
    assert fmt.measure is not None
    before, _, after = fmt.measure.text.partition("{}")
    return f"{re.escape(before)}[0-9]{{1,9}}{re.escape(after)}"


def _particle_pattern(written: str) -> str:
    """`은/는` is either; `(으)로` has an optional beginning."""
    if "/" in written:
        return f"(?:{'|'.join(map(re.escape, written.split('/')))})"
    match = re.fullmatch(r"\((.+)\)(.+)", written)
    if match is None:
        return re.escape(written)
    return f"(?:{re.escape(match[1])})?{re.escape(match[2])}"
