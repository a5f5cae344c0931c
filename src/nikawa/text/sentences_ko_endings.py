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
    rf"(?:[가-힣](?={_LAUGHTER})|[다요죠까네야어아워와려여겨해돼파빠뻐봐줘지라나군든래게자냐니대음함됨임당용만먼렴마가타쌈움짐줌봄옴남감림침름킴듦걸쁨픔김큼])"
    rf"(?P<laughter>{_LAUGHTER}*)~*(?: (?:[ㅋㅎㅠㅜ]+|\^\^|;;+|:\)|[♡♥{EMOJI}]+)(?={_SPACE}))?"
    rf"(?P<gap>{_SPACE}+)(?=[\w\"'“‘「『<《])"
)
_WORD = re.compile(r"[가-힣]+$")
MAX_WORD_CHARS = 24
"""Characters of a word that the rules look at."""
MAX_CLAUSE_CHARS = 40
"""Characters before the word that the rules look at."""
MAX_NEAR_CHARS = 12
"""Characters before the word in which a question word belongs to it."""
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
    r"가[는고]|간다|갔|말[고라며아]|하[셨신십]|합|터[지졌진]|보[이여인일임]|버[리렸려린]|있|가[며면고]|하(?:[다는면고며여니였]|지[는도만 ]|려|기|시)|했|한다|해(?:요|도|서|라|야)?(?=[\s.,]|$)"
    r"|지[고는며면다지]|져|졌|진다|질\s|죽|서\s|줘|줄|둬|둘|주[고는세]"
)
"""After 좋아, 있어: 좋아 보인다, 싶어 하다, 좋아 죽겠다."""
_CONTINUES_JI = re.compile(
    r"않|아니|못|마(?:[라세십요시소]|(?=[\s,]|$))|말[고아자]|안|도\s|는\s|를\s|뭐|싶|모르|모를|몰|알|궁금|의문|그[래랬]|싫"
)
_CONTINUES_ASKED = re.compile(
    r"말까|봐|봤|보[다아]|봅|싶|하|해|했|한\s|할|생각|걱정|고민|두려|무서|말\s|의문|궁금|검색|망설|염려|우려|모르|몰[라랐]|알[아수]"
)
_CONTINUES_NOUN = re.compile(
    r"속|같|때문|말고|없이|없[다는]|그 자체|자체|처리|표시|확인|만\s|뿐|중[에의]|가운데|및\s|덕|대신|탓|위주|정도|이상|이하|가득|반\s|투성|부족|결여"
    r"|좋겠|안 ?[되돼]|어[때땠떨]|해(?:서|요)?(?:\s|$)|하(?!지만)"
)
"""After a nominal form that is a noun here: 공허함 속에; and after 음 for 으면: 왔음 좋겠다."""
_CONTINUES_THING = re.compile("없|못|많|있|아니|뭐|너무|별로|[되된돼됐만하해]")
"""After 할게 for 할 것이: 할게 없다; and after 살게: 살게 되다."""
_CONTINUES_REGRET = re.compile("그[랬래]|하|보|알|느|[가-힣]+[을를]")
_OPENS_SENTENCE = re.compile(
    r"(?:근데|그런데|그리고|그래서|그래도|그러나|하지만|그러니까?|그럼|아니면|암튼|아무튼|어쨌든|왜냐하면|솔직히|역시"
    r"|나[는도]|난|너[는도]|넌|내가|네가|니가|우리[는도가]?|저[는도]|전|제가|걔[는도가]?|얘[는도가]?|왜|뭐)(?=\s)|어떡|어쩌"
)
"""Words that begin a sentence: conjunctions, and pronouns as the subject."""
_ASKS = re.compile(
    r"(?:^|\s)(?:언제|어디|누[가구굴]|뭐|뭘|뭔|무엇|무슨|왜|어떻게|어떤|어느|얼마|몇|어째)"
)
_PROPOSED = re.compile(
    rf"{any_of('하 가 오 보 먹 놀 쉬 말 내리 시키 마시 떠나 바꾸 찾 앉 읽 입 걷 듣 씻 끝내 만들 배우 치우 모이 기다리 달리 올리 버리')}자$"
)
_ASKED_NOW = re.compile(
    r"(?:^|\s)(?:언제|어디|누구|뭐|뭘|왜|어떻게|몇 시)(?:에|로|서|를|랑|까지|부터)?\s+$"
)
_ANSWERED = re.compile(
    r"^(?:해|가|와|봐|사|타|자|써|돼|먹어|그래|입어|마셔|앉아|살아|알아|몰라|울어|웃어|찾아)$"
)
"""Short verb forms that end a question after a question word: 뭐 해, 어디 가."""
_PROPOSES = re.compile(
    r"(?:^|\s)(?:우리|같이|함께|그만|얼른|빨리|어서|다음에|내일|이따|나중에|주말에|다시|한번|이제)"
)
_SUBJECT_BEFORE = re.compile(
    r"(?:[가-힣](?:[이가은는도만]|에서|보다|까지)|(?:^|\s)(?:너무|좀|잘|매우|안|못|아주|정말|진짜|많이|완전|조금|약간|더|다|참|꽤|훨씬|또|그냥|별로|계속|바로|빨리|금방|이미|살짝))\s+$"
)
"""A subject, a topic or an adverb right before a nominal form makes it a predicate: 가격이 비쌈."""
_CONTINUES_TRIAL = re.compile("줘|봐|라|야|도|서|주|보|달")
"""After 봐, 줘: 봐 달라고."""
_CONTINUES_MOTION = re.compile(
    r"[가오](?:[다는고면니지며던려기서자]|셨|시)|[와왔갔온올](?:[\s다습어는을던요서지음]|$)|다[가시]"
)
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
    "간단 복잡 단순 가능 불가능 부족 충분 비슷 건강 안전 위험 솔직 당연 확실 분명 무난 평범 탄탄 시원 따뜻 "
    "저렴 다양 신선 튼튼 든든 뿌듯 푸짐 고소 담백 바삭 촉촉 쫄깃 얼큰 느끼 개운 상쾌 쾌적 아늑 포근 화사 정확 통통 날씬 뚱뚱 똑똑 멍청 "
    "성실 순수 우아 심각 절실 간절 애매 모호 뚜렷 선명 흐릿 캄캄 깜깜 고요 한가 한산 창피 초라 비참 불행 허전 쓸쓸 공허 막막 속상 우울 "
    "불안 초조 짜릿 통쾌 후련 유쾌 불쾌 상냥 다정 냉정 잔인 끔찍 위대 거대 사소 소박 평온 동일 특별 기발 참신 진지 엉뚱 뻣뻣 딱딱 말랑 "
    "묵직 넉넉 빠듯 미흡 부실 허술 세심 자상 무례 겸손 용감 치사 어색 황홀 산뜻 깜찍 풍부 풍성 유익 유용 시급 적당 적절 난해 명확 투명 "
    "멀쩡 편안 얄팍 섬뜩 오싹 뭉클 먹먹 찡 훈훈 민망 애틋 허망 처참 씁쓸 찝찝 칙칙 축축 눅눅 끈적 미끈 매끈 촘촘 꾸준 철저"
)
"""Adjectives in 하다."""
_ADJECTIVES = re.compile(
    rf"(?:{any_of(_STATES)}하"
    rf"|{any_of('없 같 똑같 좋 싫 많 적 높 낮 길 짧 작 크 예쁘 이쁘 아프 고프 나쁘 바쁘 슬프 기쁘 춥 덥 맵 쉽 어렵 무섭 귀엽')}"
    rf"|{any_of('아깝 가깝 아쉽 아름답 무겁 가볍 즐겁 반갑 고맙 그립 더럽 시끄럽 놀랍 부드럽 지겹 역겹 뜨겁 차갑 어둡 두껍')}"
    rf"|{any_of('멀 빠르 느리 다르 비싸 싸 괜찮 귀찮 점잖 싶 힘들 깊 넓 좁 얇 굵 젊 늙 밝 맑 흐리 세 엄청나 멋지 웃기 쩔')}"
    rf"|{any_of('배부르 서투르 게으르 푸르 여리 어리 시리 질기 둥글 서툴 거칠 낯설 가늘 못나 잘나 신나 화나 낫')}"
    r"|스럽|롭|답|[만듯법척]하)다$"
)
_COPULAS = re.compile(
    rf"(?:[가-힣]이|{any_of('별로 최고 거 문제 영화 드라마 무리 아니 그렇 이렇 저렇 어떻 때 자리 하루 친구 나라 소리 이야기 얘기 사이 차이 의미 정도 이유 결과 노래 쓰레기 대세 필수 째')}|^[시개세]"
    r"|[가-힣][화제도과태위디씨구무유료표로의회계짜])다$"
)
"""A copula after a noun; the last syllables of nouns are those in which no verb stem ends."""
_VERBS_BY_CONSONANT = re.compile(
    rf"{any_of('잡 입 줍 눕 굽 돕 씹 뽑 꼽 업 집 놓 넣 낳 쌓 찧 잃 끓 앓 꿇 뚫 갚 엎 덮 짚 뒤엎 맡 붙 뱉 흩 밟 찾 잊 맺 꽂 짖 젖 찢 빚 꾸짖 않 찍')}다$"
)
_STEM_CONSONANTS = frozenset("ㅂㅎㄶㅄㅀㅍㅌㄼㅈ")
"""Consonants in which the stems of adjectives end; the verbs with them are few."""
_FINAL_EO = re.compile(
    rf"(?:{any_of('괜찮아 좋아 싫어 많아 같아 아니야 귀여워 고마워 무서워 어려워 쉬워 더워 추워 매워 아까워 반가워 즐거워')}"
    rf"|{any_of('그리워 아름다워 아파 배고파 예뻐 이뻐 나빠 바빠 슬퍼 기뻐 비싸 힘들어 몰라 맞아 그래 싶어 웃겨 짜증나 쩔어 멋져')}"
    rf"|{any_of('작아 적어 길어 짧아 높아 낮아 넓어 좁아 깊어 얇아 밝아 맑아 빨라 느려 똑같아 심해 편해 미쳤어 다행이야')}"
    # the adjectives in ㅂ; verbs in 워 are few
    r"|[가-힣](?<![도누구배싸피키채태비지세재외깨데치씌아추리])(?<!스러)(?<!쓰러)워"
    rf"|{any_of(f'축하 사랑 조심 부탁 추천 {_STATES}')}해)$"
)
_FINAL_WORDS = re.compile(
    r"(?:더라|(?<!누)구나|거든|[느으]?냐|(?:봐|줘)|(?:하|가|오|보|먹|있|으|시|이)렴|더군|는군|로군|[는하었았했이]구[만먼]"
    r"|[할갈올볼줄될쓸둘낼칠릴킬뵐을살쉴탈실]게|(?:챙|넘|맡|남|옮)길게|(?:[할갈올볼줄쓸탈살쉴놀낼실릴]|[먹있입앉찾받읽]을)래"
    r"|(?:^|[^마])가자|놀자|먹자|보자|말자|살자|쉬자|만나자|(?:해|가|봐|와|줘|마|먹어|사|보|둬|[려겨켜쳐워내써]|[보찾앉받잡알살놀달막닦참날]아|[^오]어|여)라"
    rf"|(?:이|거|꺼|뭐|어디|누구)야|[할갈볼올살줄을]걸|(?:[산]|예쁘|이쁘|아프|바쁘|비싸)대|[가-힣]{{2}}이래|(?:안|야|면)돼|[던은인를른본한는]거지|것지"
    rf"|[가-힣]{{2}}임|됨|[좋많적싶같낮높작찮]음|빠름|느림|아쉬움|비쌈|모름|엄청남|짜증남"
    rf"|{any_of(f'추천 강추 {_STATES}')}함)$"
)
_NOMINAL_FORMS = re.compile(
    r"(?:[가-힣]음|[가-힣]{2}함|[가-힣]짐|[해사려여어아와춰켜]줌|[해가와어아려읽]봄"
    r"|(?:나|들어|돌아|다녀|가져|올라|내려|넘어|따라)옴|(?:들어|나|올라|내려|넘어|다녀|돌아|지나)감|(?:끝|나타|화|신|혼|고장|생각|티|빛|벗어)남"
    r"|(?:걸|떨|틀|올|버|들|밀|풀|잘|알|드|졸|흘|질|꼬)림|(?:넘|미|그|다|고|빡|놓|마|끼)침|[모부짜]름|(?:시|일으|들)킴|(?:만|힘|흔|잠|물)듦)$"
)
"""Nominal forms of verbs, as clipped style ends sentences (교환 신청함)."""
_NOMINALS_OF_ADJECTIVES = re.compile(
    "(?:[비]?쌈|나쁨|예쁨|이쁨|바쁨|빠름|느림|다름|멋짐|웃김|힘듦|짧음|더러움|매움|추움|더움|귀여움|무거움|가벼움|시끄러움|싱거움|뜨거움|차가움|두꺼움|부드러움|지겨움|쉬움|어두움|아까움|가까움)$"
)
_FEELINGS = re.compile("(?:[가-힣]움|아픔|고픔|슬픔|기쁨|흐림)$")
"""Nominal forms that are also common nouns; predicates only after a subject or an adverb."""
_SHORT_NOMINALS = frozenset("봄줌감옴함남")
_VERB_BEFORE = re.compile(r"(?:[게을를]|(?:^|\s)(?:잘|안|못|또|다시|다))\s+$")
"""What makes a short nominal form a predicate: 재밌게 봄, 선물을 줌."""
_NOUNS_IN_M = re.compile(
    rf"(?:^|[가-힣])(?:{any_of('처 마 다 웃 울 믿 걸 얼 모 죽 졸 녹 소 발 복 볶 묶 물 자 잡 젊 화 고 방 저 중 굉 과 득 첫걸 비웃 조 이 그 도 배 신 폭 비 촬 무 즈 배경 효과')}음"
    rf"|{any_of('포 결 잠수 항공모 군 명 고 보관 우편 사물 수납 투표 공구 구급 모금 전 함 편지 사서 서 개인 관물 신발 휴지')}함"
    rf"|{any_of('다 모')}짐|{any_of('만 강 호 미 동 장')}남|{any_of('이 그 아')}침|{any_of('이 여 구 보 씨 주 거 기 흐 시')}름|그림|드림|알림|올림|흐림|마침|새로고침)$"
)
"""Nouns that end like nominal forms."""
_MISSPELT_PAST = frozenset("햇엇앗갓왓봣됫됏졋렷쳣줫엿켯겻랏낫잇")
"""Past syllables written with ㅅ for ㅆ."""
_LOOSE_YO = re.compile("(?:[어아워네해]여|[하마으가보사오되주]세여|[예에거게려구고]여)$")
"""요 written as 여."""
_NOUNS_IN_EO = re.compile(
    r"(?:올해|새해|이해|오해|피해|방해|손해|통해|위해|대해|관해|의해|비해|인해|향해|[국영언단용일문]어|한국어|중국어|하여|되어|이어|더불어)$"
)
_PLAIN_EO = re.compile(
    r"[가-힣](?:어|(?<=[찾앉받잡살놀알참남좋막녹볶작많같맞낮높])아|해|려|겨|져|쳐|워|써|돼|켜|퍼|빠|뻐|파)$"
)
_STEM_JI = frozenset("ㅎㄶㅀㅈㅌㅍㅆㅄㄲㄼㄺㄻㄵㅊ")
"""Consonants before 지 in which stems end (괜찮지) and hardly any noun (편지)."""
_PLAIN_JI = re.compile(
    "(?:[춥덥맵쉽렵겁럽갑볍곱낫웃벗씻하되쁘프르크시뭐던]|[것음람말집날일점책남감]이|비싸|어쩌|느리)지$"
)
_NOUNS_JI = re.compile(
    rf"{any_of('잡 집 접 덮 압 갑 습 급 답 합 겁 법 입 꽁 이미 거 페이 소시 메시 세 하 조 피 시 모 르 브리 커티 코티 스테이 정말이')}지$"
)
_NOUNS_DAE = re.compile(
    rf"{any_of('반 군 연 현 안 순 전 선 만 근 분 환 시 세 기 무 부 침 붕 절 최 확 초 상 고 공 의 법 지 일 입 접 집 급')}대$"
)
_HEARSAY_CONSONANTS = frozenset("ㅂㅎㄶㅀㅍㅌ")
_HEARSAY = re.compile("(?:[하쁘프르크온간한된진난준쓴탄친킨린는]|싸|느리|어리|질기)대$")
_VERBS_NA = re.compile(rf"{any_of('만 끝 떠 일어 태어 생각 나타 화 짜증 신 고장 빛 벗어 피어')}나$")
_STEMS_BEFORE_YA = frozenset(
    "셔고니되해가와아어여워려겨져쳐봐줘돼써꺼커켜나서사자타세에제래퍼빠파뻐이거뭐디구꺼배"
)
_PAST_WITH_NEUN = tuple(f"{past}는대" for past in "았었했랐렸졌겠됐갔왔봤샀")
"""는대 for 는데 in past forms, a common misspelling."""
_TOPIC_BEFORE = re.compile(r"[가-힣][이가은는도]\s")
_NOUNS = re.compile(
    rf"{any_of('게 책 모 타 프레 선 주 담 해 신 취 사 위 쓰 움직 부 연 재 퇴 짜 속 높 길 놓 줄 보 섞 쌓 붙 드 크라 슬라')}임$"
    rf"|^{any_of('나라 소라 노라 사라 하자 여자 한대 산대 하나라 자라 그대 이대')}$"
    rf"|{any_of('우간 르완 혼 베란 아만 린 브렌 판 냅 그러 이러 저러 어쩌 어디 들입')}다$|까봐$"
)
_FAMILY = re.compile(
    rf"{any_of('동 그 너 니 우리 쟤 얘 걔 언니 누나 오빠 엄마 아빠 이모 고모 할머니 할아버지 친구 아줌마 아저씨 어머니 들')}네$|^네$"
)
"""동네, 언니네: nouns, and the house of somebody."""
_BEFORE_LAUGHTER = frozenset(
    "다요죠까네어아지임음함됨용당야군걸듯짐줌나해래대라자냐니게데든돼봐줘겨려여워와셔써켜펴져쳐꺼파빠뻐퍼커"
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
            text[max(start, word.start() - MAX_CLAUSE_CHARS) : word.start()],
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


def ends_sentence(
    word: str, following: str, clause: str = "", *, is_marked: bool, has_laughter: bool
) -> bool:
    """Whether a word before a space ends a sentence.

    `following` is the text after the space, `clause` the text before the word. `is_marked` says whether the sentence as a whole ends
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
    return not is_marked and ends_in_loose_form(word, following, clause)


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
    if consonant == "ㅆ" or (before in _MISSPELT_PAST and len(word) > 2 and not is_marked):
        if _ENDS_IN_MOTION.search(word) and (is_marked or _CONTINUES_MOTION.match(following)):
            return False
        pair = _NEXT_PAST.match(following)
        return pair is None or final_consonant(pair[1]) not in ("ㅆ", "ㅄ")
    if is_marked:
        return False
    if consonant in _STEM_CONSONANTS and not _VERBS_BY_CONSONANT.search(word):
        return True
    return consonant == "ㄴ" or bool(_COPULAS.search(word) or _ADJECTIVES.search(word))


def ends_in_nominal_form(word: str, following: str, clause: str) -> bool:
    """Whether a nominal form is the predicate of a clipped sentence, and not a noun."""
    if _CONTINUES_NOUN.match(following):
        return False
    if final_consonant(word[-2:-1]) in ("ㅆ", "ㅄ") and word.endswith("음"):
        return True
    if word in _SHORT_NOMINALS:
        return bool(_VERB_BEFORE.search(clause))
    if _NOUNS_IN_M.search(word):
        return False
    if _NOMINAL_FORMS.search(word):
        return bool(clause.strip())
    if _NOMINALS_OF_ADJECTIVES.search(word):
        return bool(clause.strip())
    return bool(_FEELINGS.search(word) and _SUBJECT_BEFORE.search(clause))


def ends_in_loose_form(word: str, following: str, clause: str = "") -> bool:
    """Whether a word ends a sentence by an ending that can also connect or end a noun."""
    if _NOUNS.search(word) or _CONTINUES_SAYING.match(following):
        return False
    last, consonant = word[-1], final_consonant(word[-2:-1])
    if final_consonant(last) in ("ㅁ", "ㄻ") and last != "렴":
        is_nominal = ends_in_nominal_form(word, following, clause)
        return is_nominal or bool(
            _FINAL_WORDS.search(word) and not _CONTINUES_NOUN.match(following)
        )
    if _LOOSE_YO.search(word):
        return True
    if last == "니" and word.endswith(("다니", "라니", "하니")):
        return False
    if last == "니" and consonant not in ("ㅆ", "ㅄ"):  # 언제 끝나니, but not 비가 오니
        return bool(_ASKS.search(clause[-MAX_NEAR_CHARS:]))
    if _ANSWERED.match(word) and _ASKED_NOW.search(clause):
        return not _CONTINUES_STATE.match(following) and not _CONTINUES_TRIAL.match(following)
    if last in "마가타":
        return word == "마" and clause.rstrip().endswith("지")
    if word == "그래" and not clause.strip():
        return False
    if _PROPOSED.search(word) and _PROPOSES.search(clause):
        return True
    if last == "걸" and _CONTINUES_REGRET.match(following):
        return False
    if last == "게" and _CONTINUES_THING.match(following):
        return False
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
        if last in "네냐니대군당":
            return True
    if last == "네":
        return not _FAMILY.search(word)
    if _FINAL_EO.search(word):
        return not _CONTINUES_STATE.match(following)
    if last == "지" and not _NOUNS_JI.search(word):
        is_stem = consonant in _STEM_JI or _PLAIN_JI.search(word)
        return bool(is_stem) and not _CONTINUES_JI.match(following)
    if last == "대" and not _NOUNS_DAE.search(word):
        is_hearsay = consonant in _HEARSAY_CONSONANTS or _HEARSAY.search(word)
        if is_hearsay and not word.endswith(_PAST_WITH_NEUN):
            return True
    if last == "야" and consonant == "" and word[-2:-1] not in _STEMS_BEFORE_YA:
        return len(word) > 2 and bool(_TOPIC_BEFORE.search(clause))
    if _VERBS_NA.search(word):
        return bool(_ASKED_NOW.search(clause) or _OPENS_SENTENCE.match(following))
    if _PLAIN_EO.search(word) and _OPENS_SENTENCE.match(following):
        return not _NOUNS_IN_EO.search(word)
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
