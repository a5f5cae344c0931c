"""Forms of Japanese verbs and adjectives, from the conjugation class of IPADIC or UniDic.

    >>> conjugate("行く", "past"), conjugate("生ずる", "te"), conjugate("来る", "negative", "カ変・来ル")
    ('行った', '生じて', '来ない')

First comes the class of a word: some words and endings settle it, a class of the dictionary names
it, and the dictionary is asked only where the ending leaves it open (every る that is not する, ずる or
来る). Then the table: what each class puts in the place of the end of the dictionary form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from nikawa.errors import BadInput, unknown

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

_BY_DICTIONARY = {
    "一段": "一段",
    "上一段": "一段",
    "下一段": "一段",
    "カ変": "カ変",
    "カ行変格": "カ変",
    "サ変": "サ変",
    "サ行変格": "サ変",
    "ザ行変格": "サ変",
    "形容詞": "形容詞",
    "特殊・ダ": "形容動詞",
    "助動詞-ダ": "形容動詞",
    "特殊・ナイ": "形容詞",
    "特殊・タイ": "形容詞",
    "助動詞-ナイ": "形容詞",
    "助動詞-タイ": "形容詞",
}
"""How the class of a dictionary begins, and our class for it."""
_ENDS = {
    "一段": ("る",),
    "カ変": ("る",),
    "サ変": ("る", "す"),
    "形容詞": ("い",),
    "形容動詞": ("",),
}
_GODAN = {
    ending: f"五段・{row}"
    for ending, row in zip("くぐすつぬぶむるう", "カガサタナバマラワ", strict=True)
}
"""The last kana of a 五段 verb to its class."""
_A_U_O = frozenset(
    "あかがさざただなはばぱまやらわうくぐすずつづぬふぶぷむゆるおこごそぞとどのほぼぽもよろゃゅょ"
)

"""Kana in あ, う and お: a る after them is 五段."""
_I_E = frozenset("いきぎしじちにひびみりえけげせぜてでねへべめれ")
"""Kana in い and え: a る after them is 一段 or 五段."""


def conjugate(word: str, form: str, ctype: str | None = None) -> str:
    """A form (a name of `FORMS`) of a word in its dictionary form. 行く, past: 行った.

    `ctype` is the class as IPADIC or UniDic names it; without it the analyser is asked where the
    spelling leaves a doubt. Raises `BadInput` for an unknown form, a form the word does not have,
    and a word that does not conjugate.
    """
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    made = _forms(word, ctype or "")
    if form not in made:
        raise BadInput(f"{word!r} has no {form} form", cure="choose another form or another word")
    return made[form]


def list_forms(word: str, ctype: str | None = None) -> dict[str, str]:
    """Every form the word has, by name; `ctype` as for `conjugate`.

    >>> list_forms("高い")["negative"]
    '高くない'
    """
    return dict(_forms(word, ctype or ""))


@lru_cache(maxsize=1 << 14)
def _forms(word: str, ctype: str) -> dict[str, str]:
    name = conjugation_class(word, ctype or None)
    if name.startswith("五段"):
        return godan_forms(word, name.removeprefix("五段・"))
    return _CLASSES[name](word)


def conjugation_class(word: str, ctype: str | None = None) -> str:
    """The class: 五段 and its row (`五段・カ`), `一段`, `サ変`, `カ変`, `形容詞`, `形容動詞`, or an irregular of its
    own.
    """
    if word in SPECIAL:
        return SPECIAL[word]
    for endings, name in SPECIAL_ENDINGS:
        if word.endswith(endings):
            return name
    if ctype:
        return _class_of_dictionary(word, ctype)
    return (
        USUAL.get(word) or class_by_ending(word) or _class_of_dictionary(word, _look_up_class(word))
    )


def _class_of_dictionary(word: str, ctype: str) -> str:
    """Our class for the dictionary's."""
    if ctype.endswith(("得ル", "ア行-ウル")) and word.endswith("うる"):
        return "うる"
    for start, name in _BY_DICTIONARY.items():
        if ctype.startswith(start) and word[-1:] and word.endswith(_ENDS[name]):
            return name
    if "ウ音便" in ctype and word.endswith("う"):
        return "五段・ウ音便"
    if ctype.startswith("五段") and word[-1:] in _GODAN:
        return _GODAN[word[-1]]
    raise BadInput(
        f"{word!r} does not conjugate as {ctype!r}"
        if ctype
        else f"{word!r} is not a dictionary form",
        cure="pass the dictionary form of a verb or adjective and its IPADIC or UniDic class",
    )


def class_by_ending(word: str) -> str | None:
    """The class where the last characters settle it."""
    last = word[-1:]
    if len(word) < 2:
        return None
    if last == "い":
        return "形容詞"
    if last == "だ":
        return "形容動詞"
    if last != "る":
        return _GODAN.get(last)
    if len(word) > 2 and word[-2] == "う":
        return "うる" if word[-3] in _I_E else None  # ありうる; 見うる and ほうる are asked for
    if word[-2] in _A_U_O:
        return _GODAN["る"]
    # A kanji, then い or え, then る: 一段 without exception, where IPADIC may offer a literary 五段 (駆ける).
    return "一段" if word[-2] in _I_E and len(word) > 2 and word[-3] >= "一" else None


def _look_up_class(word: str) -> str:
    """What IPADIC says of the last word of the text.

    A bare word may be taken for another; inside a sentence it seldom is.
    """
    if not word:
        return ""
    from nikawa.text.analysers import analyser

    ja = analyser("ja")
    for text in (word, f"人が{word}。", f"物を{word}。"):
        for token in reversed(ja.analyse(text)):
            if token.ctype and word.endswith(token.base) and token.surface == token.base:
                return token.ctype
    return ""


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

