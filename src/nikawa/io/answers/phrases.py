"""The wording of answers: the lists in `phrases_ja.toml`, `phrases_ko.toml`, `phrases_en.toml`.

The lists of all languages are read together, because models answer a Japanese question in English
and the other way round. To teach every command a new wording, add one line to one of the files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from nikawa.io.toml import read_toml

LANGUAGES = ("ja", "ko", "en")


class Phrases(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The wording of one language, or of all."""

    cues: tuple[str, ...]
    """What announces an answer: 答え, 정답, answer."""
    weak_cues: tuple[str, ...]
    """The same, but also common as ordinary words: they count with a join or a colon behind them."""
    false_cues: tuple[str, ...]
    """What looks like a cue and announces a wrong answer: 不正解, 오답, wrong answer."""
    score_cues: tuple[str, ...]
    """What announces a number: 類似度, 점수, score."""
    joins: tuple[str, ...]
    """What connects a cue with the answer: は, 은, is."""
    fillers: tuple[str, ...]
    """What may come before the answer and says nothing: 選択肢, option, 約."""
    endings: tuple[str, ...]
    """What may follow a stated answer in its sentence: です, 입니다, because."""
    predicates: tuple[str, ...]
    """What makes the word of a label a verb at the end of a sentence: する, 합니다, the hypothesis."""
    verdicts: tuple[str, ...]
    """What follows an answer and states it: が正解, 가 정답, is correct."""
    negations: tuple[str, ...]
    """What follows a word and denies it: ではなく, 이 아니라."""
    negating_prefixes: tuple[str, ...]
    """What denies a word at its beginning: 非, 비, non-."""
    negating_words: tuple[str, ...]
    """What denies a word later in the sentence: not, never."""
    doubts: tuple[str, ...]
    """What follows a word that is asked about or assumed: でしょうか, 라면, ?"""
    denials: tuple[str, ...]
    """What denies or qualifies an answer later in its clause: 「Bだとは思わない」, 라고 하기 어렵다."""
    affirmations: tuple[str, ...]
    """Phrases with the words of a denial that are not denials: に違いない, 틀림없."""
    concessions: tuple[str, ...]
    """What ends a clause that the next one may take back: 「Bに見えますが、…」."""
    corrections: tuple[str, ...]
    """What takes back, at the start of a sentence, the answer before it: 「いや、」, 정정, wait."""
    assumptions: tuple[str, ...]
    """What makes the rest of a sentence an assumption or an opinion of others: もし, 만약, if."""
    conclusions: tuple[str, ...]
    """What leads from an assumption to a statement: ので, 따라서, so."""
    alternatives: tuple[str, ...]
    """Words between two answers of which neither is chosen: または, 혹은, or."""
    ordinal_marks: tuple[str, ...]
    """What makes a number count from 1: 番目, 번째, nd."""
    number_marks: tuple[str, ...]
    """What makes a number one of a choice that may count from 0 or from 1: 番, 번."""
    units: tuple[str, ...]
    """Units of a score: 点, 점, points."""
    scale_words: tuple[str, ...]
    """What follows the end of a scale, not a score: 点満点, 점 만점."""
    ranges: tuple[str, ...]
    """What makes two numbers a range: から, 부터, to."""
    no_answers: tuple[str, ...]
    """What says that the text holds no answer: 答えなし, 답 없음."""
    refusals: tuple[str, ...]
    """What declines to answer."""
    labels: dict[str, tuple[str, ...]]
    """Words for a label, in addition to its published name."""
    short_labels: dict[str, tuple[str, ...]]
    """Words that mean a label as a whole answer or after a cue, but not inside a sentence: yes, はい."""


@cache
def load_phrases() -> Phrases:
    """The wording of all languages."""
    folder = Path(__file__).parent
    parts = [
        msgspec.convert(read_toml(folder / f"phrases_{name}.toml"), Phrases) for name in LANGUAGES
    ]
    merged: dict[str, object] = {}
    for name in Phrases.__struct_fields__:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], dict):
            labels = dict.fromkeys(label for value in values for label in value)
            merged[name] = {
                label: tuple(word for value in values for word in value.get(label, ()))
                for label in labels
            }
        else:
            merged[name] = tuple(phrase for value in values for phrase in value)
    return msgspec.convert(merged, Phrases)


def match_any(phrases: Iterable[str]) -> str:
    """The source of a regular expression for any of the phrases, the longest first.

    English words match whole words only. No phrase: nothing matches.

    >>> match_any(["or", "または"])
    '(?:または|(?<![A-Za-z])or(?![A-Za-z]))'
    """
    folded = {unicodedata.normalize("NFKC", phrase) for phrase in phrases}
    sources = []
    for phrase in sorted(folded - {""}, key=lambda text: (-len(text), text)):
        before = r"(?<![A-Za-z])" if re.match(r"[A-Za-z]", phrase) else ""
        after = r"(?![A-Za-z])" if re.search(r"[A-Za-z]\Z", phrase) else ""
        sources.append(f"{before}{re.escape(phrase)}{after}")
    return f"(?:{'|'.join(sources)})" if sources else r"(?!)"
