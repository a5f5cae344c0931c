"""Korean newsroom lines: (words of which one must be there, pattern of several lines).

The words make the search cheap.
"""

from __future__ import annotations

_S = r"[^\S\n]*"
_NAME = "[가-힣]{2,4}"
_VERBS = "즐옮남맡이숨넘웃벗당챙새여땡굶안섬쫓"
"""Syllables that make a verb with 기자: 즐기자, 옮기자."""
_TITLE = f"(?:(?:인턴|수습|객원|선임|전문|사진|영상|편집|취재)?(?<![{_VERBS}])기자|특파원|통신원|논설위원|해설위원|앵커|리포터)"
_NAMES = rf"{_NAME}(?:{_S}[·,]{_S}{_NAME}){{0,4}}{_S}{_TITLE}"
_EMAIL = r"[A-Za-z0-9._%+-]{1,64}[@＠][A-Za-z0-9.-]{1,80}"
_CLOSE, _OPEN = r"[\])）】〉>]", r"[\[(（【〈<]"
_OUTLET = "(?:뉴스|일보|신문|통신|방송|뉴시스|연합|TV|DB|미디어|프레스|타임스)"
_END = rf"(?:[.,]?{_S}$)"


_REST = r"(?:[^\n.。]{0,30}|[^\n]{0,80}(?:무단|금지|[Rr]ights)[^\n]{0,80})$"
"""What follows a mark of copyright: little, or the rest of the notice. ⓒ also counts (ⓐ, ⓑ, ⓒ)."""


PATTERNS = (
    (  # (서울=연합뉴스) 홍길동 기자 =
        ("=",),
        (
            rf"^{_S}{_OPEN}{_S}[가-힣A-Za-z·,/ ]{{1,20}}={_S}(?:[가-힣]{{2,10}}\d?|AP|AFP|EPA)(?: [가-힣]{{2,6}})?{_S}{_CLOSE}"
            rf"{_S}(?:{_NAMES}{_S}(?:=|$))?(?:{_S}=)?{_S}"
        ),
    ),
    (("기자", "특파원", "통신원", "앵커", "리포터"), (rf"^{_S}{_NAMES}{_S}={_S}")),
    (  # [동해일보 홍길동 기자]
        ("기자", "특파원", "통신원", "위원", "앵커", "리포터"),
        (rf"^{_S}{_OPEN}[^\])）】〉>\n]{{0,30}}{_TITLE}{_S}{_CLOSE}{_S}"),
    ),
    (  # the whole line, or what follows the last full stop
        ("기자", "특파원", "통신원", "위원", "앵커", "리포터"),
        (
            rf"(?:^{_S}|(?<=[.!?”\"]){_S}[/|=]?{_S})(?:[가-힣A-Za-z]{{2,10}}[=/| ]{_S})?{_NAMES}(?:{_S}[/=|,]?{_S}{_EMAIL})?{_S}$"
        ),
    ),
    (
        ("사진", "출처", "그래픽", "자료"),
        (
            rf"/?{_OPEN}{_S}(?:자료)?(?:사진|영상|그래픽|출처|자료){_S}(?:제공)?{_S}[=:ⓒ©]{_S}[^\])）】〉>\n]{{1,30}}{_CLOSE}"
            rf"|(?:^|(?<=[.!?”\"])){_S}/?{_S}사진(?:{_S}제공)?{_S}[=ⓒ©][^\n.]{{1,30}}{_END}"
        ),
    ),
    (
        ("제공", "자료", "DB"),
        (
            rf"{_OPEN}{_S}[가-힣A-Za-z0-9 ·]{{0,16}}{_OUTLET}[=/ ]{{0,2}}(?:제공|자료사진|자료|DB){_S}{_CLOSE}"
        ),
    ),
    (
        ("ⓒ", "©", "opyright", "저작권자", "재배포"),
        (
            rf"{_OPEN}?{_S}(?:(?<![ⓐ-ⓩ])ⓒ(?![ⓐ-ⓩ])|©|저작권자{_S}[(ⓒ©<:]|[Cc]opyrights?{_S}(?:\([Cc]\)|ⓒ|©|by\b|\d{{4}})){_REST}"
            rf"|{_OPEN}?{_S}무단{_S}(?:전재|복제){_S}(?:및|[-·,/&])?{_S}(?:수집,?{_S})?재배포{_S}금지[^\n]*$"
        ),
    ),
)
