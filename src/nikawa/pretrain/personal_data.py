"""Personal data in text to learn from: reserved tokens in its place, [EMAIL], [URL], [MENTION],
[PHONE] and [ID].

Cleaning finds most of it. Numbers of payment cards, bank accounts, passports and driving licences
are found here: those that a word or a check digit gives away.
"""

from __future__ import annotations

import re

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The special tokens of a model of the BERT family, in the order of their numbers."""
ID_PLACEHOLDER = "[ID]"
STAND_INS = {
    "<email>": "[EMAIL]",
    "<url>": "[URL]",
    "<mention>": "[MENTION]",
    "<phone>": "[PHONE]",
    "<identity>": ID_PLACEHOLDER,
}
"""What cleaning leaves in the place of personal data, and the token that stands for it."""
PLACEHOLDERS = tuple(STAND_INS.values())
RESERVED = (*SPECIALS, *PLACEHOLDERS)

_RESERVED = re.compile("|".join(map(re.escape, RESERVED)))
_STAND_IN = re.compile("|".join(map(re.escape, STAND_INS)))
_DASH = "[-\u2010-\u2015\u2212\uff0d\u30fc \u3000]"
_PAYMENT_CARD = re.compile(
    rf"(?<![\d.,-])(?=[2-6２-６])(?:\d{{4}}({_DASH}?)\d{{4}}\1\d{{4}}\1\d{{4}}|\d{{4}}({_DASH}?)\d{{6}}\2\d{{5}})(?![\d-])"
)
_NAMED_NUMBER = re.compile(
    rf"(?:(?:口座|계좌)[^\d\n]{{0,12}}|(?:普通|当座)(?:預金|口座)?[^\w\n]{{0,3}}(?=\d{{7}}(?!\d))|(?:은행|銀行)[^\d\n]{{0,12}}(?=\d+{_DASH}\d+{_DASH}\d))"
    rf"(?P<account>\d(?:{_DASH}?\d){{5,15}})(?!\d)"
    rf"|(?:旅券|パスポート|여권)[^\dA-Z\n]{{0,8}}(?P<passport>[A-ZＡ-Ｚ]{{1,2}}\d{{7,8}})(?!\d)"
    rf"|(?:免許|면허)[^\d\n]{{0,8}}(?P<licence>\d{{2}}{_DASH}?\d{{2}}{_DASH}?\d{{6}}{_DASH}?\d{{2}})(?!\d)"
)
_BANKS = ("은행", "銀行")
_NAMES = (*_BANKS, "口座", "계좌", "普通", "当座", "旅券", "パスポート", "여권", "免許", "면허")
"""Words, one of which precedes every number that `_NAMED_NUMBER` finds; they make the search
cheap."""
_FOUR_DIGITS = re.compile(r"\d{4}")
_MAX_DATE_DIGITS = 8
"""Digits that years and dates have in a row of three at most; an account known by its bank alone
has more."""


def lower_reserved(text: str) -> str:
    """The text with the reserved tokens it contains in lower case: a page about [MASK] must
    not mask anything.
    """
    if "[" not in text:
        return text
    return _RESERVED.sub(lambda match: match.group().lower(), text)


def put_placeholders(text: str) -> str:
    """The text with placeholders instead of the stand-ins of cleaning.

    >>> put_placeholders("写真は<url>に")
    '写真は[URL]に'
    """
    if "<" not in text:
        return text
    return _STAND_IN.sub(lambda match: STAND_INS[match.group()], text)


def hide_accounts(text: str) -> str:
    """The text with `[ID]` in the place of numbers of cards, accounts, passports and licences.

    >>> hide_accounts("口座番号は1234567です")
    '口座番号は[ID]です'
    """
    if not _FOUR_DIGITS.search(text):
        return text
    text = _PAYMENT_CARD.sub(hide_payment_card, text)
    if any(name in text for name in _NAMES):
        text = _NAMED_NUMBER.sub(hide_named_number, text)
    return text


def hide_payment_card(match: re.Match[str]) -> str:
    """Hide a number whose last digit is the one that belongs to the others (ISO/IEC 7812-1, by
    Luhn).
    """
    digits = [int(sign) for sign in reversed(match.group()) if sign.isdecimal()]
    total = sum(digits[::2])
    for digit in digits[1::2]:
        total += sum(divmod(2 * digit, 10))
    return ID_PLACEHOLDER if total % 10 == 0 else match.group()


def hide_named_number(match: re.Match[str]) -> str:
    """Hide the number behind a word such as 口座 or 여권.

    A number behind a bank's name stays if it may be a date.
    """
    number = match.group(match.lastgroup or 0)
    digits = sum(map(str.isdecimal, number))
    if match.group().startswith(_BANKS) and digits <= _MAX_DATE_DIGITS:
        return match.group()
    return match.group().removesuffix(number) + ID_PLACEHOLDER
