from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.errors import BadInput, UnknownName
from nikawa.text.conjugation_ko import (
    COPULA,
    FORMS,
    PAIRS,
    attach,
    copula,
    has_final,
    inflect,
    join_by_kiwi,
)


@pytest.mark.parametrize(
    ("noun", "topic", "subject", "object_", "and_", "by"),
    [
        ("학교", "학교는", "학교가", "학교를", "학교와", "학교로"),
        ("책", "책은", "책이", "책을", "책과", "책으로"),
        ("서울", "서울은", "서울이", "서울을", "서울과", "서울로"),
        ("3", "3은", "3이", "3을", "3과", "3으로"),
        ("7", "7은", "7이", "7을", "7과", "7로"),
        ("9", "9는", "9가", "9를", "9와", "9로"),
        ("0", "0은", "0이", "0을", "0과", "0으로"),
        ("10", "10은", "10이", "10을", "10과", "10으로"),
        ("1,000,000,000,000", *(f"1,000,000,000,000{p}" for p in ("는", "가", "를", "와", "로"))),
        ("2.5", "2.5는", "2.5가", "2.5를", "2.5와", "2.5로"),
        ("L", "L은", "L이", "L을", "L과", "L로"),
        ("LG", "LG는", "LG가", "LG를", "LG와", "LG로"),
        ("IBM", "IBM은", "IBM이", "IBM을", "IBM과", "IBM으로"),
        ("Seoul", "Seoul은", "Seoul이", "Seoul을", "Seoul과", "Seoul로"),
        ("test", "test는", "test가", "test를", "test와", "test로"),
        ("30%", "30%는", "30%가", "30%를", "30%와", "30%로"),
        ("5km", "5km는", "5km가", "5km를", "5km와", "5km로"),
        ("5kg", "5kg은", "5kg이", "5kg을", "5kg과", "5kg으로"),
        ("「책」", "「책」은", "「책」이", "「책」을", "「책」과", "「책」으로"),
        ("서울(Korea)", *(f"서울(Korea){p}" for p in ("은", "이", "을", "과", "로"))),
        ("ㄹ", "ㄹ은", "ㄹ이", "ㄹ을", "ㄹ과", "ㄹ로"),
        ("７", "７은", "７이", "７을", "７과", "７로"),
        (
            "\u1112\u1161\u11ab",
            *(f"\u1112\u1161\u11ab{p}" for p in ("은", "이", "을", "과", "으로")),
        ),
        ("漢字", "漢字은(는)", "漢字이(가)", "漢字을(를)", "漢字과(와)", "漢字(으)로"),
    ],
)
def test_particles(noun: str, topic: str, subject: str, object_: str, and_: str, by: str) -> None:
    given_as = ("은/는", "가", "을", "와/과", "(으)로")
    assert [attach(noun, p) for p in given_as] == [topic, subject, object_, and_, by]


@pytest.mark.parametrize(
    ("noun", "particle", "like", "expected"),
    [
        ("MP3", "을/를", "가", "MP3를"),
        ("MP3", "을/를", "", "MP3을"),
        ("G7", "이/가", "을", "G7이"),
        ("猫", "은/는", "가", "猫는"),
        ("MP3", "을/를", "에게", "MP3을"),
        ("곰", "을/를", "가", "곰을"),
        ("서울(Seoul)", "을/를", "가", "서울(Seoul)을"),
        ("A1", "(으)로", "을", "A1로"),
    ],
)
def test_a_particle_that_was_there_tells_the_reading(
    noun: str, particle: str, like: str, expected: str
) -> None:
    assert attach(noun, particle, like) == expected


def test_particles_of_one_shape_and_unknown_ones() -> None:
    assert attach("부산", "까지") == "부산까지"
    assert attach("친구", "에게") == "친구에게"
    with pytest.raises(UnknownName, match="은/는"):
        attach("책", "은/늘")


def test_has_final() -> None:
    assert has_final("강") is True
    assert has_final("나무") is False
    assert has_final("山") is None
    assert has_final("") is None


@given(st.text(), st.sampled_from(sorted({p for pair in PAIRS for p in pair})))
def test_any_text_takes_a_particle(noun: str, particle: str) -> None:
    assert attach(noun, particle).startswith(noun)


