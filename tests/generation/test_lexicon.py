from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.errors import BadInput, UnknownName
from nikawa.generation.lexicon import load_lexicon, shipped_lexicons

FRAMES = "verb\tclass\ttransitive\ttimes\tunits\tstate\tnouns\n"
ABOUT = 'name = "tiny"\nlanguage = "ja"\ntitle = "T"\nlicence = "CC0"\nprovenance = "by hand"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lexicon.toml").write_text(ABOUT, "utf-8")
    (tmp_path / "agents.txt").write_text("# people\n一郎 二郎\n三郎\n", "utf-8")
    (tmp_path / "nouns.tsv").write_text(
        "class\tkind\tnouns\n本\tthing\t小説 詩集 漫画\n場所\tplace\t庭 駅_前\n", "utf-8"
    )
    (tmp_path / "frames.tsv").write_text(
        FRAMES
        + "読む\t五段・マ行\tyes\tpoint within\tday hour\tno\tヲ=@本 -漫画 手紙\n"
        + "置く\t\tyes\tpoint\thour\tno\tニ=@場所;ヲ=石\n"
        + "住む\t\tno\tpoint during\tyear\tyes\tニ=@場所\n"
        + "走る\t\tno\tpoint during\thour\tno\t\n",
        "utf-8",
    )
    return tmp_path


def test_read(folder: Path) -> None:
    lexicon = load_lexicon(folder)
    assert lexicon.agents == ("一郎", "二郎", "三郎")
    assert lexicon.verbs == ("読む", "置く", "住む", "走る")
    assert lexicon.frames[0].nouns == {"ヲ": ("小説", "詩集", "手紙")}
    assert lexicon.frames[1].cases == ("ガ", "ニ", "ヲ")
    assert set(lexicon.nouns) == {"小説", "詩集", "漫画", "庭", "駅 前", "手紙", "石"}
    assert len(lexicon.counts) == 0
    assert lexicon.excluded == frozenset()


def test_choose(folder: Path) -> None:
    lexicon = load_lexicon(folder)

    def verbs(*cases: str, **asked: object) -> list[str]:
        return [frame.verb for frame in lexicon.find_frames(cases, **asked)]  # type: ignore[arg-type]

    assert verbs("ガ", "ヲ") == ["読む"]
    assert verbs("ガ", "ヲ", transitive=False) == []
    assert verbs("ガ", "ヲ", "ニ") == ["置く"]
    assert verbs("ガ1", "ガ2", "ガ3") == ["走る"]
    assert verbs("ガ", "ニ", state=True, wants="during") == ["住む"]
    assert verbs("ガ", "ヲ", wants="during") == []
    assert verbs("ガ", "ニ", kinds={"ニ": "place"}) == ["住む"]
    assert verbs("ガ", "ニ", kinds={"ニ": "person"}) == []
    assert verbs("ガ", "マデ") == []


def test_suits(folder: Path) -> None:
    frame = load_lexicon(folder).frames[0]
    assert frame.suits(unit="day")
    assert not frame.suits(unit="year")
    assert not frame.suits(state=True)


def test_names() -> None:
    assert shipped_lexicons() == ("ja", "ko")
    with pytest.raises(UnknownName, match="ja"):
        load_lexicon("jaa")


def test_folder_without_lexicon(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"lexicon\.toml"):
        load_lexicon(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("lexicon.toml", "name = ", "not TOML"),
        ("lexicon.toml", ABOUT + 'colour = "red"\n', "colour"),
        ("agents.txt", "一郎\n一郎\n", "line 2: '一郎' was on line 1 already"),
        ("nouns.tsv", "class\tkind\tnouns\na\tthing\t石 石\n", "line 2: '石' appears twice"),
        (
            "nouns.tsv",
            "class\tkind\tnouns\na\tthing\t石\na\tthing\t木\n",
            "line 3: the class 'a' comes twice",
        ),
        ("nouns.tsv", "class\tnouns\na\t石\n", "column 'kind' is missing"),
        ("frames.tsv", FRAMES + "読む\t\tmaybe\tpoint\tday\tno\tヲ=本\n", "transitive is 'maybe'"),
        ("frames.tsv", FRAMES + "読む\t\tyes\tpoit\tday\tno\tヲ=本\n", "did you mean 'point'"),
        ("frames.tsv", FRAMES + "読む\t\tyes\tpoint\tdays\tno\tヲ=本\n", "did you mean 'day'"),
        ("frames.tsv", FRAMES + "読む\t\tyes\tpoint\tday\tno\tヲ=@本屋\n", "no noun class '本屋'"),
        ("frames.tsv", FRAMES + "読む\t\tyes\tpoint\tday\tno\tヲ=\n", "has no nouns"),
        ("frames.tsv", FRAMES + "読む\t\tyes\n", "3 columns"),
    ],
)
def test_broken(folder: Path, file: str, text: str, said: str) -> None:
    (folder / file).write_text(text, "utf-8")
    with pytest.raises(BadInput) as caught:
        load_lexicon(folder)
    assert said in str(caught.value)
    assert file in str(caught.value)
