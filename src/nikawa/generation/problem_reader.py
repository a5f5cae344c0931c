"""A problem read back through its template: one regular expression a template, made from its elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nikawa.generation.template import Choice, Element, Literal, Template, Time, Word
from nikawa.generation.times import (
    TIME_WORDS,
    Format,
    Value,
    day_before,
    interval_pattern,
    parse_interval,
    parse_point,
    point_pattern,
)

BETWEEN = "\n"
"""What stands between premise and hypothesis, so that one expression covers both."""
LONGEST = 40
"""Characters of a word; without a limit a long row that does not fit would take for ever to be refused."""


@dataclass(frozen=True)
class ParsedProblem:
    """What a problem's slots hold."""

    texts: Mapping[str, str]
    """Key (`verb_1.past`, `agent_1`) to text, particles left out."""
    values: Mapping[str, Value]
    format: Format | None
    faults: tuple[str, ...] = ()
    """What is wrong with the times as written."""


class ProblemReader:
    """Reads problems of one template."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self._keys: dict[str, str] = {}
        sides = ("".join(map(self._part, side)) for side in (template.premise, template.hypothesis))
        self._pattern = re.compile(BETWEEN.join(sides))
        self._times = [use for use in template.uses if isinstance(use, Time)]

    def read(self, premise: str, hypothesis: str) -> ParsedProblem | None:
        """The fillers of a problem, or None where it is no problem of this template."""
        if self.template.language == "ja":
            premise, hypothesis = premise.replace(" ", ""), hypothesis.replace(" ", "")
        found = self._pattern.fullmatch(premise + BETWEEN + hypothesis)
        if found is None:
            return None
        texts = {key: found[group] for key, group in self._keys.items()}
        return self._timed(texts)

    def _part(self, element: Element) -> str:
        if isinstance(element, Literal):
            return re.escape(element.text)
        particle = "" if isinstance(element, Choice) else element.particle
        key = element.key.removesuffix(f"+{particle}") if particle else element.key
        if key in self._keys:
            return f"(?P={self._keys[key]})" + _particle(particle)
        self._keys[key] = group = f"g{len(self._keys)}"
        return f"(?P<{group}>{self._inside(element)}){_particle(particle)}"

    def _inside(self, element: Choice | Word | Time) -> str:
        language = self.template.language
        if isinstance(element, Choice):
            return "|".join(map(re.escape, element.options))
        if isinstance(element, Word):
            return f"[^。{BETWEEN}]{{1,{LONGEST}}}?"
        match element.kind:
            case "time":
                return point_pattern(language)
            case "interval":
                return interval_pattern(language)
            case "unit":
                return "|".join(TIME_WORDS[language].unit.values())
            case _:
                return "|".join(_number(fmt) for fmt in self.template.formats)

    def _timed(self, texts: dict[str, str]) -> ParsedProblem | None:
        read: dict[str, tuple[Format, Value]] = {}
        for use in self._times:
            key = use.key.removesuffix(f"+{use.particle}") if use.particle else use.key
            one = self._time(use, texts[key])
            if one is None:
                return None
            read[key] = one
        points = {fmt for fmt, value in read.values() if isinstance(value, tuple)}
        fmt = next(iter(points), None) or next((fmt for fmt, _ in read.values()), None)
        values = {
            key: value
            for key, (_, value) in read.items()
            if "-" not in key and not key.startswith("unit")
        }
        return ParsedProblem(texts, values, fmt, tuple(self._faults(read, fmt)))

    def _time(self, use: Time, text: str) -> tuple[Format, Value] | None:
        language = self.template.language
        match use.kind:
            case "time":
                return parse_point(text, language)
            case "interval":
                return parse_interval(text, language)
            case "unit":
                unit = next(u for u, word in TIME_WORDS[language].unit.items() if word == text)
                return Format("interval", (unit,)), 1
            case _:
                fmt = next(fmt for fmt in self.template.formats if re.fullmatch(_number(fmt), text))
                return fmt, int(re.findall(r"\d+", text)[0])

    def _faults(self, read: dict[str, tuple[Format, Value]], fmt: Format | None) -> Iterator[str]:
        points = {key: value for key, (_, value) in read.items() if isinstance(value, tuple)}
        if len({f for f, value in read.values() if isinstance(value, tuple)}) > 1:
            yield "mixed-formats"
            return
        if any(f.largest != fmt.largest for f, _ in read.values() if fmt is not None):
            yield "interval-unit"
        plain = [value for key, value in points.items() if "-" not in key]
        if len(set(plain)) < len(plain):
            yield "equal-times"
        for use in self._times:
            if use.slot in points and fmt is not None and "day" in fmt.units:
                if use.days and points[use.key] != day_before(points[use.slot], fmt):
                    yield "day-before"
                if use.apart and points[use.slot] == day_before(points[use.apart[0]], fmt):
                    yield "day-before"


def _number(fmt: Format) -> str:
    assert fmt.measure is not None
    before, _, after = fmt.measure.text.partition("{}")
    return f"{re.escape(before)}[0-9]{{1,9}}{re.escape(after)}"


def _particle(written: str) -> str:
    """`은/는` is either; `(으)로` has an optional beginning."""
    if "/" in written:
        return f"(?:{'|'.join(map(re.escape, written.split('/')))})"
    found = re.fullmatch(r"\((.+)\)(.+)", written)
    return f"(?:{re.escape(found[1])})?{re.escape(found[2])}" if found else re.escape(written)
