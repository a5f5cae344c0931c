"""Hold a dataset to its templates: read every problem back, compute its label again, list what does not agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nikawa.generation.problem_reader import ParsedProblem, ProblemReader
from nikawa.generation.template import Template
from nikawa.generation.time_spans import TimeSpan
from nikawa.generation.times import CALENDAR, COMPAT, Format, Point
from nikawa.records import Example, Finding, Record

WrongForms = Callable[[Mapping[str, str]], Sequence[str]]
"""Forms of one verb to the texts among them that are wrong."""

NOTES = {
    "unknown-template": "the row names a template that is not in the file",
    "unparsed": "the row is not a problem of its template",
    "category": "the row's category is not its template's",
    "time-format": "the times are not written in the row's time format",
    "time-span": "the times do not lie in the row's time span",
    "inconsistent-premise": "the premise contradicts itself: it takes for granted what its times exclude",
    "mixed-formats": "the times of one problem are written in different formats",
    "interval-unit": "the interval's unit is not the largest unit of the times",
    "equal-times": "two time points of one problem are equal",
    "day-before": "a day before, or a day that must not be it, is wrong",
    "verb-form": "a verb is wrongly conjugated",
    "label": "the label computed from the times is another one",
}
"""Every check, in the order of the report."""


class AuditReport(Record, frozen=True, kw_only=True):
    """The outcome of an audit."""

    rows: int
    parsed: int
    agree: int
    disagree: tuple[int | str, ...]
    """Numbers of the rows whose label is not the computed one."""
    findings: tuple[Finding, ...]


@dataclass
class _Tally:
    rows: int = 0
    parsed: int = 0
    agree: int = 0
    found: dict[str, list[str]] = field(default_factory=dict)
    details: dict[str, Counter[str]] = field(default_factory=dict)

    def note(self, check: str, row: str, detail: str = "") -> None:
        self.found.setdefault(check, []).append(row)
        if detail:
            self.details.setdefault(check, Counter())[detail] += 1


def audit(
    templates: Iterable[Template],
    examples: Iterable[Example],
    *,
    compat: bool = False,
    spans: Mapping[str, TimeSpan] | None = None,
    wrong_forms: WrongForms | None = None,
    where: str = "",
) -> AuditReport:
    """Read every example back through the template its meta names; `compat` takes the authors' base-100 clock."""
    readers = {template.id: ProblemReader(template) for template in templates}
    clock = COMPAT if compat else CALENDAR
    tally = _Tally()
    for example in examples:
        tally.rows += 1
        reader = readers.get(str(example.meta.get("template")))
        if reader is None:
            tally.note("unknown-template", example.id, str(example.meta.get("template")))
            continue
        parsed = reader.read(example.inputs["premise"], example.inputs["hypothesis"])
        if parsed is None or "mixed-formats" in parsed.faults:
            tally.note("mixed-formats" if parsed else "unparsed", example.id)
            continue
        tally.parsed += 1
        _label(tally, example, reader.template.label(parsed.values, parsed.format, clock))
        _look(tally, example, reader.template, parsed, spans or {})
        if wrong_forms is not None:
            _forms(tally, example, parsed, wrong_forms)
    return _report(tally, where)


def _label(tally: _Tally, example: Example, label: str) -> None:
    gold = example.gold.get("label")
    if gold is None:
        return
    if label == gold:
        tally.agree += 1
    else:
        tally.note("label", example.id, f"{gold} is {label}")


def _look(
    tally: _Tally,
    example: Example,
    template: Template,
    parsed: ParsedProblem,
    spans: Mapping[str, TimeSpan],
) -> None:
    meta = example.meta
    for fault in dict.fromkeys(parsed.faults):
        tally.note(fault, example.id)
    if "category" in meta and meta["category"] != template.category:
        tally.note("category", example.id)
    name = parsed.format.name(template.language) if parsed.format else None
    if "time_format" in meta and meta["time_format"] != name:
        tally.note("time-format", example.id)
    span = spans.get(str(meta.get("time_span")))
    if span is not None and parsed.format is not None and not _within(parsed, parsed.format, span):
        tally.note("time-span", example.id)
    if template.given and not template.consistent(parsed.values, parsed.format):
        tally.note("inconsistent-premise", example.id, str(example.gold.get("label", "")))


def _within(parsed: ParsedProblem, fmt: Format, span: TimeSpan) -> bool:
    """Whether points share a window, and intervals have a length of the span."""
    points = [value for value in parsed.values.values() if isinstance(value, tuple)]
    sizes = [value for key, value in parsed.values.items() if key.startswith("interval")]
    return all(size in span.lengths() for size in sizes) and _close(
        points, span.window.get(fmt.smallest)
    )


def _close(points: Sequence[Point], width: int | None) -> bool:
    if width is None or len(points) < 2:
        return True
    last = [point[-1] for point in points]
    return len({point[:-1] for point in points}) == 1 and max(last) - min(last) < width


def _forms(tally: _Tally, example: Example, parsed: ParsedProblem, wrong_forms: WrongForms) -> None:
    verbs: dict[str, dict[str, str]] = {}
    for key, text in parsed.texts.items():
        slot, dot, form = key.partition(".")
        if dot and slot.startswith("verb"):
            verbs.setdefault(slot, {})[form] = text
    wrong = [text for shown in verbs.values() for text in wrong_forms(shown)]
    if wrong:
        tally.note("verb-form", example.id, wrong[0])


def _report(tally: _Tally, where: str) -> AuditReport:
    return AuditReport(
        rows=tally.rows,
        parsed=tally.parsed,
        agree=tally.agree,
        disagree=tuple(
            int(row) if row.isdecimal() else row for row in tally.found.get("label", ())
        ),
        findings=tuple(_findings(tally, where)),
    )


def _findings(tally: _Tally, where: str) -> Iterator[Finding]:
    for check, note in NOTES.items():
        rows = tally.found.get(check, [])
        if rows:
            counts = tally.details.get(check, Counter()).most_common()
            more = f" ({', '.join(f'{what} {n}' for what, n in counts)})" if counts else ""
            yield Finding(
                check=check, where=where, count=len(rows), ids=tuple(rows), note=note + more
            )
