"""A few plain words for every kind of slot, so that a template can be shown before there is a lexicon."""

from __future__ import annotations

from nikawa.generation.template import Choice, Template, Time, Word
from nikawa.generation.time_sampling import Cell
from nikawa.generation.time_spans import RandomSource, draw_below

WORDS = {
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
VERBS = {"ja": {True: "直す", False: "向かう"}, "ko": {True: "고치다", False: "향하다"}}


def draw_placeholders(cell: Cell, chance: RandomSource) -> dict[str, str]:
    """A text for every key of the cell's template that is no time; agents and nouns of one problem differ."""
    template = cell.template
    chosen = _chosen(template, draw_below(chance, 12))
    return {
        use.key: _text(use, template, chosen, chance)
        for use in template.uses
        if not isinstance(use, Time)
    }


def _chosen(template: Template, turn: int) -> dict[str, str]:
    """Slot to word; one choice, too, stays what it is."""
    chosen: dict[str, str] = {}
    for place, (name, slot) in enumerate(template.slots.items()):
        if slot.kind == "verb":
            chosen[name] = VERBS[template.language][bool(slot.transitive)]
        elif slot.kind == "choice":
            chosen[name] = slot.options[turn % len(slot.options)]
        else:
            words = WORDS[template.language].get(slot.kind, f"〈{slot.kind}〉").split()
            chosen[name] = words[(turn + place) % len(words)]
    return chosen


def _text(
    use: Choice | Word, template: Template, chosen: dict[str, str], chance: RandomSource
) -> str:
    if isinstance(use, Choice):
        return chosen[use.key]
    text = chosen[use.slot]
    if use.form:
        text = _inflected(text, use.form, template.language)
    if use.particle:
        from nikawa.text.korean_forms import attach

        text = attach(text, use.particle)
    return text


def _inflected(word: str, form: str, language: str) -> str:
    if language == "ko":
        from nikawa.text.korean_forms import inflect

        return inflect(word, form)
    from nikawa.text.conjugate import conjugate

    return conjugate(word, form)
