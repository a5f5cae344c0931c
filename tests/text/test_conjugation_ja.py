from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.errors import BadInput, UnknownName
from nikawa.io.tsv import read_tsv
from nikawa.text import analyser
from nikawa.text.conjugation_ja import FORMS, conjugate, conjugation_class, list_forms

SHOWN = (
    "past",
    "te",
    "stem",
    "negative",
    "negative_past",
    "polite",
    "passive",
    "causative",
    "potential",
    "volitional",
    "conditional",
)


def table(text: str) -> list[str]:
    return text.strip().splitlines()


# Word, then the forms of SHOWN; the words that have no such form say -.
WORDS = table("""
書く 書いた 書いて 書き 書かない 書かなかった 書きます 書かれる 書かせる 書ける 書こう 書けば
泳ぐ 泳いだ 泳いで 泳ぎ 泳がない 泳がなかった 泳ぎます 泳がれる 泳がせる 泳げる 泳ごう 泳げば
話す 話した 話して 話し 話さない 話さなかった 話します 話される 話させる 話せる 話そう 話せば
待つ 待った 待って 待ち 待たない 待たなかった 待ちます 待たれる 待たせる 待てる 待とう 待てば
死ぬ 死んだ 死んで 死に 死なない 死ななかった 死にます 死なれる 死なせる 死ねる 死のう 死ねば
遊ぶ 遊んだ 遊んで 遊び 遊ばない 遊ばなかった 遊びます 遊ばれる 遊ばせる 遊べる 遊ぼう 遊べば
飲む 飲んだ 飲んで 飲み 飲まない 飲まなかった 飲みます 飲まれる 飲ませる 飲める 飲もう 飲めば
獲る 獲った 獲って 獲り 獲らない 獲らなかった 獲ります 獲られる 獲らせる 獲れる 獲ろう 獲れば
取る 取った 取って 取り 取らない 取らなかった 取ります 取られる 取らせる 取れる 取ろう 取れば
買う 買った 買って 買い 買わない 買わなかった 買います 買われる 買わせる 買える 買おう 買えば
帰る 帰った 帰って 帰り 帰らない 帰らなかった 帰ります 帰られる 帰らせる 帰れる 帰ろう 帰れば
変える 変えた 変えて 変え 変えない 変えなかった 変えます 変えられる 変えさせる 変えられる 変えよう 変えれば
見る 見た 見て 見 見ない 見なかった 見ます 見られる 見させる 見られる 見よう 見れば
駆ける 駆けた 駆けて 駆け 駆けない 駆けなかった 駆けます 駆けられる 駆けさせる 駆けられる 駆けよう 駆ければ
居る 居た 居て 居 居ない 居なかった 居ます 居られる 居させる 居られる 居よう 居れば
出来る 出来た 出来て 出来 出来ない 出来なかった 出来ます 出来られる 出来させる 出来られる 出来よう 出来れば
行く 行った 行って 行き 行かない 行かなかった 行きます 行かれる 行かせる 行ける 行こう 行けば
出て行く 出て行った 出て行って 出て行き 出て行かない 出て行かなかった 出て行きます 出て行かれる 出て行かせる 出て行ける 出て行こう 出て行けば
逝く 逝った 逝って 逝き 逝かない 逝かなかった 逝きます 逝かれる 逝かせる 逝ける 逝こう 逝けば
行う 行った 行って 行い 行わない 行わなかった 行います 行われる 行わせる 行える 行おう 行えば
問う 問うた 問うて 問い 問わない 問わなかった 問います 問われる 問わせる 問える 問おう 問えば
乞う 乞うた 乞うて 乞い 乞わない 乞わなかった 乞います 乞われる 乞わせる 乞える 乞おう 乞えば
来る 来た 来て 来 来ない 来なかった 来ます 来られる 来させる 来られる 来よう 来れば
くる きた きて き こない こなかった きます こられる こさせる こられる こよう くれば
する した して し しない しなかった します される させる できる しよう すれば
勉強する 勉強した 勉強して 勉強し 勉強しない 勉強しなかった 勉強します 勉強される 勉強させる 勉強できる 勉強しよう 勉強すれば
愛する 愛した 愛して 愛し 愛さない 愛さなかった 愛します 愛される 愛させる 愛せる 愛そう 愛すれば
愛す 愛した 愛して 愛し 愛さない 愛さなかった 愛します 愛される 愛させる 愛せる 愛そう 愛せば
罰する 罰した 罰して 罰し 罰しない 罰しなかった 罰します 罰せられる 罰させる 罰せられる 罰しよう 罰すれば
生ずる 生じた 生じて 生じ 生じない 生じなかった 生じます 生じられる 生じさせる 生じられる 生じよう 生ずれば
信じる 信じた 信じて 信じ 信じない 信じなかった 信じます 信じられる 信じさせる 信じられる 信じよう 信じれば
くださる くださった くださって くださり くださらない くださらなかった くださいます くださられる くださらせる くだされる くださろう くだされば
いらっしゃる いらっしゃった いらっしゃって いらっしゃり いらっしゃらない いらっしゃらなかった いらっしゃいます いらっしゃられる いらっしゃらせる いらっしゃれる いらっしゃろう いらっしゃれば
なさる なさった なさって なさり なさらない なさらなかった なさいます なさられる なさらせる なされる なさろう なされば
ござる ござった ござって ござり ござらない ござらなかった ございます ござられる ござらせる ござれる ござろう ござれば
ある あった あって あり ない なかった あります - - - あろう あれば
有る 有った 有って 有り ない なかった 有ります - - - 有ろう 有れば
こする こすった こすって こすり こすらない こすらなかった こすります こすられる こすらせる こすれる こすろう こすれば
高い 高かった 高くて 高く 高くない 高くなかった 高いです - - - 高かろう 高ければ
楽しい 楽しかった 楽しくて 楽しく 楽しくない 楽しくなかった 楽しいです - - - 楽しかろう 楽しければ
いい よかった よくて よく よくない よくなかった いいです - - - よかろう よければ
よい よかった よくて よく よくない よくなかった よいです - - - よかろう よければ
格好いい 格好よかった 格好よくて 格好よく 格好よくない 格好よくなかった 格好いいです - - - 格好よかろう 格好よければ
かわいい かわいかった かわいくて かわいく かわいくない かわいくなかった かわいいです - - - かわいかろう かわいければ
静かだ 静かだった 静かで 静かに 静かではない 静かではなかった 静かです - - - 静かだろう 静かならば
""")


