"""Packs: a folder of data, its cells, its splits, and what is wrong with a broken one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from nikawa.errors import BadInput
from nikawa.generation.check import check_pack
from nikawa.generation.pack import Pack, load_pack
from nikawa.generation.problem_reader import ProblemReader
from nikawa.generation.show import draw_placeholders

HEAD = 'name = "towers"\nlanguage = "ja"\ntitle = "Towers"\nlicence = "Apache-2.0"\ntemplates = ["t.txt"]\n'
HEIGHT = """
template taller
  category: 比較
  premise: {agent1 ガ}の塔は{number1}だ。{agent2 ガ}の塔は{number2}だ。
  hypothesis: {agent1}の塔は{agent2}の塔より{adjective}。
  entails when: number1 > number2
  contradicts when: number1 < number2
template same
  category: 同値
  premise: {agent1 ガ}の塔は{adjective}。
  hypothesis: {agent1}の塔は{adjective negative}。
  contradicts: always
"""
KOREAN = """
template since
  category: 이후
  premise: {time1}부터 {agent 이/가 +은/는} {place 에}에 {verb 자 이/가 에 past}. 지금은 {time2}이다.
  hypothesis: {agent+은/는} {time3}에 {place}에 {verb past}.
  given: time1 < time2
  entails when: time1 <= time3 <= time2
  contradicts when: time3 < time1
"""
Make = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    def make(head: str = HEAD, templates: str = HEIGHT) -> Path:
        (tmp_path / "pack").mkdir(exist_ok=True)
        (tmp_path / "pack" / "pack.toml").write_text(head, "utf-8")
        (tmp_path / "pack" / "t.txt").write_text(templates, "utf-8")
        return tmp_path / "pack"

    return make


@pytest.fixture
def heights(folder: Make) -> Pack:
    more = 'slots = ["adjective"]\n[measure.m]\ntext = "{}メートル"\nlow = 20\nhigh = 60\nstep = 5\nnear = 3\n'
    return load_pack(folder(HEAD + more))


def test_numbers_are_only_data(heights: Pack) -> None:
    assert [cell.name for cell in heights.cells()] == [
        f"taller/m/{span}/{label}"
        for span in ("random", "short")
        for label in ("entailment", "contradiction", "neutral")
    ] + ["same/-/-/contradiction"]
    chance = Random(3)
    for cell in heights.cells():
        values = cell.draw_times(chance)
        assert values is not None
        texts = {
            **draw_placeholders(cell, chance),
            **cell.template.render_times(values, cell.format),
        }
        premise, hypothesis = cell.template.render(texts)
        parsed = ProblemReader(cell.template).read(premise, hypothesis)
        assert parsed is not None
        assert parsed.values == values
        assert cell.template.compute_label(values, cell.format) == cell.label
        if cell.span and cell.span.name == "short":
            assert abs(int(str(values["number_1"])) - int(str(values["number_2"]))) <= 10


def test_a_pack_of_numbers_is_sound(heights: Pack) -> None:
    assert check_pack(heights.folder)[1] == []


def test_korean(folder: Make) -> None:
    pack = load_pack(folder(HEAD.replace('"ja"', '"ko"'), KOREAN))
    chance = Random(1)
    assert len(pack.cells()) == 60
    for cell in pack.cells()[::7]:
        values = cell.draw_times(chance)
        assert values is not None
        texts = {
            **draw_placeholders(cell, chance),
            **cell.template.render_times(values, cell.format),
        }
        premise, hypothesis = cell.template.render(texts)
        assert hypothesis.split()[0] in {"하루는", "미오는", "솔은", "나래는"}
        parsed = ProblemReader(cell.template).read(premise, hypothesis)
        assert parsed is not None
        assert (parsed.values, parsed.format) == (values, cell.format)


def test_splits_are_rules(folder: Make) -> None:
    rules = (
        '[split.easy]\ncategory = ["比較"]\n[split.hard]\nextends = "easy"\ntime_span = ["short"]\n'
    )
    more = 'slots = ["adjective"]\n[measure.m]\ntext = "{}m"\nlow = 1\nhigh = 9\n'
    pack = load_pack(folder(HEAD + more + rules))
    kept, short = (
        {"category": "同値", "time_span": None},
        {"category": "同値", "time_span": "short"},
    )
    assert (
        pack.is_seen("easy", kept),
        pack.is_seen("easy", short),
        pack.is_seen("hard", short),
    ) == (
        True,
        True,
        False,
    )
    assert not pack.is_seen("easy", {"category": "比較"})
    with pytest.raises(BadInput, match="did you mean 'easy'"):
        pack.is_seen("eazy", kept)


def test_spans_and_formats_of_its_own(folder: Make, native: Make) -> None:
    templates = "template t\n  category: c\n  premise: {time1}。\n  hypothesis: {time2}。\n  entails when: time1 < time2\n"
    more = 'formats = ["時"]\nspans = ["near"]\n[span.near]\nwindow = { hour = 2 }\n'
    pack = load_pack(folder(HEAD + more, templates))
    assert [cell.name for cell in pack.cells()] == ["t/時/near/entailment", "t/時/near/neutral"]
    for _ in range(20):
        values = pack.cells()[0].draw_times(Random(1))
        assert values is not None
        assert values["time_2"] == (values["time_1"][0] + 1,)  # type: ignore[index]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ('colour = "red"\n', "colour"),
        ('formats = ["年月曰"]\n', "'年月曰' is not a format"),
        ('spans = ["shrot"]\n', "did you mean 'short'"),
        ('slots = ["time"]\n', "cannot name a slot"),
        ('[split.a]\nextends = "b"\n', "cannot be extended"),
        ('[split.a]\nextends = "a"\n', "cannot be extended"),
        ('[split.a]\ncategories = ["x"]\n', "did you mean 'category'"),
        ("[span.x]\nwindow = { hours = 3 }\n", "did you mean 'hour'"),
        ("= 3\n", "is not TOML"),
    ],
)
def test_broken_heads(folder: Make, more: str, word: str) -> None:
    with pytest.raises(BadInput, match=word) as caught:
        load_pack(folder(HEAD + more))
    assert "pack.toml" in str(caught.value)


def test_unknown_packs(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        load_pack("no/such/pack")
    with pytest.raises(BadInput, match="there is no pack"):
        load_pack("temporal-jaa")
    with pytest.raises(BadInput, match=r"holds no pack\.toml"):
        load_pack(tmp_path)
    (tmp_path / "pack.toml").write_text(HEAD.replace('"ja"', '"xx"'), "utf-8")
    with pytest.raises(BadInput, match="language"):
        load_pack(tmp_path)


def test_files_of_published_data(folder: Make, authors: Make, rows: tuple[str, ...]) -> None:
    path = folder(HEAD.replace("t.txt", "data:jamp/t.tsv"))
    with pytest.raises(BadInput, match="published data"):
        load_pack(path)
    assert len(load_pack(path, find=lambda name: authors(*rows)).templates) == 3
