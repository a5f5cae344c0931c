"""What the recipes of KLUE share: source texts from JSON lines or records, limits by kind, words, parts to sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.benchmarks.recipe import Dropped, Kept, Outcome, found_in
from nikawa.benchmarks.recipe_decide import NOT_DRAWN, draw, need
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.records import Example, Origin, Span

SETS = {"train": "train", "dev": "dev", "test": "test"}
FIELDS = ("source", "date", "category", "intent", "topic", "style", "round_trip")
"""What a line may say of its text beside url and licence."""


class Line(msgspec.Struct):
    """A text of a JSON line; in records the values stand in `inputs` and `meta`. What else it holds is passed over."""

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
        found = own if own != "" else self.meta.get(name)
        return "" if found is None else str(found)


def read_texts(path: Path, recipe: str, needed: Sequence[str] = ()) -> Iterator[Example]:
    """The texts of a file, runs of blanks made one; a line that lacks a needed value is refused."""
    for number, line in read_json_lines(path, Line):
        given = str(need(line.text or line.inputs.get("text", ""), "text", path, number))
        text = " ".join(given.split())
        for name in needed:
            need(line.value(name), name, path, number)
        known = {name: value for name in FIELDS if (value := line.value(name))}
        where = found_in(path, number, url=line.value("url"), licence=line.value("licence"))
        meta = {**known, **where, **_spans(line, given, text, path, number)}
        yield Example(id=str(line.id), inputs={"text": text}, meta=meta, origin=Origin(recipe=recipe))


def _spans(line: Line, given: str, text: str, path: Path, number: int) -> dict[str, Any]:
    """The entities a line brings along, under `given`."""
    if not line.spans:
        return {}
    if given != text or any(not 0 <= span.start < span.end <= len(text) for span in line.spans):
        what = "has spans that do not fit its text"
        cure = "count characters, end exclusive, of a text without runs of blanks"
        raise BadInput(what, file=path, line=number, cure=cure)
    return {"given": msgspec.to_builtins(line.spans)}


def distinct(examples: Iterable[Example], kept: str) -> Iterator[Outcome]:
    """Each text once; `kept` is the rule the first of them meets."""
    seen: set[str] = set()
    for example in examples:
        text = example.inputs["text"]
        if text in seen:
            yield Dropped(example, "the same text came before")
        else:
            yield Kept(example, kept)
        seen.add(text)


def counts_of(entries: Sequence[str], setting: str) -> dict[str, int]:
    """`스포츠=9000` and the like as numbers by name."""
    found = {}
    for entry in entries:
        name, sign, number = entry.rpartition("=")
        if not sign or not name.strip() or not number.strip().isdecimal():
            what = f"the setting {setting} holds {entry!r}, which is no name with a number"
            raise BadInput(what, cure=f'write {setting} = ["NAME=NUMBER"]')
        found[name.strip()] = int(number)
    return found


def drawn_by(
    examples: Iterable[Example], key: Callable[[Example], str], most: Callable[[str], int | None], seed: int
) -> Iterator[Outcome]:
    """Of each kind as many as `most` says by chance, all where it says None; in their order."""
    held = list(examples)
    kinds: dict[str, list[Example]] = {}
    for example in held:
        kinds.setdefault(key(example), []).append(example)
    chosen: dict[str, str] = {}
    for kind, members in kinds.items():
        limit = most(kind)
        order = sorted(members, key=lambda example: (draw(seed, "kind", example.id), example.id))
        rule = f"one of {min(limit or len(order), len(order)):,} of {kind} drawn from {len(order):,}"
        chosen |= dict.fromkeys((example.id for example in order[:limit]), rule)
    for example in held:
        rule = chosen.get(example.id, "")
        yield Kept(example, rule) if rule else Dropped(example, NOT_DRAWN)


def words_of(analyser_name: str) -> Callable[[str], list[str]]:
    """The words of a text: what stands between blanks, or the morphemes an analyser finds."""
    if analyser_name == "none":
        return str.split
    from nikawa.text import analyser

    tool = analyser(analyser_name)
    return lambda text: [token.surface for token in tool.analyse(text)]


def check_analyser(config: Any) -> None:
    """Refuse an analyser that is not there."""
    words_of(config.analyser)


def into_sets(
    examples: Sequence[Example], parts: Mapping[str, Sequence[Example]], rule: Callable[[str, Example], str]
) -> Iterator[Outcome]:
    """The examples in their order, each into the set of its part; `rule` says why it is there."""
    homes = {example.id: part for part, members in parts.items() for example in members}
    for example in examples:
        part = homes[example.id]
        yield Kept(example, f"split {part}: {rule(part, example)}", SETS[part])