@pytest.mark.parametrize("row", WORDS, ids=lambda row: row.split()[0])
def test_forms(row: str) -> None:
    word, *expected = row.split()
    made = list_forms(word)
    assert [made.get(form, "-") for form in SHOWN] == expected
    assert made["dictionary"] == word


def test_further_forms() -> None:
    assert conjugate("くれる", "imperative") == "くれ"
    assert conjugate("くださる", "imperative") == "ください"
    assert conjugate("食べる", "imperative") == "食べろ"
    assert conjugate("書く", "progressive_past") == "書いていた"
    assert conjugate("飲む", "conditional_tara") == "飲んだら"
    assert conjugate("来る", "polite_past") == "来ました"


@pytest.mark.parametrize("name", ["ipadic", "unidic"])
@pytest.mark.parametrize("row", WORDS, ids=lambda row: row.split()[0])
def test_the_class_of_either_dictionary_gives_the_same(row: str, name: str) -> None:
    word = row.split(maxsplit=1)[0]
    token = analyser(name).analyse(word)[-1]
    if (word, name) != ("駆ける", "ipadic"):  # IPADIC knows a literary 五段 verb only
        assert list_forms(word, token.ctype or None) == list_forms(word)


@pytest.mark.parametrize(
    ("word", "ctype", "past"),
    [
        ("きる", "一段", "きた"),
        ("きる", "五段・ラ行", "きった"),
        ("かえる", "五段-ラ行", "かえった"),
        ("かえる", "下一段-ア行", "かえた"),
        ("負う", "五段・ワ行ウ音便", "負うた"),
    ],
)
def test_the_class_given_decides_between_homographs(word: str, ctype: str, past: str) -> None:
    assert conjugate(word, "past", ctype) == past


@pytest.mark.parametrize("word", ["ありうる", "なりうる", "考えうる", "見うる"])
@pytest.mark.parametrize("ctype", [None, "一段・得ル"])
def test_uru_is_eru_in_all_other_forms(word: str, ctype: str | None) -> None:
    made, root = list_forms(word, ctype), word.removesuffix("うる")
    assert [
        made[form] for form in ("dictionary", "polite", "negative", "past", "te", "conditional")
    ] == [root + end for end in ("うる", "えます", "えない", "えた", "えて", "うれば")]
    assert "passive" not in made


