"""Text of our own making, as much as is asked for."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

Invented = Callable[[str, int], list[str]]

WORDS = {
    "ja": (
        ["庭師", "船長", "郵便屋", "隣の猫", "パン職人", "小さな駅員", "古い時計"],
        ["静かな港", "坂の上", "川沿いの道", "赤い橋", "ラジオ塔", "雨の市場"],
        [
            "手紙を拾った",
            "林檎を数えた",
            "歌を覚えた",
            "地図を描いていた",
            "鍵を失くしたらしい",
            "窓を磨いている",
        ],
    ),
    "ko": (
        ["정원사는", "선장은", "우체부는", "옆집고양이는", "제빵사는", "역무원은"],
        ["항구에서", "언덕에서", "강가에서", "다리에서", "시장에서", "도서관에서"],
        ["편지를", "사과를", "노래를", "지도를", "열쇠를", "창문을"],
    ),
}
ENDS = ["주웠다", "세었다", "배웠다", "그렸다", "닦았다", "잃어버렸다"]


@pytest.fixture(scope="session")
def invented() -> Invented:
    """So many lines of a language, no two the same, always the same ones."""

    def make(language: str, count: int) -> list[str]:
        random = Random(f"{language}{count}")
        who, where, what = WORDS[language]
        lines: dict[str, None] = {}
        while len(lines) < count:
            day = random.randrange(1, 1000)
            if language == "ja":
                lines[
                    f"{day}日目、{random.choice(who)}は{random.choice(where)}で{random.choice(what)}。"
                ] = None
            else:
                parts = (
                    random.choice(who),
                    random.choice(where),
                    random.choice(what),
                    random.choice(ENDS),
                )
                lines[f"{day}일째 {' '.join(parts)}."] = None
        return list(lines)

    return make
