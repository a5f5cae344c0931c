"""Numbers that say what they are go; others stay."""

from __future__ import annotations

import pytest

from nikawa.pretrain.personal_data import hide_accounts


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("カードは4111-1111-1111-1111です。", "カードは[ID]です。"),
        ("카드는 ４１１１１１１１１１１１１１１１입니다.", "카드는 [ID]입니다."),
        ("3782 822463 10005で払う。", "[ID]で払う。"),
        ("口座番号は1234567へ。", "口座番号は[ID]へ。"),
        ("青空銀行の普通預金 1234567まで", "青空銀行の普通預金 [ID]まで"),
        ("계좌는 구름은행 123456-78-901234입니다.", "계좌는 구름은행 [ID]입니다."),
        ("구름은행 110-123-456789로 보내라.", "구름은행 [ID]로 보내라."),
        ("旅券番号はTK1234567です。", "旅券番号は[ID]です。"),
        ("여권번호는 M12345678이다.", "여권번호는 [ID]이다."),
        ("운전면허 11-12-345678-90이다.", "운전면허 [ID]이다."),
        ("運転免許証の番号は123456789012です。", "運転免許証の番号は[ID]です。"),
    ],
)
def test_numbers_that_say_what_they_are_go(text: str, left: str) -> None:
    assert hide_accounts(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "4111-1111-1111-1112は検査の数字が合わない。",
        "口座は2024年3月に千の単位で増えた。",
        "銀行は1998-12-31に閉じた。",
        "은행은 2001-10-05에 문을 닫았다.",
        "普通は1234567890を数えない。",
        "免許は1999年に取った。電話帳は12冊。",
        "パスポートは10年で切れる。",
        "円周率は3.1415926535897932です。",
        "猫が橋を渡った。",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert hide_accounts(text) == text
