"""Hold a dataset to its templates: read every problem back, compute its label again, list what does
not agree.

Verbs are held to their forms too. Where the dictionary form is shown, the other forms are computed
from it. Elsewhere the dictionary forms that could have given the text are tried: a form is right
when one of them is a verb of the dictionary and conjugates to it, wrong when those of the
dictionary conjugate otherwise or the text is another form of a verb. A verb that no dictionary has
passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.datasets import benchmarks, load
from nikawa.errors import BadInput, MissingExtra
from nikawa.generation.pack import open_pack
from nikawa.generation.problem_reader import ParsedProblem, ProblemReader
from nikawa.generation.template import Template
from nikawa.generation.time_spans import TimeSpan
from nikawa.generation.times import CALENDAR, COMPAT, Clock, Format
from nikawa.records import Example, Finding, Record

if TYPE_CHECKING:
    from nikawa.text import Token

WrongForms = Callable[[Mapping[str, str]], Sequence[str]]
"""Forms of one verb to the texts among them that are wrong."""

NOTES = {
    "unknown-template": "the row names a template that is not in the file",
    "unparsed": "the row is not a problem of its template",
    "category": "the row's category is not its template's",
    "time-format": "the times are not written in the row's time format",
    "time-span": "the times are outside the time span of the row",
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
    """Rows that are problems of their template."""
    agree: int
    """Of these, those whose label is the computed one."""
    disagree: tuple[int | str, ...]
    """Numbers of the rows whose label is not the computed one."""
    findings: tuple[Finding, ...]


def audit_dataset(
    templates: str, dataset: str, data: Path | None = None, *, compat: bool = False
) -> AuditReport:
    """Read a dataset back through its templates.

    `templates` is a pack as `open_pack` takes it, `dataset` one as `load` takes it; a plain `.tsv`
    is taken for a file in the format of the published dataset that was made from templates. Forms
    of verbs are checked where the dictionary for it is installed.
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
        _load_made_examples(dataset, data),
        compat=compat,
        spans={span.name: span for span in pack.spans},
        wrong_forms=wrong_forms,
        where=dataset,
    )


