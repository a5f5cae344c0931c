"""The table of Japanese conjugation: what each class puts in the place of the end of the dictionary form."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

FORMS = (
    "dictionary",
    "past",
    "te",
    "stem",
    "negative",
    "negative_past",
    "polite",
    "polite_past",
    "passive",
    "causative",
    "potential",
    "volitional",
    "conditional",
    "conditional_tara",
    "imperative",
    "progressive",
    "progressive_past",
)
"""Names of the forms. `stem` is the 連用形, `conditional` the ば form, `progressive` the ている form."""

ROWS = {
    "カ": ("かきけこ", "いた"),
    "ガ": ("がぎげご", "いだ"),
    "サ": ("さしせそ", "した"),
    "タ": ("たちてと", "った"),
    "ナ": ("なにねの", "んだ"),
    "バ": ("ばびべぼ", "んだ"),
    "マ": ("まみめも", "んだ"),
    "ラ": ("らりれろ", "った"),
    "ワ": ("わいえお", "った"),
}
"""五段: the four vowels other than ウ, and the past with its 音便."""

U_ONBIN = ("問う", "乞う", "請う", "恋う", "訪う", "給う", "宣う", "のたまう")
"""五段・ワ行 whose past keeps う: 問うた. IPADIC gives some of them the other class."""

SPECIAL = {
    "くる": "カ変",
    "獲る": "五段・ラ",
    "ある": "ある",
    "いる": "一段",
    "おる": "五段・ラ",
    "こする": "五段・ラ",
    "さする": "五段・ラ",
    "ゆする": "五段・ラ",
    "かする": "五段・ラ",
    "割る": "五段・ラ",
    "なする": "五段・ラ",
    "すする": "五段・ラ",
    "かわいい": "形容詞",
}
"""Whole words whose class no ending tells."""

USUAL = {"ねる": "一段", "える": "一段", "よける": "一段", "にえる": "一段"}
"""Words in kana for which IPADIC prefers a rarer verb (練る, 選る): the class where none is given."""

_RESPECTFUL = (
    "くださる",
    "下さる",
    "なさる",
    "為さる",
    "いらっしゃる",
    "おっしゃる",
    "仰る",
    "仰しゃる",
    "ござる",
    "御座る",
)
SPECIAL_ENDINGS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("出来る", "居る"), "一段"),
    (("有る", "在る"), "ある"),
    (("行く", "逝く", "往く", "いく"), "行く"),
    (("ゆく",), "ゆく"),
    (_RESPECTFUL, "ラ行特殊"),
    (("来る", "てくる", "でくる"), "カ変"),
    (("する",), "サ変"),
    (("ずる",), "ズル"),
    (("いい",), "いい"),
    (U_ONBIN, "五段・ウ音便"),
)
"""Ends of words that settle the class whatever the dictionary says; the first that fits counts."""

_SOFT = frozenset("愛訳略適属課解害介託辞資服復博約要有擁呈廃配排賭帰記模供化科称制評抗利期食目")
"""Characters whose する verb has moved to 五段 but for its dictionary form: 愛さない, 適さない. After ッ and ン it has not: 達しない."""


class _Bases(NamedTuple):
    """What a verb's forms are built on."""

    stem: str
    past: str
    negative: str
    """What ない follows."""
    conditional: str
    volitional: str


def build(word: str, name: str) -> dict[str, str]:
    """Every form of the word as a member of the class."""
    if name.startswith("五段"):
        return _godan(word, name.removeprefix("五段・"))
    return _CLASSES[name](word)


def _verb(word: str, bases: _Bases, **whole: str) -> dict[str, str]:
    te = bases.past[:-1] + ("て" if bases.past.endswith("た") else "で")
    return {
        "dictionary": word,
        "past": bases.past,
        "te": te,
        "stem": bases.stem,
        "negative": bases.negative + "ない",
        "negative_past": bases.negative + "なかった",
        "polite": bases.stem + "ます",
        "polite_past": bases.stem + "ました",
        "conditional": bases.conditional,
        "conditional_tara": bases.past + "ら",
        "volitional": bases.volitional,
        "progressive": te + "いる",
        "progressive_past": te + "いた",
        **whole,
    }


def _godan(word: str, row: str, past: str | None = None) -> dict[str, str]:
    onbin = row == "ウ音便"
    vowels, ta = ROWS["ワ" if onbin else row]
    a, i, e, o = tuple(vowels)
    root = word[:-1]
    bases = _Bases(
        root + i,
        past or (word + "た" if onbin else root + ta),
        root + a,
        root + e + "ば",
        root + o + "う",
    )
    return _verb(
        word,
        bases,
        passive=root + a + "れる",
        causative=root + a + "せる",
        potential=root + e + "る",
        imperative=root + e,
    )


