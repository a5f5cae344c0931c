"""Doubts about a Korean clause: reasons why the subject and the phrase after it may not be those of one
predicate.

A topic (은/는, 도) is often no subject: 평소는, 우산은 현관에 두었다, 주차는 지하에서 해 주세요. The phrase after a
subject may belong to a quotation or a noun clause, or be part of a compound postposition (을 중심으로) or
an adverb (동시에). Each such sign lowers the confidence of the clause. A sign that is nearly always
right lowers it below the default threshold alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.perturbation._particles import Doubt, word_set
from nikawa.perturbation.base import Tokens
from nikawa.perturbation.phrases_ko import MAX_PHRASES, TIMES, Analysis
from nikawa.perturbation.words_ko import (
    PERSONAL_NOUNS,
    PERSONAL_VERBS,
    acts,
    is_person,
    takes_object,
)

ADVERBIAL_TOPIC = "the topic is an adverbial (평소는)"
OBJECT_TOPIC = "the topic may be the object of the predicate"
TWO_TOPICS = "another topic is right before the topic"
REQUEST = "the topic may not be the subject of a request"
CHANCE = "the topic may be a place or a thing with which a person can do it"
MAIN_CLAUSE = "the topic may belong to the main clause"
QUOTATION = "the second phrase belongs to a quotation or a noun clause"
BETWEEN = "an adverbial is between them"
RELATIVE = "the subject may be that of the relative clause"
ADVERBIAL = "a time or another adverbial, no argument"
COMPOUND = "the particle is part of a compound (에 대해)"
PURPOSE = "the second phrase belongs to a clause of purpose"
IDIOM = "the phrase and the verb are an idiom (마음에 들다)"
NO_VERB = "the predicate is a noun"
NOUN_CLAUSE = "the second phrase is a clause"

# Topics.

_ADVERBIAL_TOPICS = TIMES | word_set(
    "조금 아직 결국 사실 물론 평소 보통 대개 대체로 원래 본래 처음 마지막 당시 현재 요즘 최근 이번 지난번 다음번 이날 그날 당일 전날 이튿날 "
    "오늘날 시대 시절 시기 기간 무렵 계절 겨울철 여름철 봄철 가을철 휴일 주말 평일 연말 연초 초기 후기 말기 전반 후반 "
    "경우 시 때 후 뒤 중 전 동안 이후 이전 이상 이하 외 점 곳 여기 거기 것 거 줄 수 데 건"
)
"""Nouns whose topic says when, where or on what."""
_REQUESTS = (
    "세요",
    "십시오",
    "시오",
    "으세요",
    "읍시다",
    "ᆸ시다",
    "을까",
    "ᆯ까",
    "을까요",
    "ᆯ까요",
    "어라",
    "아라",
)
"""How the endings of requests and proposals end."""
_CONDITIONS = (
    "면", "으면", "자", "자마자", "니까", "으니까", "려고", "으려고", "러", "으러", "도록", "어야", "아야", "거든", "느라고", "듯이", "듯",
    "려면", "으려면", "다가", "더라도", "어도", "아도", "ᆯ수록", "을수록", "든지", "든",
)  # fmt: skip
"""Endings of clauses that a topic is mostly outside of."""
_SEQUENCES = ("어서", "아서", "고서", "어", "아", "여", "여서", "고")
"""Endings after which the subject mostly goes on."""
_REPORTS = (
    "다고",
    "라고",
    "냐고",
    "자고",
    "다며",
    "라며",
    "다면서",
    "라면서",
    "는지",
    "ᆫ지",
    "을지",
    "ᆯ지",
    "은지",
)
"""How the endings of quoted clauses end."""
_AUXILIARY_NOUNS = word_set("수 것 거 적 듯 뿐 줄 바 예정 계획 방침 전망 때문 만 법 리 셈 모양 편")
"""Nouns that after a modifier make a longer predicate: 볼 수 있다, 열릴 예정이다."""


def find_topic_doubts(sentence: Analysis, k: int, m: int) -> Iterator[Doubt]:
    """Doubts whether the topic k is the subject of the predicate of phrase m."""
    tokens, phrases = sentence.tokens, sentence.phrases
    first, p = phrases[k].first, phrases[k].last
    noun = tokens[p - 1]
    is_number = p - 2 >= first and tokens[p - 2].pos[0] in ("SN", "NR")
    if (noun.form in _ADVERBIAL_TOPICS and noun.form != "시간") or (
        is_number and noun.form in ("년", "월", "일", "시", "분", "세기", "년대")
    ):
        yield Doubt(ADVERBIAL_TOPIC, 0.1)
    if k and phrases[k - 1].kind == "topic" and not phrases[k - 1].comma:
        yield Doubt(TWO_TOPICS, 0.4)
    g = sentence.governors[m]
    if g < 0:
        return
    is_actor = acts(tokens, p - 1)
    factor = judge_link(sentence, g, is_actor)
    if factor < 1:
        yield Doubt(MAIN_CLAUSE, factor)
    if is_request(tokens[phrases[g].first :]):
        yield Doubt(REQUEST, 0.75 if is_actor else 0.1)
    last = sentence.find_last_predicate(g)
    is_noun_sentence = last > g and any(
        token.pos[0] == "VCP" for token in tokens[phrases[last].first : phrases[last].end]
    )
    if is_noun_sentence and not is_actor and not is_auxiliary(tokens, phrases[last].first):
        yield Doubt(MAIN_CLAUSE, 0.4)  # 시체놀이는 죽은 척을 하면서 노는 놀이다
    predicate = tokens[phrases[g].first : phrases[g].end]
    if not is_actor and any(token.form in _LOOKING_UP for token in predicate):
        yield Doubt(OBJECT_TOPIC, 0.2)  # 자세한 내용은 설명서를 참고한다
    is_host = not is_actor or noun.form in _VENUES
    following = tokens[phrases[g].first : phrases[g].end + 3]
    if phrases[m].mark == "eul" and is_host and is_chance(following):
        yield Doubt(CHANCE, 0.3)
    if lacks_object(sentence, k, g):
        yield Doubt(OBJECT_TOPIC, 0.8 if is_actor else 0.2)


_VENUES = word_set("호텔 매장 가게 극장 식당")
"""Groups that are also places: 이 가게는 신발을 고를 수 있다."""
_LOOKING_UP = word_set("참고 참조 확인 문의")
"""What a reader does about a topic: 자세한 내용은 설명서를 참고한다."""


def is_chance(predicate: Tokens) -> bool:
    """Whether a predicate says what a person can see, choose or use: 볼 수 있다, 이용할 수 있다.

    With a topic that is no person, the person who can is not named.
    """
    forms = [token.form for token in predicate]
    if "수" not in forms or "있" not in forms[forms.index("수") :]:
        return False
    before = predicate[: forms.index("수")]
    verbs = {token.form for token in before if token.pos[0] == "VV"}
    is_action = any(token.pos[0] == "XSV" and token.form == "하" for token in before)
    return bool(verbs & PERSONAL_VERBS) or (is_action and bool(set(forms) & PERSONAL_NOUNS))


def lacks_object(sentence: Analysis, k: int, g: int) -> bool:
    """Whether the predicate g, or the last one of the sentence, takes an object that nothing but the
    topic k can be.
    """
    phrases, tokens = sentence.phrases, sentence.tokens
    if not any(phrase.mark == "eul" for phrase in phrases[k + 1 : g]):
        return takes_object(tokens[phrases[g].first : phrases[g].end])
    last = sentence.find_last_predicate(g)
    if last <= g or any(phrase.kind in ("subject", "topic") for phrase in phrases[g:last]):
        return False
    is_bare = not any(phrase.mark == "eul" for phrase in phrases[g:last])
    return is_bare and takes_object(tokens[phrases[last].first : phrases[last].end])


def has_object(sentence: Analysis, g: int) -> bool:
    """Whether an object is right before predicate g, or one phrase before that."""
    marks = [phrase.mark for phrase in sentence.phrases[max(0, g - 2) : max(0, g)]]
    return "eul" in marks


def defines_noun(sentence: Analysis, g: int) -> bool:
    """Whether predicate g is before a noun with the copula: 여러 층을 쌓은 모델이다."""
    phrases = sentence.phrases
    if g < 0 or phrases[g].kind != "modifier" or g + 1 >= len(phrases):
        return False
    after = phrases[g + 1]
    return any(token.pos[0] == "VCP" for token in sentence.tokens[after.first : after.end])


def judge_link(sentence: Analysis, g: int, is_actor: bool, steps: int = MAX_PHRASES) -> float:
    """How sure it is that a topic before the predicate g belongs to it: 1 if the sentence ends there.

    `steps` limits how many predicates after g are looked at.
    """
    tokens, phrases = sentence.tokens, sentence.phrases
    phrase, later = phrases[g], sentence.governors[g]
    if phrase.kind == "modifier":
        following = [token.form for token in tokens[phrase.end : phrase.end + 2]]
        is_future = tokens[phrase.last].form in ("ᆯ", "을")
        # 방법은 값을 줄이는 것이다: the clause is what the topic is.
        is_definition = following == ["것", "이"] and not is_future and not is_actor
        if is_definition or not is_auxiliary(tokens, phrase.end):
            return 0.3
        # 장을 볼 수 있는 가게: the longer predicate may be a modifier again.
        return judge_link(sentence, later, is_actor, steps - 1) if later >= 0 and steps else 1
    if phrase.kind != "and":
        return 1
    ending = tokens[phrase.last].form
    if tokens[phrase.last].pos[0].startswith("J"):
        return 0.4  # 넣지 않고는
    if ending.endswith(_REPORTS):
        return 0.3
    if ending in _CONDITIONS:
        return 0.4
    is_linking = ending in ("고", "며", "으며", "거나") or (
        ending in _SEQUENCES and defines_noun(sentence, later)
    )
    if is_linking and later >= 0 and steps and not phrase.comma:
        inside = phrases[g + 1 : later]
        if not any(one.kind in ("subject", "topic") for one in inside):
            rest = judge_link(sentence, later, is_actor, steps - 1)
            if rest < 0.4:
                return rest  # 그는 나를 이해하고 돕는 사람이다
    if ending == "고" and has_object(sentence, g) and has_object(sentence, later):
        return 0.8  # 식물은 이산화탄소를 흡수하고 산소를 내보낸다
    if ending in _SEQUENCES:
        return 0.8 if is_actor else 0.45
    return 0.9


def is_auxiliary(tokens: Tokens, i: int) -> bool:
    """Whether the noun i after a modifier makes a longer predicate of it: 볼 수 있다, 올 것이다."""
    if i + 1 >= len(tokens) or tokens[i].form not in _AUXILIARY_NOUNS:
        return False
    after = [token for token in tokens[i + 1 : i + 3] if not token.pos[0].startswith("J")]
    return bool(after) and (
        after[0].pos[0] in ("VCP", "VA", "VX", "SF", "XSA")
        or after[0].form in ("있", "없", "같", "하", "모르")
    )


def is_request(tail: Tokens) -> bool:
    """Whether a predicate asks the reader for something: 두세요, 바랍니다, 잊지 마."""
    for i, token in enumerate(tail):
        if token.pos[0] == "SF":
            break
        if token.pos[0] == "EF":
            is_imperative = token.form.endswith(_REQUESTS) or token.form == "자"
            is_honorific = (
                i > 0 and tail[i - 1].form in ("시", "으시", "드세") and token.form == "어요"
            )
            if is_imperative or is_honorific:
                return True
        if (token.pos[0] == "VX" and token.form == "말") or token.form in ("부탁", "바라"):
            return True
        if token.surface.endswith("세요"):
            return True
    return False


# The second phrase.

_PLACE_NOUNS = word_set("뒤 사이 가운데 한가운데 중")
"""Nouns of time and of place; after a noun they are places: 문 뒤에서."""
_ADVERBIAL = word_set("때문 전 후 동안 중 사이 덕분 대신 김 바람 뒤 결과 가운데 만 반면")
"""Before 에 and 에서 these make an adverbial of a clause, no argument."""
_ADVERBS = word_set(
    "한눈 동시 한순간 순식간 일시 일제 단번 단숨 한꺼번 한번 결국 졸지 사전 사후 나중 제때 제시간 제멋 이번 다음번 애초 당초 "
    "어젯밤 오늘밤 간밤 현대 근대 중세 고대 초기 말기 막판 종전 이전 이후 직후 직전 식후 식전 점심때 저녁때 한밤중 대낮 한낮 평상시 한때 이참 차제 은연중 무심결 "
    "경우 후반부 전반부 초반부 중반부 말미 막바지 초창기 말년 만년 유년기 전성기 청소년기 임기 생전 초반 중반 후반 당대 엉겁결 얼떨결 홧김 겁결 뜻밖 의외 기간 시절 시기 시대 무렵 즈음 초 말 중순 상순 하순 초순 세기 연초 연말"
)
"""Before 에 these make an adverb."""
_EFFORTS = word_set(
    "고심 고민 노력 논의 협상 진통 공방 접전 승부 궁리 고생 시도 설득 논란 심의 협의 추적 수사 투병 망설임 대결 전쟁"
)
"""Before 끝에 these make an adverb."""
_IDIOMS = {
    "e": """
        마음:들,안들,걸리 눈:띄,밟히,들,들어오,거슬리,차 염두:두 손:넣 힘:부치 귀:들어오,익,거슬리 도마:오르 입:맞,오르 물거품:되
    """,
    "eul": """
        애:먹,쓰 손:떼 발:빼,끊 발목:잡 한눈:팔 시치미:떼 눈치:보,채 막:내리,올리 귀:기울이 겁:먹 나이:먹 더위:먹 마음:먹 골치:앓
        바람:맞,피우 등:돌리 맥:놓 종지부:찍 첫발:내딛 기승:부리
    """,
}
"""By case the nouns that make an idiom with one of these verbs right after them."""


def read_idioms(lines: str) -> dict[str, frozenset[str]]:
    """Noun to the stems of its verbs."""
    pairs = (entry.split(":") for entry in lines.split())
    return {noun: frozenset(verbs.split(",")) for noun, verbs in pairs}


_IDIOM_VERBS = {case: read_idioms(lines) for case, lines in _IDIOMS.items()}
_ESEO_ADVERBS = word_set("한편 점 의미 측면 차원 관점 면 입장 취지 맥락 이유 수준 나머지 가운데")
"""Before 에서 these make an adverb."""
_COMPOUND = word_set("비롯 대하 관하 의하 따르 비하 위하 통하 비롯하 향하 불구하 인하 걸치")
"""Verbs that make one word of meaning with the particle before them: 에 대해, 을 위해."""
_COMPOUND_LINKS = word_set(
    "맞추 기초하 근거하 기반하 힘입 반하 앞서 이어 즈음하 발맞추 더하 입각하 준하 처하 부딪히 부딪치 밀리 이르 한하 맞서 "
    "둘러싸 앞두 포함하 제외하 막론하 불문하 무릅쓰 거치 겸하 대신하 감안하 고려하 빌리 틈타 두 놓 기원하 기념하 비관하 "
    "계기 기 맞 덮치 담 살리 거듭하 이용하 활용하 연결하 비추 견주 끌어들이 상관없 관계없 아랑곳 앞지르"
)
"""Verbs that in a linking form make a postposition: 에 맞춰, 을 앞두고."""
_COMPOUND_NOUNS = word_set(
    "중심 대상 목표 바탕 기반 이유 끝 계기 토대 상대 시작 무대 배경 조건 목적 기준 전제 근거 기초 주제 소재 모델 모티프 "
    "핵심 축 거점 무기 볼모 담보 빌미 핑계 구실 명분 필두 시발 기점 정점 고비 경계 사이 위주 주축 매개 수단 재료 원료 예 "
    "중점 방패 발판 미끼 인질 제외"
)
"""Nouns that make a postposition of 을/를: 을 중심으로."""


_UNITS = word_set("시 분 초 일 주 월 년 해")
"""Nouns of time only after a number; 일 is also work, 시 a city."""
_DAYS = word_set(
    "한때 당시 현재 오늘날 만일 만약 혹시 가령 어제 오늘 내일 모레 그저께 어젯밤 지난주 지난달 지난해 작년 올해 내년 매일 매주 매년 매달 요즘 지금 최근 방금"
)
"""Times that are adverbs without a particle: 지난주 친구의 결혼식을."""
_TIME_UNITS = word_set("년 월 일 시 분 번 차례 년대 세기 개월 주일")
_OWN_SUBJECT = word_set(
    "크 많 적 좋 높 낮 강하 약하 길 짧 있 없 같 다르 필요 가능 부족 풍부 유명 넓 좁 깊 멀 가깝"
)
"""Adjectives with a subject of their own before a noun: 키가 큰 사람."""


_KINDS = word_set("주된 주요 대표 전형 각종")
_SPANS = word_set(
    "기간 시간 시기 시절 때 경우 이유 상태 동안 날 곳 점 지역 범위 조건 상황 원인 정도 사실"
)
"""Nouns that a whole clause with its subject describes: 약정이 유효한 기간."""
_SPANS_OF_DAYS = word_set(
    "하루 이틀 사흘 나흘 닷새 엿새 이레 여드레 열흘 보름 일주일 한나절 반나절 며칠"
)
_EVENTS = word_set(
    "경기 회의 수업 근무 여행 운전 이동 작업 방학 훈련 촬영 통화 휴가 식사 공연 비행 임신 재학 재임 대회 연습 행사 시합 산책 출장 조사 수술 목욕 등산"
)
"""What goes on for a time; with 중 an adverbial."""
_YEARLY = word_set(
    "실적 매출 예산 목표 계획 전망 성장률 물가 수출 수입 대회 시즌 행사 성과 수능 추석 설 봄 여름 가을 겨울 상반기 하반기 초 말 임금 연봉"
)
"""Nouns that a year may be part of: 올해 실적."""


def find_phrase_doubts(sentence: Analysis, k: int, m: int) -> Iterator[Doubt]:
    """Doubts whether phrase m is an argument of the predicate that the subject k belongs to."""
    tokens, phrases = sentence.tokens, sentence.phrases
    q, g, mark = phrases[m].last, sentence.governors[m], phrases[m].mark
    n = find_noun(tokens, q)
    noun, before = tokens[n], tokens[n - 1] if n else None
    is_topic = phrases[k].kind == "topic"
    if opens_with_time(tokens, phrases[k].last + 1, q):
        yield Doubt(BETWEEN, 0.2)
    if not is_topic and k + 1 < m and has_own_subject(sentence, k):
        yield Doubt(RELATIVE, 0.4)
    if g >= 0 and is_purpose(tokens[q + 1 : phrases[g].end]):
        yield Doubt(PURPOSE, 0.35)
    if noun.pos[0] == "ETN":
        yield Doubt(NOUN_CLAUSE, 0.1)  # 어머니가 돌아오시기를
    if mark != "eul" and before is not None:
        is_clausal = not before.pos[0].startswith(("NN", "XPN", "NP")) or before.form in TIMES
        is_place = noun.form in _PLACE_NOUNS and not is_clausal
        words = _ADVERBS if mark == "e" else _ESEO_ADVERBS
        is_time = noun.form in TIMES and not (noun.form in _UNITS and not is_counted(tokens, q - 1))
        is_glance = noun.form == "눈" and before.form == "한"
        if is_glance:
            yield Doubt(ADVERBIAL, 0.1)
        is_end = noun.form == "끝"
        if is_end and (before.form in _EFFORTS or before.pos[0] == "ETM"):
            yield Doubt(ADVERBIAL, 0.1)  # 고심 끝에
        is_after_time = before.form in TIMES | _SPANS_OF_DAYS or before.pos[0] in (
            "NNB",
            "SN",
            "NR",
        )
        is_word = noun.form in words and (noun.form not in ("말", "초") or is_after_time)
        if noun.form in ("안", "내", "이내") and is_after_time:
            is_time = True  # 사흘 안에
        if not is_place and (is_time or noun.form in _ADVERBIAL or is_word):
            yield Doubt(ADVERBIAL, 0.1)
        if g >= 0 and is_noun_predicate(tokens[phrases[g].first : phrases[g].end]):
            yield Doubt(NO_VERB, 0.3)
    after = tokens[q + 1] if q + 1 < len(tokens) else None
    idiom = _IDIOM_VERBS.get(mark, {}).get(noun.form, frozenset())
    is_bare = q - phrases[k].last == 2 or (before is not None and before.pos[0] == "JKG")
    if idiom and is_bare and any(token.form in idiom for token in tokens[q + 1 : q + 4]):
        yield Doubt(IDIOM, 0.3)
    is_point = after is not None and after.form == "있" and mark == "e"
    if is_point and q + 2 < len(tokens) and tokens[q + 2].form in ("어서", "어"):
        yield Doubt(COMPOUND, 0.1)  # 에 있어서
    if after is not None and (after.form in _COMPOUND or is_compound_link(sentence, m, is_topic)):
        yield Doubt(COMPOUND, 0.1)
    if mark == "eul" and is_compound_noun(sentence, m):
        yield Doubt(COMPOUND, 0.1)
    is_inner = g >= 0 and phrases[g].kind == "and" and g + 1 < len(phrases)
    if is_inner and not is_topic and tokens[phrases[g].last].form.endswith(_REPORTS):
        yield Doubt(QUOTATION, 0.3)  # 그가 학교에 간다고 말했다


def find_noun(tokens: Tokens, q: int) -> int:
    """The noun before particle q, which may have brackets after it: 기간(11월 하순)에."""
    n = q - 1
    if tokens[n].pos[0] == "SSC":
        opening = [i for i in range(max(0, n - 20), n) if tokens[i].pos[0] == "SSO"]
        if opening and opening[-1]:
            return opening[-1] - 1
    return n


def is_noun_predicate(predicate: Tokens) -> bool:
    """Whether a predicate is a noun with the copula: 연고지이다."""
    tags = {token.pos[0] for token in predicate}
    return "VCP" in tags and not tags & {"VV", "VA", "VX", "XSV", "XSA", "ETM", "ETN"}


def is_purpose(predicate: Tokens) -> bool:
    """Whether a predicate is a purpose, a cause or a time: 구하기 위해, 오기 전에."""
    forms = [token.form for token in predicate]
    return any(
        token.pos[0] == "ETN" and forms[i + 1 : i + 2] in (["위하"], ["때문"], ["전"])
        for i, token in enumerate(predicate)
    )


def is_counted(tokens: Tokens, i: int) -> bool:
    """Whether a number is before token i: 세 시, 2016년."""
    return i > 0 and tokens[i - 1].pos[0] in ("SN", "NR", "MM")


def opens_with_time(tokens: Tokens, first: int, end: int) -> bool:
    """Whether a date or a number of times is alone before the noun: 2016년 1월 한국에서, 여러 번 몸을."""
    i = first
    words = [token.form for token in tokens[first : first + 3]]
    if words[0] in _DAYS and not (len(words) > 1 and words[1] in _YEARLY):
        i += 1
    elif words[0] == "지나" and words[-1] in ("주", "달", "해"):
        i += 3
    while i + 1 < end and is_counted(tokens, i + 1) and tokens[i + 1].form in _TIME_UNITS:
        if tokens[i].pos[0] == "SN" and tokens[i + 1].form == "번":
            return False  # 8080번 포트
        i += 2
    if any(tokens[n].form in ("이후", "이전", "이래") for n in range(first, end - 1)):
        return True  # 첫 우승 이후 리그에서
    for n in range(first + 1, min(end - 1, first + 6)):  # 14세 때 고향에서, 이 기간 동안 성장을
        is_span = tokens[n].form in (
            "때",
            "동안",
            "당시",
            "무렵",
            "내내",
            "간",
            "도중",
            "직후",
            "직전",
        )
        # 경기 중 라커룸에서, but not 후보 중 한 명을
        is_span = is_span or (tokens[n].form == "중" and tokens[n - 1].form in _EVENTS)
        is_after_noun = tokens[n - 1].pos[0] in ("NNG", "NNB", "NNP")
        is_open = tokens[n + 1].pos[0].startswith(("NN", "NP", "MM", "SL", "V", "SN", "MAG"))
        if is_span and is_after_noun and is_open and tokens[n - 1].end < tokens[n].start:
            return True
    return i > first and i < end and tokens[i].pos[0].startswith(("NN", "NP", "MM", "SL"))


def has_own_subject(sentence: Analysis, k: int) -> bool:
    """Whether the modifier after the subject k may take it: 에너지가 결여된 본성, 키가 큰 사람."""
    phrases = sentence.phrases
    i = k + 2 if phrases[k + 1].kind == "adverb" else k + 1  # 메모리가 크게 제한된
    if i >= len(phrases) or phrases[i].kind != "modifier" or not phrases[i].predicate:
        return False
    if is_person(sentence.tokens, phrases[k].last - 1):
        return False
    words = sentence.tokens[phrases[i].first : phrases[i].end]
    is_copula = any(token.pos[0] == "VCP" for token in words) and words[0].form not in _KINDS
    is_copula = is_copula and all(token.form != "적" for token in words)  # 독자적인 조례
    is_verb = any(token.pos[0] in ("VV", "XSV") for token in words)
    is_own = any(token.form in _OWN_SUBJECT and token.pos[0] != "XSN" for token in words)
    head = sentence.tokens[min(phrases[i].end, len(sentence.tokens) - 1)]
    return is_verb or is_copula or is_own or head.form in _SPANS  # 약정이 유효한 기간


def is_compound_link(sentence: Analysis, m: int, is_topic: bool) -> bool:
    """Whether the verb right after phrase m links it to the predicate: 예정에 맞춰 진행됐다."""
    g = sentence.governors[m]
    if g != m + 1 or sentence.phrases[g].kind != "and" or not is_topic:
        return False
    words = sentence.tokens[sentence.phrases[g].first : sentence.phrases[g].end]
    stem = (
        words[0].form + words[1].form
        if len(words) > 1 and words[1].pos[0] == "XSV"
        else words[0].form
    )
    return stem in _COMPOUND_LINKS


def is_compound_noun(sentence: Analysis, m: int) -> bool:
    """Whether a noun in (으)로 right after phrase m makes a postposition: 서울을 중심으로."""
    if m + 1 >= len(sentence.phrases):
        return False
    phrase = sentence.phrases[m + 1]
    is_single = phrase.end - phrase.first == 2
    particle = sentence.tokens[phrase.last].form
    return (
        is_single
        and particle in ("로", "으로")
        and sentence.tokens[phrase.first].form in _COMPOUND_NOUNS
    )
