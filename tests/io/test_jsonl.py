"""Nothing is written that could not be read back: a `BadInput` names the record instead, and no file is left."""

from __future__ import annotations

import datetime
import enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nikawa.errors import BadInput
from nikawa.io.records import FORMATS, read_examples, read_records, write_records
from nikawa.records import Example, Origin, Prediction, Record, Span

WORDS = [{"form": "橋", "lemma": "橋", "pos": "NN"}]
TREE = {"heads": [0], "labels": ["root"]}


def example(**fields: Any) -> Example:
    """One that fits every format, but for what is given."""
    inputs = {"text": "橋", "words": WORDS, **fields.pop("inputs", {})}
    return Example(**{"id": "7", "inputs": inputs, **fields})


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def refused(path: Path, *records: Record) -> str:
    with pytest.raises(BadInput) as caught:
        write_records(path, records)
    assert list(path.parent.iterdir()) == []
    assert caught.value.cure
    assert len(str(caught.value)) < 400 + len(str(path))
    return str(caught.value)


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize("suffix", list(FORMATS))
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (example(id=7), "example 7 cannot be read back: expected `str`, got `int` at id"),
        (example(group=3), "expected `str | null`, got `int` at group"),
        (example(tags=frozenset({1})), "expected `str`, got `int` at tags"),
        (
            example(meta={"n": np.float64(0.5)}),
            "example 7 cannot be written: encoding objects of type numpy.float64",
        ),
        (example(meta={"n": np.int64(3)}), "numpy.int64"),
        (example(meta={1: "x"}), "example 7 has a key that is not a string"),
        (example(inputs={"more": [{2: "x"}]}), "example 7 has a key that is not a string"),
        (example(meta={"n": {"a", "b"}}), "example 7 holds a set at meta.n"),
        (example(meta={"n": b"x"}), "holds a bytes at meta.n"),
        (example(meta={"n": datetime.date(2020, 1, 1)}), "holds a date at meta.n"),
        (example(meta={"n": Colour.RED}), "holds a Colour at meta.n"),
        (example(meta={"n": [1.0, float("nan")]}), "example 7 holds NaN or Infinity at meta.n"),
        (example(meta={"n": nested(150)}), "example 7 nests more than 100 levels deep"),
        (example(meta={"n": nested(5000)}), "example 7 nests more than 100 levels deep"),
        (
            example(gold={"spans": [Span(0, 2, "LC")]}),
            "example 7 cannot be read back: span 0-2 is outside",
        ),
        (example(gold={"spans": [Span(0, 1, 5)]}), "expected `str`, got `int` at [0].label"),  # type: ignore[arg-type]
        (example(gold={"spans": "all"}), "a span cannot be read"),
        (
            example(inputs={"subject": {"start": 0}}),
            "a span cannot be read: missing required field `end`",
        ),
        (example(meta={"n": "\udc00"}), "example 7 holds half of a surrogate pair"),
    ],
)
def test_no_format_takes_it(tmp_path: Path, suffix: str, bad: Example, words: str) -> None:
    assert words in refused(tmp_path / f"x{suffix}", example(id="6"), bad)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (
            example(gold={"tree": {"heads": [2], "labels": ["root"]}}),
            "head 2 is not a word: expected 0 (the root) to 1",
        ),
        (example(gold={"tree": {"heads": [-1], "labels": ["root"]}}), "head -1 is not a word"),
        (example(gold={"tree": {"heads": [True], "labels": ["root"]}}), "head True is not a word"),
        (example(gold={"tree": {"heads": ["0"], "labels": ["root"]}}), "head '0' is not a word"),
        (example(gold={"tree": {"heads": [0], "labels": [3]}}), "a label is not text"),
        (example(gold={"tree": {"heads": [0], "labels": [None]}}), "a label is not text"),
        (example(gold={"tree": {"heads": [0]}}), "differ"),
        (example(gold={"tree": None}), "differ"),
        (example(gold={"tree": {**TREE, "more": 1}}), "some of it would not be read back"),
        (
            example(inputs={"words": [{**WORDS[0], "form": None}]}),
            "a word is form, lemma, pos, each a text",
        ),
        (
            example(inputs={"words": [{**WORDS[0], "form": 1}]}),
            "a word is form, lemma, pos, each a text",
        ),
        (example(inputs={"words": [{**WORDS[0], "more": ""}]}), "a word is form, lemma, pos"),
        (example(inputs={"words": [3]}), "a word is form, lemma, pos"),
    ],
)
def test_trees_that_conllu_cannot_hold(tmp_path: Path, bad: Example, words: str) -> None:
    said = refused(tmp_path / "x.conllu", bad)
    assert "example 7 does not fit: " in said
    assert words in said
    write_records(tmp_path / "x.jsonl", [bad])
    assert list(read_examples(tmp_path / "x.jsonl")) == [bad]


def test_what_a_format_would_change_is_kept_apart(tmp_path: Path) -> None:
    """Gold without spans but with other answers, and a span list that is empty, are not hidden gold."""
    golds: list[dict[str, Any]] = [{}, {"spans": []}, {"label": "x"}, {"spans": [], "label": "x"}]
    for n, gold in enumerate(golds):
        given = [Example(id="1", inputs={"text": "橋"}, gold=gold)]
        write_records(tmp_path / f"{n}.conll", given)
        assert list(read_examples(tmp_path / f"{n}.conll")) == given


def test_what_only_changes_its_form_is_written(tmp_path: Path) -> None:
    given = Example(
        id="1",
        inputs={"text": "橋", "pair": (1, 2)},
        tags=["a"],  # type: ignore[arg-type]
        origin=Origin(recipe="x", parents=["p"]),  # type: ignore[arg-type]
    )
    write_records(tmp_path / "x.jsonl", [given])
    (back,) = read_examples(tmp_path / "x.jsonl")
    assert back.inputs["pair"] == [1, 2]
    assert (back.tags, back.origin) == (frozenset({"a"}), Origin(recipe="x", parents=("p",)))
    write_records(tmp_path / "p.jsonl", [Prediction(example="1", answer=[Span(0, 1, "LC")])])
    (read,) = read_records(tmp_path / "p.jsonl", Prediction)
    assert read.answer == [{"start": 0, "end": 1, "label": "LC"}]


def test_nesting_up_to_the_limit_comes_back(tmp_path: Path) -> None:
    given = [example(meta={"n": nested(96)})]
    for suffix in FORMATS:
        write_records(tmp_path / f"x{suffix}", given)
        assert list(read_examples(tmp_path / f"x{suffix}")) == given


def test_predictions_are_named_by_their_example(tmp_path: Path) -> None:
    said = refused(tmp_path / "p.jsonl", Prediction(example="q1", scores={"a": float("nan")}))
    assert "prediction q1 holds NaN or Infinity at scores.a" in said
    said = refused(tmp_path / "p.jsonl", Prediction(example="q1", answer={"a", "b"}))
    assert "prediction q1 holds a set at answer" in said