def test_copula() -> None:
    assert [copula("의사", f) for f in ("past", "polite", "connective")] == [
        "의사였다",
        "의사예요",
        "의사고",
    ]
    assert [copula("학생", f) for f in ("past", "polite", "connective")] == [
        "학생이었다",
        "학생이에요",
        "학생이고",
    ]
    assert copula("3월", "formal") == "3월입니다"
    assert copula("5", "negative_past") == "5가 아니었다"
    with pytest.raises(UnknownName):
        copula("의사", "pasd")
    assert all(copula("물", form) for form in COPULA)


def table(text: str) -> list[str]:
    return text.strip().splitlines()


# past, present, sequence, conditional, modifier, past modifier, formal, nominal in 음
VERBS = table("""
먹다 먹었다 먹는다 먹어서 먹으면 먹는 먹은 먹습니다 먹음
공부하다 공부했다 공부한다 공부해서 공부하면 공부하는 공부한 공부합니다 공부함
듣다 들었다 듣는다 들어서 들으면 듣는 들은 듣습니다 들음
깨닫다 깨달았다 깨닫는다 깨달아서 깨달으면 깨닫는 깨달은 깨닫습니다 깨달음
받다 받았다 받는다 받아서 받으면 받는 받은 받습니다 받음
돕다 도왔다 돕는다 도와서 도우면 돕는 도운 돕습니다 도움
굽다 구웠다 굽는다 구워서 구우면 굽는 구운 굽습니다 구움
뽑다 뽑았다 뽑는다 뽑아서 뽑으면 뽑는 뽑은 뽑습니다 뽑음
갈아입다 갈아입었다 갈아입는다 갈아입어서 갈아입으면 갈아입는 갈아입은 갈아입습니다 갈아입음
짓다 지었다 짓는다 지어서 지으면 짓는 지은 짓습니다 지음
씻다 씻었다 씻는다 씻어서 씻으면 씻는 씻은 씻습니다 씻음
고르다 골랐다 고른다 골라서 고르면 고르는 고른 고릅니다 고름
부르다 불렀다 부른다 불러서 부르면 부르는 부른 부릅니다 부름
따르다 따랐다 따른다 따라서 따르면 따르는 따른 따릅니다 따름
들르다 들렀다 들른다 들러서 들르면 들르는 들른 들릅니다 들름
이르다 이르렀다 이른다 이르러서 이르면 이르는 이른 이릅니다 이름
쓰다 썼다 쓴다 써서 쓰면 쓰는 쓴 씁니다 씀
담그다 담갔다 담근다 담가서 담그면 담그는 담근 담급니다 담금
살다 살았다 산다 살아서 살면 사는 산 삽니다 삶
만들다 만들었다 만든다 만들어서 만들면 만드는 만든 만듭니다 만듦
오다 왔다 온다 와서 오면 오는 온 옵니다 옴
배우다 배웠다 배운다 배워서 배우면 배우는 배운 배웁니다 배움
기다리다 기다렸다 기다린다 기다려서 기다리면 기다리는 기다린 기다립니다 기다림
보내다 보냈다 보낸다 보내서 보내면 보내는 보낸 보냅니다 보냄
되다 됐다 된다 돼서 되면 되는 된 됩니다 됨
쉬다 쉬었다 쉰다 쉬어서 쉬면 쉬는 쉰 쉽니다 쉼
켜다 켰다 켠다 켜서 켜면 켜는 켠 켭니다 켬
피다 피었다 핀다 피어서 피면 피는 핀 핍니다 핌
푸다 펐다 푼다 퍼서 푸면 푸는 푼 풉니다 품
넣다 넣었다 넣는다 넣어서 넣으면 넣는 넣은 넣습니다 넣음
있다 있었다 있다 있어서 있으면 있는 있었던 있습니다 있음
""")
ADJECTIVES = table("""
파랗다 파랬다 파랗다 파래서 파라면 파란 파랬던 파랗습니다 파람
하얗다 하얬다 하얗다 하얘서 하야면 하얀 하얬던 하얗습니다 하얌
아름답다 아름다웠다 아름답다 아름다워서 아름다우면 아름다운 아름다웠던 아름답습니다 아름다움
길다 길었다 길다 길어서 길면 긴 길었던 깁니다 긺
좋다 좋았다 좋다 좋아서 좋으면 좋은 좋았던 좋습니다 좋음
푸르다 푸르렀다 푸르다 푸르러서 푸르면 푸른 푸르렀던 푸릅니다 푸름
아프다 아팠다 아프다 아파서 아프면 아픈 아팠던 아픕니다 아픔
""")
SHOWN = (
    "past",
    "present",
    "sequence",
    "conditional",
    "modifier",
    "past_modifier",
    "formal",
    "noun",
)


