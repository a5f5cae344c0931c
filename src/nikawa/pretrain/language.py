"""Whether a text is in the language it is said to be in, by the script of its letters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nikawa.errors import BadInput, unknown

NAMES = {"ja": "Japanese", "ko": "Korean"}
LEAST = 0.4
"""Share of the letters that must be of the language's own script; documentation is full of Latin words."""
LEAST_KANA = 0.1
"""Share of kana among the letters of Japanese; Chinese has none."""
SAMPLE = 200_000
"""Characters of a file that are looked at."""
_KANA = "\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\uff66-\uff9d"
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_OWN = {
    "ja": re.compile(f"[{_KANA}{_HAN}]"),
    "ko": re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]"),
}
_LETTER, _ANY_KANA = re.compile(r"[^\W\d_]"), re.compile(f"[{_KANA}]")


def known_language(language: str) -> str:
    """The language, if it is one that can be learned here."""
    if language not in NAMES:
        raise unknown("language with an encoder", language, NAMES)
    return language


def own_share(texts: Iterable[str], language: str) -> float:
    """The share of letters that are of the language's script; 0 for Japanese with hardly any kana."""
    own = kana = letters = 0
    for text in texts:
        letters += len(_LETTER.findall(text))
        own += len(_OWN[language].findall(text))
        kana += len(_ANY_KANA.findall(text)) if language == "ja" else 0
    if not letters or (language == "ja" and kana < LEAST_KANA * letters):
        return 0.0
    return own / letters


def refuse_other(texts: Iterable[str], language: str, path: Path) -> None:
    """Refuse a text that is not in the language."""
    texts = list(texts)
    share = own_share(texts, language)
    if share >= LEAST:
        return
    other = next(
        (name for name in NAMES if name != language and own_share(texts, name) >= LEAST), ""
    )
    cure = f"say --language {other}" if other else "name another text, or say --any-language"
    what = f"does not look {NAMES[language]}: {share:.0%} of its letters are"
    raise BadInput(what, file=path, cure=cure)
