"""What the logs of other tools have in common: lines that may hold NaN, samples in several
variants, likelihoods of choices.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Any, cast

import msgspec

from nikawa.errors import BadInput
from nikawa.io.answers.base import UnfitAnswer
from nikawa.io.answers.content import fold_content
from nikawa.io.answers.reader import make_label_reader
from nikawa.io.answers.readings import Offer, make_offer
from nikawa.io.json import decode_json, read_json
from nikawa.io.limits import CHECKED_BYTES, refuse_large_json
from nikawa.io.lines import decode_line, opening, read_plain_lines, refuse_long_line
from nikawa.records import Example, Task

NOTE, NOTE_VERSION = "nikawa", 1
"""The field of an exported item (`nikawa data export --to TOOL`) that says what the prompt offered, and its version."""


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

        A second one is refused unless the user chose one.
        """
        self._names.setdefault(name)
        if self._chosen:
            return name == self._chosen
        if len(self._names) > 1:
            names = " and ".join(map(repr, self._names))
            what = f"has answers of several {self._kind}s, {names}"
            form = quote(f"{self._form}:{next(iter(self._names))}")
            cure = f"choose one: --form {form} (nikawa run: --set form={form})"
            raise BadInput(what, file=self._path, cure=cure)
        return True

    def check(self) -> None:
        """Refuse a log in which the chosen variant never came."""
        if self._chosen and self._chosen not in self._names:
            what = f"has no {self._kind} {self._chosen!r}"
            cure = f"its {self._kind}s: {', '.join(self._names) or 'none'}"
            raise BadInput(what, file=self._path, cure=cure)


def find_choices(texts: Sequence[str], example: Example | None) -> list[int] | None:
    """The places of the choices with these texts in the example, whose order may be another.

    Returns None if one is not among them, or if two are the same.
    """
    if example is None:
        return None
    choices = [fold_content(str(choice)) for choice in example.inputs.get("choices", ())]
    folded = [fold_content(text) for text in texts]
    if len(set(choices)) < len(choices) or not set(folded) <= set(choices):
        return None
    places = [choices.index(text) for text in folded]
    return places if len(set(places)) == len(places) else None


def choose_likeliest(
    texts: Sequence[str],
    chances: Sequence[float],
    task: Task,
    example: Example | None,
    offer: Offer | None,
) -> tuple[Any, dict[str, float] | None]:
    """The choice with the highest likelihood, the first of several, and the likelihoods as scores of all.

    The scores are None if the texts do not name the answers of the task, or if a likelihood is not finite.
    """
    top = max(range(len(chances)), key=chances.__getitem__)
    names, is_named = list(texts), True
    answer: Any = texts[top]
    if keyed := name_keys(texts, task, offer):
        names, answer = keyed, int(keyed[top]) if task.kind == "choice" else keyed[top]
    elif task.kind == "choice":
        places = find_choices(texts, example) or list(range(len(texts)))
        names, answer = [str(place) for place in places], places[top]
    else:
        is_named = all(map(make_label_reader(task), texts))
    is_whole = is_named and all(map(math.isfinite, chances))
    return answer, dict(zip(names, chances, strict=True)) if is_whole else None


def find_offer(fields: Mapping[str, Any]) -> Offer | None:
    """What the prompt of a sample offered, where the sample repeats an item that Nikawa exported."""
    note = fields.get(NOTE)
    return read_note(note) if isinstance(note, str) else None


@lru_cache(maxsize=64)
def read_note(text: str) -> Offer | None:
    """The options in the note of an exported item; None for any other text under that name."""
    with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        note = msgspec.json.decode(text)
        if isinstance(note, dict) and isinstance(note.get("offer"), dict):
            if note.get("export") != NOTE_VERSION:
                what = f"is of an export of version {note.get('export')}, which is unknown here"
                raise UnfitAnswer(what, "use the version of Nikawa that exported the task")
            return make_offer(note["offer"])
    return None


def name_keys(texts: Sequence[Any], task: Task, offer: Offer | None) -> list[str] | None:
    """The labels, or the places of choices, whose keys these texts are; None where they are not the offered keys in order."""
    if offer is None or not texts or not all(isinstance(text, str) for text in texts):
        return None
    keys = tuple(text.strip() for text in texts)
    if keys != offer.keys[: len(keys)]:
        return None
    if task.kind == "choice":
        return [str(place) for place in range(len(keys))]
    return list(task.labels) if len(keys) == len(task.labels) else None
