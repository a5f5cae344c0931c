"""Sentence boundaries as offsets: `text[span.start:span.end]` is a sentence, and only white space
separates two sentences.
"""

from __future__ import annotations

from typing import Literal

from nikawa.errors import BadInput, unknown
from nikawa.records import Span
from nikawa.text.engine import need_text
from nikawa.text.sentence_rules import split_by_rules

Method = Literal["rules", "kiwi"]


def sentences(
    text: str, language: str, *, newline: bool = True, method: Method = "rules"
) -> list[Span]:
    """The sentences of `text`.

    `newline`: whether a single line break ends one (a blank line always does).

    `method="kiwi"` uses the splitter of Kiwi (Korean only, slower).

    >>> text = "猫が眠る。犬は？"
    >>> [text[s.start:s.end] for s in sentences(text, "ja")]
    ['猫が眠る。', '犬は？']
    """
    need_text(text)
    if language not in ("ja", "ko"):
        raise unknown("language with sentence rules", str(language), ("ja", "ko"))
    if method == "kiwi":
        if language != "ko":
            cure = "pass no method, or set the language to ko"
            raise BadInput("Kiwi splits Korean only", cure=cure)
        from nikawa.text.analysers import analyser
        from nikawa.text.korean import split_by_kiwi

        analyser("kiwi")  # loads the model once, under its lock
        return split_by_kiwi(text)
    if method != "rules":
        raise unknown("method", method, ("rules", "kiwi"))
    # The rules of a language compile at their first use.
    if language == "ja":
        from nikawa.text.sentences_ja import RULES as JAPANESE_RULES

        return split_by_rules(text, JAPANESE_RULES, newline)
    from nikawa.text.sentences_ko import RULES as KOREAN_RULES
    from nikawa.text.sentences_ko_endings import split_at_endings

    return [
        part
        for sentence in split_by_rules(text, KOREAN_RULES, newline)
        for part in split_at_endings(text, sentence, KOREAN_RULES)
    ]
