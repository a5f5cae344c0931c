"""What the logs of other tools have in common: lines that may hold NaN, samples in several variants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.answers.base import fault
from nikawa.io.json import decode_json, read_json
from nikawa.io.lines import decode_line, opening, read_plain_lines


def log_samples(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(Line or record, sample) of a log in JSON lines or in one JSON array; NaN in it is let pass."""
    is_array = opening(path).startswith(b"[")
    rows = enumerate(read_json(path, object), start=1) if is_array else _lines(path)  # type: ignore[arg-type]
    number = 0
    for number, row in rows:
        if not isinstance(row, dict):
            raise fault(
                path,
                unit(path),
                number,
                "is not an object",
                "the log may be damaged: write it again",
            )
        yield number, row
    if not number:
        raise BadInput("holds no samples", file=path, cure="run the tool again")


def unit(path: Path) -> str:
    """What a place in a log of this name is called."""
    return (
        "record" if path.name.removesuffix(".gz").removesuffix(".zst").endswith(".json") else "line"
    )


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, raw in read_plain_lines(path):
        try:
            yield number, msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield number, _python_json(decode_line(raw, path, number), path, number)


def _python_json(line: str, path: Path, number: int) -> Any:
    """Python's own writer puts NaN and Infinity into JSON; metrics in logs hold them."""
    if not line.strip():
        raise BadInput("is empty", file=path, line=number, cure="remove the line")
    if "NaN" in line or "Infinity" in line:
        with suppress(ValueError, RecursionError):
            return json.loads(line)
    return decode_json(line, object, path, number)


class Variant:
    """Keeps to one variant of a log that holds several: a filter, an epoch."""

    def __init__(self, path: Path, form: str, kind: str, wanted: str) -> None:
        self._path, self._form, self._kind, self._wanted = path, form, kind, wanted
        self._seen: dict[str, None] = {}

    def takes(self, name: str) -> bool:
        """Whether a sample of this variant is to be read; a second one nobody chose between is refused."""
        self._seen.setdefault(name)
        if self._wanted:
            return name == self._wanted
        if len(self._seen) > 1:
            names = " and ".join(repr(seen) for seen in self._seen)
            raise BadInput(
                f"holds answers of several {self._kind}s, {names}",
                file=self._path,
                cure=f"name the form '{self._form}:{next(iter(self._seen))}' or another of them",
            )
        return True

    def check(self) -> None:
        """Refuse a log in which the wanted variant never came."""
        if self._wanted and self._wanted not in self._seen:
            have = ", ".join(self._seen) or "none"
            raise BadInput(
                f"has no {self._kind} {self._wanted!r}",
                file=self._path,
                cure=f"its {self._kind}s: {have}",
            )
