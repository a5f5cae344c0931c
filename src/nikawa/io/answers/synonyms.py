"""Other words for the labels of the known tasks, and what may stand around an answer."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

SYNONYMS: dict[str, tuple[str, ...]] = {
    "entailment": ("含意", "함의", "yes", "entails", "entailed"),
    "contradiction": ("矛盾", "모순", "no", "contradicts", "contradictory"),
    "neutral": ("中立", "중립", "unknown"),
    "positive": ("ポジティブ", "肯定的", "긍정"),
    "negative": ("ネガティブ", "否定的", "부정"),
    "acceptable": ("1", "容認可能", "容認できる"),
    "unacceptable": ("0", "容認不可能", "容認できない"),
}
"""The published label to what else means it. JCoLA itself publishes 1 and 0."""

_LEAD = re.compile(r"^(?:answer|label|答え|回答|解答|정답|답)\s*(?:[:：]|は)\s*", re.IGNORECASE)
_AROUND = " \t\n\r\u3000\"'`“”‘’「」『』()（）[]<>*"
_END = "。．.、,"


def bare(text: str) -> str:
    """`text` without quotes, brackets, a final stop and a lead such as `Answer:`."""
    text = text.strip(_AROUND)
    text = _LEAD.sub("", text).strip(_AROUND)
    return text.rstrip(_END).strip(_AROUND)


def folded(text: str) -> str:
    """`text` bare, without difference of case and width."""
    return bare(unicodedata.normalize("NFKC", text)).casefold()


@cache
def label_table(labels: tuple[str, ...]) -> dict[str, str]:
    """Folded text to label; a text that would mean two labels means none."""
    table: dict[str, str] = {}
    twice: set[str] = set()
    for label in labels:
        for text in {folded(word) for word in (label, *SYNONYMS.get(label, ()))}:
            if table.setdefault(text, label) != label:
                twice.add(text)
    return {text: label for text, label in table.items() if text not in twice and text}
