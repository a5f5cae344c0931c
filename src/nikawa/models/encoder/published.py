"""The input that published encoders were trained on: word segmentation, normal form, length.

A vocabulary that was learned on full-width words of Juman++ knows few of the half-width letters and
unsegmented words of a raw text. The run still works, and no score shows what was lost. This table
has the input of known checkpoints by name, so that `input=published` sets it and a run with another
input gets a note.

Every entry names its source: the papers, the README of JGLUE's repository, or the card of the model.
None of the checkpoints was loaded to make this table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from nikawa.errors import BadInput
from nikawa.models.encoder.settings import ANALYSERS_BY_EXTRA, INPUT_SETTINGS

IN_TOKENIZER = "none"
"""The segmentation setting for a tokenizer that segments the text, or needs no words."""
CACHE_FOLDER = re.compile(r"models--(?P<owner>.+?)--(?P<name>.+)")
"""How the local cache of transformers calls the folder of a checkpoint."""


class InputSettings(Protocol):
    """The settings of a model that reads text with an encoder."""

    @property
    def segmentation(self) -> str:
        """The analyser that segments the text."""

    @property
    def normalise(self) -> str:
        """The normal form of the text."""

    @property
    def max_length(self) -> int:
        """Longest input in sub-words."""


@dataclass(frozen=True)
class PublishedInput:
    """The input of one family of checkpoints."""

    names: tuple[str, ...]
    """`owner/name` on the hub, or the name of the folder for a checkpoint that is not there."""
    words: str
    """What segments the text, in words."""
    segmentation: str
    """The setting `segmentation` for it."""
    form: str
    """The normal form of the text, in words; empty if the sources do not name one."""
    normalise: str | None
    """The setting `normalise` for it; None if the sources do not name one."""
    longest: int | None
    """Longest input in sub-words, as trained or as the papers use it; None if not stated."""
    source: str
    """Where this is written."""


JGLUE_README = "JGLUE README"
CARD = "model card"
RAW = "as it is"
NFKC_IN_TOKENIZER = "NFKC, by the tokenizer"

PUBLISHED_INPUTS = (
    PublishedInput(
        (
            "NICT_BERT-base_JapaneseWikipedia_32K_BPE",
            "NICT_BERT-base_JapaneseWikipedia_100K",
        ),
        words="MeCab with Jumandic",
        segmentation="juman",
        form="full width",
        normalise="fullwidth",
        longest=512,
        source=f"{JGLUE_README} and preprocessing; JGLUE Tables 7, 8",
    ),
    PublishedInput(
        ("nlp-waseda/roberta-base-japanese", "nlp-waseda/roberta-large-japanese"),
        words="Juman++ 2.0.0-rc3",
        segmentation="jumanpp",
        form="full width",
        normalise="fullwidth",
        longest=128,
        source=f"{CARD}; {JGLUE_README} and preprocessing",
    ),
    PublishedInput(
        ("nlp-waseda/roberta-large-japanese-seq512",),
        words="Juman++ 2.0.0-rc3",
        segmentation="jumanpp",
        form="full width",
        normalise="fullwidth",
        longest=512,
        source=f"{CARD}; {JGLUE_README} and preprocessing",
    ),
    PublishedInput(
        (
            "nlp-waseda/roberta-large-japanese-with-auto-jumanpp",
            "nlp-waseda/roberta-large-japanese-seq512-with-auto-jumanpp",
        ),
        words="Juman++, by the tokenizer",
        segmentation=IN_TOKENIZER,
        form=NFKC_IN_TOKENIZER,
        normalise="none",
        longest=None,
        source=f"{CARD}; transformers' JumanppTokenizer",
    ),
    PublishedInput(
        (
            "tohoku-nlp/bert-base-japanese",
            "tohoku-nlp/bert-base-japanese-whole-word-masking",
            "tohoku-nlp/bert-base-japanese-char",
            "tohoku-nlp/bert-base-japanese-char-whole-word-masking",
        ),
        words="MeCab with IPADIC, by the tokenizer",
        segmentation=IN_TOKENIZER,
        form=NFKC_IN_TOKENIZER,
        normalise="none",
        longest=512,
        source=f"{CARD}; JSICK Section 4.1",
    ),
    PublishedInput(
        (
            "tohoku-nlp/bert-base-japanese-v2",
            "tohoku-nlp/bert-base-japanese-char-v2",
            "tohoku-nlp/bert-large-japanese",
            "tohoku-nlp/bert-large-japanese-char",
        ),
        words="MeCab with UniDic 2.1.2, by the tokenizer",
        segmentation=IN_TOKENIZER,
        form=NFKC_IN_TOKENIZER,
        normalise="none",
        longest=512,
        source=f"{CARD}; JGLUE Table 7",
    ),
    PublishedInput(
        (
            "tohoku-nlp/bert-base-japanese-v3",
            "tohoku-nlp/bert-large-japanese-v2",
        ),
        words="MeCab with UniDic 2.1.2, by the tokenizer",
        segmentation=IN_TOKENIZER,
        form=NFKC_IN_TOKENIZER,
        normalise="none",
        longest=512,
        source=f"{CARD} and tokenizer configuration",
    ),
    PublishedInput(
        ("ku-nlp/deberta-v2-base-japanese",),
        words="Juman++ 2.0.0-rc3",
        segmentation="jumanpp",
        form="",
        normalise=None,
        longest=None,
        source=CARD,
    ),
    PublishedInput(
        ("ku-nlp/roberta-base-japanese-char-wwm",),
        words="none: characters",
        segmentation="none",
        form=RAW,
        normalise="none",
        longest=None,
        source=CARD,
    ),
    PublishedInput(
        ("line-corporation/line-distilbert-base-japanese",),
        words="MeCab with UniDic, by the tokenizer, which is custom code",
        segmentation=IN_TOKENIZER,
        form="",
        normalise=None,
        longest=None,
        source=CARD,
    ),
    PublishedInput(
        ("klue/bert-base", "klue/roberta-small", "klue/roberta-base", "klue/roberta-large"),
        words="none",
        segmentation="none",
        form=RAW,
        normalise="none",
        longest=512,
        source=f"{CARD} and tokenizer configuration; KLUE's baseline code",
    ),
    PublishedInput(
        ("beomi/KcELECTRA-base", "beomi/KcELECTRA-base-v2022"),
        words="none",
        segmentation="none",
        form="as it is; the card's `clean` shortens repetitions, and its own scores do not use it",
        normalise="none",
        longest=None,
        source=CARD,
    ),
    PublishedInput(
        ("FacebookAI/xlm-roberta-base", "FacebookAI/xlm-roberta-large"),
        words="none",
        segmentation="none",
        form=RAW,
        normalise="none",
        longest=512,
        source="JGLUE Tables 7, 8",
    ),
    PublishedInput(
        ("google-bert/bert-base-multilingual-cased",),
        words="none",
        segmentation="none",
        form=RAW,
        normalise="none",
        longest=None,
        source="JSICK Section 4.1",
    ),
)
"""The table of docs/encoder.md, in its order."""

FORMER_OWNERS = {"cl-tohoku": "tohoku-nlp"}
"""Owners that were renamed on the hub; their old names still work there."""
BARE_NAMES = {
    "xlm-roberta-base": "FacebookAI/xlm-roberta-base",
    "xlm-roberta-large": "FacebookAI/xlm-roberta-large",
    "bert-base-multilingual-cased": "google-bert/bert-base-multilingual-cased",
}
"""Names without an owner, as the papers write them."""


@cache
def _by_name() -> dict[str, PublishedInput]:
    table = {name.lower(): entry for entry in PUBLISHED_INPUTS for name in entry.names}
    for bare, name in BARE_NAMES.items():
        table[bare] = table[name.lower()]
    return table


def find_published_input(source: str) -> PublishedInput | None:
    """The input of a known checkpoint, by its name on the hub or by its folder; None if unknown.

    A folder is known if it ends in `owner/name`, if it is in the local cache of transformers, or if
    its own name belongs to one checkpoint only.

    >>> find_published_input("cl-tohoku/bert-base-japanese-v2").words
    'MeCab with UniDic 2.1.2, by the tokenizer'
    >>> find_published_input("models/mine") is None
    True
    """
    parts = [part for part in Path(source).parts if part not in (".", "/")]
    candidates = ["/".join(parts[-2:]), *parts[-1:]]
    for part in parts:
        if cached := CACHE_FOLDER.fullmatch(part):
            candidates.append(f"{cached['owner']}/{cached['name']}")
    for candidate in candidates:
        owner, slash, name = candidate.partition("/")
        full = f"{FORMER_OWNERS.get(owner, owner)}{slash}{name}"
        if (entry := _by_name().get(full.lower())) is not None:
            return entry
    return None


def resolve_published_input(source: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with `input=published` replaced by the settings it stands for.

    Settings that are given stay. A run stores the result, so that it means the same if this table
    changes. Raises BadInput for a checkpoint that the table does not have.
    """
    resolved = {name: value for name, value in settings.items() if name != "input"}
    if settings.get("input", "as-set") != "published":
        return resolved
    entry = find_published_input(source)
    if entry is None:
        raise BadInput(
            f"the input of {source} is not known",
            cure="set segmentation and normalise; docs/encoder.md lists the known checkpoints",
        )
    published = {"segmentation": entry.segmentation, "normalise": entry.normalise or "none"}
    for name, value in published.items():
        if value != INPUT_SETTINGS[name]:
            resolved.setdefault(name, value)
    return resolved


def find_input_notes(source: str, settings: InputSettings) -> list[str]:
    """A note if a known checkpoint gets another input than it was trained on."""
    entry = find_published_input(source)
    if entry is None:
        return []
    segmentation = ANALYSERS_BY_EXTRA.get(settings.segmentation, settings.segmentation)
    notes = []
    wrong: dict[str, tuple[str, str]] = {}
    if segmentation != entry.segmentation:
        wrong["segmentation"] = (entry.segmentation, settings.segmentation)
    if entry.normalise is not None and settings.normalise != entry.normalise:
        wrong["normalise"] = (entry.normalise, settings.normalise)
    if wrong:
        needed = ", ".join(f"{name}={value}" for name, (value, _) in wrong.items())
        used = ", ".join(f"{name}={value}" for name, (_, value) in wrong.items())
        notes.append(
            f"{source} was published with {needed}, but this run uses {used}; --set input=published sets the published input"
        )
    if entry.longest is not None and settings.max_length > entry.longest:
        notes.append(
            f"{source} was trained on at most {entry.longest} sub-words, but this run uses max_length={settings.max_length}"
        )
    return notes
