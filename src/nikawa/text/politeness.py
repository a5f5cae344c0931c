"""Whether a turn of a dialogue ends politely, by the endings that are written: no analyser, so that it can be checked at
each key press.

Polite are です, ます and their forms in Japanese, 해요체 and 합니다체 in Korean; the last sentence of the text decides. A text
that ends in neither (a name, an interjection) passes as both.
"""

from __future__ import annotations

import re
from typing import Literal

Level = Literal["polite", "plain"]

_CLOSERS = re.compile(r"[\s。．.!?！？…~〜～ー、,^ㅋㅎㅠㅜ♪」』)）\"'”’]+$")
_POLITE = {
    "ja": re.compile(
        r"(?:です|ます|でした|ました|ません|でしょう|ましょう|ください|下さい|ませ|願います|なさい)(?:か|ね|よ|よね|が|けど|けれど|わ|し|から|ので|でしょうか|でした)*$"
    ),
    "ko": re.compile(r"(?:요|니다|니까|시오|십시오|죠|네요|세요|셔요|데요)$"),
    "en": re.compile(r"$^"),
}
_PLAIN = {
    "ja": re.compile(
        r"(?:だ|だよ|だね|だな|よ|ぞ|ぜ|さ|だろう?|である|じゃない|[うくぐすつぬぶむるい]|た|ない|たい)(?:か|ね|な|よ|の|けど|から|し)*$"
    ),
    "ko": re.compile(
        r"(?:다|해|야|어|아|지|냐|니|자|래|까|네|군|거든|는데|라|줘|돼|봐|와|가|써|줄게|할게)$"
    ),
    "en": re.compile(r"$^"),
}
_NEITHER = {
    "ja": re.compile(
        r"^(?:はい|いいえ|ええ|うん|了解|どうも|おはよう|こんにちは|こんばんは|ありがとう)$"
    ),
    "ko": re.compile(r"^(?:네|예|아니|응|감사)$"),
    "en": re.compile(r"$^"),
}


def keeps_level(text: str, level: Level, language: str) -> bool:
    """Whether the end of a text agrees with a level of politeness; languages without one always do.

    >>> keeps_level("駅の近くがいいです。", "polite", "ja"), keeps_level("역 근처가 좋아.", "polite", "ko")
    (True, False)
    """
    if language not in ("ja", "ko"):
        return True
    bare = _CLOSERS.sub("", text)
    last = re.split(r"[\s。．.!?！？\n]+", bare)[-1] if language == "ja" else bare
    word = last.split()[-1] if last.split() else ""
    if not word or _NEITHER[language].search(word):
        return True
    is_polite = bool(_POLITE[language].search(word))
    if level == "polite":
        return is_polite or not _PLAIN[language].search(word)
    return not is_polite