@pytest.mark.parametrize("row", [*VERBS, *ADJECTIVES], ids=lambda row: row.split()[0])
def test_forms(row: str) -> None:
    verb, *forms = row.split()
    assert [inflect(verb, form, row in ADJECTIVES) for form in SHOWN] == forms


def test_homographs_by_class() -> None:
    assert inflect("묻다", "past") == "물었다"
    assert inflect("묻다", "past", irregular="") == "묻었다"
    assert inflect("이르다", "past", irregular="르") == "일렀다"


def test_composed_forms() -> None:
    assert inflect("가다", "after") == "간 후"
    assert inflect("짓다", "before") == "짓기 전"
    assert inflect("살다", "when") == "살 때"
    assert inflect("읽다", "progressive_past") == "읽고 있었다"
    assert inflect("예쁘다", "negative", adjective=True) == "예쁘지 않다"
    assert inflect("앉다", "perfect") == "앉아 있다"


@pytest.mark.parametrize(
    ("verb", "form", "text"),
    [
        ("읽다", "past_maybe", "읽었을지도 모른다"),
        ("가다", "maybe", "갈지도 모른다"),
        ("만들다", "maybe", "만들지도 모른다"),
        ("돕다", "past_future", "도왔을 것이다"),
        ("듣다", "past_inferred", "들었나 보다"),
        ("만들다", "inferred", "만드나 보다"),
        ("쓰다", "past_seem", "쓴 것 같다"),
        ("있다", "past_seem", "있었던 것 같다"),
        ("부르다", "hearsay", "부른다고 한다"),
        ("가다", "negative_past_maybe", "가지 않았을지도 모른다"),
        ("가다", "past_certain", "갔음이 틀림없다"),
        ("먹다", "obligation", "먹어야 한다"),
    ],
)
def test_conjecture_and_modality(verb: str, form: str, text: str) -> None:
    assert inflect(verb, form) == text


def test_conjecture_of_adjectives() -> None:
    assert inflect("예쁘다", "inferred", adjective=True) == "예쁜가 보다"
    assert inflect("예쁘다", "hearsay", adjective=True) == "예쁘다고 한다"
    assert inflect("좋다", "past_maybe", adjective=True) == "좋았을지도 모른다"


def test_every_form_of_every_verb_is_made() -> None:
    for row in VERBS:
        verb = row.split()[0]
        for form in FORMS:
            assert inflect(verb, form)


@given(
    st.text("가각갈갚걷돕짓파랗르하쓰오주이되들", min_size=1),
    st.sampled_from(sorted(FORMS)),
    st.booleans(),
)
def test_any_stem_takes_any_ending(stem: str, form: str, adjective: bool) -> None:
    assert inflect(stem + "다", form, adjective)


@pytest.mark.parametrize("verb", ["", "다", "먹", "walk다", "책"])
def test_not_a_verb(verb: str) -> None:
    with pytest.raises(BadInput, match="먹다"):
        inflect(verb, "past")
    with pytest.raises(UnknownName, match="past"):
        inflect("먹다", "passt")


KIWI = {
    "past": [("었", "EP"), ("다", "EF")],
    "sequence": [("어서", "EC")],
    "conditional": [("으면", "EC")],
}


def kiwi_tag(verb: str, past: str) -> str:
    """Kiwi's class of the stem, seen in a past form that leaves no doubt."""
    stem = verb[:-1]
    return "VV-R" if past.startswith(stem) else "VV-I" if stem[-1] in "듣닫돕굽짓" else "VV"


@pytest.mark.slow
@pytest.mark.parametrize("row", [r for r in VERBS if not r.startswith(("이르다", "피다", "푸다"))])
def test_the_rules_agree_with_kiwi(row: str) -> None:
    verb, past, *_ = row.split()
    for form, ending in KIWI.items():
        assert join_by_kiwi([(verb[:-1], kiwi_tag(verb, past)), *ending]) == inflect(verb, form)
