"""Names of people: which may be given, which are the same name spelled otherwise, and which only look the same.

Two spellings of one name are one worker: names are compared in the compatibility form of Unicode (NFKC), without blanks
around them and without case. Somebody who comes a second time as `Hanako ` gets the link of `hanako`, and none of the
texts that `hanako` wrote. Names that look alike (`аki` with a Cyrillic а) may be two people: the dashboard lists them.

The table of look-alikes follows the idea of Unicode Technical Standard 39 (skeletons), cut down to the scripts of
Japanese, Korean and European names: the data of the standard would be a hundred times as long, and most of it mathematical
letters, which NFKC folds anyway.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from nikawa.records import DECISION_KINDS, name_kind

MAX_NAME_CHARS = 200
"""Of a name."""
_UNSEEN = re.compile(
    # What is printable for Python and yet not to be seen: fillers of Hangul, the empty cell of Braille,
    # joiners and variation selectors (Default_Ignorable_Code_Point of Unicode, where it is no format character).
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_LOOK_ALIKES = (
    "aаαɑ", "AАΑ", "bЬь", "BВΒ", "cсϲ", "CСϹ", "dԁ", "eеҽ", "EЕΕ", "gɡց", "hһ", "HНΗ", "iіιı", "jј", "JЈ",
    "kкκ", "KКΚ", "lI1|ӏӀІΙ丨ᅵ", "MМΜ", "nոη", "NΝ", "oо0οօσ○〇◯ᄋᆼ", "OОΟ", "pрρ", "PРΡ", "qԛ", "rг",
    "sѕ", "SЅ", "tтτ", "TТΤ", "uυս", "vνѵ", "wԝѡ", "xхχ×", "XХΧ", "yуγ", "YΥҮУ", "ZΖ", "3Ззʒ", "6б",
    "カ力", "ロ口囗", "ニ二", "ハ八", "エ工", "タ夕", "ト卜", "チ千", "オ才", "ヘへ", "ベべ", "ペぺ", "リり", "ミ三",
    "ヌ又", "ム厶", "ヒ匕", "ヨ彐", "メ〆㐅", "土士", "日曰", "末未", "己已巳",
    "-‐‒–—―−ー一ᅳ─", "'’‘ʼ`", ".․·・",
)  # fmt: skip
"""Characters that look like the first of their group."""
_SKELETON = {ord(other): group[0] for group in _LOOK_ALIKES for other in group[1:]}


def clean_name(name: str) -> str:
    """A name as a new worker gets it: in the compatibility form, without blanks around it.

    >>> clean_name(" ｈａｎａ\u3000")
    'hana'
    """
    return unicodedata.normalize("NFKC", name).strip()


@lru_cache(maxsize=1 << 16)
def fold_name(name: str) -> str:
    """What all spellings of a name share.

    >>> fold_name("Ｈana  Mori ") == fold_name("hana mori")
    True
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


@lru_cache(maxsize=1 << 16)
def name_skeleton(name: str) -> str:
    """What names share that a person may take for one another.

    >>> name_skeleton("\u0430ki") == name_skeleton("aki"), name_skeleton("Ivan") == name_skeleton("lvan")
    (True, True)
    """
    drawn = unicodedata.normalize("NFKC", name).translate(_SKELETON).replace("rn", "m")
    return fold_name(drawn)


def find_name_fault(name: str) -> str:
    """Why a name is not allowed; empty if it can be seen, typed and compared."""
    cleaned = clean_name(name)
    if not cleaned:
        return "it is empty"
    if max(len(name), len(cleaned)) > MAX_NAME_CHARS:
        return f"it has more than {MAX_NAME_CHARS} characters"
    for sign in name.strip():
        # a wide blank is no printable character for Python, and common between family and given name
        if _UNSEEN.match(sign) or not (sign == "\u3000" or sign.isprintable()):
            title = unicodedata.name(sign, "a control character")
            return f"it contains U+{ord(sign):04X} ({title}), which is invisible"
    prefix, colon, _ = fold_name(name).partition(":")
    if colon and prefix.strip() in DECISION_KINDS:
        # a worker who joined under such a name through the link of a platform would decide items in every export
        return f"names that start with {prefix.strip()}: are reserved for decisions"
    if name_kind(fold_name(name)) != "person":
        return f"names that start with {prefix.strip()}: are reserved for models and simulations"
    return ""


def is_person_name(name: str) -> bool:
    """Whether a person may go by a name."""
    return not find_name_fault(name)


def find_look_alikes(names: Iterable[str]) -> list[list[str]]:
    """The names that look like another one, in groups, each in the order they came.

    >>> find_look_alikes(["aki", "mio", "\u0430ki"])
    [['aki', 'аki']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name_skeleton(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def describe_look_alikes(group: list[str]) -> str:
    """Names that look alike, each with the characters that not all of them have.

    >>> describe_look_alikes(["aki", "\u0430ki"])
    "'aki' (U+0061), 'аki' (U+0430)"
    """
    parts = []
    for name in group:
        odd = [sign for sign in dict.fromkeys(name) if any(sign not in other for other in group)]
        parts.append(f"{name!r} ({' '.join(f'U+{ord(sign):04X}' for sign in odd)})")
    return ", ".join(parts)
