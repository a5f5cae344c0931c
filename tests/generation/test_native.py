"""The native notation: what it takes, and where it says a mistake is."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.errors import BadInput
from nikawa.generation.notation import Notation, parse_side
from nikawa.generation.pack import Pack, load_pack
from nikawa.generation.template import Choice, Literal, Template, Time, Word
from nikawa.generation.template_errors import Position

Write = Callable[..., Path]
WriteNative = Callable[[Template], str]
START = "template one\n  category: x\n"


def side(text: str, language: str = "ja") -> tuple[object, ...]:
    return parse_side(text, Position(1, 1), Notation(language))


def test_slots() -> None:
    assert side("{agent ガ}は{noun2 ヲ}を{verb 他 ガ ヲ during past}。") == (
        Word("agent", 1, case="ガ"),
        Literal("は"),
        Word("noun", 2, case="ヲ"),
        Literal("を"),
        Word("verb", 1, "past", frame=("ガ", "ヲ"), transitive=True, wants="during"),
        Literal("。"),
    )
    assert side("{time2 !=time1-1day}{time1 -1day}") == (
        Time("time", 2, apart=("time_1", -1)),
        Time("time", 1, days=-1),
    )
    assert side("{|以上}{unit}") == (Choice("[,以上]", ("", "以上")), Time("unit", 1))


def test_forms_may_be_written_with_a_hyphen() -> None:
    assert side("{verb 自 ガ negative-past}") == (
        Word("verb", 1, "negative_past", frame=("ガ",), transitive=False),
    )


def test_korean_particles_and_cases() -> None:
    assert side("{agent 이/가 +은/는} {place+까지} {verb 자 이/가 past}", "ko") == (
        Word("agent", 1, case="이/가", particle="은/는"),
        Literal(" "),
        Word("place", 1, particle="까지"),
        Literal(" "),
        Word("verb", 1, "past", frame=("이/가",), transitive=False),
    )


def test_a_template_goes_on_over_lines(lighthouse: Pack) -> None:
    assert lighthouse["7"].premise[-1] == Literal("である。")
    assert any(e == Literal("。現在、") for e in lighthouse["7"].premise)


@pytest.mark.parametrize("id", ["7", "8", "9"])
def test_written_and_read_again(
    lighthouse: Pack, native: Write, write_native: WriteNative, id: str
) -> None:
    assert load_pack(native(write_native(lighthouse[id]))).templates == (lighthouse[id],)


def test_formats(native: Write) -> None:
    def names(line: str, slot: str = "time") -> list[str]:
        text = f"{START}  premise: {{{slot}}}に。\n  hypothesis: 。\n  {line}\n"
        return [fmt.name("ja") for fmt in load_pack(native(text)).templates[0].formats]

    assert names("formats: 月 年") == ["年", "月"]
    assert names("formats: all but 年 年月 年月日 年月日時 月 月日 月日時") == ["日", "日時", "時"]
    assert len(names("formats: all")) == 10
    assert names("note: none", "interval") == ["年間", "月間", "日間", "時間"]
    assert names("formats: 年間", "unit") == ["年間"]


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("premise: x\n", "line 1, column 1", "must begin first"),
        ("template my  own\n", "line 1, column 10", "more than one word; write template my-own"),
        (
            START + "  premise: {agnet}は。\n  hypothesis: 。\n",
            "line 3, column 13",
            "did you mean 'agent'",
        ),
        (
            START + "  premise: {agent ヌ}は。\n  hypothesis: 。\n",
            "line 3, column 19",
            "is no case",
        ),
        (
            START + "  premise: {verb pasta}。\n  hypothesis: 。\n",
            "line 3, column 18",
            "did you mean 'past'",
        ),
        (START + "  premise: {agent は。\n  hypothesis: 。\n", "line 3, column 12", "lone"),
        (START + "  premise: agent}は。\n  hypothesis: 。\n", "line 3, column 17", "lone"),
        (START + "  premise: {}は。\n  hypothesis: 。\n", "line 3, column 12", "empty slot"),
        (
            START + "  premise: {time soon}に。\n  hypothesis: 。\n",
            "line 3, column 18",
            "says nothing",
        ),
        (
            START + "  premise: {interval1 soon}に。\n  hypothesis: 。\n",
            "line 3, column 23",
            "'soon' says nothing about an interval; write for example {interval1 bare}",
        ),
        (
            START + "  premise: {verb ガ te past}。\n  hypothesis: 。\n",
            "line 3, column 23",
            "'past' is a second form of the same slot, after 'te'",
        ),
        (
            START + "  premise: {person ガ}は。\n  hypothesis: 。\n",
            "line 3, column 13",
            "goes into slots in pack.toml",
        ),
        (
            START + "  premise: {agent +은/을}。\n  hypothesis: 。\n",
            "line 3, column 19",
            "there is no particle '은/을'",
        ),
        (
            START + "  premise: {agent +은는}。\n  hypothesis: 。\n",
            "line 3, column 19",
            r"there is no particle '은는'; write \+은/는",
        ),
        (
            START + "  premise: {time}。\n  hypothesis: 。\n  entails when: time - 1 week < time\n",
            "line 5, column 26",
            "'week' is not a unit of time; known: day, hour, month, year",
        ),
        (
            START + "  premise: {time}に。\n  hypothesis: 。\n  formats: 年 歳\n",
            "line 5, column 14",
            "'歳' is not a format",
        ),
        (START + "  premise: 。\n", "line 1, column 10", "has no hypothesis"),
        (START + "  premise: 。\n  premiss: 。\n", "line 4, column 3", "did you mean 'premise'"),
        (START + "  premise: 。\n  premise: 。\n", "line 4, column 3", "given twice"),
        (START + "  premise: 。\nno field\n", "line 4, column 1", "field name is missing"),
        (
            START + "  premise: {time}。\n  hypothesis: 。\n  entails when: time < \n",
            "line 5, column 23",
            "is missing",
        ),
        (
            START + "  premise: {time}{number}。\n  hypothesis: 。\n",
            "line 1, column 10",
            "numbers and times",
        ),
        ("# nothing\n", "line 1, column 1", "holds no template"),
        (
            START + "  premise: 。\n  hypothesis: 。\n" + START,
            "line 5, column 10",
            "was in line 1 already",
        ),
    ],
)
def test_mistakes_have_a_place(native: Write, text: str, place: str, word: str) -> None:
    with pytest.raises(BadInput, match=word) as caught:
        load_pack(native(text))
    assert f"templates.txt, {place}: " in str(caught.value)


WORDS = st.lists(
    st.sampled_from(
        [
            "template a",
            "\n",
            "  ",
            "premise:",
            "hypothesis:",
            "category:",
            "entails when:",
            "formats:",
            "{time1}",
            "{",
            "}",
            "|",
            "{verb",
            "ガ",
            " past}",
            "time1",
            "<",
            "(",
            "not ",
            "+",
            "interval1",
            "1 day",
            "{number}",
            "{time2 -1day}",
            "年",
            "x",
            "。",
            "{time9 !=time1-1day}",
        ]
    ),
    max_size=40,
)


@given(text=st.one_of(WORDS.map("".join), st.text(max_size=60)))
def test_any_text_is_read_or_refused(write_native: WriteNative, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.txt"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            pack = load_pack(path)
        except BadInput:
            return
        for template in pack.templates:
            assert load_pack_text(write_native(template), Path(folder)) == template


def load_pack_text(text: str, folder: Path) -> Template:
    (folder / "again.txt").write_text(text, "utf-8")
    (template,) = load_pack(folder / "again.txt").templates
    return template


def test_deep_conditions_are_refused(native: Write) -> None:
    text = (
        f"{START}  premise: {{time}}。\n  hypothesis: 。\n  entails when: {'(' * 5000}time < time\n"
    )
    with pytest.raises(BadInput, match="too deep"):
        load_pack(native(text))
    with pytest.raises(BadInput, match="at most 5"):
        load_pack(
            native(
                START
                + "  premise: "
                + "".join(f"{{time{i}}}" for i in range(9))
                + "\n  hypothesis: 。\n"
            )
        )
