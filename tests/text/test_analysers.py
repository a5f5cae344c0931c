"""Every analyser: offsets, known analyses, names, extras."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.errors import BadInput, MissingExtra, UnknownName
from nikawa.text import ANALYSERS, Analyser, Token, analyser
from nikawa.text import engine as engine_module
from nikawa.text.sentences import sentences

FAST = [name for name in ANALYSERS if name not in ("ginza", "jumanpp")]
"""The quick ones that are packages; the program has tests of its own."""
PIECES = (
    "猫が走った",
    "行きたくない。",
    "ｶﾞﾗｽ",
    "ＡＢＣ",
    "か\u3099",
    "㍿",
    "㌔",
    "ﷺ",
    "Ð",
    "𠮟る",
    "葛\U000e0100城",
    "・・・",
    "고양이가",
    "했다.",
    "도와줬어요",
    "예뻤던",
    "ㅋㅋ",
    "\u1112\u1161\u11ab",
    "각\u0301",
    "😀",
    "👩‍👩‍👧",
    "🇯🇵",
    "1,234.5",
    'a"b,c',
    "don't",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\u3000",
    "\x0b",
    "\x0c",
    "\x85",
    "\u2028",
    "\u00a0",
    "\u200b",
    "\ufeff",
    "EOS",
    "\\t",
)
MIXED = st.lists(
    st.sampled_from(PIECES)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4),
    max_size=8,
).map("".join)
TRICKY = (
    "",
    " ",
    "\n\n",
    "\u3000",
    "  猫",
    "猫  ",
    "   고양이가 잔다",
    "猫 が\t走る\r\nÐ。",
    "EOS",
    "，,\"、'",
    "か\u3099き\u309a",
)


def holds(text: str, tokens: tuple[Token, ...]) -> None:
    """Surfaces are slices, in order, and no visible character is lost."""
    covered: set[int] = set()
    for before, token in zip((None, *tokens), tokens, strict=False):
        assert text[token.start : token.end] == token.surface
        # the copula is not written behind a vowel: it is told where it would stand
        assert token.surface.strip(" \t\n\r\x0b\x0c") or (
            token.surface == "" and token.pos == ("VCP",)
        )
        assert token.base
        assert before is None or before.start <= token.start
        covered.update(range(token.start, token.end))
    assert not [c for i, c in enumerate(text) if i not in covered and c.isalnum()]


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("text", TRICKY)
def test_offsets_of_awkward_texts(name: str, text: str) -> None:
    holds(text, analyser(name).analyse(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_offsets_of_any_text(name: str) -> None:
    found = analyser(name, cache=0)

    @settings(max_examples=150, deadline=None, database=None)
    @given(MIXED)
    def check(text: str) -> None:
        holds(text, found.analyse(text))

    check()


@pytest.mark.slow
def test_offsets_and_heads_of_ginza() -> None:
    found = analyser("ginza", cache=0)

    @settings(max_examples=40, deadline=None, database=None)
    @given(MIXED)
    def check(text: str) -> None:
        tokens = found.analyse(text)
        holds(text, tokens)
        assert all(t.head is not None and 0 <= t.head < len(tokens) and t.deprel for t in tokens)

    check()
    for text in TRICKY:
        holds(text, found.analyse(text))


def words(found: Analyser, text: str) -> list[tuple[str, str, str]]:
    return [(t.surface, t.base, t.tag) for t in found.analyse(text)]


def test_ipadic_gives_tags_of_four_fields() -> None:
    found = analyser("ipadic").analyse("二匹の犬が走った。")
    assert [(t.surface, t.base, t.tag) for t in found] == [
        ("二", "二", "名詞,数,*,*"),
        ("匹", "匹", "名詞,接尾,助数詞,*"),
        ("の", "の", "助詞,連体化,*,*"),
        ("犬", "犬", "名詞,一般,*,*"),
        ("が", "が", "助詞,格助詞,一般,*"),
        ("走っ", "走る", "動詞,自立,*,*"),
        ("た", "た", "助動詞,*,*,*"),
        ("。", "。", "記号,句点,*,*"),
    ]
    run = found[5]
    assert (run.reading, run.ctype, run.cform) == ("ハシッ", "五段・ラ行", "連用タ接続")
    assert (found[3].ctype, found[3].cform, found[3].head, found[3].deprel) == ("", "", None, None)


def test_ipadic_keeps_an_unknown_word_as_its_own_base() -> None:
    token = analyser("ipadic").analyse("ﾆｶﾜ")[0]
    assert (token.surface, token.base, token.reading) == ("ﾆｶﾜ", "ﾆｶﾜ", "")


def test_unidic_tells_the_written_base_from_the_lemma() -> None:
    found = {t.surface: t for t in analyser("unidic").analyse("行きたくないと走っ")}
    assert (found["ない"].base, found["ない"].norm) == ("ない", "無い")
    run = found["走っ"]
    assert (run.base, run.reading, run.ctype, run.cform) == (
        "走る",
        "ハシッ",
        "五段-ラ行",
        "連用形-促音便",
    )


def test_juman_gives_representative_forms_and_categories() -> None:
    cat, _, run = analyser("juman").analyse("猫が走った")
    assert (cat.norm, cat.reading, cat.tag) == ("猫/ねこ", "ネコ", "名詞,普通名詞")
    assert "カテゴリ:動物" in cat.notes
    assert (run.base, run.ctype, run.cform) == ("走る", "子音動詞ラ行", "タ形")


def test_sudachi_modes_differ_in_the_length_of_units() -> None:
    text = "選挙管理委員会"
    assert [t.surface for t in analyser("sudachi").analyse(text)] == [text]
    assert [t.surface for t in analyser("sudachi-a").analyse(text)] == [
        "選挙",
        "管理",
        "委員",
        "会",
    ]


def test_sudachi_parts_of_a_ligature_share_its_character() -> None:
    found = analyser("sudachi-a").analyse("新㍿")[-2:]
    assert [(t.surface, t.base, t.start, t.end) for t in found] == [
        ("㍿", "株式", 1, 2),
        ("㍿", "会社", 1, 2),
    ]


def test_sudachi_takes_text_that_grows_past_its_limit() -> None:
    text = "ﷺ" * 4000
    found = analyser("sudachi").analyse(text)
    assert {t.surface for t in found} == {"ﷺ"}
    assert found[-1].end == len(text)


@pytest.mark.slow
def test_ginza_takes_text_that_grows_past_its_limit() -> None:
    text = "ﷺ" * 3000
    many, cat = analyser("ginza", cache=0).analyse_many([text, "猫が走った"])
    assert {t.surface for t in many} == {"ﷺ"}
    assert [t.start for t in many] == sorted(t.start for t in many)
    assert many[-1].end == len(text)
    assert all(t.head is not None and 0 <= t.head < len(many) for t in many)
    assert cat == analyser("ginza", cache=0).analyse("猫が走った")


@pytest.mark.slow
def test_ginza_finds_heads() -> None:
    found = analyser("ginza").analyse("犬が 庭を走った。")
    heads = {t.surface: (found[t.head or 0].surface, t.deprel) for t in found}
    assert heads["犬"] == ("走っ", "nsubj")
    assert heads["庭"] == ("走っ", "obj")
    assert heads["走っ"] == ("走っ", "ROOT")
    assert (found[4].base, found[4].notes, found[4].ctype) == ("走る", "VERB", "五段-ラ行")


def test_kiwi_tells_a_copula_that_is_not_written() -> None:
    found = [
        (token.surface, token.base, token.start) for token in analyser("kiwi").analyse("의사네")
    ]
    assert found == [("의사", "의사", 0), ("", "이다", 2), ("네", "네", 2)]


def test_kiwi_parts_of_a_contraction_share_characters() -> None:
    found = analyser("kiwi").analyse("책을 읽고 공부했다.")
    shared = [(t.surface, t.form, t.base, t.tag, t.start, t.end) for t in found if t.start == 8]
    assert shared == [("했", "하", "하다", "XSV", 8, 9), ("했", "었", "었", "EP", 8, 9)]


def test_mecab_ko_keeps_a_contraction_whole() -> None:
    token = next(t for t in analyser("mecab-ko").analyse("  친구가 갔다") if t.surface == "갔")
    assert (token.base, token.form, token.tag, token.start) == ("가다", "가+았", "VV,EP", 6)


def test_characters_and_whitespace() -> None:
    assert [t.surface for t in analyser("characters").analyse("猫 と\u3000犬😀")] == [
        "猫",
        "と",
        "犬",
        "😀",
    ]
    assert [(t.surface, t.start) for t in analyser("whitespace").analyse(" 고양이가  잔다")] == [
        ("고양이가", 1),
        ("잔다", 7),
    ]


@pytest.mark.parametrize(("language", "name"), [("ja", "ipadic"), ("ko", "kiwi")])
def test_a_language_stands_for_its_default(language: str, name: str) -> None:
    assert analyser(language) is analyser(name)
    assert (analyser(name).name, analyser(name).language) == (name, language)


def test_a_wrong_name_gets_suggestions() -> None:
    with pytest.raises(UnknownName, match="there is no analyser 'ipadik'; did you mean 'ipadic'"):
        analyser("ipadik")


@pytest.mark.parametrize("name", [None, 3, ["ja"], b"ja"])
def test_a_name_that_is_no_text(name: Any) -> None:
    with pytest.raises(
        TypeError, match=r"the name of an analyser cannot be .*: write analyser\('ja'\)"
    ):
        analyser(name)


def test_further_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        analyser("characters", "x")  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match="the cache of an analyser cannot be 'x'"):
        analyser("characters", cache="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 3, b"x", ["x"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    found = analyser("characters")
    with pytest.raises(TypeError, match=f"the text must be a str, not {type(text).__name__}"):
        found.analyse(text)
    with pytest.raises(TypeError, match=f"the text must be a str, not {type(text).__name__}"):
        list(found.analyse_many(["犬", text]))
    with pytest.raises(TypeError, match=f"the text must be a str, not {type(text).__name__}"):
        sentences(text, "ja")


@pytest.mark.parametrize("name", [n for n in ANALYSERS if ANALYSERS[n].extra])
def test_a_missing_package_names_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from nikawa.text import analysers, korean, sudachi

    def absent(module: str) -> None:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(engine_module, "import_module", absent)
    sudachi.load_dictionary.cache_clear()
    korean._kiwi.cache_clear()
    with pytest.raises(MissingExtra) as caught:
        analysers._shared_engine.__wrapped__(name).run([])
    assert f"[{ANALYSERS[name].extra}]'" in str(caught.value)


def test_importing_the_package_loads_no_engine() -> None:
    heavy = "{'fugashi', 'ipadic', 'sudachipy', 'spacy', 'kiwipiepy', 'mecab'}"
    code = f"import sys, nikawa.text; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "what"), [("猫\0犬", "character 2 .* NUL"), ("犬猫\ud800", "character 3 .* surrogate")]
)
@pytest.mark.parametrize("name", ["ipadic", "characters"])
def test_unusable_text_is_refused(name: str, text: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        analyser(name).analyse(text)


def test_sudachi_remembers_words_by_what_they_are() -> None:
    """The same answers from a filled memory as from an empty one."""
    from nikawa.text import sudachi

    texts = [
        "１２３匹の猫とカラペッチョ",
        "４５匹の犬とポラペッチョ",
        "行った人が行った",
        "新㍿の犬",
    ]
    once = [analyser("sudachi-a", cache=0).analyse(text) for text in texts]
    engine = sudachi.load_sudachi_a()
    assert [tuple(tokens) for tokens in engine([*texts, *texts])] == [*once, *once]
    assert once[0][0].base != once[1][0].base
