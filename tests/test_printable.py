"""Text that a terminal may show."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest

from nikawa.printable import (
    PrintableStream,
    cut_middle,
    printable,
    printable_json,
    printable_line,
    printable_streams,
    shorten,
)

READABLE = (
    "日本語、「漢字」と　かな。",
    "한국어 문장입니다.",
    "e\u0301 か\u3099 नमस्ते ไทย",
    "👩\u200d👩\u200d👧 ☀\ufe0f ❤\ufe0f\u200d🔥 👍🏽 1\ufe0f\u20e3 🇯🇵",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "葛\U000e0100城 神\ufe00",
    "\u00a0no break",
    "a backslash \\n of its own",
)
SHAPELESS = {
    "\x00": r"\x00",
    "\x1b[2J": r"\x1b[2J",
    "\x7f": r"\x7f",
    "\x9b31m": r"\x9b31m",
    "a\nb\r\tc": r"a\nb\r\tc",
    "\u2028\u2029\x85": r"\u2028\u2029\x85",
    "\u202eabc\u202c\u2066\u2069\u200f\u061c": r"\u202eabc\u202c\u2066\u2069\u200f\u061c",
    "a\u200bb\u2060c\ufeff\u00ad": r"a\u200bb\u2060c\ufeff\xad",
    "x\u200dy": r"x\u200dy",
    "a\ufe0f": r"a\ufe0f",
    "\ud800": r"\ud800",
    "\ue000\U000f0000": r"\ue000\U000f0000",
    "\u0378": r"\u0378",
    "\u3164\u115f\uffa0\u034f\u2800": r"\u3164\u115f\uffa0\u034f\u2800",
    "\U000e0041": r"\U000e0041",
}


@pytest.mark.parametrize("text", READABLE)
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == printable_json(text) == text


@pytest.mark.parametrize("text", SHAPELESS)
def test_what_has_no_shape_is_escaped(text: str) -> None:
    assert printable(text) == SHAPELESS[text]
    assert printable(printable(text)) == SHAPELESS[text]
    assert printable(f"日{text}本") == f"日{SHAPELESS[text]}本"


@pytest.mark.parametrize("text", SHAPELESS)
def test_json_stands_for_the_same_value(text: str) -> None:
    shown = printable_json(json.dumps([text], ensure_ascii=False))
    assert json.loads(shown) == [text]
    assert printable(shown) == shown


def test_every_character_of_a_category_without_shape_is_escaped() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
            assert printable(char).isascii(), hex(code)


def test_what_is_too_long_loses_its_middle() -> None:
    assert shorten("a" * 500_000, 9) == "aaaa…aaaa (500,000 characters)"
    assert shorten("short", 9) == cut_middle("short", 9) == "short"
    assert len(cut_middle("橋" * 50, 10)) == 10
    line = printable_line("\x1b" * 500_000)
    assert line.endswith("(500,000 characters)")
    assert len(line) < 2_100
    assert printable(line) == line


def test_a_stream_escapes_whatever_is_written() -> None:
    below = io.StringIO()
    stream = PrintableStream(below)
    print("a\x1b[31m\tb", "\u202e", sep="\n", file=stream)
    stream.writelines(["\r 10%", "c\rd\n"])
    assert below.getvalue() == "a\\x1b[31m\tb\n\\u202e\n\r 10%c\\rd\n"
    assert stream.isatty() is False
    assert stream.rich_proxied_file is below


def test_streams_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    below = io.StringIO()
    monkeypatch.setattr(sys, "stdout", below)
    before = sys.stdout, sys.stderr
    with printable_streams():
        outer = sys.stdout
        with printable_streams():
            assert sys.stdout is outer
        sys.stdout.write("\x07\n")
    assert (sys.stdout, sys.stderr) == before
    assert below.getvalue() == "\\x07\n"