_SOFT = frozenset("愛訳略適属課解害介託辞資服復博約要有擁呈廃配排賭帰記模供化科称制評抗利期食目")
"""Characters whose する verb has moved to 五段 but for its dictionary form: 愛さない, 適さない. After ッ and ン
it has not: 達しない."""


class VerbBases(NamedTuple):
    """What a verb's forms are built on."""

    stem: str
    past: str
    negative: str
    """What ない follows."""
    conditional: str
    volitional: str


def verb_forms(word: str, bases: VerbBases, **whole: str) -> dict[str, str]:
    """The forms that all verbs build in the same way, and those given as a whole."""
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


def godan_forms(word: str, row: str, past: str | None = None) -> dict[str, str]:
    """五段: 書く 書いた 書かない; `row` is a key of `ROWS`, or ウ音便 for 問う 問うた."""
    onbin = row == "ウ音便"
    vowels, ta = ROWS["ワ" if onbin else row]
    a, i, e, o = tuple(vowels)
    root = word[:-1]
    bases = VerbBases(
        root + i,
        past or (word + "た" if onbin else root + ta),
        root + a,
        root + e + "ば",
        root + o + "う",
    )
    return verb_forms(
        word,
        bases,
        passive=root + a + "れる",
        causative=root + a + "せる",
        potential=root + e + "る",
        imperative=root + e,
    )


def ichidan_forms(word: str) -> dict[str, str]:
    """一段: 見る 見た 見ない."""
    root = word[:-1]
    imperative = root if root.endswith(("くれ", "呉れ")) else root + "ろ"
    return verb_forms(
        word,
        VerbBases(root, root + "た", root, root + "れば", root + "よう"),
        passive=root + "られる",
        causative=root + "させる",
        potential=root + "られる",
        imperative=imperative,
    )


def suru_forms(word: str) -> dict[str, str]:
    """サ変: 勉強する 勉強した; 愛する 愛さない; 罰する 罰せられる."""
    root = word[:-2]
    if len(root) == 1 and root in _SOFT:
        return godan_forms(root + "す", "サ") | {"dictionary": word, "conditional": root + "すれば"}
    bases = VerbBases(root + "し", root + "した", root + "し", root + "すれば", root + "しよう")
    # 罰せられる, 達せられる: a single character read with ッ; 勉強される otherwise.
    bound = len(root) == 1 and root >= "一"
    passive = root + ("せられる" if bound else "される")
    potential = passive if bound else root + "できる"
    return verb_forms(
        word,
        bases,
        passive=passive,
        causative=root + "させる",
        potential=potential,
        imperative=root + ("せよ" if bound else "しろ"),
    )


def zuru_forms(word: str) -> dict[str, str]:
    """生ずる 生じた 生じない, but 生ずれば."""
    root = word[:-2]
    return ichidan_forms(root + "じる") | {
        "dictionary": word,
        "conditional": root + "ずれば",
        "imperative": root + "ぜよ",
    }


def kuru_forms(word: str) -> dict[str, str]:
    """カ変: くる きた こない; 来る 来た 来ない."""
    root = word[:-1]
    kana = root.endswith("く")
    i, o = (root[:-1] + "き", root[:-1] + "こ") if kana else (root, root)
    return verb_forms(
        word,
        VerbBases(i, i + "た", o, root + "れば", o + "よう"),
        passive=o + "られる",
        causative=o + "させる",
        potential=o + "られる",
        imperative=o + "い",
    )


def uru_forms(word: str) -> dict[str, str]:
    """ありうる: えます, えない, but うる and うれば; it has no voice, will or command."""
    made = ichidan_forms(word[:-2] + "える") | {
        "dictionary": word,
        "conditional": word[:-1] + "れば",
    }
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


def respectful_forms(word: str) -> dict[str, str]:
    """くださる and its like: 五段, but くださいます and the command ください."""
    made = godan_forms(word, "ラ")
    polite = word[:-1] + "い"
    return made | {
        "polite": polite + "ます",
        "polite_past": polite + "ました",
        "imperative": polite,
    }


def aru_forms(word: str) -> dict[str, str]:
    """ある: 五段 with the negative ない, and without voice."""
    root = word[:-2]
    made = godan_forms(word, "ラ") | {"negative": root + "ない", "negative_past": root + "なかった"}
    return {form: made[form] for form in made if form not in ("passive", "causative", "potential")}


def adjective_forms(word: str, root: str) -> dict[str, str]:
    """形容詞: 高い 高かった 高くない, on the root 高."""
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


def na_adjective_forms(word: str) -> dict[str, str]:
    """形容動詞: 静かだ 静かだった 静かではない; the だ may be left out."""
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
    "一段": ichidan_forms,
    "サ変": suru_forms,
    "ズル": zuru_forms,
    "カ変": kuru_forms,
    "行く": lambda word: godan_forms(word, "カ", word[:-1] + "った"),
    "ゆく": lambda word: godan_forms(word, "カ", word[:-2] + "いった"),
    "ラ行特殊": respectful_forms,
    "うる": uru_forms,
    "ある": aru_forms,
    "形容詞": lambda word: adjective_forms(word, word[:-1]),
    "いい": lambda word: adjective_forms(word, word[:-2] + "よ"),
    "形容動詞": na_adjective_forms,
}
