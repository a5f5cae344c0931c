"""What the logs of other tools have in common: lines that may hold NaN, samples in several
variants, examples repeated in them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from nikawa.errors import BadInput
from nikawa.io.answers.base import ID_NAMES, Target, UnfitAnswer, id_text
from nikawa.io.json import decode_json, read_json
from nikawa.io.limits import CHECKED_BYTES, refuse_large_json
from nikawa.io.lines import decode_line, opening, read_plain_lines, refuse_long_line
from nikawa.records import Example


def read_samples(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(Line or record, sample) of a log in JSON lines or in one JSON array.

    NaN in it is let pass.
    """
    rows: Iterable[tuple[int, Any]]
    if opening(path).startswith(b"["):
        rows = enumerate(read_json(path, cast("type[list[Any]]", list)), start=1)
    else:
        lines = read_plain_lines(path)
        rows = ((number, decode_sample(raw, path, number)) for number, raw in lines)
    number = 0
    for number, row in rows:
        if not isinstance(row, dict):
            cure = "the log may be damaged: write it again"
            raise UnfitAnswer("is not an object", cure).at(path, place_unit(path), number)
        yield number, row
    if not number:
        raise BadInput("holds no samples", file=path, cure="run the tool again")


def place_unit(path: Path) -> str:
    """What a place in a log of this name is called."""
    plain = path.name.removesuffix(".gz").removesuffix(".zst")
    return "record" if plain.endswith(".json") else "line"


def decode_sample(raw: bytes, path: Path, number: int) -> Any:
    """The value of a line; NaN and Infinity, which Python's own writer puts into JSON, are let
    pass.
    """
    if len(raw) >= CHECKED_BYTES:
        refuse_long_line(len(raw), path, number)
        refuse_large_json(raw, path, number)
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(raw)
    line = decode_line(raw, path, number)
    if not line.strip():
        raise BadInput("is empty", file=path, line=number, cure="remove the line")
    if "NaN" in line or "Infinity" in line:  # Python's own writer puts them into JSON
        with suppress(ValueError, RecursionError):
            return json.loads(line)
    return decode_json(line, object, path, number)


class LogVariant:
    """Keeps to one variant of a log that holds several: a filter, an epoch."""

    def __init__(self, path: Path, form: str, kind: str, chosen: str) -> None:
        self._path, self._form, self._kind, self._chosen = path, form, kind, chosen
        self._names: dict[str, None] = {}

    def takes(self, name: str) -> bool:
        """Whether a sample of this variant is to be read.

        A second one nobody chose between is refused.
        """
        self._names.setdefault(name)
        if self._chosen:
            return name == self._chosen
        if len(self._names) > 1:
            names = " and ".join(map(repr, self._names))
            what = f"holds answers of several {self._kind}s, {names}"
            cure = f"name the form '{self._form}:{next(iter(self._names))}' or another of them"
            raise BadInput(what, file=self._path, cure=cure)
        return True

    def check(self) -> None:
        """Refuse a log in which the chosen variant never came."""
        if self._chosen and self._chosen not in self._names:
            what = f"has no {self._kind} {self._chosen!r}"
            cure = f"its {self._kind}s: {', '.join(self._names) or 'none'}"
            raise BadInput(what, file=self._path, cure=cure)


class ExampleMatcher:
    """Finds the example a sample is about by what a log repeats of it: its id, else its texts."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._by_text: dict[str, list[int]] = {}
        self._text_counts: list[int] = []
        self._by_choices: dict[tuple[str, ...], list[int]] = {}

    def find(self, doc: Any, order: int | None = None) -> str | None:
        """The id of the example `doc` repeats; among equals the one at `order` in the split."""
        if not isinstance(doc, Mapping):
            return None
        for name in ID_NAMES:
            own = id_text(doc.get(name))
            if own is not None and own in self._target.by_id:
                self._check_texts(self._target.by_id[own], doc)
                return own
        return self.find_texts(list(_texts(doc)), order)

    def _check_texts(self, example: Example, doc: Mapping[str, Any]) -> None:
        """Refuse an id where every input the log repeats under the same name is another one."""
        is_same = [
            value.strip() == doc[name].strip()
            for name, value in example.inputs.items()
            if isinstance(value, str) and isinstance(doc.get(name), str)
        ]
        if is_same and not any(is_same):
            what = f"id {example.id!r} has other texts than in the split"
            raise UnfitAnswer(what, "check the split and the dataset's version")

    def find_texts(self, texts: Sequence[str], order: int | None = None) -> str | None:
        """The id of the example all of whose texts are among `texts`."""
        if not self._text_counts:
            self._index_texts()
        hits: Counter[int] = Counter()
        for text in dict.fromkeys(texts):
            hits.update(self._by_text.get(text, ()))
        full = [place for place, count in hits.items() if count == self._text_counts[place]]
        if len(full) > 1:
            full = [place for place in full if self._are_in_order(place, texts)] or full
        if not full:
            return None
        place = order if order is not None and order in full else min(full)
        return self._target.examples[place].id

    def find_choices(self, choices: Sequence[str], prompt: str, order: int) -> str | None:
        """The id of the example with these choices whose question the prompt holds."""
        examples = self._target.examples
        if not self._by_choices:
            for place, example in enumerate(examples):
                own = tuple(str(choice).strip() for choice in example.inputs.get("choices", ()))
                self._by_choices.setdefault(own, []).append(place)
        places = []
        for place in self._by_choices.get(tuple(choices), []):
            if str(examples[place].inputs.get("question", "")).strip() in prompt:
                places.append(place)
        if not places:
            return None
        return examples[order if order in places else places[0]].id

    def _index_texts(self) -> None:
        for place, example in enumerate(self._target.examples):
            texts = set(_texts(example.inputs))
            self._text_counts.append(len(texts))
            for text in texts:
                self._by_text.setdefault(text, []).append(place)

    def _are_in_order(self, place: int, texts: Sequence[str]) -> bool:
        """Whether the texts come in the order of the example's inputs: a pair may occur both ways
        round.
        """
        own = list(dict.fromkeys(_texts(self._target.examples[place].inputs)))
        return list(dict.fromkeys(text for text in texts if text in own)) == own


def _texts(fields: Mapping[str, Any]) -> Iterator[str]:
    for value in fields.values():
        if isinstance(value, str) and value.strip():
            yield value.strip()
        elif isinstance(value, list):
            yield from (item.strip() for item in value if isinstance(item, str) and item.strip())
