"""Korean particles: sentences made up for this, each with what must come of it; and those that must be left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nikawa.perturbation import apply, perturbations
from nikawa.records import Example
from nikawa.text import Analyser, analyser

CASES = ("eul", "e", "eseo")
OPERATIONS = ("scramble", "swap", "delete")
REWRITTEN = (
    (
        "여우가 시계를 닦는 동안 곰이 마당에서 노래했다.",
        "eul",
        "시계를 여우가 닦는 동안 곰이 마당에서 노래했다.",
        "여우를 시계가 닦는 동안 곰이 마당에서 노래했다.",
        "여우 시계 닦는 동안 곰이 마당에서 노래했다.",
    ),
    (
        "여우가 시계를 닦는 동안 곰이 마당에서 노래했다.",
        "eseo",
        "여우가 시계를 닦는 동안 마당에서 곰이 노래했다.",
        "여우가 시계를 닦는 동안 곰에서 마당이 노래했다.",
        "여우가 시계를 닦는 동안 곰 마당 노래했다.",
    ),
    (
        "문지기가 문을 닫은 후 사자가 성에 들어왔다.",
        "eul",
        "문을 문지기가 닫은 후 사자가 성에 들어왔다.",
        "문지기를 문이 닫은 후 사자가 성에 들어왔다.",
        "문지기 문 닫은 후 사자가 성에 들어왔다.",
    ),
    (
        "문지기가 문을 닫은 후 사자가 성에 들어왔다.",
        "e",
        "문지기가 문을 닫은 후 성에 사자가 들어왔다.",
        "문지기가 문을 닫은 후 사자에게 성이 들어왔다.",
        "문지기가 문을 닫은 후 사자 성 들어왔다.",
    ),
    (
        "해가 지기 전 농부가 밭에서 돌아왔다.",
        "eseo",
        "해가 지기 전 밭에서 농부가 돌아왔다.",
        "해가 지기 전 농부에서 밭이 돌아왔다.",
        "해가 지기 전 농부 밭 돌아왔다.",
    ),
    (
        "파란 로봇이 무거운 상자를 들고 있다.",
        "eul",
        "무거운 상자를 파란 로봇이 들고 있다.",
        "파란 로봇을 무거운 상자가 들고 있다.",
        "파란 로봇 무거운 상자 들고 있다.",
    ),
    (
        "요리사가 수프를 젓는다.",
        "eul",
        "수프를 요리사가 젓는다.",
        "요리사를 수프가 젓는다.",
        "요리사 수프 젓는다.",
    ),
    (
        "두 마리의 펭귄이 얼음을 깼다.",
        "eul",
        "얼음을 두 마리의 펭귄이 깼다.",
        "두 마리의 펭귄을 얼음이 깼다.",
        "두 마리의 펭귄 얼음 깼다.",
    ),
    (
        "아이들이 연을 날립니다.",
        "eul",
        "연을 아이들이 날립니다.",
        "아이들을 연이 날립니다.",
        "아이들 연 날립니다.",
    ),
    (
        "마술사는 비둘기를 숨겼어요.",
        "eul",
        "비둘기를 마술사는 숨겼어요.",
        "마술사를 비둘기가 숨겼어요.",
        "마술사 비둘기 숨겼어요.",
    ),
    (
        "거북이도 당근을 먹었다.",
        "eul",
        "당근을 거북이도 먹었다.",
        "거북이를 당근이 먹었다.",
        "거북이 당근 먹었다.",
    ),
    (
        "임금님께서 편지를 쓰셨다.",
        "eul",
        "편지를 임금님께서 쓰셨다.",
        "임금님을 편지가 쓰셨다.",
        "임금님 편지 쓰셨다.",
    ),
    ("너는 우산을 잊었다.", "eul", "우산을 너는 잊었다.", "너를 우산이 잊었다.", "너 우산 잊었다."),
    ("네가 그림을 그렸니?", "eul", "그림을 네가 그렸니?", "너를 그림이 그렸니?", "너 그림 그렸니?"),
    (
        "제가 문을 열겠습니다.",
        "eul",
        "문을 제가 열겠습니다.",
        "저를 문이 열겠습니다.",
        "저 문 열겠습니다.",
    ),
    ("누가 종을 쳤을까?", "eul", "종을 누가 쳤을까?", "누구를 종이 쳤을까?", "누구 종 쳤을까?"),
    ("도둑이 널 보았다.", "eul", "널 도둑이 보았다.", "도둑을 네가 보았다.", "도둑 너 보았다."),
    (
        "경찰이 도둑을 쫓고, 도둑이 고양이를 쫓는다.",
        "eul",
        "도둑을 경찰이 쫓고, 고양이를 도둑이 쫓는다.",
        "경찰을 도둑이 쫓고, 도둑을 고양이가 쫓는다.",
        "경찰 도둑 쫓고, 도둑 고양이 쫓는다.",
    ),
    (
        "늙은 어부와 그의 딸이 큰 그물을 던졌다.",
        "eul",
        "큰 그물을 늙은 어부와 그의 딸이 던졌다.",
        "늙은 어부와 그의 딸을 큰 그물이 던졌다.",
        "늙은 어부와 그의 딸 큰 그물 던졌다.",
    ),
    (
        "Tom이 Anna를 만났다.",
        "eul",
        "Anna를 Tom이 만났다.",
        "Tom을 Anna가 만났다.",
        "Tom Anna 만났다.",
    ),
    (
        "3번 선수가 공을 찼다.",
        "eul",
        "공을 3번 선수가 찼다.",
        "3번 선수를 공이 찼다.",
        "3번 선수 공 찼다.",
    ),
    (
        "서울(Seoul)이 축제를 열었다.",
        "eul",
        "축제를 서울(Seoul)이 열었다.",
        "서울(Seoul)을 축제가 열었다.",
        "서울(Seoul) 축제 열었다.",
    ),
    (
        "화가가 마을 사람들의 초상화를 그린다.",
        "eul",
        "마을 사람들의 초상화를 화가가 그린다.",
        "화가를 마을 사람들의 초상화가 그린다.",
        "화가 마을 사람들의 초상화 그린다.",
    ),
    (
        "다람쥐가 도토리를 모으지 않았다.",
        "eul",
        "도토리를 다람쥐가 모으지 않았다.",
        "다람쥐를 도토리가 모으지 않았다.",
        "다람쥐 도토리 모으지 않았다.",
    ),
    (
        "감독만이 대본을 읽었다.",
        "eul",
        "대본을 감독만이 읽었다.",
        "감독만을 대본이 읽었다.",
        "감독만 대본 읽었다.",
    ),
    (
        "마녀가 탑에 올라갔어요.",
        "e",
        "탑에 마녀가 올라갔어요.",
        "마녀에 탑이 올라갔어요.",
        "마녀 탑 올라갔어요.",
    ),
    (
        "기린이 물가에 서 있다.",
        "e",
        "물가에 기린이 서 있다.",
        "기린에 물가가 서 있다.",
        "기린 물가 서 있다.",
    ),
    (
        "선생님이 학생에게 질문했다.",
        "e",
        "학생에게 선생님이 질문했다.",
        "선생님에게 학생이 질문했다.",
        "선생님 학생 질문했다.",
    ),
    (
        "고양이가 주인한테 안겼다.",
        "e",
        "주인한테 고양이가 안겼다.",
        "고양이한테 주인이 안겼다.",
        "고양이 주인 안겼다.",
    ),
    (
        "손자가 할머니께 인사했다.",
        "e",
        "할머니께 손자가 인사했다.",
        "손자께 할머니가 인사했다.",
        "손자 할머니 인사했다.",
    ),
    (
        "비행사는 달에 도착했다.",
        "e",
        "달에 비행사는 도착했다.",
        "비행사에 달이 도착했다.",
        "비행사 달 도착했다.",
    ),
    (
        "먼지가 창틀에 쌓였다.",
        "e",
        "창틀에 먼지가 쌓였다.",
        "먼지에 창틀이 쌓였다.",
        "먼지 창틀 쌓였다.",
    ),
    (
        "우산을 쓴 소녀가 정류장에 앉아 있다.",
        "e",
        "정류장에 우산을 쓴 소녀가 앉아 있다.",
        "우산을 쓴 소녀에게 정류장이 앉아 있다.",
        "우산을 쓴 소녀 정류장 앉아 있다.",
    ),
    (
        "광대가 무대에서 넘어졌다.",
        "eseo",
        "무대에서 광대가 넘어졌다.",
        "광대에서 무대가 넘어졌다.",
        "광대 무대 넘어졌다.",
    ),
    (
        "아무도 교실에서 떠들지 않는다.",
        "eseo",
        "교실에서 아무도 떠들지 않는다.",
        "아무에서 교실이 떠들지 않는다.",
        "아무 교실 떠들지 않는다.",
    ),
    (
        "긴 수염의 선장이 낡은 배에서 내렸다.",
        "eseo",
        "낡은 배에서 긴 수염의 선장이 내렸다.",
        "긴 수염의 선장에서 낡은 배가 내렸다.",
        "긴 수염의 선장 낡은 배 내렸다.",
    ),
    (
        "악단이 시장 광장에서 연주합니다.",
        "eseo",
        "시장 광장에서 악단이 연주합니다.",
        "악단에서 시장 광장이 연주합니다.",
        "악단 시장 광장 연주합니다.",
    ),
    (
        "내가 다락방에서 일기를 찾았다.",
        "eseo",
        "다락방에서 내가 일기를 찾았다.",
        "나에서 다락방이 일기를 찾았다.",
        "나 다락방 일기를 찾았다.",
    ),
    (
        "북극곰은 빙하에서 미끄러졌지만, 펭귄은 바다에서 헤엄쳤다.",
        "eseo",
        "빙하에서 북극곰은 미끄러졌지만, 바다에서 펭귄은 헤엄쳤다.",
        "북극곰에서 빙하가 미끄러졌지만, 펭귄에서 바다가 헤엄쳤다.",
        "북극곰 빙하 미끄러졌지만, 펭귄 바다 헤엄쳤다.",
    ),
    (
        "오늘 아침 빵집 주인이 가게에서 노래를 불렀다.",
        "eseo",
        "오늘 아침 가게에서 빵집 주인이 노래를 불렀다.",
        "오늘 아침 빵집 주인에서 가게가 노래를 불렀다.",
        "오늘 아침 빵집 주인 가게 노래를 불렀다.",
    ),
    (
        "그녀가 도서관에서 존 것을 모두가 안다.",
        "eseo",
        "도서관에서 그녀가 존 것을 모두가 안다.",
        "그녀에서 도서관이 존 것을 모두가 안다.",
        "그녀 도서관 존 것을 모두가 안다.",
    ),
    (
        "여우가 곰과 시계를 닦는다.",
        "eul",
        "곰과 시계를 여우가 닦는다.",
        "여우를 곰과 시계가 닦는다.",
        "여우 곰과 시계 닦는다.",
    ),
    (
        "여우가 숲에서 시계를 닦는다.",
        "eseo",
        "숲에서 여우가 시계를 닦는다.",
        "여우에서 숲이 시계를 닦는다.",
        "여우 숲 시계를 닦는다.",
    ),
    (
        '그는 "여우가 시계를 닦는다"고 말했다.',
        "eul",
        '그는 "시계를 여우가 닦는다"고 말했다.',
        '그는 "여우를 시계가 닦는다"고 말했다.',
        '그는 "여우 시계 닦는다"고 말했다.',
    ),
    (
        "은색 여우가 낡은 시계를 닦고 있다.",
        "eul",
        "낡은 시계를 은색 여우가 닦고 있다.",
        "은색 여우를 낡은 시계가 닦고 있다.",
        "은색 여우 낡은 시계 닦고 있다.",
    ),
    (
        "그걸 누가 여우에게 주었어요?",
        "e",
        "그걸 여우에게 누가 주었어요?",
        "그걸 누구에게 여우가 주었어요?",
        "그걸 누구 여우 주었어요?",
    ),
    (
        "여우가 그걸 먹었다.",
        "eul",
        "그걸 여우가 먹었다.",
        "여우를 그게 먹었다.",
        "여우 그거 먹었다.",
    ),
    ("여우가 나를 보았다.", "eul", "나를 여우가 보았다.", "여우를 내가 보았다.", "여우 나 보았다."),
    (
        "여우와 곰이 아주 낡은 시계 세 개를 닦고 있다.",
        "eul",
        "아주 낡은 시계 세 개를 여우와 곰이 닦고 있다.",
        "여우와 곰을 아주 낡은 시계 세 개가 닦고 있다.",
        "여우와 곰 아주 낡은 시계 세 개 닦고 있다.",
    ),
    (
        "달이 뜨는 밤에 여우가 산에 올랐지만, 곰은 집에서 잤다.",
        "e",
        "달이 뜨는 밤에 산에 여우가 올랐지만, 곰은 집에서 잤다.",
        "달이 뜨는 밤에 여우에게 산이 올랐지만, 곰은 집에서 잤다.",
        "달이 뜨는 밤에 여우 산 올랐지만, 곰은 집에서 잤다.",
    ),
    (
        "달이 뜨는 밤에 여우가 산에 올랐지만, 곰은 집에서 잤다.",
        "eseo",
        "달이 뜨는 밤에 여우가 산에 올랐지만, 집에서 곰은 잤다.",
        "달이 뜨는 밤에 여우가 산에 올랐지만, 곰에서 집이 잤다.",
        "달이 뜨는 밤에 여우가 산에 올랐지만, 곰 집 잤다.",
    ),
    (
        "선장은 여우가 잡은 물고기를 먹었다.",
        "eul",
        "여우가 잡은 물고기를 선장은 먹었다.",
        "선장을 여우가 잡은 물고기가 먹었다.",
        "선장 여우가 잡은 물고기 먹었다.",
    ),
    (
        "여우가 숲에 있는 시계를 닦는다.",
        "eul",
        "숲에 있는 시계를 여우가 닦는다.",
        "여우를 숲에 있는 시계가 닦는다.",
        "여우 숲에 있는 시계 닦는다.",
    ),
    (
        "꼬리가 긴 여우가 나무에 오른다.",
        "e",
        "나무에 꼬리가 긴 여우가 오른다.",
        "꼬리가 긴 여우에게 나무가 오른다.",
        "꼬리가 긴 여우 나무 오른다.",
    ),
    (
        "할머니께서 손자에게 책을 읽어 주셨다.",
        "e",
        "손자에게 할머니께서 책을 읽어 주셨다.",
        "할머니에게 손자가 책을 읽어 주셨다.",
        "할머니 손자 책을 읽어 주셨다.",
    ),
    (
        "어제 여우가 시계를 닦았다.",
        "eul",
        "어제 시계를 여우가 닦았다.",
        "어제 여우를 시계가 닦았다.",
        "어제 여우 시계 닦았다.",
    ),
    ("MP3가 USB를 읽는다.", "eul", "USB를 MP3가 읽는다.", "MP3를 USB가 읽는다.", "MP3 USB 읽는다."),
    ("USB는 G7을 읽는다.", "eul", "G7을 USB는 읽는다.", "USB를 G7이 읽는다.", "USB G7 읽는다."),
    ("猫가 犬을 보았다.", "eul", "犬을 猫가 보았다.", "猫를 犬이 보았다.", "猫 犬 보았다."),
    (
        "만약 여우가 책을 읽으면 곰은 웃는다.",
        "eul",
        "만약 책을 여우가 읽으면 곰은 웃는다.",
        "만약 여우를 책이 읽으면 곰은 웃는다.",
        "만약 여우 책 읽으면 곰은 웃는다.",
    ),
    (
        "만일 그가 책을 읽으면 곰은 웃는다.",
        "eul",
        "만일 책을 그가 읽으면 곰은 웃는다.",
        "만일 그를 책이 읽으면 곰은 웃는다.",
        "만일 그 책 읽으면 곰은 웃는다.",
    ),
    ("여우가시계를닦는다.", "eul", "시계를여우가닦는다.", "여우를시계가닦는다.", "여우시계닦는다."),
)
"""Sentence, case, and the sentence scrambled, swapped, deleted."""
LEFT_ALONE = (
    "제가 저를 소개합니다.",
    "여우가 여우를 보았다.",
    "내가 나에게 말했다.",
    "사서가 먼지 쌓인 책을 폈다.",
    "선장이 웃는다.",
    "시계를 여우가 닦는다.",
    "여우가 빨리 시계를 닦는다.",
    "여우가, 시계를 닦는다.",
    "여우가 시계와 함께 사라졌다.",
    "사냥꾼이 놓친 사슴을 노인이 보았다.",
    "사냥꾼이 들판에서 놓친 사슴을 찾는다.",
    "농부가 아침에 일어났다.",
    "의사가 세 시에 떠났다.",
    "학자가 역사에 대해 썼다.",
    "배우가 관객을 위해 춤춘다.",
    "가수가 소음 때문에 떠났다.",
    "시인이 시계를",
    "여우가 밤에는 숲에서도 운다.",
    "철수가 의사가 되었다.",
    "나비가 꽃보다 아름답다.",
    "곰이 모자를, 여우가 장갑을 샀다.",
    "원숭이가 나무로 달려갔다.",
    "눈이 오는 중에 차가 멈췄다.",
    "강아지가 식사 후에 잔다.",
    "내가 숲에서 주운 시계를 닦았다.",
    "꼬리가 긴 여우를 선장이 보았다.",
    "축제가 시작되는 밤까지 등불을 켠다.",
    "선장은 시계를 여우가 닦는다고 믿는다.",
)
"""Not eligible in any case: no argument at once after the subject, a relative clause that may own it, an adverbial."""


@pytest.fixture(scope="module")
def kiwi() -> Analyser:
    return analyser("kiwi")


@pytest.fixture
def korean(kiwi: Analyser) -> Callable[..., str | None]:
    def run(name: str, text: str, *, assume_eligible: bool = False) -> str | None:
        example = Example(id="1", inputs={"premise": text, "hypothesis": "여우가 있다."})
        found = apply(perturbations("ko")[name], [example], kiwi, assume_eligible=assume_eligible)
        return next((str(changed.inputs["premise"]) for changed in found), None)

    return run


@pytest.mark.parametrize("row", REWRITTEN, ids=lambda row: f"{row[0]}-{row[1]}")
def test_rewritten(row: tuple[str, ...], korean: Callable[..., str | None]) -> None:
    text, case, *wanted = row
    assert [korean(f"{operation}-{case}", text) for operation in OPERATIONS] == wanted


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_left_alone(text: str, korean: Callable[..., str | None]) -> None:
    assert not [case for case in CASES if korean(f"swap-{case}", text)]


@pytest.mark.parametrize("text", sorted({row[0] for row in REWRITTEN}))
def test_other_cases_are_left_alone(text: str, korean: Callable[..., str | None]) -> None:
    wanted = {row[1] for row in REWRITTEN if row[0] == text}
    assert {case for case in CASES if korean(f"delete-{case}", text)} == wanted


def test_the_list_is_long_enough() -> None:
    assert len({row[0] for row in REWRITTEN} | set(LEFT_ALONE)) >= 60


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("scramble-eul", "여우가 빨리 시계를 닦는다.", "빨리 시계를 여우가 닦는다."),
        ("swap-eul", "여우가, 시계를 닦는다.", "여우를, 시계가 닦는다."),
        ("delete-e", "농부가 아침에 일어났다.", "농부 아침 일어났다."),
        (
            "swap-eseo",
            "사냥꾼이 들판에서 놓친 사슴을 찾는다.",
            "사냥꾼에서 들판이 놓친 사슴을 찾는다.",
        ),
        ("swap-eul", "선장이 웃는다.", None),
        ("swap-e", "시계를 여우가 닦는다.", None),
    ],
)
def test_known_to_be_eligible(
    name: str, text: str, wanted: str | None, korean: Callable[..., str | None]
) -> None:
    assert korean(name, text, assume_eligible=True) == wanted


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("scramble-e", "하은은 화분에 물을 준다.", "화분에 하은은 물을 준다."),
        ("scramble-e", "어제 미래는 시장에 갔다.", "어제 시장에 미래는 갔다."),
        ("scramble-e", "곰과 여우·늑대 등의 그림이 벽에 걸렸다.", None),
        ("scramble-eseo", "곰이 숲에서보던 여우를 찾는다.", None),
        ("scramble-eul", "곰은 3시 이래로 줄곧 큰길을 걷는다.", None),
    ],
)
def test_no_word_is_cut(
    name: str, text: str, wanted: str | None, korean: Callable[..., str | None]
) -> None:
    """Kiwi's morphemes may end inside a word (하 + 은은); what is moved is whole words, or nothing."""
    assert korean(name, text) == wanted


