"""Text in another language is refused with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.errors import BadInput, UnknownName
from nikawa.pretrain.corpus import check_language, own_script_share, refuse_other_language

JA, KO, ZH, EN = (
    "駅前の店でパンを買った。",
    "역 앞 가게에서 빵을 샀다.",
    "我在车站前面的商店买了面包。",
    "I bought bread.",
)


def test_shares() -> None:
    assert own_script_share([JA], "ja") == own_script_share([KO], "ko") == 1
    assert (
        own_script_share([ZH], "ja")
        == own_script_share([EN], "ko")
        == own_script_share(["123"], "ja")
        == 0
    )
    assert 0.4 < own_script_share([KO, EN], "ko") < 0.6


@pytest.mark.parametrize(
    ("text", "language", "cure"),
    [(KO, "ja", "pass --language ko"), (ZH, "ja", "--any-language"), (EN, "ko", "--any-language")],
)
def test_another_language_is_refused(text: str, language: str, cure: str) -> None:
    with pytest.raises(BadInput, match=rf"x\.txt: does not look .*{cure}"):
        refuse_other_language([text], language, Path("x.txt"))
    refuse_other_language([JA], "ja", Path("x.txt"))


def test_other_languages_are_not_known() -> None:
    with pytest.raises(UnknownName, match="'zh'"):
        check_language("zh")
