"""Japanese newsroom lines: (words of which one must be there, pattern); the words make the search cheap."""

from __future__ import annotations

import re

_S = r"[^\S\n]*"
_AGENCY = "(?:共同|時事|ロイター|ＡＰ|AP|ＡＦＰ|AFP|ブルームバーグ)(?:通信社?|＝共同|=共同)?"
_TITLE = "(?:記者|特派員|論説委員|編集委員|支局長|撮影)"
_OPEN, _CLOSE = r"[（(【〔\[［]", r"[）)】〕\]］]"
_END = rf"(?={_S}$)"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


_REST = r"(?:[^\n.。]{0,30}|[^\n]{0,80}(?:無断|[Rr]ights)[^\n]{0,80})$"
"""What follows a mark of copyright: little, or the rest of the notice."""


PATTERNS = (
    (  # 〔共同〕 anywhere, （共同） where a sentence ends
        ("共同", "時事", "ロイター", "ＡＰ", "AP", "ＡＦＰ", "AFP", "ブルームバーグ"),
        _compiled(
            rf"[〔【\[［]{_AGENCY}[〕】\]］]|(?<=。)[（(]{_AGENCY}[）)]|[（(]{_AGENCY}[）)]{_END}"
            rf"|^{_S}[【〔][^】〕\n]{{1,12}}(?:共同|時事|ロイター)[】〕]{_S}"
        ),
    ),
    (
        ("=", "＝"),
        _compiled(
            rf"^{_S}[【〔\[［][^】〕\]］\n=＝]{{1,12}}[=＝][^】〕\]］\n=＝]{{1,15}}[】〕\]］]{_S}"
        ),
    ),
    (
        ("記者", "特派員", "委員", "支局長", "撮影"),
        _compiled(
            rf"(?:(?<=。){_S}{_OPEN}[^（()）【】〔〕\n。]{{2,20}}{_TITLE}{_CLOSE}|{_OPEN}[^（()）【】〔〕\n。]{{2,20}}{_TITLE}{_CLOSE}{_END})"
            rf"|^{_S}[一-龠々ァ-ヶー・]{{2,8}}{_S}(?:記者|特派員|編集委員|論説委員){_S}$"
        ),
    ),
    (
        ("文", "取材", "撮影", "聞き手", "写真", "執筆"),
        _compiled(
            rf"^{_S}{_OPEN}?(?:文|取材|撮影|聞き手|写真|執筆)(?:・(?:文|写真|撮影))?[=＝:：／/]{_S}[^\n。、]{{2,20}}{_CLOSE}?{_S}$"
            rf"|{_OPEN}(?:文|取材|撮影|聞き手|執筆)[・=＝:：／/]{_S}[^\n。）)】〕]{{2,20}}{_CLOSE}{_END}"
        ),
    ),
    (
        ("写真", "撮影", "画像", "出典", "提供"),
        _compiled(
            rf"{_OPEN}{_S}(?:資料)?(?:写真|撮影|画像|出典|提供)(?:{_S}提供)?{_S}[:：=＝／]{_S}[^）)］\]】〕\n]{{1,30}}{_CLOSE}"
            rf"|[=＝][^\n。、=＝]{{0,12}}(?:写真|撮影|提供)(?:[=＝]|{_END})"
        ),
    ),
    (
        ("©", "ⓒ", "opyright", "無断"),
        _compiled(
            rf"{_OPEN}?{_S}(?:©|(?<![ⓐ-ⓩ])ⓒ(?![ⓐ-ⓩ])|[Cc]opyright{_S}(?:\([Cc]\)|©|ⓒ|by\b|\d{{4}})){_REST}"
            rf"|(?:^|(?<=。)){_S}[（(\[【<＜※]?{_S}[^\n。]{{0,12}}無断(?:での)?(?:転載|複製|引用)[^\n。]{{0,15}}"
            rf"(?:禁じます|禁止(?:です|します)?|厳禁|禁ず|お断り(?:し|いたし)ます)[。．]?[）)\]】>＞]?{_S}$"
        ),
    ),
)
