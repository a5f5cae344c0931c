"""Which encoding and language a text has, from its first part; what cannot be told is refused with the option that tells it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.lines import guess_encoding

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SHIFTED = re.compile(rb"\x1b\$[@B]")
_KANA, _HANGUL = re.compile("[\u3041-\u30ff]"), re.compile("[\uac00-\ud7a3]")
_LIKELY = 0.5
"""Share of kana, kanji and Hangul, among all that is not ASCII, that a guessed encoding must give."""
_OURS = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01-\uff9f]")


def detect_encoding(sample: bytes, path: Path, *, whole: bool) -> str:
    """The encoding of a text that starts with `sample` (all of it, if `whole`)."""
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        return _wide(sample, path)
    if _SHIFTED.search(sample):
        return "iso2022_jp"
    cut = sample if whole else sample[: sample.rfind(b"\n") + 1] or sample
    if _decodes(cut, "utf-8", final=whole):
        return "utf-8"
    guess = guess_encoding(cut)
    if guess is None or _share(cut.decode(guess)) < _LIKELY:
        hint = f"; it might be {guess}" if guess else ""
        cure = "name it with --encoding (shift_jis, cp949, euc-jp, …) or repair the file"
        raise BadInput(f"is not UTF-8, and its encoding cannot be told{hint}", file=path, cure=cure)
    return guess


def _decodes(data: bytes, encoding: str, *, final: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final)
    except UnicodeDecodeError:
        return False
    return True


def _wide(sample: bytes, path: Path) -> str:
    """UTF-16 without a mark: the byte order that makes letters of our scripts and line breaks."""
    even = sample[: len(sample) // 2 * 2]
    shares = {name: _share(even.decode(name, "replace")) for name in ("utf-16-le", "utf-16-be")}
    best = max(shares, key=lambda name: shares[name])
    if shares[best] < _LIKELY or not _decodes(even, best, final=False):
        raise BadInput(
            "holds NUL bytes: it is not text", file=path, cure="name its encoding with --encoding if it is"
        )
    return best


def _share(text: str) -> float:
    foreign = [c for c in text if not c.isascii()]
    return len(_OURS.findall(text)) / len(foreign) if foreign else 0.0


def known_encoding(name: str) -> str:
    """The encoding called `name`; shift_jis and euc-kr are read with the extensions that real files have."""
    wider = {"shift_jis": "cp932", "euc_kr": "cp949"}
    try:
        found = codecs.lookup(name).name
        "".encode(found)  # codecs such as base64 are no text encodings
    except LookupError:
        cure = "try utf-8, shift_jis, euc-jp, cp949 or utf-16"
        raise BadInput(f"there is no encoding {name!r}", cure=cure) from None
    return wider.get(found, found)


def detect_language(text: str, path: Path) -> str:
    """ja or ko, by which of kana and Hangul there is more of."""
    if not text.strip():
        raise BadInput("is empty", file=path, cure="name a file with text in it")
    kana, hangul = len(_KANA.findall(text)), len(_HANGUL.findall(text))
    if kana == hangul:
        raise BadInput(
            "has neither more kana nor more Hangul: its language cannot be told",
            file=path,
            cure="say --language ja or ko",
        )
    return "ja" if kana > hangul else "ko"
