"""JSON with an id for each answer: lines, one mapping, one array; nbest files of run_squad too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

from nikawa.errors import BadInput
from nikawa.io.answers.base import Ask, Form, Given, Rows, fault, unpack
from nikawa.io.answers.fields import Unfit, find_fields, given
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.lines import read_whole


class _Repeats(list[tuple[str, Any]]):
    """The pairs of a mapping in which a name occurs twice."""


def read_records(rows: Rows, ask: Ask, path: Path, *, unit: str = "line") -> Iterator[Given]:
    """The answers of records with named fields."""
    fields = None
    for place, row in rows:
        try:
            found = None if fields is None else given(row, fields, place)
            if found is None:
                fields = find_fields(row, ask.by_id)
                found = given(row, fields, place)
        except Unfit as problem:
            raise fault(path, unit, place, problem.what, problem.cure) from None
        assert found is not None
        yield found


def _parse_lines(path: Path) -> Rows:
    return read_json_lines(path, cast("type[dict[str, Any]]", dict))


def _parse_array(path: Path) -> Rows:
    rows = read_json(path, cast("type[list[Any]]", list))
    for place, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            cure = 'write {"id": …, "answer": …}'
            raise fault(path, "record", place, "is not an object like the ones before", cure)
        yield place, row


def _read_mapping(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    for place, (name, value) in rows:
        plain = dict(value) if isinstance(value, _Repeats) else value
        answer, scores, raw, why = (
            (plain, None, None, None) if ask.task.kind == "dialogue" else unpack(plain)
        )
        yield Given(place, name, answer, scores, raw, why)


def _parse_mapping(path: Path) -> Rows:
    """The pairs of one JSON mapping, repeated names included."""
    found = read_json(path, cast("type[dict[str, Any]]", dict))
    if not found:
        raise BadInput("holds no answers", file=path, cure='write {"id": answer, …}')
    pairs = json.loads(read_whole(path), object_pairs_hook=_hook)
    every = pairs if isinstance(pairs, _Repeats) else cast("dict[str, Any]", pairs).items()
    return enumerate(every, start=1)


def _hook(pairs: list[tuple[str, Any]]) -> Any:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else _Repeats(pairs)


def _read_nbest(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    """The most probable of the texts of each question."""
    for place, (name, texts) in rows:
        if not isinstance(texts, list) or not texts or not all(_is_text(text) for text in texts):
            cure = 'write [{"text": …, "probability": …}, …]'
            raise fault(path, "record", place, f"{name!r} is not a list of texts", cure)
        top = max(texts, key=lambda text: text.get("probability", 0.0))
        yield Given(place, name, top["text"])


def _is_text(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("text"), str)
        and isinstance(value.get("probability", 0.0), int | float)
    )


PREDICTIONS = Form("predictions", _parse_lines, read_records)
LINES = Form("lines", _parse_lines, read_records)
ARRAY = Form("array", _parse_array, partial(read_records, unit="record"), "record")
MAPPING = Form("mapping", _parse_mapping, _read_mapping, "record")
NBEST = Form("nbest", _parse_mapping, _read_nbest, "record")
