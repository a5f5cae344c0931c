"""Checks before training: gold of the wrong type, and text that a checkpoint cannot read.

A checkpoint for another language, or a tokenizer that drops characters, must not look like a weak
model. A byte-fallback vocabulary of another language covers every character but fits none: each
takes three sub-words, whereas the vocabulary of the right language needs one or fewer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nikawa.errors import BadInput, list_names
from nikawa.io.lines import read_bytes
from nikawa.models.base import get_gold
from nikawa.records import Example, Kind, Span, Task, texts_inside

if TYPE_CHECKING:  # gold is checked before torch, which heads need, is looked for
    from nikawa.models.encoder.batches import Rows
    from nikawa.models.encoder.heads._base import Work

MAX_UNKNOWN_SHARE, MAX_LOST_SHARE = 0.8, 0.1
"""Unknown sub-words, and characters without a sub-word, as shares of all sub-words: more is
refused."""
MAX_SAMPLED_TEXTS = 256
"""Texts that are compared with their sub-words where the head itself reads no characters."""
BYTES_PER_CHARACTER, MANY_PER_CHARACTER = 2.5, 1.5
"""Sub-words per character: above the first a text is spelled in bytes, above the second much of it
is."""
MIN_VOCABULARY = 512
"""A smaller vocabulary consists of bytes on purpose."""
MIN_CHARACTERS = 20
"""Fewer characters do not show how well a vocabulary fits."""
MIN_SCRIPT_SHARE = 0.05
"""Share of the letters from which on a script counts."""
LANGUAGE_NAMES = {"ja": "Japanese", "ko": "Korean", "en": "English", "zh": "Chinese"}
LANGUAGE_CODES = {"jpn": "ja", "japanese": "ja", "kor": "ko", "korean": "ko"}
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
HANGUL = re.compile("[\uac00-\ud7a3]")


def check_gold(task: Task, examples: Sequence[Example]) -> None:
    """Raise BadInput for gold of another shape than the task's, or outside the text that it is
    about.
    """
    for example, gold in zip(examples, get_gold(task, examples), strict=True):
        if problem := find_gold_problem(task.kind, example, gold):
            what = f"example {example.id!r} has {gold!r} for {task.question!r}, which is {problem}"
            raise BadInput(what, cure="correct the example, or remove it")


def find_gold_problem(kind: Kind, example: Example, gold: Any) -> str:
    """The fault of a gold value for this kind of task; empty if it is valid.

    A text that the example does not show is no problem here: the head refuses it.
    """
    if kind == "similarity":
        is_right = _is_number(gold, Real) and isfinite(gold)
        return "" if is_right else "not a number"
    if kind == "choice":
        choices = example.inputs.get("choices")
        if not isinstance(choices, list | tuple):
            return ""
        is_right = _is_number(gold, Integral) and 0 <= gold < len(choices)
        return "" if is_right else f"not one of its {len(choices)} choices"
    if kind == "reading":
        if not isinstance(gold, list | tuple):
            return "not a list of answers"
        size = _text_length(example, "context")
        for answer in gold:
            if not isinstance(answer, Mapping) or not isinstance(answer.get("text"), str):
                return "not a list of answers with text and start"
            start: Any = answer.get("start")
            if not _is_number(start, Integral) or not 0 <= start <= size - len(answer["text"]):
                return "not inside its context"
        return ""
    if kind == "tagging":
        if not isinstance(gold, list | tuple) or not all(isinstance(s, Span) for s in gold):
            return "not a list of spans"
        size = _text_length(example, "text")
        is_right = all(0 <= span.start < span.end <= size for span in gold)
        return "" if is_right else "not inside its text"
    if kind == "tree":
        tree: Any = gold if isinstance(gold, Mapping) else {}
        heads = tree.get("heads")
        labels = tree.get("labels")
        is_right = isinstance(heads, list | tuple) and isinstance(labels, list | tuple)
        is_right = is_right and all(_is_number(head, Integral) for head in heads)
        return "" if is_right else "not a tree of heads and labels"
    if kind == "dialogue":
        return "" if isinstance(gold, list | tuple) else "not a list of domain-slot-value entries"
    return "" if isinstance(gold, str) or gold is None else "not a label"


def _is_number(gold: Any, kind: type) -> bool:
    return isinstance(gold, kind) and not isinstance(gold, bool)


def _text_length(example: Example, name: str) -> float:
    """The length of a text; without limit where it is not shown."""
    text = example.inputs.get(name)
    return len(text) if isinstance(text, str) else float("inf")


def sample_texts(work: Work, examples: Sequence[Example]) -> list[str]:
    """The first texts of some examples, of the inputs that the task shows."""
    texts = (
        text
        for example in examples
        for name in work.task.inputs
        for text in texts_inside(example.inputs.get(name))
    )
    return list(islice(texts, MAX_SAMPLED_TEXTS))


def check_coverage(work: Work, rows: Rows, examples: Sequence[Example], source: str) -> None:
    """Raise BadInput for a tokenizer that knows too few sub-words of the rows, or loses too many
    characters.
    """
    tokenizer = work.reader.tokenizer
    ids = np.concatenate(rows.tokens["input_ids"])
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    own = ids[~np.isin(ids, sorted(special))]
    unknown = 0
    if tokenizer.unk_token_id is not None:
        unknown = int((own == tokenizer.unk_token_id).sum())
    if unknown > MAX_UNKNOWN_SHARE * len(own):
        what = f"the tokenizer of {source} knows only {1 - unknown / len(own):.0%} of the tokens of {work.task.name}"
        cure = "choose a checkpoint for this language, and the segmentation it was trained with"
        raise BadInput(what, cure=cure)
    reader = work.reader
    lost, count = reader.lost, len(ids)
    if not rows.lost:
        # The head reads no characters, so this works only for tokenizers that return offsets.
        before = reader.lost.copy()
        lost, count = before, 0
        if getattr(tokenizer, "is_fast", False):
            count = sum(len(subwords.ids) for subwords in reader.read(sample_texts(work, examples)))
            lost, reader.lost = reader.lost - before, before
    if lost.total() > count * MAX_LOST_SHARE:
        worst = ", ".join(repr(character) for character, _ in lost.most_common(3))
        what = f"the tokenizer of {source} drops {lost.total():,} characters of {work.task.name}, such as {worst}"
        raise BadInput(
            what, cure="choose a tokenizer that keeps them, or one that returns token offsets"
        )


def check_vectors(model: Any, rows: Rows, source: str) -> None:
    """Raise BadInput for rows with a sub-word that the model has no vector for."""
    size = model.base_model.get_input_embeddings().num_embeddings
    most = max((int(part.max()) for part in rows.tokens["input_ids"] if len(part)), default=0)
    if most >= size:
        what = f"the tokenizer of {source} produces the token id {most}, but the model has {size:,} tokens"
        raise BadInput(what, cure="use the tokenizer the model was trained with")


def check_language(work: Work, rows: Rows, source: str, texts: Sequence[str]) -> list[str]:
    """Notes on how well a checkpoint suits the language of the texts.

    Their costs are stored in the rows. Raises BadInput for a vocabulary that spells them in bytes,
    unless the settings, or the checkpoint's own folder, say that it is meant for them.
    """
    if rows.cost is None:
        parts = [part for text in texts for part in NOT_ASCII.findall(text)]
        characters = sum(map(len, parts))
        rows.cost = 0.0
        if characters >= MIN_CHARACTERS:
            rows.cost = sum(map(len, work.reader.ids(parts))) / characters
    language, made_for = detect_language(texts), read_languages(source)
    finding = (
        f"the vocabulary of {source} needs {rows.cost:.1f} tokens per character of {work.task.name}"
    )
    settings = work.settings
    is_meant = (
        settings.any_language or settings.scratch or settings.epochs <= 0 or language in made_for
    )
    is_by_bytes = len(work.reader.tokenizer) < MIN_VOCABULARY
    if rows.cost > BYTES_PER_CHARACTER and not is_meant and not is_by_bytes:
        cure = f"choose an encoder for {_language_name(language)}, or continue with --set any_language=true"
        raise BadInput(f"{finding}: it spells this language in bytes", cure=cure)
    notes = []
    if rows.cost > MANY_PER_CHARACTER:
        notes.append(f"{finding}: it spells much of this text in bytes")
    if language and made_for and language not in made_for:
        languages = list_names(map(_language_name, sorted(made_for)))
        notes.append(
            f"{source} was made for {languages}, but the text of {work.task.name} is {_language_name(language)}"
        )
    return notes


def _language_name(code: str) -> str:
    return LANGUAGE_NAMES.get(code, code) or "this language"


def detect_language(texts: Iterable[str]) -> str:
    """`ja` or `ko` by the script, where the texts have one of them and not the other; else empty."""
    whole = "".join(texts)
    letters = sum(character.isalpha() for character in whole)
    counts = {"ja": len(KANA.findall(whole)), "ko": len(HANGUL.findall(whole))}
    present = [name for name, count in counts.items() if count > MIN_SCRIPT_SHARE * letters]
    return present[0] if len(present) == 1 else ""


def read_languages(source: str) -> frozenset[str]:
    """The languages that a checkpoint's folder or model card names; none where it names none, or
    many.
    """
    folder = Path(source)
    try:
        return frozenset({str(json.loads(read_bytes(folder / "vocabulary.json"))["language"])})
    except (BadInput, ValueError, KeyError, TypeError, RecursionError):
        pass
    try:
        card = read_bytes(folder / "README.md", "settings").decode()
    except (BadInput, ValueError):
        return frozenset()
    front_matter = card.removeprefix("---\n").partition("\n---")[0]
    entry = re.search(r"^language:(.*(?:\n\s*-.*)*)", front_matter, re.MULTILINE)
    words = re.findall(r"[A-Za-z]+", entry[1]) if entry else []
    codes = {LANGUAGE_CODES.get(word.lower(), word.lower()) for word in words}
    return frozenset() if any(len(code) > 3 for code in codes) else frozenset(codes)
