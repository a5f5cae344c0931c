"""Numbers of payment cards, bank accounts, passports and driving licences: such as say what they are, by a word or a check digit."""

from __future__ import annotations

import re

ID = "[ID]"
_DASH = "[-\u2010-\u2015\u2212\uff0d\u30fc \u3000]"
_CARD = re.compile(
    rf"(?<![\d.,-])(?=[2-6２-６])(?:\d{{4}}({_DASH}?)\d{{4}}\1\d{{4}}\1\d{{4}}|\d{{4}}({_DASH}?)\d{{6}}\2\d{{5}})(?![\d-])"
)
_NAMED = re.compile(
    rf"(?:(?:口座|계좌)[^\d\n]{{0,12}}|(?:普通|当座)(?:預金|口座)?[^\w\n]{{0,3}}(?=\d{{7}}(?!\d))|(?:은행|銀行)[^\d\n]{{0,12}}(?=\d+{_DASH}\d+{_DASH}\d))"
    rf"(?P<account>\d(?:{_DASH}?\d){{5,15}})(?!\d)"
    rf"|(?:旅券|パスポート|여권)[^\dA-Z\n]{{0,8}}(?P<passport>[A-ZＡ-Ｚ]{{1,2}}\d{{7,8}})(?!\d)"
    rf"|(?:免許|면허)[^\d\n]{{0,8}}(?P<licence>\d{{2}}{_DASH}?\d{{2}}{_DASH}?\d{{6}}{_DASH}?\d{{2}})(?!\d)"
)
_WORDS = (
    "口座",
    "계좌",
    "普通",
    "当座",
    "은행",
    "銀行",
    "旅券",
    "パスポート",
    "여권",
    "免許",
    "면허",
)
_ANY = re.compile(r"\d{4}")
_FEWEST = 8
"""Digits of an account whose bank is all that is told: years and dates have no more in a row of three."""


def without_accounts(text: str) -> str:
    """The text with `[ID]` in the place of such numbers."""
    if not _ANY.search(text):
        return text
    text = _CARD.sub(lambda found: ID if _checks(found.group()) else found.group(), text)
    return _NAMED.sub(_hidden, text) if any(word in text for word in _WORDS) else text


def _hidden(found: re.Match[str]) -> str:
    number = found.group(found.lastgroup or 0)
    if found.group().startswith(("은행", "銀行")) and sum(map(str.isdecimal, number)) <= _FEWEST:
        return found.group()
    return found.group().removesuffix(number) + ID


def _checks(number: str) -> bool:
    """Whether the last digit is the one that belongs to the others (ISO/IEC 7812-1, by Luhn)."""
    digits = [int(sign) for sign in reversed(number) if sign.isdecimal()]
    return (
        sum(sum(divmod(2 * d, 10)) if place % 2 else d for place, d in enumerate(digits)) % 10 == 0
    )
