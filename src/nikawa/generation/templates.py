"""Check, show and audit templates: the template language brought together with published data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

from nikawa.datasets import benchmarks, load
from nikawa.datasets.locate import repository_folder
from nikawa.errors import BadInput, MissingData, unknown
from nikawa.generation.audit import AuditReport as AuditReport
from nikawa.generation.audit import audit as run_audit
from nikawa.generation.check import check_pack as run_check
from nikawa.generation.conditions import write_condition
from nikawa.generation.generator import Generator, load_pack_lexicon
from nikawa.generation.pack import Pack, load_pack
from nikawa.generation.placeholders import draw_placeholders
from nikawa.generation.template import Literal, Side, Template
from nikawa.generation.template_errors import Trouble
from nikawa.generation.time_sampling import Cell, sample_times
from nikawa.generation.time_spans import RandomSource
from nikawa.records import Example, Record

DEFAULT = "temporal-ja"
"""The pack that is meant where none is named."""
Fill = Callable[[Cell, RandomSource], Mapping[str, str]]
"""Texts for the word keys of a cell's template."""


class PlacedTrouble(Record, frozen=True, kw_only=True):
    """A fault and its file."""

    file: str
    trouble: Trouble

    def __str__(self) -> str:
        return self.trouble.sentence(self.file)


class CheckReport(Record, frozen=True, kw_only=True):
    """What a check of templates found."""

    templates: int
    errors: int
    warnings: int
    troubles: tuple[PlacedTrouble, ...]


class SampleProblem(Record, frozen=True, kw_only=True):
    """A problem as the template makes it."""

    premise: str
    hypothesis: str
    label: str
    time_format: str | None
    time_span: str | None


class TemplateView(Record, frozen=True, kw_only=True):
    """A template for a person to read."""

    id: str
    category: str
    premise: str
    hypothesis: str
    entails: str
    contradicts: str
    given: str
    slots: tuple[str, ...]
    formats: tuple[str, ...]
    labels: dict[str, int]
    """Label to the number of its cells."""
    unreachable: tuple[str, ...]
    samples: tuple[SampleProblem, ...]


def finder(data: Path | None) -> Callable[[str], Path]:
    """Where files of published data lie: `jamp/dataset/…` in the data folder or a clone beside it."""

    def find(name: str) -> Path:
        repository, _, rest = name.partition("/")
        if repository not in benchmarks():
            raise unknown("dataset", repository, benchmarks())
        path = repository_folder(benchmarks()[repository], data) / rest
        if not path.is_file():
            cure = f"run: nikawa data fetch {repository}, or set NIKAWA_DATA"
            raise MissingData(f"{name} is not here", file=path, cure=cure)
        return path

    return find


def open_pack(spec: str | None, data: Path | None = None) -> Pack:
    """The pack a user names; without a name the temporal one."""
    return load_pack(spec or DEFAULT, find=finder(data))


def check_templates(spec: str, data: Path | None = None) -> CheckReport:
    """Every fault of a pack or a template file."""
    pack, found = run_check(spec, find=finder(data))
    levels = [trouble.level for _, trouble in found]
    return CheckReport(
        templates=len(pack.templates),
        errors=levels.count("error"),
        warnings=levels.count("warning"),
        troubles=tuple(PlacedTrouble(file=str(path), trouble=trouble) for path, trouble in found),
    )


def show_template(
    id: str,
    spec: str | None = None,
    data: Path | None = None,
    *,
    n: int = 3,
    seed: int = 0,
    fill: Fill | None = None,
) -> TemplateView:
    """One template with `n` sample problems; `fill` supplies the words (those of the pack's lexicon when left out)."""
    pack = open_pack(spec, data)
    template = pack[id]
    cells = template.cells(spans=pack.spans)
    labels = [cell.label for cell in cells]
    return TemplateView(
        id=template.id,
        category=template.category,
        **_said(template),
        slots=tuple(_slot(template, name) for name in template.slots),
        formats=tuple(fmt.name(template.language) for fmt in template.formats),
        labels={label: labels.count(label) for label in dict.fromkeys(labels)},
        unreachable=tuple(cell.name for cell in pack.unreachable() if cell.template is template),
        samples=tuple(
            _samples(
                template,
                cells,
                n,
                Random(f"{seed}/{id}"),  # noqa: S311  (no secret)
                fill or _words(pack, template),
            )
        ),
    )