def _ichidan(word: str) -> dict[str, str]:
    root = word[:-1]
    imperative = root if root.endswith(("くれ", "呉れ")) else root + "ろ"
    return _verb(
        word,
        _Bases(root, root + "た", root, root + "れば", root + "よう"),
        passive=root + "られる",
        causative=root + "させる",
        potential=root + "られる",
        imperative=imperative,
    )


def _suru(word: str) -> dict[str, str]:
    root = word[:-2]
    if len(root) == 1 and root in _SOFT:
        return _godan(root + "す", "サ") | {"dictionary": word, "conditional": root + "すれば"}
    bases = _Bases(root + "し", root + "した", root + "し", root + "すれば", root + "しよう")
    # 罰せられる, 達せられる: a single character read with ッ; 勉強される otherwise.
    bound = len(root) == 1 and root >= "一"
    passive = root + ("せられる" if bound else "される")
    potential = passive if bound else root + "できる"
    return _verb(
        word,
        bases,
        passive=passive,
        causative=root + "させる",
        potential=potential,
        imperative=root + ("せよ" if bound else "しろ"),
    )


def _zuru(word: str) -> dict[str, str]:
    root = word[:-2]
    return _ichidan(root + "じる") | {
        "dictionary": word,
        "conditional": root + "ずれば",
        "imperative": root + "ぜよ",
    }


def _kuru(word: str) -> dict[str, str]:
    root = word[:-1]
    kana = root.endswith("く")
    i, o = (root[:-1] + "き", root[:-1] + "こ") if kana else (root, root)
    return _verb(
        word,
        _Bases(i, i + "た", o, root + "れば", o + "よう"),
        passive=o + "られる",
        causative=o + "させる",
        potential=o + "られる",
        imperative=o + "い",
    )


def _uru(word: str) -> dict[str, str]:
    """ありうる: えます, えない, but うる and うれば; it has no voice, will or command."""
    made = _ichidan(word[:-2] + "える") | {"dictionary": word, "conditional": word[:-1] + "れば"}
    unknown = (
        "passive",
        "causative",
        "potential",
        "volitional",
        "imperative",
        "progressive",
        "progressive_past",
    )
    return {form: made[form] for form in made if form not in unknown}


def _special_ra(word: str) -> dict[str, str]:
    made = _godan(word, "ラ")
    polite = word[:-1] + "い"
    return made | {
        "polite": polite + "ます",
        "polite_past": polite + "ました",
        "imperative": polite,
    }


def _aru(word: str) -> dict[str, str]:
    root = word[:-2]
    made = _godan(word, "ラ") | {"negative": root + "ない", "negative_past": root + "なかった"}
    return {form: made[form] for form in made if form not in ("passive", "causative", "potential")}


def _adjective(word: str) -> dict[str, str]:
    return _adjectival(word, word[:-1])


def _ii(word: str) -> dict[str, str]:
    return _adjectival(word, word[:-2] + "よ")


def _adjectival(word: str, root: str) -> dict[str, str]:
    return {
        "dictionary": word,
        "past": root + "かった",
        "te": root + "くて",
        "stem": root + "く",
        "negative": root + "くない",
        "negative_past": root + "くなかった",
        "polite": word + "です",
        "polite_past": root + "かったです",
        "conditional": root + "ければ",
        "conditional_tara": root + "かったら",
        "volitional": root + "かろう",
    }


def _na(word: str) -> dict[str, str]:
    root = word.removesuffix("だ")
    return {
        "dictionary": root + "だ",
        "past": root + "だった",
        "te": root + "で",
        "stem": root + "に",
        "negative": root + "ではない",
        "negative_past": root + "ではなかった",
        "polite": root + "です",
        "polite_past": root + "でした",
        "conditional": root + "ならば",
        "conditional_tara": root + "だったら",
        "volitional": root + "だろう",
    }


_CLASSES: dict[str, Callable[[str], dict[str, str]]] = {
    "一段": _ichidan,
    "サ変": _suru,
    "ズル": _zuru,
    "カ変": _kuru,
    "行く": lambda word: _godan(word, "カ", word[:-1] + "った"),
    "ゆく": lambda word: _godan(word, "カ", word[:-2] + "いった"),
    "ラ行特殊": _special_ra,
    "うる": _uru,
    "ある": _aru,
    "形容詞": _adjective,
    "いい": _ii,
    "形容動詞": _na,
}