@pytest.mark.parametrize(
    ("word", "past"),
    [
        ("ねる", "ねた"),
        ("よける", "よけた"),
        ("ほうる", "ほうった"),
        ("うる", "うった"),
        ("まねる", "まねた"),
    ],
)
def test_a_word_in_kana_is_the_usual_one(word: str, past: str) -> None:
    assert conjugate(word, "past") == past


def test_the_class_given_wins_over_the_usual_one() -> None:
    assert conjugate("ねる", "past", "五段・ラ行") == "ねった"


def test_only_doubtful_words_are_asked_of_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nikawa.text.analysers.analyser", None)
    assert conjugation_class("作業する") == "サ変"
    assert conjugation_class("集まる") == "五段・ラ"
    assert conjugation_class("叩く") == "五段・カ"


@pytest.mark.parametrize("word", ["", "机", "た", "hello", "。"])
def test_what_does_not_conjugate(word: str) -> None:
    with pytest.raises(BadInput, match=r"dictionary form|conjugate"):
        conjugate(word, "past")


def test_wrong_form_and_missing_form() -> None:
    with pytest.raises(UnknownName, match="past"):
        conjugate("書く", "passt")
    with pytest.raises(BadInput, match="passive"):
        conjugate("高い", "passive")


@given(
    st.text(),
    st.sampled_from(FORMS),
    st.sampled_from([None, "一段", "五段・カ行イ音便", "カ変・来ル", "形容詞・イ段"]),
)
def test_any_text_is_a_form_or_an_error(word: str, form: str, ctype: str | None) -> None:
    with suppress(BadInput):
        assert conjugate(word, form, ctype)


SLOT = re.compile(r"((?:stative_)?(?:agent|np|place|vp|tp|interval|time_unit)_\S*?)(?:\[.*)?")


def pattern(elements: list[str]) -> re.Pattern[str]:
    """What a problem of the template looks like; a slot that comes again holds what it held."""
    seen: set[str] = set()
    parts = []
    for element in elements:
        slot = SLOT.fullmatch(element)
        if slot is None:
            alternatives = element[1:-1].split(",") if element.startswith("[") else [element]
            parts.append(f"(?:{'|'.join(map(re.escape, alternatives))})")
            continue
        name = re.sub(r"\W", "_", slot[1])
        parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>[^。\n]+?)")
        seen.add(name)
    return re.compile("".join(parts))


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict[str, dict[str, set[str]]]:
    """Dictionary form -> form -> what the published problems have; te and stem are found by way of the past."""
    folder = shared_data / "jamp" / "dataset"
    rows = [row for _, row in read_tsv(folder / "template" / "template_ver_1_5.tsv")]
    patterns = {
        row["id"]: pattern(f"{row['premise']} \n {row['hypothesis']}".split(" ")) for row in rows
    }
    by_past: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for _, row in read_tsv(folder / "train_all.tsv"):
        found = patterns[row["template_num"]].fullmatch(f"{row['premise']}\n{row['hypothesis']}")
        assert found
        held = found.groupdict()
        for verb in ("vp_ta_1", "vp_zi_1"):
            if past := held.get(f"{verb}_past"):
                for slot, form in (("", "dictionary"), ("_prog", "te"), ("_coni", "stem")):
                    if held.get(verb + slot):
                        by_past[past][form].add(held[verb + slot])
    return {
        base: {"past": {past}, "te": held["te"], "stem": held["stem"]}
        for past, held in by_past.items()
        for base in held["dictionary"]
    }


@pytest.mark.slow
def test_every_form_of_the_published_problems_but_their_own_errors(
    published: dict[str, dict[str, set[str]]],
) -> None:
    assert len(published) == 283
    wrong = {
        (base, form, other)
        for base, held in published.items()
        for form, values in held.items()
        for other in values - {conjugate(base, form)}
    }
    errors = {("居る", "past", "居った"), ("生ずる", "past", "生ずるた"), ("来る", "past", "きた")}
    errors |= {("建てる", "te", "建て"), ("立てる", "te", "立て")}
    # 行く and 行う share their past, so the stem of one is seen with the other.
    assert (
        wrong - {("行く", "stem", "行い"), ("行う", "stem", "行き"), ("行く", "te", "行い")}
        == errors
    )
