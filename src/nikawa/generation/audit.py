"""Hold a dataset to its templates: read every problem back, compute its label again, list what does not agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nikawa.datasets import benchmarks, load
from nikawa.errors import BadInput, MissingExtra
from nikawa.generation.pack import open_pack
from nikawa.generation.problem_reader import ParsedProblem, ProblemReader
from nikawa.generation.template import Template
from nikawa.generation.time_spans import TimeSpan
from nikawa.generation.times import CALENDAR, COMPAT, Clock, Format
from nikawa.generation.verb_forms import find_wrong_forms, is_verb
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


def audit_dataset(
    templates: str, dataset: str, data: Path | None = None, *, compat: bool = False
) -> AuditReport:
    """Read a dataset back through its templates.

    `templates` is a pack as `open_pack` takes it, `dataset` one as `load` takes it; a plain `.tsv` is taken for a file in the
    format of the published dataset that was made from templates. Forms of verbs are checked where the dictionary for it is
    installed.
    """
    pack = open_pack(templates, data)
    wrong_forms: WrongForms | None = None
    if pack.language == "ja":
        try:
            is_verb("泳ぐ")
            wrong_forms = find_wrong_forms
        except MissingExtra:
            pass
    return audit_examples(
        pack.templates,
        _load_examples(dataset, data),
        compat=compat,
        spans={span.name: span for span in pack.spans},
        wrong_forms=wrong_forms,
        where=dataset,
    )


def _load_examples(dataset: str, data: Path | None) -> Iterator[Example]:
    spec = dataset
    if dataset.endswith((".tsv", ".tsv.gz", ".tsv.zst")) and "@" not in dataset:
        reader = next(name for name in benchmarks() if benchmarks()[name].from_templates)
        spec = f"{reader}@{dataset}"
    for examples in load(spec, data=data).splits.values():
        for example in examples:
            is_pair = {"premise", "hypothesis"} <= example.inputs.keys()
            if not is_pair or "template" not in example.meta:
                what = f"example {example.id} names no template"
                cure = "audit data that was made from templates, such as jamp"
                raise BadInput(what, file=dataset, cure=cure)
            yield example


def audit_examples(
    templates: Iterable[Template],
    examples: Iterable[Example],
    *,
    compat: bool = False,
    spans: Mapping[str, TimeSpan] | None = None,
    wrong_forms: WrongForms | None = None,
    where: str = "",
) -> AuditReport:
    """Read every example back through the template its meta names; `compat` takes the base-100 clock of JAMP's authors.

    `spans` are those that examples may name, `wrong_forms` checks forms of verbs, `where` is the dataset's name in findings.
    """
    readers = {template.id: ProblemReader(template) for template in templates}
    audit = _Audit(COMPAT if compat else CALENDAR, spans or {}, wrong_forms)
    for example in examples:
        audit.rows += 1
        reader = readers.get(str(example.meta.get("template")))
        if reader is None:
            audit.note("unknown-template", example, str(example.meta.get("template")))
            continue
        problem = reader.read(example.inputs["premise"], example.inputs["hypothesis"])
        if problem is None or "mixed-formats" in problem.faults:
            audit.note("mixed-formats" if problem else "unparsed", example)
            continue
        audit.parsed += 1
        audit.check(example, reader.template, problem)
    disagree = audit.ids.get("label", ())
    findings = []
    for check, note in NOTES.items():
        if check in audit.ids:
            counts = audit.details.get(check, Counter()).most_common()
            details = ", ".join(f"{detail} {n}" for detail, n in counts)
            finding = Finding(
                check=check,
                where=where,
                count=len(audit.ids[check]),
                ids=tuple(audit.ids[check]),
                note=f"{note} ({details})" if details else note,
            )
            findings.append(finding)
    return AuditReport(
        rows=audit.rows,
        parsed=audit.parsed,
        agree=audit.agree,
        disagree=tuple(int(row) if row.isdecimal() else row for row in disagree),
        findings=tuple(findings),
    )


@dataclass
class _Audit:
    """What problems are held to, and what was counted so far."""

    clock: Clock
    spans: Mapping[str, TimeSpan]
    wrong_forms: WrongForms | None
    rows: int = 0
    parsed: int = 0
    agree: int = 0
    ids: dict[str, list[str]] = field(default_factory=dict)
    """Check to the rows that fail it."""
    details: dict[str, Counter[str]] = field(default_factory=dict)
    """Check to what was seen there, and how often."""

    def note(self, check: str, example: Example, detail: str = "") -> None:
        """Count an example that fails a check."""
        self.ids.setdefault(check, []).append(example.id)
        if detail:
            self.details.setdefault(check, Counter())[detail] += 1

    def check(self, example: Example, template: Template, problem: ParsedProblem) -> None:
        """Hold one problem to its template and to what its meta says."""
        meta, fmt = example.meta, problem.format
        gold = example.gold.get("label")
        label = template.compute_label(problem.values, fmt, self.clock)
        if label == gold:
            self.agree += 1
        elif gold is not None:
            self.note("label", example, f"{gold} is {label}")
        for fault in dict.fromkeys(problem.faults):
            self.note(fault, example)
        if "category" in meta and meta["category"] != template.category:
            self.note("category", example)
        format_name = fmt.name(template.language) if fmt else None
        if "time_format" in meta and meta["time_format"] != format_name:
            self.note("time-format", example)
        span = self.spans.get(str(meta.get("time_span")))
        if span is not None and fmt is not None and not _is_within(problem, fmt, span):
            self.note("time-span", example)
        if template.given and not template.is_consistent(problem.values, fmt):
            self.note("inconsistent-premise", example, str(example.gold.get("label", "")))
        if self.wrong_forms is not None:
            verbs: dict[str, dict[str, str]] = {}
            for key, text in problem.texts.items():
                slot, dot, form = key.partition(".")
                if dot and slot.startswith("verb"):
                    verbs.setdefault(slot, {})[form] = text
            wrong = [text for forms in verbs.values() for text in self.wrong_forms(forms)]
            if wrong:
                self.note("verb-form", example, wrong[0])


def _is_within(problem: ParsedProblem, fmt: Format, span: TimeSpan) -> bool:
    """Whether points share a window, and intervals have a length of the span."""
    sizes = [value for key, value in problem.values.items() if key.startswith("interval")]
    if not all(size in span.lengths() for size in sizes):
        return False
    points = [value for value in problem.values.values() if isinstance(value, tuple)]
    width = span.window.get(fmt.smallest)
    if width is None or len(points) < 2:
        return True
    last = [point[-1] for point in points]
    return len({point[:-1] for point in points}) == 1 and max(last) - min(last) < width
