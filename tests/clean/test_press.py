"""Newsroom lines: names, agencies and papers are invented where they could be."""

from __future__ import annotations

import pytest

from nikawa.clean.piece import Piece
from nikawa.clean.press import press

GOES = [
    ("ko", "(서울=연합뉴스) 홍길동 기자 = 새 다리가 열렸다.", "새 다리가 열렸다."),
    ("ko", "[부산=뉴시스] 성춘향·이몽룡 기자 = 비가 왔다.", "비가 왔다."),
    ("ko", "(도쿄=연합뉴스) 홍길동 특파원 = 눈이 왔다.", "눈이 왔다."),
    ("ko", "홍길동 기자 = 눈이 왔다.", "눈이 왔다."),
    ("ko", "[동해일보 홍길동 기자] 눈이 왔다.", "눈이 왔다."),
    ("ko", "눈이 왔다. 홍길동 기자 gildong@example.com", "눈이 왔다."),
    ("ko", "동해일보 홍길동 기자", ""),
    ("ko", "눈이 왔다. (사진=동해일보)", "눈이 왔다. "),
    ("ko", "눈이 왔다. /사진=동해일보 제공", "눈이 왔다."),
    ("ko", "눈이 온 거리 [동해일보 자료사진]", "눈이 온 거리 "),
    ("ko", "눈이 왔다. <저작권자(c) 동해일보, 무단 전재-재배포 금지>", "눈이 왔다. "),
    ("ko", "ⓒ 동해일보 무단전재 및 재배포 금지", ""),
    ("ko", "눈이 왔다. Copyright by 동해일보", "눈이 왔다."),
    ("ja", "【札幌＝山田太郎】橋が開いた。", "橋が開いた。"),
    ("ja", "【ロンドン共同】橋が開いた。", "橋が開いた。"),
    ("ja", "橋が開いた。〔共同〕", "橋が開いた。"),
    ("ja", "橋が開いた（共同）", "橋が開いた"),
    ("ja", "橋が開いた。（山田太郎記者）", "橋が開いた。"),
    ("ja", "橋が開いた。【田中花子、撮影】", "橋が開いた。"),
    ("ja", "山田太郎記者", ""),
    ("ja", "取材・文＝山田太郎", ""),
    ("ja", "橋が開いた。（聞き手・山田太郎）", "橋が開いた。"),
    ("ja", "開いた橋（写真：青空社）の長さは一里。", "開いた橋の長さは一里。"),
    ("ja", "式に出た市長＝写真＝は笑った。", "式に出た市長は笑った。"),
    ("ja", "© 2020 青空新聞社", ""),
    ("ja", "橋が開いた。記事の無断転載を禁じます。", "橋が開いた。"),
]
STAYS = [
    ("ko", "그는 기자다. 홍길동 기자는 서울에 산다."),
    ("ko", "기자 회견이 열렸고 특파원은 떠났다."),
    ("ko", "(단위=명) 표를 보라. x=3이다."),
    ("ko", "사진은 아름답다. 출처를 밝혀야 한다. (무료 제공)"),
    ("ko", "무단 전재를 금지하는 법이 있다. 저작권자는 이의를 낼 수 있다."),
    ("ko", "ⓒ 금관(crown): 금속과 수지를 함께 써서 만든 것으로, 치아를 덮어씌우는 데 쓰인다."),
    ("ko", "정말 재미있다 ⓒⓞⓞⓛ"),
    ("ja", "記者は橋を見た。新聞記者（元教師）が来た。"),
    ("ja", "【注意】橋は狭い。市と県が共同で直した。"),
    ("ja", "写真を撮った。出典を書くこと。無断転載を禁止する法律ができた。"),
    ("ja", "毎日（朝日の昇る頃）、時事問題を読む。"),
]


@pytest.mark.parametrize(("language", "before", "after"), GOES)
def test_what_goes(language: str, before: str, after: str) -> None:
    assert Piece(before).edited(press(before, language)).text == after


@pytest.mark.parametrize(("language", "text"), STAYS)
def test_what_stays(language: str, text: str) -> None:
    assert press(text, language) == []
