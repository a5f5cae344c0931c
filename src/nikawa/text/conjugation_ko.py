"""Korean particles, the copula and verb endings in the shape their neighbour asks for.

    >>> attach("학교", "을/를"), attach("서울", "(으)로"), copula("의사", "past"), inflect("돕다", "past")
    ('학교를', '서울로', '의사였다', '도왔다')

Rules and short lists of the irregular stems do it, so that it works without a dictionary;
`join_by_kiwi` hands any row of morphemes to Kiwi, against which the rules are tested. The file has
three parts: particles and forms; stems before endings (vowel harmony, contraction, the irregular
classes); Hangul syllables as numbers, and the sound a word ends in, whatever it is written with.

An ending is written by what it starts with: 어… asks for harmony (아, 어, 여), 으… loses 으 after a vowel
or ㄹ, the rest is added as it is, with ㄹ lost before ㄴ, ㅅ and ㅂ. ㄴ and ㄹ after 으 close the syllable
before: 가 + 으ㄴ is 간.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from nikawa.errors import BadInput, unknown

PAIRS = (
    ("은", "는"),
    ("이", "가"),
    ("을", "를"),
    ("과", "와"),
    ("으로", "로"),
    ("아", "야"),
    ("이나", "나"),
    ("이랑", "랑"),
    ("이든", "든"),
    ("이든지", "든지"),
    ("이라도", "라도"),
    ("이야말로", "야말로"),
    ("이라고", "라고"),
    ("이란", "란"),
    ("이며", "며"),
    ("이여", "여"),
    ("이나마", "나마"),
    ("으로서", "로서"),
    ("으로써", "로써"),
    ("으로부터", "로부터"),
    ("으로는", "로는"),
    ("으로도", "로도"),
    ("이라는", "라는"),
    ("이라면", "라면"),
)
"""Particles of two shapes: after a consonant, after a vowel."""

_SHAPES = {shape: pair for pair in PAIRS for shape in pair}
_SHAPES |= {f"{a}/{b}": (a, b) for a, b in PAIRS} | {f"{b}/{a}": (a, b) for a, b in PAIRS}
_SHAPES |= {f"({a[0]}){b}": (a, b) for a, b in PAIRS if a[1:] == b}
_SHAPES |= {f"{a}({b})": (a, b) for a, b in PAIRS}

COPULA = {
    "dictionary": ("이다", "이다"),
    "past": ("이었다", "였다"),
    "connective": ("이고", "고"),
    "polite": ("이에요", "예요"),
    "polite_past": ("이었어요", "였어요"),
    "formal": ("입니다", "입니다"),
    "formal_past": ("이었습니다", "였습니다"),
    "modifier": ("인", "인"),
    "past_modifier": ("이었던", "였던"),
    "future_modifier": ("일", "일"),
    "conditional": ("이면", "면"),
    "because": ("이어서", "여서"),
    "but": ("이지만", "지만"),
    "past_connective": ("이었고", "였고"),
    "nominal": ("임", "임"),
}
"""Forms of 이다 after a consonant and after a vowel."""

FORMS = {
    "dictionary": "다",
    "stem": "",
    "infinitive": "어",
    "past": "어ㅆ다",
    "present": "는다",
    "future": "을 것이다",
    "connective": "고",
    "past_connective": "어ㅆ고",
    "sequence": "어서",
    "conditional": "으면",
    "while": "으면서",
    "and": "으며",
    "because": "으니",
    "but": "지만",
    "past_but": "어ㅆ지만",
    "purpose": "으러",
    "intention": "으려고",
    "until": "을 때까지",
    "when": "을 때",
    "past_when": "어ㅆ을 때",
    "before": "기 전",
    "after": "은 후",
    "since": "은 이래",
    "negative_stem": "지",
    "nominal": "기",
    "noun": "음",
    "modifier": "는",
    "past_modifier": "은",
    "future_modifier": "을",
    "retrospective": "던",
    "past_retrospective": "어ㅆ던",
    "progressive": "고 있다",
    "progressive_past": "고 있었다",
    "negative": "지 않는다",
    "negative_past": "지 않았다",
    "cannot": "지 못한다",
    "cannot_past": "지 못했다",
    "polite": "어요",
    "polite_past": "어ㅆ어요",
    "formal": "습니다",
    "formal_past": "어ㅆ습니다",
    "imperative": "어라",
    "propositive": "자",
    "perfect": "어 있다",
    "perfect_past": "어 있었다",
    "maybe": "을지도 모른다",
    "past_maybe": "어ㅆ을지도 모른다",
    "negative_maybe": "지 않을지도 모른다",
    "negative_past_maybe": "지 않았을지도 모른다",
    "past_future": "어ㅆ을 것이다",
    "past_future_modifier": "어ㅆ을",
    "negative_past_future": "지 않았을 것이다",
    "inferred": "나 보다",
    "past_inferred": "어ㅆ나 보다",
    "negative_past_inferred": "지 않았나 보다",
    "seem": "는 것 같다",
    "past_seem": "은 것 같다",
    "negative_past_seem": "지 않은 것 같다",
    "hearsay": "는다고 한다",
    "past_hearsay": "어ㅆ다고 한다",
    "negative_past_hearsay": "지 않았다고 한다",
    "past_certain": "어ㅆ음이 틀림없다",
    "negative_past_certain": "지 않았음이 틀림없다",
    "ability": "을 수 있다",
    "obligation": "어야 한다",
    "permission": "어도 된다",
}
"""Form by name, as its ending. 은, 을, 는다 and 습니다 take the shape the stem asks for."""

RESULTATIVE = frozenset(
    {
        "가다",
        "걸리다",
        "나가다",
        "나오다",
        "남다",
        "눕다",
        "달리다",
        "들어가다",
        "떠나다",
        "뜨다",
        "모이다",
        "서다",
        "소속되다",
        "속하다",
        "숨다",
        "쌓이다",
        "앉다",
        "오다",
        "익숙해지다",
        "입원하다",
        "잠기다",
        "피다",
    }
)
"""Verbs that express a state with -어 있다 (앉아 있다); the others use -고 있다 (살고 있다)."""

_SOFT = {"은": "으ㄴ", "을": "으ㄹ", "음": "으ㅁ", "습": "으ㅂ"}
"""Endings whose consonant closes the syllable before, after a vowel."""
_STATES = ("있", "없")
"""Verbs that inflect as adjectives do in some forms."""


def has_final(word: str) -> bool | None:
    """Whether the word, as it is read, ends in a consonant; None where that is unknown (a kanji, an
    emoji).
    """
    sound = final_sound(word)
    return None if sound is None else sound != "\0"


def attach(noun: str, particle: str, like: str = "") -> str:
    """The noun with the particle in its right shape.

    The particle may be given in either shape or as `은/는`, `(으)로`.

    `like` is a particle that somebody wrote after this noun: it tells how MP3 is read (MP3가, so
    MP3를). Where the reading is unknown both shapes are written, as Korean does: 은(는). Others are
    added as they are.
    """
    pair = _SHAPES.get(particle)
    if pair is None:
        if "/" in particle or "(" in particle:
            raise unknown("particle", particle, _SHAPES)
        return noun + particle
    after_consonant, after_vowel = pair
    # 로 follows ㄹ as well as a vowel: it tells nothing of 을 or 를, nor they of it.
    takes_l = after_consonant.startswith("으로")
    written = _SHAPES.get(like)
    tells = written is not None and like in written and not written[0].startswith("으로")
    # A word that ends in Hangul shows its final sound: nothing has to be guessed.
    ends_in_hangul = is_syllable((_strip_closers(noun) or " ")[-1])
    if written is not None and tells and not takes_l and not ends_in_hangul:
        return noun + pair[written.index(like)]
    sound = final_sound(noun)
    if sound is None:
        if after_consonant[1:] == after_vowel:
            return f"{noun}({after_consonant[0]}){after_vowel}"
        return f"{noun}{after_consonant}({after_vowel})"
    if sound == "\0" or (sound == "ㄹ" and takes_l):
        return noun + after_vowel
    return noun + after_consonant


def copula(noun: str, form: str = "dictionary") -> str:
    """The noun with a form of 이다: 학생이었다, 의사였다; `negative` and `negative_past` with 아니다.

    >>> copula("학생", "past"), copula("의사", "negative")
    ('학생이었다', '의사가 아니다')
    """
    negative = {"negative": " 아니다", "negative_past": " 아니었다"}
    if form in negative:
        return attach(noun, "이/가") + negative[form]
    if form not in COPULA:
        raise unknown("form of the copula", form, [*COPULA, *negative])
    return noun + COPULA[form][has_final(noun) is False]


@lru_cache(maxsize=1 << 16)
def inflect(verb: str, form: str, adjective: bool = False, irregular: str | None = None) -> str:
    """A form of a verb (or adjective) given in its dictionary form, which ends in 다.

    `irregular` names the class (`ㄷ ㅂ ㅅ ㅎ 르 러`, "" for regular) where two verbs share a spelling: 묻다
    is to ask, unless "".

    >>> inflect("묻다", "past"), inflect("묻다", "past", irregular=""), inflect("예쁘다", "modifier", adjective=True)
    ('물었다', '묻었다', '예쁜')
    """
    stem = verb.removesuffix("다")
    if stem == verb or not stem or not is_syllable(stem[-1]):
        raise BadInput(
            f"{verb!r} is not the dictionary form of a Korean verb",
            cure="pass the form that ends in 다, such as 먹다",
        )
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    ending = FORMS[form]
    is_state = adjective or stem.endswith(_STATES)
    is_closed = final_sound(stem) not in ("\0", "ㄹ")
    if form in ("present", "hearsay"):  # adjectives and 있다, 없다 differ from verbs
        rest = FORMS[form].removeprefix("는다")
        ending = ("다" if is_state else ("는다" if is_closed else "으ㄴ다")) + rest
    elif form == "negative" and is_state:
        ending = "지 않다"
    elif form == "modifier" and adjective and not stem.endswith(_STATES):
        ending = "은"
    elif form == "past_modifier" and is_state:
        ending = "어ㅆ던"
    elif form == "past_seem" and is_state:
        ending = "어ㅆ던 것 같다"
    elif form == "seem" and adjective and not stem.endswith(_STATES):
        ending = "은 것 같다"
    elif form == "inferred" and adjective and not stem.endswith(_STATES):
        ending = "은가 보다"
    if not ending:
        return stem
    if ending.startswith("습") and is_closed:
        return stem + ending
    soft = _SOFT.get(ending[0])
    return _add_ending(stem, soft + ending[1:] if soft else ending, irregular)


def join_by_kiwi(morphemes: Iterable[tuple[str, str]]) -> str:
    """Kiwi's own joining of (form, tag) morphemes: [("돕", "VV-I"), ("었", "EP"), ("다", "EF")] gives
    도왔다.
    """
    from nikawa.text.korean import join_morphemes

    return join_morphemes(list(morphemes))


_CHANGES_D = ("걷", "긷", "깨닫", "내닫", "눋", "듣", "묻", "붇", "싣", "일컫", "치닫")
"""Stems in ㄷ that becomes ㄹ before a vowel: 들어."""
_CHANGES_S = ("긋", "낫", "붓", "잇", "잣", "젓", "짓")
"""Stems in ㅅ that goes before a vowel: 지어."""
_KEEPS_B = ("꼬집", "꼽", "뽑", "씹", "업", "입", "잡", "접", "좁", "집", "수줍")
"""Stems in ㅂ that stays; in all others it becomes 우: 도와, 추워."""
_KEEPS_H = ("낳", "넣", "놓", "닿", "땋", "빻", "쌓", "좋", "찧")
"""Stems in ㅎ that stays; in all others it goes: 빨개."""
_ADDS_REO = ("이르", "푸르")
"""Stems in 르 that add 러: 푸르러."""
_ONLY_DROPS = ("따르", "치르", "들르", "다다르", "우러르")
"""Stems in 르 that only lose ㅡ: 따라. All others double ㄹ: 몰라."""
_NARROW = {"ㅏ": "ㅐ", "ㅓ": "ㅐ", "ㅑ": "ㅒ", "ㅕ": "ㅖ"}
"""The vowel of a stem in ㅎ, and what it becomes with 어."""
_MERGED = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ"}
"""The last vowel of a stem, and what it becomes with 아 or 어."""
_BEFORE_EU = {"ㅂ": ("\0", "우"), "ㅎ": ("\0", ""), "ㄷ": ("ㄹ", "으"), "ㅅ": ("\0", "으")}
"""Irregular stems before 으: the new tail, and what stands for 으."""
_WHOLE = {"여": (1, "해"), "러": (0, "러"), "우": (1, "퍼")}
"""Classes whose form in 어 needs no rule: characters dropped, characters added."""
_SILENT = frozenset("ㅏㅓㅐㅔㅕㅑ")
_SHORT_I = frozenset("기끼띠미비삐시이피")
"""One-syllable stems in ㅣ that keep it in writing: 피었다, 비었다."""


def irregular_class(stem: str) -> str:
    """`ㄷ ㅂ ㅅ ㅎ 르 러 여 우`, or "" for a regular stem.

    Of two homographs it is the class of the commoner: 묻다 is to ask, 걷다 to walk.
    """
    if stem.endswith("하"):
        return "여"
    if stem.endswith("르") and len(stem) > 1:
        if stem.endswith(_ADDS_REO):
            return "러"
        return "" if stem.endswith(_ONLY_DROPS) else "르"
    if stem == "푸":
        return "우"
    tail = split_syllable(stem[-1])[2]
    changes = {
        "ㄷ": stem.endswith(_CHANGES_D),
        "ㅅ": stem.endswith(_CHANGES_S),
        "ㅂ": not stem.endswith(_KEEPS_B),
        "ㅎ": not stem.endswith(_KEEPS_H),
    }
    return tail if changes.get(tail) else ""


def _add_ending(stem: str, ending: str, irregular: str | None = None) -> str:
    """The stem with the ending.

    `irregular` overrides the class where the dictionary has two verbs of one spelling.
    """
    kind = irregular_class(stem) if irregular is None else irregular
    tail, rest = split_syllable(stem[-1])[2], ending[1:]
    if ending.startswith("어"):
        return _add_closing(infinitive(stem, kind), rest)
    if not ending.startswith("으"):
        if tail == "ㄹ" and ending[0] in "는니네느나시":
            stem = replace_tail(stem, "\0")
        return stem + ending
    if kind in _BEFORE_EU:
        new_tail, added = _BEFORE_EU[kind]
        return _add_closing(replace_tail(stem, new_tail) + added, rest)
    if tail == "ㄹ":
        # It stays before ㅁ (삶, 살면) and 러, 려, and goes before ㄴ, ㅂ, ㅅ, 오 and a closing ㄹ.
        if rest[0] == "ㅁ":
            return replace_tail(stem, "ㄻ") + rest[1:]
        if rest[0] in "ㄴㅂㄹ니세시십오":
            stem = replace_tail(stem, "\0")
        return _add_closing(stem, rest)
    return _add_closing(stem if tail == "\0" else stem + "으", rest)


def _add_closing(text: str, rest: str) -> str:
    """Add what may start with a lone consonant, which closes the last syllable: 가 + ㅆ다 is 갔다."""
    if rest and "ㄱ" <= rest[0] <= "ㅎ":
        return replace_tail(text, rest[0]) + rest[1:]
    return text + rest


def infinitive(stem: str, kind: str) -> str:
    """The form in 아 or 어: 먹어, 가, 와, 도와, 들어, 몰라, 해."""
    if kind in _WHOLE:
        dropped, added = _WHOLE[kind]
        return stem[: len(stem) - dropped] + added
    if kind == "르":
        return replace_tail(stem[:-1], "ㄹ") + ("라" if _is_bright(stem[-2:-1]) else "러")
    if kind == "ㅂ":
        return replace_tail(stem, "\0") + ("와" if stem.endswith(("돕", "곱")) else "워")
    if kind == "ㅎ":
        lead, vowel, _ = split_syllable(stem[-1])
        return stem[:-1] + build_syllable(lead, _NARROW.get(vowel, vowel))
    if kind in ("ㄷ", "ㅅ"):
        added = "아" if _is_bright(stem[-1]) else "어"
        return replace_tail(stem, "ㄹ" if kind == "ㄷ" else "\0") + added
    lead, vowel, tail = split_syllable(stem[-1])
    if tail != "\0":
        return stem + ("아" if _is_bright(stem[-1]) else "어")
    if vowel == "ㅡ":
        bright = len(stem) > 1 and _is_bright(stem[-2])
        return stem[:-1] + build_syllable(lead, "ㅏ" if bright else "ㅓ")
    if vowel in _SILENT:
        return stem
    if vowel in _MERGED and stem not in _SHORT_I:
        return stem[:-1] + build_syllable(lead, _MERGED[vowel])
    return stem + "어"


def _is_bright(syllable: str) -> bool:
    """Whether its vowel takes 아, not 어."""
    return split_syllable(syllable)[1] in "ㅏㅑㅗ"


FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3
"""The first and the last composed syllable of Unicode, 가 and 힣."""
TAILS = "\0ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"

_DIGITS = dict(zip("0123456789", "ㅇㄹ\0ㅁ\0\0ㄱㄹㄹ\0", strict=True))
_POWERS = {1: "ㅂ", 2: "ㄱ", 3: "ㄴ", 4: "ㄴ", 8: "ㄱ", 12: "\0", 16: "ㅇ"}
"""십 백 천 만 억 조 경: what a number with so many zeros at its end is read with."""
_LETTERS = {"l": "ㄹ", "m": "ㅁ", "n": "ㄴ", "r": "ㄹ"}
"""The letters whose Korean names end in a consonant: 엘 엠 엔 알."""
_UNITS = {
    "%": "\0",
    "℃": "\0",
    "°": "\0",
    "㎞": "\0",
    "㎏": "ㅁ",
    "㎝": "\0",
    "㎜": "\0",
    "㎡": "\0",
    "℉": "\0",
    "$": "\0",
    "€": "\0",
    "km": "\0",
    "cm": "\0",
    "mm": "\0",
    "m": "\0",
    "kg": "ㅁ",
    "g": "ㅁ",
    "mg": "ㅁ",
    "l": "\0",
    "ml": "\0",
    "t": "ㄴ",
}
"""Final sounds of units after a number: 퍼센트, 도, 미터, 그램, 리터, 톤."""
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_CLOSERS = "\"'”’」』》〉)]】〕} \t.,!?…。、"
_BRACKETED = re.compile(r"(?<=\S)\s*(?:\([^()]*\)|\[[^\[\]]*\])$")
_AFTER_NUMBER = re.compile(r"[0-9]\s?([A-Za-z]{1,2}|[^\w\s])$")
_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?$")
_WORD = re.compile(r"[A-Za-z]+$")
_STOPPED = re.compile(r"(?:^|[^aeiou])(?:[aeiou]|oo)(?:ck|[bckpt])$")


def is_syllable(character: str) -> bool:
    """Whether it is a composed Hangul syllable."""
    return FIRST_SYLLABLE <= ord(character) <= LAST_SYLLABLE


def split_syllable(character: str) -> tuple[int, str, str]:
    """A syllable as lead (number), vowel and tail; the tail is NUL if the syllable has no final consonant."""
    code = ord(character) - FIRST_SYLLABLE
    return code // 588, VOWELS[code % 588 // 28], TAILS[code % 28]


def build_syllable(lead: int, vowel: str, tail: str = "\0") -> str:
    """The syllable of these parts."""
    return chr(FIRST_SYLLABLE + lead * 588 + VOWELS.index(vowel) * 28 + TAILS.index(tail))


def replace_tail(text: str, tail: str) -> str:
    """The text with the tail of its last syllable replaced."""
    lead, vowel, _ = split_syllable(text[-1])
    return text[:-1] + build_syllable(lead, vowel, tail)


def final_sound(text: str) -> str | None:
    """The consonant a word ends in as it is read, NUL after a vowel, None where the reading is
    unknown.

    Closing quotes and brackets do not count; 서울(Seoul) ends as 서울 does; 3 is read 삼, 10 십, L 엘, km
    킬로미터.
    """
    text = _strip_closers(text)
    if not text:
        return None
    last = text[-1]
    if is_syllable(last):
        return split_syllable(last)[2]
    if "ㄱ" <= last <= "ㅎ":
        return "ㄹ" if last == "ㄹ" else "ㄱ"  # the names of the consonants end in one: 기역, 리을
    if "ㅏ" <= last <= "ㅣ":
        return "\0"
    unit = _AFTER_NUMBER.search(text)
    if unit and unit[1].lower() in _UNITS:
        return _UNITS[unit[1].lower()]
    if number := _NUMBER.search(text):
        return final_of_number(number[0])
    if word := _WORD.search(text):
        return final_of_latin(word[0])
    return _UNITS.get(last)


def _strip_closers(text: str) -> str:
    """The text in NFC and half width, without closing quotes, and without brackets and their
    content at its end.
    """
    text, before = unicodedata.normalize("NFC", text).translate(_HALF_WIDTH), None
    while text != before:
        before = text
        text = _BRACKETED.sub("", text)
        if not _BRACKETED.search(text):
            text = text.rstrip(_CLOSERS)
    return text


def final_of_number(number: str) -> str:
    """The final sound of a number in digits as it is read: 3 is 삼, 20 이십, 1,000 천."""
    digits = number.replace(",", "")
    if "." in digits or not digits.strip("0") or not digits.endswith("0"):
        return _DIGITS[digits[-1]]
    zeros = len(digits) - len(digits.rstrip("0"))
    unit = max((power for power in (16, 12, 8, 4) if power <= zeros), default=0) or zeros
    return _POWERS[unit]


def final_of_latin(word: str) -> str:
    """Letters one by one when in capitals; else a guess from English spelling: Seoul ㄹ, Tom ㅁ, book
    ㄱ, test none.
    """
    if word.isupper() or len(word) == 1:
        return _LETTERS.get(word[-1].lower(), "\0")
    word = word.lower()
    if re.search(r"(?:l|[^aeiou]le)$", word):
        return "ㄹ"
    if re.search(r"(?:m|[aeiou]me)$", word):
        return "ㅁ"
    if re.search(r"(?:n|ng|[aeiou]ne)$", word):
        return "ㄴ"
    return "ㄱ" if _STOPPED.search(word) else "\0"