def _load_made_examples(dataset: str, data: Path | None) -> Iterator[Example]:
    """The examples of a dataset in order; raises `BadInput` at the first that names no template."""
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
    """Read every example back through the template its meta names.

    `compat` takes the base-100 clock of JAMP's authors.

    `spans` are those that examples may name, `wrong_forms` checks forms of verbs, `where` is the
    dataset's name in findings.
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
        if span is not None and fmt is not None and not _is_within_span(problem, fmt, span):
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


def _is_within_span(problem: ParsedProblem, fmt: Format, span: TimeSpan) -> bool:
    """Whether points share a window, and intervals have a length of the span."""
    sizes = [value for key, value in problem.values.items() if key.startswith("interval")]
    if not all(size in span.lengths() for size in sizes):
        return False
    points = [value for value in problem.values.values() if isinstance(value, tuple)]
    width = span.window.get(fmt.smallest)
    if width is None or len(points) < 2:
        return True
    is_one_window = len({point[:-1] for point in points}) == 1
    last = [point[-1] for point in points]
    return is_one_window and max(last) - min(last) < width


# Whether the forms a verb has in a problem are forms of one verb.

_ENDINGS = {
    "past": (
        ("した", ("す", "する")),
        ("いた", ("く",)),
        ("いだ", ("ぐ",)),
        ("んだ", ("む", "ぶ", "ぬ")),
        ("った", ("う", "つ", "る", "く")),
        ("うた", ("う",)),
        ("じた", ("ずる", "じる")),
        ("た", ("る",)),
    ),
    "te": (
        ("して", ("す", "する")),
        ("いて", ("く",)),
        ("いで", ("ぐ",)),
        ("んで", ("む", "ぶ", "ぬ")),
        ("って", ("う", "つ", "る", "く")),
        ("うて", ("う",)),
        ("じて", ("ずる", "じる")),
        ("て", ("る",)),
    ),
    "stem": (
        ("し", ("す", "する")),
        ("き", ("く",)),
        ("ぎ", ("ぐ",)),
        ("み", ("む",)),
        ("び", ("ぶ",)),
        ("に", ("ぬ",)),
        ("い", ("う", "る")),
        ("ち", ("つ",)),
        ("り", ("る",)),
        ("じ", ("ずる", "じる")),
        ("", ("る",)),
    ),
}
"""Form to endings and the endings the dictionary form may have had."""
_CLASSES = {"獲る": "五段・ラ行"}
"""The class of verbs the dictionary knows by their rarer reading alone: 獲る is とる before it is える.
"""
_STATES = {"progressive": ("いる", "te"), "progressive_past": ("いた", "te")}
"""Forms with an auxiliary: the auxiliary, and the form of the verb before it."""


def find_wrong_forms(forms: Mapping[str, str]) -> list[str]:
    """The texts that are not what their form's name says.

    `forms` maps forms of one verb to texts.
    """
    wrong = []
    for form, text in forms.items():
        name, core = form, text
        if form in _STATES:  # 住んでいる is 住んで with いる
            auxiliary, name = _STATES[form]
            core = text.removesuffix(auxiliary)
        if not is_form(name, core, forms.get("dictionary")):
            wrong.append(text)
    return wrong


@lru_cache(maxsize=1 << 14)
def is_form(form: str, text: str, base: str | None) -> bool:
    """Whether a text is that form of the verb `base`, or, without one, of a verb of the dictionary."""
    if form == "dictionary":
        return ends_in_verb(text)
    if base is not None:
        made = _conjugate(base, form)
        return made is None or _is_written_as(made, text)
    if form not in _ENDINGS:
        return True
    bases = _guess_bases(text, form)
    known = [word for word in bases if is_verb(word)]
    if known:
        return any(_is_written_as(_conjugate(word, form), text) for word in known)
    if not bases:
        return False
    # The text may be another form: 生ずるた holds 生ずる, 建て is the stem of 建てる.
    if form in ("past", "te") and is_verb(text[:-1]):
        return False
    return form != "te" or not any(
        is_verb(word) and _conjugate(word, "stem") == text for word in _guess_bases(text, "stem")
    )


def _is_written_as(made: str | None, text: str) -> bool:
    """Whether a form is the text; 来る is written きた as well as 来た."""
    return made is not None and text in (made, made.replace("来", "き"))


def _guess_bases(text: str, form: str) -> list[str]:
    """The dictionary forms that could have given the text."""
    bases = []
    if text.endswith(("きた", "来た", "きて", "来て")):
        bases.append(text[:-2] + "来る")
    for ending, base_endings in _ENDINGS[form]:
        if text.endswith(ending):
            stem = text[: len(text) - len(ending)]
            bases += [stem + base_ending for base_ending in base_endings]
    return bases


@cache
def is_verb(word: str) -> bool:
    """Whether the dictionary has the word as a verb in its dictionary form, compounds and Xする among
    them.
    """
    if word.endswith(("する", "来る")):
        return True
    # A compound has a verb's stem in front; a noun there means that the dictionary does not know the word.
    return ends_in_verb(word) and all(token.pos[0] == "動詞" for token in _analyse(word))


def ends_in_verb(word: str) -> bool:
    """Whether the word's last morpheme is a verb in its dictionary form."""
    tokens = _analyse(word)
    if not tokens or tokens[-1].pos[0] != "動詞":
        return False
    return tokens[-1].base == tokens[-1].surface


@cache
def _analyse(word: str) -> tuple[Token, ...]:
    from nikawa.text import analyser

    return analyser("ja").analyse(word)


def _conjugate(base: str, form: str) -> str | None:
    from nikawa.text.conjugation_ja import conjugate

    try:
        return conjugate(base, form, _CLASSES.get(base))
    except BadInput:
        return None
