"""Whether an encoder was made for the language of a task: what its vocabulary makes of the text, and what its card says.

A vocabulary of another language that falls back on bytes knows every character and reads none: each takes three pieces, where
its own language costs one or fewer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from nikawa.errors import BadInput, listed
from nikawa.models.encoder.heads._base import Work
from nikawa.models.encoder.store import Rows

BYTES, MANY = 2.5, 1.5
"""Pieces a character: above the first a text is spelled in bytes, above the second much of it is."""
BY_DESIGN = 512
"""Vocabularies smaller than this have bytes for pieces on purpose."""
ENOUGH = 20
"""Fewer characters tell nothing."""
PRESENT = 0.05
"""Share of the letters from which on a script counts."""
NAMES = {"ja": "Japanese", "ko": "Korean", "en": "English", "zh": "Chinese"}
CODES = {"jpn": "ja", "japanese": "ja", "kor": "ko", "korean": "ko"}
WIDE = re.compile(r"[^\x00-\x7f]+")
KANA, HANGUL = re.compile("[\u3041-\u3096\u30a1-\u30fa]"), re.compile("[\uac00-\ud7a3]")


def suits(work: Work, rows: Rows, source: str, texts: Sequence[str]) -> list[str]:
    """Refuse a vocabulary that spells the texts of the rows in bytes, unless that is meant; else what there is to note."""
    rows.cost = cost = pieces_a_character(work, texts) if rows.cost is None else rows.cost
    written, made_for = language_of(texts), languages_of(source)
    said = f"the vocabulary of {source} takes {cost:.1f} pieces a character of {work.task.name}"
    settings = work.settings
    meant = settings.any_language or settings.scratch or settings.epochs <= 0 or written in made_for
    if cost > BYTES and not meant and len(work.reader.tokenizer) >= BY_DESIGN:
        cure = f"take an encoder of {_named(written)}, or go on with --set any_language=true"
        raise BadInput(f"{said}: it spells this language in bytes", cure=cure)
    notes = [f"{said}: it spells much of this text in bytes"] if cost > MANY else []
    if written and made_for and written not in made_for:
        notes.append(
            f"{source} was made for {listed(map(_named, sorted(made_for)))}, the text of {work.task.name} is {_named(written)}"
        )
    return notes


def _named(code: str) -> str:
    return NAMES.get(code, code) or "this language"


def pieces_a_character(work: Work, texts: Iterable[str]) -> float:
    """What the vocabulary costs where letters are not those of ASCII; 0 where there are too few of them."""
    parts = [part for text in texts for part in WIDE.findall(text)]
    characters = sum(map(len, parts))
    if characters < ENOUGH:
        return 0.0
    return sum(map(len, work.reader.ids(parts))) / characters


def language_of(texts: Iterable[str]) -> str:
    """`ja` or `ko` by the script, where there is one of them and no other."""
    whole = "".join(texts)
    letters = sum(c.isalpha() for c in whole)
    counts = {"ja": len(KANA.findall(whole)), "ko": len(HANGUL.findall(whole))}
    found = [name for name, count in counts.items() if count > PRESENT * letters]
    return found[0] if len(found) == 1 else ""


def languages_of(source: str) -> frozenset[str]:
    """The languages that an encoder's folder or card names; none where it says nothing, or many."""
    folder = Path(source)
    try:
        return frozenset({str(json.loads((folder / "vocabulary.json").read_bytes())["language"])})
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        head = (folder / "README.md").read_text("utf-8").removeprefix("---\n").partition("\n---")[0]
    except (OSError, ValueError):
        return frozenset()
    told = re.search(r"^language:(.*(?:\n\s*-.*)*)", head, re.MULTILINE)
    words = re.findall(r"[A-Za-z]+", told[1]) if told else []
    codes = {CODES.get(word.lower(), word.lower()) for word in words}
    return frozenset() if any(len(code) > 3 for code in codes) else frozenset(codes)
