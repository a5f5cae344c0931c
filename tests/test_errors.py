"""One line, whatever a file holds."""

from __future__ import annotations

import pickle

import pytest

from nikawa.errors import BadInput, UnknownName, clip, listed, suggest, unknown

LONG = "橋" * 5000


@pytest.mark.parametrize(
    "problem",
    [
        BadInput(f"unknown column {LONG!r}", file="x.tsv", line=3, cure="rename it"),
        BadInput(f"tag {LONG} is odd", file="x.tsv", cure="see docs"),
        BadInput("does not fit", cure=f"known: {listed(f'column-{n}' for n in range(5000))}"),
        unknown("column", LONG, [f"{n}-{LONG}" for n in range(40)]),
        unknown("dataset", "zzz", [f"dataset-{n}" for n in range(5000)]),
    ],
)
def test_a_message_is_short(problem: BadInput) -> None:
    assert len(str(problem)) <= 400
    assert "\n" not in str(problem)


def test_a_quoted_value_is_shortened_and_the_rest_stays() -> None:
    said = str(BadInput(f"unknown column {LONG!r} (id 'x')", file="a.tsv", line=3, cure="use 'id'"))
    assert said == f"a.tsv, line 3: unknown column '{'橋' * 59}…' (id 'x'); use 'id'"


def test_prose_is_left_alone() -> None:
    told = "the worker's answers aren't here, and a sentence that goes on for a good while isn't a quotation, it's prose"
    assert clip(told, 400) == told
    cure = "put your own copy of the reviews there " * 9
    assert str(BadInput("x", cure=cure)) == f"x; {cure.strip()}"


def test_a_place_that_is_long_keeps_its_end() -> None:
    said = str(BadInput("is empty", file="a/" * 3000 + "x.jsonl", cure="write it"))
    assert said.endswith("a/x.jsonl: is empty; write it")
    assert len(said) < 300


def test_names_are_listed_while_they_fit() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(f"name-{n:02}" for n in range(60)).endswith("name-25 and 34 more")
    assert suggest("zzz", ["a", "b"]) == "known: a, b"


def test_errors_survive_the_trip_between_processes() -> None:
    given = UnknownName("there is no x", file="f", line=2, cure="c")
    back = pickle.loads(pickle.dumps(given))
    assert (type(back), str(back)) == (UnknownName, "f, line 2: there is no x; c")
