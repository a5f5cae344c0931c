"""Which encoding and language a text has, from its first part.

If it cannot be detected, the error names the option that sets it.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.lines import guess_encoding
from nikawa.text.compose import compose_text

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SHIFTED = re.compile(rb"\x1b\$[@B]")
_KANA, _HANGUL = re.compile("[\u3041-\u30ff]"), re.compile("[\uac00-\ud7a3]")
_MIN_SHARE = 0.5
"""Share of kana, kanji and Hangul, among all that is not ASCII, that a guessed encoding must give.
"""
_MIN_SURE_SHARE = 0.95
"""The share where not even a NUL byte speaks for UTF-16."""
_MIN_KANA_SHARE, _MIN_HANGUL_SHARE = 0.1, 0.5
"""Shares of the letters that text of either language has at least; chance makes kanji and a sixth
of Hangul."""
_MIN_LETTERS_OF_MIXED, _LETTERS_PER_FAILURE = 20, 0.125
"""Letters from which on UTF-8 may be only a part of the text, and for each place where it fails,
how many there must be."""
_EAST_ASIAN = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01-\uff9f]")


def detect_encoding(sample: bytes, path: Path, *, whole: bool) -> str:
    """The encoding of a text that starts with `sample` (all of it, if `whole`)."""
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return name
    if _SHIFTED.search(sample):
        return "iso2022_jp"
    lines = sample if whole else sample[: sample.rfind(b"\n") + 1] or sample
    if _decodes(lines, "utf-8", final=whole) and (
        b"\0" not in lines or _east_asian_share(lines.decode(errors="ignore"))
    ):
        return "utf-8"  # a NUL that strayed into it goes with the invisible characters
    refuse_damaged(lines, path)
    has_nul = b"\0" in sample
    if utf_16 := detect_utf_16(sample, min_share=_MIN_SHARE if has_nul else _MIN_SURE_SHARE):
        return utf_16
    if has_nul:
        cure = "if it is text, pass its encoding with --encoding"
        raise BadInput("contains NUL bytes, so it is not text", file=path, cure=cure)
    guess = guess_encoding(lines)
    if guess is None or _east_asian_share(lines.decode(guess)) < _MIN_SHARE:
        hint = f"; it might be {guess}" if guess else ""
        cure = "pass it with --encoding (shift_jis, cp949, euc-jp, utf-16-le, …) or repair the file"
        raise BadInput(
            f"is not UTF-8, and its encoding cannot be detected{hint}", file=path, cure=cure
        )
    return guess


def _decodes(data: bytes, encoding: str, *, final: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final)
    except UnicodeDecodeError:
        return False
    return True


def refuse_damaged(data: bytes, path: Path) -> None:
    """Text in which UTF-8 fails at few places is damaged, or mixed from files of different
    encodings: say where.
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        text = data.decode("utf-8", "replace")
        letters, failures = len(_EAST_ASIAN.findall(text)), text.count("\ufffd")
        letters_per_failure = 2 if letters < _MIN_LETTERS_OF_MIXED else _LETTERS_PER_FAILURE
        # other encodings make a letter now and then by chance
        if letters < failures * letters_per_failure:
            return
        line = data.count(b"\n", 0, problem.start) + 1
        byte = f"byte 0x{data[problem.start]:02x}: {problem.reason}"
        what = f"is not UTF-8 ({byte}), as the text around it is"
        cure = "repair the line, or convert the part that has another encoding"
        raise BadInput(what, file=path, line=line, cure=cure) from None


def detect_utf_16(sample: bytes, min_share: float) -> str | None:
    """UTF-16 without a mark: the byte order that makes kana or Hangul, and East Asian letters of at
    least this share.
    """
    even = sample[: len(sample) // 2 * 2]
    texts = {name: even.decode(name, "replace") for name in ("utf-16-le", "utf-16-be")}
    best = max(texts, key=lambda name: _east_asian_share(texts[name]))
    text = texts[best]
    not_ascii = sum(not c.isascii() for c in text)
    kana, hangul = len(_KANA.findall(text)), len(_HANGUL.findall(text))
    if max(kana / _MIN_KANA_SHARE, hangul / _MIN_HANGUL_SHARE) < not_ascii:
        return None
    is_likely = _east_asian_share(text) >= min_share and _decodes(even, best, final=False)
    return best if is_likely else None


def _east_asian_share(text: str) -> float:
    """The share of kana, kanji and Hangul among all characters that are not ASCII."""
    not_ascii = sum(not c.isascii() for c in text)
    return len(_EAST_ASIAN.findall(text)) / not_ascii if not_ascii else 0.0


def find_encoding(name: str) -> str:
    """The encoding called `name`.

    shift_jis and euc-kr are read with the extensions that real files have.
    """
    wider = {"shift_jis": "cp932", "euc_kr": "cp949"}
    try:
        encoding = codecs.lookup(name).name
        "".encode(encoding)  # codecs such as base64 are no text encodings
    except LookupError:
        cure = "try utf-8, shift_jis, euc-jp, cp949 or utf-16"
        raise BadInput(f"there is no encoding {name!r}", cure=cure) from None
    return wider.get(encoding, encoding)


def detect_language(text: str, path: Path) -> str:
    """ja or ko, by which of kana and Hangul there is more of."""
    if not text.strip():
        raise BadInput("is empty", file=path, cure="pass a file that contains text")
    whole = compose_text(text)
    kana, hangul = len(_KANA.findall(whole)), len(_HANGUL.findall(whole))
    if kana == hangul:
        what = "contains as much kana as Hangul, so its language cannot be detected"
        raise BadInput(what, file=path, cure="pass --language ja or --language ko")
    return "ja" if kana > hangul else "ko"