def _words(pack: Pack, template: Template) -> Fill:
    """The words of the pack's lexicon; placeholders where it has none that fit the template."""
    try:
        words = Generator(pack, load_pack_lexicon(pack)).words
        for cell in template.cells(spans=pack.spans)[:1]:
            words(cell, Random(0))  # noqa: S311  (no secret)
    except BadInput:
        return draw_placeholders
    return words


def _said(template: Template) -> dict[str, str]:
    """Sentences and conditions as they were written; conditions of the authors' notation in the native one."""
    found = {
        "premise": _side(template.premise),
        "hypothesis": _side(template.hypothesis),
        "entails": write_condition(template.entails),
        "contradicts": write_condition(template.contradicts),
        "given": " and ".join(map(write_condition, template.given)),
    }
    return {name: template.written.get(name, text) for name, text in found.items()}


def _slot(template: Template, name: str) -> str:
    """A slot's name as the template's notation writes it: time1, {以上|以下}."""
    options = template.slots[name].options
    if not template.written:
        return name
    return f"{{{'|'.join(options)}}}" if options else "".join(name.rsplit("_", 1))


def _side(side: Side) -> str:
    """A side in the authors' notation."""
    return " ".join(
        e.text if isinstance(e, Literal) else getattr(e, "written", "") or e.key for e in side
    )


def _samples(
    template: Template, cells: tuple[Cell, ...], n: int, chance: Random, fill: Fill
) -> Iterator[SampleProblem]:
    """Problems of different labels as far as there are any."""
    by_label: dict[str, list[Cell]] = {}
    for cell in cells:
        by_label.setdefault(cell.label, []).append(cell)
    order = list(by_label)
    for i in range(n if cells else 0):
        cell = chance.choice(by_label[order[i % len(order)]])
        values = sample_times(template, cell.format, cell.span, cell.label, chance)
        texts = {**fill(cell, chance), **template.time_texts(values or {}, cell.format)}
        premise, hypothesis = template.render(texts)
        yield SampleProblem(
            premise=premise,
            hypothesis=hypothesis,
            label=cell.label,
            time_format=cell.format.name(template.language) if cell.format else None,
            time_span=cell.span.name if cell.span else None,
        )


def audit_dataset(
    templates: str, dataset: str, data: Path | None = None, *, compat: bool = False
) -> AuditReport:
    """Read a dataset back through its templates; a plain `.tsv` is taken for a published file of JAMP."""
    pack = open_pack(templates, data)
    return run_audit(
        pack.templates,
        _examples(dataset, data),
        compat=compat,
        spans={span.name: span for span in pack.spans},
        wrong_forms=_wrong_forms(pack.language),
        where=dataset,
    )


def _examples(dataset: str, data: Path | None) -> Iterable[Example]:
    spec = (
        f"jamp@{dataset}"
        if dataset.endswith((".tsv", ".tsv.gz", ".tsv.zst")) and "@" not in dataset
        else dataset
    )
    loaded = load(spec, data=data)
    for examples in loaded.splits.values():
        for example in examples:
            if (
                not {"premise", "hypothesis"} <= example.inputs.keys()
                or "template" not in example.meta
            ):
                what = f"example {example.id} names no template"
                raise BadInput(
                    what, file=dataset, cure="audit data that was made from templates, such as jamp"
                )
            yield example


def _wrong_forms(language: str) -> Callable[[Mapping[str, str]], list[str]] | None:
    """The check of verb forms, where there is one and its dictionary is installed."""
    if language != "ja":
        return None
    from nikawa.errors import MissingExtra
    from nikawa.generation.verb_forms import find_wrong_forms, is_verb

    try:
        is_verb("泳ぐ")
    except MissingExtra:
        return None
    return find_wrong_forms
