"""Both notations give one tree; templates render, label and list their cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from nikawa.errors import BadInput
from nikawa.generation.conditions import LABELS
from nikawa.generation.pack import Pack, load_pack
from nikawa.generation.problem_reader import ProblemReader
from nikawa.generation.show import draw_placeholders
from nikawa.generation.template import Literal, ProblemCell, Template, Word
from nikawa.generation.times import COMPAT, Value, formats_by_name

Write = Callable[..., Path]


def test_both_notations_give_one_tree(authors: Write, native: Write, rows: tuple[str, ...]) -> None:
    assert load_pack(authors(*rows)).templates == load_pack(native()).templates


def test_what_a_slot_knows(lighthouse: Pack) -> None:
    verb = lighthouse["7"].slots["verb_1"]
    assert (verb.frame, verb.transitive, verb.wants, verb.is_stative) == (
        ("ガ", "ニ"),
        False,
        "point",
        True,
    )
    assert verb.forms == ("progressive", "progressive_past")
    assert lighthouse["7"].slots["place_1"].case == "ニ"
    assert lighthouse["8"].slots["[以内に,で]"].options == ("以内に", "で")
    assert set(lighthouse["8"].keys) == {
        "agent_1",
        "interval_1",
        "[以内に,で]",
        "noun_1",
        "verb_1.past",
        "time_2",
        "verb_1.stem",
        "time_3",
    }


def test_rendering(lighthouse: Pack) -> None:
    template = lighthouse["9"]
    times = template.render_times({"time_1": (8, 4)}, formats_by_name("ja")["月日"])
    assert times == {"time_1": "8月4日", "time_1-1day": "8月3日"}
    premise, hypothesis = template.render(
        {"agent_1": "ハル", "noun_1": "灯台", "verb_1.past": "向かった", **times}
    )
    assert premise == "昨日、ハルは灯台に向かった。今日は8月4日だ。"
    assert hypothesis == "ハルは8月3日に灯台に向かった。"


def test_a_percent_sign_is_text(native: Write) -> None:
    text = "template a\n  category: x\n  premise: {agent ガ}は100%泳ぐ。\n  hypothesis: 100%{agent}。\n"
    assert load_pack(native(text))["a"].render({"agent_1": "ハル"}) == (
        "ハルは100%泳ぐ。",
        "100%ハル。",
    )


def test_labels(lighthouse: Pack) -> None:
    month = formats_by_name("ja")["月"]
    since = lighthouse["7"]
    assert [
        since.compute_label({"time_1": (3,), "time_2": (9,), "time_3": (t,)}, month)
        for t in (5, 2, 11)
    ] == list(LABELS)
    assert since.is_consistent({"time_1": (3,), "time_2": (9,), "time_3": (5,)}, month)
    assert not since.is_consistent({"time_1": (9,), "time_2": (3,), "time_3": (5,)}, month)


def test_the_twelfth_month_in_both_clocks(lighthouse: Pack) -> None:
    values: dict[str, Value] = {"interval_1": 7, "time_2": (11,), "time_3": (12,)}
    assert lighthouse["8"].compute_label(values, formats_by_name("ja")["月"]) == "neutral"
    assert (
        lighthouse["8"].compute_label(values, formats_by_name("ja")["月"], COMPAT) == "entailment"
    )


def test_cells(lighthouse: Pack) -> None:
    assert [len(template.cells()) for template in lighthouse.templates] == [60, 54, 6]
    lost = lighthouse["8"].unreachable_cells()
    assert {cell.format.name("ja") for cell in lost if cell.format} == {
        "年月",
        "年月日",
        "年月日時",
        "月日",
        "月日時",
        "日時",
    }
    assert {(cell.span.name, cell.label) for cell in lost if cell.span} == {("short", "entailment")}


def test_samples_have_the_wanted_label_and_read_back(lighthouse: Pack) -> None:
    chance = Random(1)
    for template in lighthouse.templates:
        reader = ProblemReader(template)
        for cell in template.cells():
            for _ in range(5):
                values = cell.draw_times(chance)
                assert values is not None
                assert template.compute_label(values, cell.format) == cell.label
                assert template.is_consistent(values, cell.format)
                texts = {
                    **draw_placeholders(cell, chance),
                    **template.render_times(values, cell.format),
                }
                parsed = reader.read(*template.render(texts))
                assert parsed is not None
                assert (parsed.values, parsed.format, parsed.faults) == (values, cell.format, ())


def test_samples_lie_in_their_span(lighthouse: Pack) -> None:
    chance = Random(2)
    hours = formats_by_name("ja")["日時"]
    short = next(s for s in lighthouse.spans if s.name == "short")
    for _ in range(100):
        values = ProblemCell(lighthouse["7"], hours, short, "neutral").draw_times(chance)
        assert values is not None
        points = [value for value in values.values() if isinstance(value, tuple)]
        assert len({day for day, _ in points}) == 1
        assert max(h for _, h in points) - min(h for _, h in points) < 8
        assert len(set(points)) == 3


def test_the_same_chance_gives_the_same_times(lighthouse: Pack) -> None:
    for cell in lighthouse["8"].cells()[::7]:
        first, second = (cell.draw_times(Random(5)) for _ in range(2))
        assert first == second


def test_an_unreachable_cell_has_no_sample(lighthouse: Pack) -> None:
    (lost, *_) = lighthouse["8"].unreachable_cells()
    assert lost.draw_times(Random(1)) is None


@pytest.mark.parametrize(
    ("old", "new", "marked", "word"),
    [
        ("agent_1[ガ格:1]", "agnet_1[ガ格:1]", "agnet", "did you mean 'agent'"),
        ("place_1[ニ格:1]", "place_1[二格:1]", "二格", "is not a case"),
        ("stative_vp_zi_1_past 。", "stative_vp_zi_1_pst 。", "pst", "is not a form"),
        ("stative_vp_zi_1_past 。", "stative_vp_zi_1_coni 。", "coni", "a state has no form"),
        ("tp_1 以来、", "tp_x 以来、", "tp_x", "is not a slot"),
        ("tp_1 以来、", "tp_1以来、", "tp_1以来", "cannot be read"),
        ("tp_3.start < tp_1.start", "tp_3.start < tp_1.begin", "begin", "begin"),
        ("\tNone\t年月日", "\tNone\t年月曰", "年月曰", "is not a time format"),
        ("\tNone\t年月日", "\thour,decade\t年月日", "decade", "is not a unit"),
        ("ガ格,ニ格:tp:1", "ガ格,ニ格:pt:1", "pt:1", "is not a time type"),
        ("ガ格,ニ格:tp:1", "ガ格,ホ格:tp:1", "ホ格", "is not a case"),
        (" は place_1", " は [最初] place_1", "[最初]", "is not a choice"),
    ],
)
def test_mistakes_in_the_authors_notation(
    authors: Write, rows: tuple[str, ...], old: str, new: str, marked: str, word: str
) -> None:
    assert old in rows[0]
    row = rows[0].replace(old, new)
    with pytest.raises(BadInput, match=word) as caught:
        load_pack(authors(row))
    assert f"templates.tsv, line 2, column {row.index(marked) + 1}: " in str(caught.value)


def test_published_templates(published: Pack) -> None:
    assert len(published.templates) == 79
    assert len(published.categories) == 45
    uses = [use for template in published.templates for use in template.uses]
    assert sum(isinstance(use, Word) and use.kind == "verb" for use in uses) == 281
    assert sum(isinstance(use, Word) and use.kind != "verb" for use in uses) == 438
    assert not any(
        "_" in e.text for t in published.templates for e in t.premise if isinstance(e, Literal)
    )


@pytest.mark.slow
def test_published_cells(published: Pack) -> None:
    assert len(published.cells("train")) == 995
    assert len(published.cells("test")) == 174
    lost = published.unreachable("train")
    assert {(cell.template.id, cell.label) for cell in lost} == {
        ("25", "entailment"),
        ("82", "entailment"),
        ("83", "neutral"),
    }
    assert {cell.format.name("ja") for cell in lost if cell.format} == {
        "年月",
        "年月日",
        "年月日時",
        "月日",
        "月日時",
        "日時",
    }
    assert len(lost) == 18


def test_published_templates_in_the_native_notation(
    published: Pack, native: Write, write_native: Callable[[Template], str]
) -> None:
    text = "\n".join(write_native(template) for template in published.templates)
    assert load_pack(native(text)).templates == published.templates
