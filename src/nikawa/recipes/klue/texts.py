"""Parts that the recipes of KLUE share: source texts from JSON lines or records, limits by kind, words,
parts to sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.subsets import group_by
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import NOT_DRAWN, refuse_pairs, require_value, shuffle
from nikawa.recipes.recipe import SPLITS, Config, Dropped, Inputs, Kept, Outcomes, found_in
from nikawa.records import Example, Origin, Span

Splitter = Callable[[Sequence[Example], Mapping[str, int], Any], Mapping[str, Sequence[Example]]]
"""(examples, size of each part, settings) -> the examples of each part."""
FIELDS = ("source", "date", "category", "intent", "topic", "style", "round_trip")
"""Fields that a line may have in addition to url and licence."""
CLEANING = (
    "invisible",
    "compose",
    "blanks",
    "html",
    "hashtags",
    "press",
    "email",
    "url",
    "mention",
    "phone",
    "identity",
    "brackets",
    "script",
)
"""The steps of `nikawa clean` that look at one text and do not split it."""


class Line(msgspec.Struct):
    """A text of a JSON line; in records the values are in `inputs` and `meta`.

    Other fields are ignored.
    """

    id: str | int
    text: str = ""
    source: str = ""
    date: str = ""
    category: str = ""
    intent: str | int = ""
    topic: str | int = ""
    style: str = ""
    round_trip: str = ""
    url: str = ""
    licence: str = ""
    spans: list[Span] = []
    inputs: dict[str, Any] = {}
    meta: dict[str, Any] = {}

    def value(self, name: str) -> str:
        """A value of the line itself, else of its meta."""
        own = getattr(self, name)
        value = own if own != "" else self.meta.get(name)
        return "" if value is None else str(value)


class Texts(Config, kw_only=True):
    """Settings of every recipe that starts from text."""

    cleaning: bool = True
    """Whether to clean texts, and drop texts with personal data or too much of another script (KLUE 2.3)."""


def take_texts(
    path: Path,
    recipe: str,
    needed: Sequence[str],
    config: Any,
    kept: str = "a text of the source",
    language: str = "ko",
) -> Outcomes:
    """The texts of a file, cleaned, each once.

    Args:
        recipe: the recipe that the origin of each text names.
        needed: fields that no line may lack, such as `source`.
        config: says whether texts are cleaned.
        kept: the rule they meet.
        language: the language of the texts, whose script they may not leave.
    """
    clean = cleaner(language) if config.cleaning else lambda text: (text, "")
    seen: set[str] = set()
    for number, line in read_json_lines(path, Line):
        refuse_pairs(line.inputs, path, number, "sentences")
        given = str(require_value(line.text or line.inputs.get("text", ""), "text", path, number))
        for name in needed:
            require_value(line.value(name), name, path, number)
        cleaned, why = clean(given)
        text = " ".join(cleaned.split())
        known = {name: value for name in FIELDS if (value := line.value(name))}
        where = found_in(path, number, url=line.value("url"), licence=line.value("licence"))
        meta = {**known, **where, **_spans(line, given, text, path, number)}
        made = Example(
            id=str(line.id), inputs={"text": text}, meta=meta, origin=Origin(recipe=recipe)
        )
        why = (
            why
            or ("" if text else "no text")
            or ("the same text came before" if text in seen else "")
        )
        yield Dropped(made, why) if why else Kept(made, kept)
        seen.add(text)


def cleaner(language: str = "ko") -> Callable[[str], tuple[str, str]]:
    """A function that takes noise off a text and says why the text must go, if it must."""
    from nikawa.cleaning import Settings, choose_steps
    from nikawa.cleaning.engine import Cleaner, Rejection

    tool = Cleaner(choose_steps(CLEANING), Settings(language=language))

    def clean(text: str) -> tuple[str, str]:
        (sentence,) = tool.clean(text)
        if isinstance(sentence, Rejection):
            return sentence.passage.text, f"cleaning: {sentence.why} ({sentence.step})"
        return sentence.text, ""

    return clean


def _spans(line: Line, given: str, text: str, path: Path, number: int) -> dict[str, Any]:
    """The entities a line brings along, under `given`."""
    if not line.spans:
        return {}
    if given != text or any(not 0 <= span.start < span.end <= len(text) for span in line.spans):
        what = "has spans that do not fit its text"
        cure = "count characters, end exclusive, of a text that was cleaned before"
        raise BadInput(what, file=path, line=number, cure=cure)
    return {"given": msgspec.to_builtins(line.spans)}


def counts_of(entries: Sequence[str], setting: str) -> dict[str, int]:
    """Entries such as `스포츠=9000` as numbers by name.

    >>> counts_of(("airbnb=7375", "policy=2956"), "pairs")
    {'airbnb': 7375, 'policy': 2956}
    """
    counts = {}
    for entry in entries:
        name, sign, number = entry.rpartition("=")
        if not sign or not name.strip() or not number.strip().isdecimal():
            what = f"the setting {setting} holds {entry!r}, which is not a name with a number"
            raise BadInput(what, cure=f'write {setting} = ["NAME=NUMBER"]')
        counts[name.strip()] = int(number)
    return counts


def draw_by_group(
    examples: Iterable[Example],
    key: Callable[[Example], str],
    most: Callable[[str], int | None],
    seed: int,
) -> Outcomes:
    """Of each kind as many as `most` says by chance, all where it says None; in their order."""
    items = list(examples)
    chosen: dict[str, str] = {}
    for kind, members in group_by(items, key).items():
        limit, size = most(kind), len(members)
        rule = f"one of {min(limit or size, size):,} of {kind} drawn from {size:,}"
        for example in shuffle(members, seed, "kind")[:limit]:
            chosen[example.id] = rule
    for example in items:
        rule = chosen.get(example.id, "")
        yield Kept(example, rule) if rule else Dropped(example, NOT_DRAWN)


def words_of(analyser_name: str) -> Callable[[str], list[str]]:
    """The words of a text: separated by blanks, or the morphemes an analyser finds."""
    if analyser_name == "none":
        return str.split
    from nikawa.text import analyser

    tool = analyser(analyser_name)
    return lambda text: [token.surface for token in tool.analyse(text)]


def check_analyser(config: Any) -> None:
    """Refuse an analyser that is not there."""
    words_of(config.analyser)


def split_texts(
    inputs: Inputs,
    config: Any,
    items: str,
    splitter: Splitter,
    rule: Callable[[str, Example], str],
    **settings: Any,
) -> Outcomes:
    """Sort the items of a set into train, dev and test, in their order.

    `splitter` is one of `nikawa split`, called with `settings` and the seed. `rule` says why an
    example is in its part.
    """
    from nikawa.splitting.base import SplitterSettings, parse_sizes

    examples = list(inputs.examples(items))
    if not examples:
        return
    sizes = parse_sizes(config.split, len(examples), tuple(SPLITS))
    parts = splitter(examples, sizes, SplitterSettings(seed=config.seed, **settings))
    homes = {example.id: part for part, members in parts.items() for example in members}
    for example in examples:
        part = homes[example.id]
        yield Kept(example, f"split {part}: {rule(part, example)}", SPLITS[part])
