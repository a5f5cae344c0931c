"""Show a template to a person: what it says, the cells it has, and sample problems.

The words of samples come from the pack's lexicon. If no word fits, a plain placeholder is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

import msgspec

from nikawa.errors import BadInput
from nikawa.generation.check import refuse_faults
from nikawa.generation.conditions import write_condition
from nikawa.generation.generator import Generator, load_pack_lexicon
from nikawa.generation.pack import Pack, open_pack
from nikawa.generation.randomness import RandomSource, draw_below
from nikawa.generation.template import (
    Choice,
    Literal,
    ProblemCell,
    Side,
    Template,
    Time,
    attach_particle,
)
from nikawa.generation.word_space import inflect_word
from nikawa.records import Record

DrawWords = Callable[[ProblemCell, RandomSource], Mapping[str, str]]
"""Texts for the word keys of a cell's template."""
PLACEHOLDERS = {
    "ja": {
        "agent": "ハル ミオ ソラ ナギ",
        "noun": "時計 屋根 帳面 橋",
        "place": "港 丘 駅",
        "adjective": "高い 軽い",
    },
    "ko": {
        "agent": "하루 미오 솔 나래",
        "noun": "시계 지붕 공책 다리",
        "place": "항구 언덕 역",
        "adjective": "높다 가볍다",
    },
}
PLACEHOLDER_VERBS = {
    "ja": {True: "直す", False: "向かう"},
    "ko": {True: "고치다", False: "향하다"},
}
"""By language, and by whether the verb is transitive."""
PLACEHOLDER_TURNS = 12
"""Different draws of placeholders."""


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
    """As it was written."""
    hypothesis: str
    entails: str
    """When the label is entailment, in the native notation."""
    contradicts: str
    given: str
    """What the premise takes for granted."""
    slots: tuple[str, ...]
    formats: tuple[str, ...]
    """The formats of its times, by their names in its language."""
    labels: dict[str, int]
    """Label to the number of its cells."""
    unreachable: tuple[str, ...]
    """Cells of labels it has elsewhere that no times reach."""
    samples: tuple[SampleProblem, ...]
    placeholders: str | msgspec.UnsetType = msgspec.UNSET
    """Why the words of the samples are placeholders; absent if they are from the lexicon."""


def show_template(
    id: str,
    spec: str | None = None,
    data: Path | None = None,
    *,
    n: int = 3,
    seed: int = 0,
    draw_words: DrawWords | None = None,
) -> TemplateView:
    """One template of a pack with `n` sample problems.

    `spec` and `data` name the pack as for `open_pack`. `draw_words` supplies the words; those of
    the pack's lexicon when left out.
    """
    pack = open_pack(spec, data)
    template = pack[id]
    if spec is not None:
        refuse_faults(spec, data, template.id)
    cells = template.cells(spans=pack.spans)
    labels = [cell.label for cell in cells]
    placeholders = ""
    if draw_words is None:
        draw_words, placeholders = _choose_words(pack, cells)
    # Sentences and conditions as they were written; conditions of JAMP's notation in the native one.
    fields = {
        "premise": _write_side(template.premise),
        "hypothesis": _write_side(template.hypothesis),
        "entails": write_condition(template.entails),
        "contradicts": write_condition(template.contradicts),
        "given": " and ".join(map(write_condition, template.given)),
    }
    slots = list(template.slots)
    if template.source:  # as the native notation writes them: time1, {以上|以下}
        slots = []
        for name, slot in template.slots.items():
            if slot.options:
                slots.append(f"{{{'|'.join(slot.options)}}}")
            else:
                slots.append("".join(name.rsplit("_", 1)))
    rng = Random(f"{seed}/{id}")  # noqa: S311  (no secret)
    return TemplateView(
        id=template.id,
        category=template.category,
        **{name: template.source.get(name, text) for name, text in fields.items()},
        slots=tuple(slots),
        formats=tuple(fmt.name(template.language) for fmt in template.formats),
        labels={label: labels.count(label) for label in dict.fromkeys(labels)},
        unreachable=tuple(cell.name for cell in pack.unreachable() if cell.template is template),
        samples=tuple(draw_samples(template, cells, n, rng, draw_words)),
        placeholders=placeholders or msgspec.UNSET,
    )


def _choose_words(pack: Pack, cells: tuple[ProblemCell, ...]) -> tuple[DrawWords, str]:
    """The words of the pack's lexicon; placeholders where it has none that fit the template, and
    why.

    A lexicon that the pack names must be there.
    """
    if pack.head.lexicon:
        load_pack_lexicon(pack)
    try:
        generator = Generator(pack, load_pack_lexicon(pack))
        if cells:
            generator.draw_words(cells[0], Random(0))  # noqa: S311  (no secret)
    except BadInput as error:
        return draw_placeholders, error.what
    return generator.draw_words, ""


def _write_side(side: Side) -> str:
    """A side in JAMP's notation."""
    parts = []
    for element in side:
        if isinstance(element, Literal):
            parts.append(element.text)
        elif isinstance(element, Choice):
            parts.append(element.key)
        else:
            parts.append(element.source or element.key)
    return " ".join(parts)


def draw_samples(
    template: Template, cells: tuple[ProblemCell, ...], n: int, rng: Random, draw_words: DrawWords
) -> Iterator[SampleProblem]:
    """Problems of different labels as far as there are any."""
    by_label: dict[str, list[ProblemCell]] = {}
    for cell in cells:
        by_label.setdefault(cell.label, []).append(cell)
    labels = list(by_label)
    for i in range(n if cells else 0):
        cell = rng.choice(by_label[labels[i % len(labels)]])
        values = cell.draw_times(rng) or {}
        texts = dict(draw_words(cell, rng))
        texts |= template.render_times(values, cell.format)
        premise, hypothesis = template.render(texts)
        yield SampleProblem(
            premise=premise,
            hypothesis=hypothesis,
            label=cell.label,
            time_format=cell.format.name(template.language) if cell.format else None,
            time_span=cell.span.name if cell.span else None,
        )


def draw_placeholders(cell: ProblemCell, rng: RandomSource) -> dict[str, str]:
    """A text for every key of the cell's template that is no time.

    Agents and nouns of one problem differ.
    """
    template, language = cell.template, cell.template.language
    turn = draw_below(rng, PLACEHOLDER_TURNS)
    words: dict[str, str] = {}
    for place, (name, slot) in enumerate(template.slots.items()):
        if slot.kind == "verb":
            words[name] = PLACEHOLDER_VERBS[language][bool(slot.transitive)]
        elif slot.kind == "choice":
            words[name] = slot.options[turn % len(slot.options)]
        else:
            offered = PLACEHOLDERS[language].get(slot.kind, f"〈{slot.kind}〉").split()
            words[name] = offered[(turn + place) % len(offered)]
    texts: dict[str, str] = {}
    for use in template.uses:
        if isinstance(use, Choice):
            texts[use.key] = words[use.key]
        elif not isinstance(use, Time):
            word = words[use.slot]
            if use.form:
                word = inflect_word(word, use.form, "", language)
            texts[use.key] = attach_particle(word, use.particle) if use.particle else word
    return texts