@pytest.mark.parametrize("name", ["scramble-eul", "scramble-e", "scramble-eseo"])
@pytest.mark.parametrize(
    "text",
    [
        "하은은 숲에서보던 여우를 찾는다.",
        "곰·여우가 산에 올랐다.",
        "여우가시계를닦는다 곰은 웃었다.",
    ],
)
def test_no_word_is_cut_where_eligibility_is_assumed(
    name: str, text: str, korean: Callable[..., str | None]
) -> None:
    found = korean(name, text, assume_eligible=True)
    assert found is None or sorted(found.split()) == sorted(text.split())


@pytest.mark.parametrize(
    ("noun", "swapped"),
    [
        ("곰", "곰을"),
        ("여우", "여우를"),
        ("3", "3을"),
        ("2", "2를"),
        ("Tom", "Tom을"),
        ("나", "나를"),
        ("猫", "猫을(를)"),
    ],
)
def test_allomorph_follows_the_new_noun(noun: str, swapped: str) -> None:
    from nikawa.perturbation.particles_ko import attach_to_noun

    assert attach_to_noun((noun, noun == "나"), "을") == swapped


@pytest.mark.parametrize(
    ("pronoun", "shape"),
    [("나", "내가"), ("저", "제가"), ("너", "네가"), ("누구", "누가"), ("우리", "우리가")],
)
def test_pronouns_before_ga(pronoun: str, shape: str) -> None:
    from nikawa.perturbation.particles_ko import attach_to_noun

    assert attach_to_noun((pronoun, True), "이/가") == shape
    assert attach_to_noun((f"너와 {pronoun}", True), "이/가") == f"너와 {shape}"


def test_scrambling_keeps_every_character(korean: Callable[..., str | None]) -> None:
    for text, case, scrambled, *_ in REWRITTEN:
        assert sorted(scrambled) == sorted(text), case
