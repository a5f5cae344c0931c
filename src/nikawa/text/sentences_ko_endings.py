"""Where Korean sentences end without a mark: by the ending of a word, as in 배송 빨라요 포장도 좋아요.

A space ends a sentence if the word before it has a final ending and the next word does not continue
the sentence. There are two classes of endings:

- Endings that rarely connect clauses (습니다, 어요, 었다, 잖아) end a sentence everywhere.
- Endings that also connect clauses, or that also end nouns (어, 네, 자, 음), end one only if the
  text has no full stop after it: a writer who sets one full stop sets the others too.

Laughter and emoji after a final form show the end and stay with the sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from nikawa.records import Span
from nikawa.text.sentence_rules import EMOJI, SentenceRules, pair_brackets


def any_of(words: str) -> str:
    """A group of a regular expression that matches one of the words."""
    return f"(?:{'|'.join(words.split())})"


_LAUGHTER = rf"(?:[ㅋㅎㅠㅜ♡♥♪♬☆★{EMOJI}]|\^\^+|;;+|[!?~]+(?=[ㅋㅎㅠㅜ^{EMOJI}]))"
_SPACE = r"[ \t\u3000]"
_CANDIDATE = re.compile(
    rf"(?:[가-힣](?={_LAUGHTER})|[다요죠까네야어아워와려여겨해돼파빠뻐봐줘지라나군든래게자냐니대음함됨임당용])"
    rf"(?P<laughter>{_LAUGHTER}*)~*(?: (?:[ㅋㅎㅠㅜ]+|\^\^|;;+|:\)|[♡♥{EMOJI}]+)(?={_SPACE}))?"
    rf"(?P<gap>{_SPACE}+)(?=[\w\"'“‘「『<《])"
)
_WORD = re.compile(r"[가-힣]+$")
MAX_WORD_CHARS = 24
"""Characters of a word that the rules look at."""
MAX_NEXT_CHARS = 12
"""Characters after the space that the rules look at."""
MARKS = ".!?。！？…‥"

# What the next word looks like if it continues the sentence.
_CONTINUES = re.compile(
    r"[ㅋㅎㅠㅜㅡㄷㄱ_]"
    r"|이?라(?:고|는|며|면서?|던|기에)(?=[\s,]|$)|이?란\s"  # a quotation
    r"|하(?:고|며|는|면서|던|더니|더라도|기에|기보다|길래)(?=[\s.,]|$)"
    r"|(?:[고며는에의을를은로]|으로)\s|등(?:의|을|이|으로)?\s|같은\s|처럼\s|식(?:으로|의)\s"
    r"|말(?:했|한다|하며|하고)|외[쳤치]|물었|답했|밝혔|전했|뭐야"
)
_CONTINUES_PLAIN = re.compile(
    r"생각(?:한|하|했|할)|평가 ?(?:한|하|했|할|받|된)|느[끼꼈낀]|믿|여[기겼겨긴]|주장[하한했]|판단[하한했]"
    r"|하(?:는|면|니|여|였|자|시|거나|더|지[는도만] 않|리|기)|한(?:다|들|[\s.,])|해도|했|할(?:지|\s)"
    r"|나[온올왔]|싶|치(?:더라도|면|고)|쳐도|손|못해|만\s|보니|보면|말고|말았|남은|말다|뿐|느니|거나"
)
"""After 다: -다 하더라도, -다 싶다, -다 보니."""
_CONTINUES_SAYING = re.compile("하(?:면|니|여|였|더|는|시)|해도|했|한다|마네")
"""After the other plain endings: 가네 마네, 가자 하시니."""
_CONTINUES_STATE = re.compile(
    r"보[이여인일]|하(?:[다는면고며여니였]|지[는도만 ]|려|기|시)|했|한다|해(?:요|도|서|라|야)?(?=[\s.,]|$)"
    r"|지[고는며면다지]|져|졌|진다|질\s|죽|서\s|줘|주[고는세]"
)
"""After 좋아, 있어: 좋아 보인다, 싶어 하다, 좋아 죽겠다."""
_CONTINUES_JI = re.compile(
    r"않|못|마[라세십요]|말[고아자]|안|도\s|는\s|를\s|뭐|싶|모르|모를|몰|알|궁금|의문"
)
_CONTINUES_ASKED = re.compile(
    r"말까|봐|봤|보[다아]|봅|싶|하|해|했|한\s|할|생각|걱정|고민|두려|무서|말\s|의문|궁금"
)
_CONTINUES_TRIAL = re.compile("줘|봐|라|야|도|서|주|보|달")
"""After 봐, 줘: 봐 달라고."""
_CONTINUES_MOTION = re.compile("[가오온올와왔갔다]")
_NEXT_PAST = re.compile(r"[가-힣]{0,2}([가-힣])다(?:\s|$)")
"""The second half of 켰다 껐다, if its last syllable is a past form."""

# What the word before the space looks like.
_FINAL_YO = re.compile(
    "[가거걸게겨고구군까꺼나내네는데돼든라래러려빠뻐봐서세셔써싸아어여에예와워줘져죠지쳐커켜파퍼펴해대만면개]요$"
)
_NOUNS_YO = re.compile(
    rf"{any_of('필 중 주 개 수 민 동 소 강 긴 종 불필 대중가 유행가 전통가 인기가 국민가')}요$"
    rf"|^{any_of('고요 요 아니요 월요 화요 수요 목요 금요 토요 일요')}$"
)
_FINAL_YONG = ("어용", "해용", "아용", "네용", "세용")
_FINAL_JYO = re.compile("[렇하이되가오보거같맞좋않싶인많나주르]죠$")
_LIKES = ("좋아요", "싫어요")
_BUTTON = re.compile(r"버튼|누[르른를]|눌[러렀]|수[가를는]?\s|개수|표시|클릭|\d")
"""좋아요 as the name of a button."""
_MOTION = any_of("갔 왔 들렀 섰 앉았 올랐 탔 났 샀 켰 껐")
_ENDS_IN_MOTION = re.compile(f"{_MOTION}다$")
"""Past forms that also mean "and then" (-았다가)."""
_STATES = (
    "피곤 필요 중요 행복 심심 궁금 이상 답답 불편 편 편리 친절 깨끗 깔끔 꼼꼼 만족 훌륭 대단 완벽 유명 조용 신기 특이 독특 "
    "지루 유치 허무 황당 뻔 뻔뻔 착 순 심 약 강 진 연 급 흔 귀 미안 섭섭 서운 억울 불쌍 한심 허접 식상 진부 잔잔 화려 소중 "
    "간단 복잡 단순 가능 불가능 부족 충분 비슷 건강 안전 위험 솔직 당연 확실 분명 무난 평범 탄탄 시원 따뜻"
)
"""Adjectives in 하다."""
_ADJECTIVES = re.compile(
    rf"(?:{any_of(_STATES)}하"
    rf"|{any_of('없 같 똑같 좋 싫 많 적 높 낮 길 짧 작 크 예쁘 이쁘 아프 고프 나쁘 바쁘 슬프 기쁘 춥 덥 맵 쉽 어렵 무섭 귀엽')}"
    rf"|{any_of('아깝 가깝 아쉽 아름답 무겁 가볍 즐겁 반갑 고맙 그립 더럽 시끄럽 놀랍 부드럽 지겹 역겹 뜨겁 차갑 어둡 두껍')}"
    rf"|{any_of('멀 빠르 느리 다르 비싸 싸 괜찮 귀찮 점잖 싶 힘들 깊 넓 좁 얇 굵 젊 늙 밝 맑 흐리 세 엄청나 멋지 웃기 쩔')}"
    r"|스럽|롭|답)다$"
)
_COPULAS = re.compile(
    rf"(?:[가-힣]이|{any_of('별로 최고 거 문제 영화 드라마 무리 아니 그렇 이렇 저렇 어떻 때 자리 하루 친구 나라 소리 이야기 얘기 사이 차이 의미 정도 이유 결과 노래 쓰레기 대세 필수 째')}|^[시개세])다$"
)
_FINAL_EO = re.compile(
    rf"(?:{any_of('괜찮아 좋아 싫어 많아 같아 아니야 귀여워 고마워 무서워 어려워 쉬워 더워 추워 매워 아까워 반가워 즐거워')}"
    rf"|{any_of('그리워 아름다워 아파 배고파 예뻐 이뻐 나빠 바빠 슬퍼 기뻐 비싸 힘들어 몰라 맞아 그래 싶어 웃겨 짜증나 쩔어 멋져')}"
    rf"|{any_of(f'축하 사랑 조심 부탁 추천 {_STATES}')}해)$"
)
_FINAL_WORDS = re.compile(
    r"(?:더라|(?<!누)구나|거든|[느으]?냐|(?:봐|줘)"
    r"|[할갈올볼줄될쓸둘낼칠릴킬뵐을]게|(?:할|먹을|볼|마실|있을|입을|탈|쓸|줄)래"
    r"|(?:^|[^마])가자|놀자|먹자|보자|말자|살자|쉬자|만나자|(?:해|가|봐|와|줘|마|먹어|사|보)라"
    rf"|(?:이|거|뭐|어디|누구)야|[온간한된산진는]대|[가-힣]{{2}}이래"
    rf"|[가-힣]{{2}}임|됨|[좋많적싶같없낮높작]음|괜찮음|빠름|느림|아쉬움|비쌈"
    rf"|{any_of(f'추천 강추 {_STATES}')}함)$"
)
_NOUNS = re.compile(
    rf"{any_of('게 책 모 타 프레 선 주 담 해 신 취 사 위 쓰 움직 부 연 재 퇴 짜 속 높 길 놓 줄 보 섞 쌓 붙 드 크라 슬라')}임$"
    rf"|^{any_of('나라 소라 노라 사라 하자 여자 한대 산대 하나라 자라 그대 이대')}$"
    rf"|{any_of('우간 르완 혼 베란 아만 린 브렌 판')}다$|까봐$"
)
_FAMILY = re.compile(
    rf"{any_of('동 그 너 니 우리 쟤 얘 걔 언니 누나 오빠 엄마 아빠 이모 고모 할머니 할아버지 친구 아줌마 아저씨 어머니 들')}네$|^네$"
)
"""동네, 언니네: nouns, and the house of somebody."""
_BEFORE_LAUGHTER = frozenset(
    "다요죠까네어아지임음함용당야군걸나해래대라자냐니게데든돼봐줘겨려여워와셔써켜펴져쳐꺼파빠뻐퍼커"
)
_NOUNS_BEFORE_LAUGHTER = re.compile(
    rf"{any_of('절대 누나 여자 남자 아버지 강아지 하나 언니 어머니 할머니 노래 근데 그런데 최대 시대 원래 아래 나라 의자')}$"
    rf"|{any_of('과자 사자 피자 가지 까지 편지 바다 사과 기와 부대 무대 게임 모임 책임')}$|^[나아와다야네]$"
)


def split_at_endings(text: str, sentence: Span, rules: SentenceRules) -> list[Span]:
    """Split a sentence that the marks left whole at final endings before a space.

    Nothing inside closed brackets or quotes is split.
    """
    parts: list[Span] = []
    start, end = sentence.start, sentence.end
    pairs: tuple[list[int], list[int]] | None = None
    is_marked = text[end - 1] in MARKS
    for match in _CANDIDATE.finditer(text, start, end):
        word_end, next_start = match.start() + 1, match.end()
        word = _WORD.search(text, max(start, word_end - MAX_WORD_CHARS), word_end)
        if word is None or not ends_sentence(
            word.group(),
            text[next_start : next_start + MAX_NEXT_CHARS],
            is_marked=is_marked,
            has_laughter=bool(match["laughter"]),
        ):
            continue
        pairs = pairs or find_pairs(text, sentence, rules)
        openings, closings = pairs
        outer = bisect_left(openings, word_end) - 1
        if outer >= 0 and word_end <= closings[outer]:
            continue
        parts.append(Span(start, match.start("gap")))
        start = next_start
    parts.append(Span(start, end))
    return parts


def find_pairs(text: str, sentence: Span, rules: SentenceRules) -> tuple[list[int], list[int]]:
    """The places where outer brackets and quotes open and close in a sentence, in text order."""
    events = list(rules.events.finditer(text, sentence.start, sentence.end))
    openings: list[int] = []
    closings: list[int] = []
    for first, last in sorted(pair_brackets(events, rules.pairs).items()):
        if first < last and (not closings or events[first].start() > closings[-1]):
            openings.append(events[first].start())
            closings.append(events[last].start())
    return openings, closings


def ends_sentence(word: str, following: str, *, is_marked: bool, has_laughter: bool) -> bool:
    """Whether a word before a space ends a sentence.

    `following` is the text after the space. `is_marked` says whether the sentence as a whole ends
    with a mark, `has_laughter` whether laughter or an emoji follows the word.
    """
    if _CONTINUES.match(following):
        return False
    last = word[-1]
    if has_laughter:  # 웃겨ㅋㅋ, but not 사과🍎
        return last in _BEFORE_LAUGHTER and not _NOUNS_BEFORE_LAUGHTER.search(word)
    if last in "요죠용":
        return ends_in_polite_form(word, following)
    if last == "다":
        return ends_in_da(word, following, is_marked)
    if word.endswith("잖아"):
        return True
    if word.endswith("니까"):
        return final_consonant(word[-3:-2]) == "ㅂ"
    return not is_marked and ends_in_loose_form(word, following)


def ends_in_polite_form(word: str, following: str) -> bool:
    """Whether a word in 요, 죠 or 용 ends a sentence; nouns and names have these syllables too."""
    if word.endswith("죠"):
        return final_consonant(word[-2:-1]) in ("ㅆ", "ㅄ") or bool(_FINAL_JYO.search(word))
    if word.endswith("용"):
        return word.endswith(_FINAL_YONG)
    if not _FINAL_YO.search(word) or _NOUNS_YO.search(word):
        return False
    return not (word.endswith(_LIKES) and _BUTTON.match(following))


def ends_in_da(word: str, following: str, is_marked: bool) -> bool:
    """Whether a word in 다 ends a sentence."""
    before = word[-2:-1]
    if before == "니" and final_consonant(word[-3:-2]) == "ㅂ":
        return True
    if _CONTINUES_PLAIN.match(following) or _NOUNS.search(word):
        return False
    consonant = final_consonant(before)
    if consonant == "ㅆ":
        if _ENDS_IN_MOTION.search(word) and (is_marked or _CONTINUES_MOTION.match(following)):
            return False
        pair = _NEXT_PAST.match(following)
        return pair is None or final_consonant(pair[1]) not in ("ㅆ", "ㅄ")
    if is_marked:
        return False
    return consonant == "ㄴ" or bool(_COPULAS.search(word) or _ADJECTIVES.search(word))


def ends_in_loose_form(word: str, following: str) -> bool:
    """Whether a word ends a sentence by an ending that can also connect or end a noun."""
    if _NOUNS.search(word) or _CONTINUES_SAYING.match(following):
        return False
    last, consonant = word[-1], final_consonant(word[-2:-1])
    if last == "까":
        return consonant == "ㄹ" and not _CONTINUES_ASKED.match(following)
    if consonant in ("ㅆ", "ㅄ"):
        if last in "어아":  # 했어; 있어 and 없어 also precede 보이다
            is_state = word.endswith(("있어", "없어"))
            return not (is_state and _CONTINUES_STATE.match(following))
        if last == "지":
            return not _CONTINUES_JI.match(following)
        if last == "나":
            return not _CONTINUES_ASKED.match(following)
        if last in "네냐니대음군당":
            return True
    if last == "네":
        return not _FAMILY.search(word)
    if _FINAL_EO.search(word):
        return not _CONTINUES_STATE.match(following)
    if _FINAL_WORDS.search(word):
        return not (last in "봐줘" and _CONTINUES_TRIAL.match(following))
    return False


_FINAL_CONSONANTS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")


def final_consonant(syllable: str) -> str:
    """The consonant at the end of a syllable, or an empty text.

    >>> final_consonant("갔")
    'ㅆ'
    """
    return _FINAL_CONSONANTS[(ord(syllable) - 0xAC00) % 28] if "가" <= syllable <= "힣" else ""
