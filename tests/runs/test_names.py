from __future__ import annotations

from unicodedata import normalize

import pytest

from nikawa.errors import BadInput
from nikawa.models import parse_model_name
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest, refuse_shared_names


@pytest.mark.parametrize(
    ("given", "name", "model"),
    [
        ("majority", "", "majority"),
        ("mine=replay:a.jsonl", "mine", "replay:a.jsonl"),
        (" 自社 v2 =replay:x/a.jsonl", "自社 v2", "replay:x/a.jsonl"),
        (normalize("NFD", "ガ각=majority"), "ガ각", "majority"),
        ("replay:seed=3/a.jsonl", "", "replay:seed=3/a.jsonl"),
        ("mine=replay:seed=3/a.jsonl", "mine", "replay:seed=3/a.jsonl"),
    ],
)
def test_a_name_stands_before_the_model(given: str, name: str, model: str) -> None:
    parsed = parse_model_name(given, may_have_label=True)
    assert (parsed.label, parsed.full) == (name, model)


@pytest.mark.parametrize(
    "name", ["", "  ", "x" * 81, "two\nlines", "a\x1b[31m", "v2: large", "a\u202eb"]
)
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="write NAME=majority"):
        parse_model_name(f"{name}=majority", may_have_label=True)


@pytest.mark.parametrize(
    "models", [("a=majority", "a=char-linear"), ("majority", "majority=char-linear")]
)
def test_a_name_stands_for_one_model(models: tuple[str, ...]) -> None:
    with pytest.raises(
        BadInput, match="stands for both majority and char-linear; give each model its own name"
    ):
        plan_runs(RunRequest(tasks=("mini-ja-nli",), models=models))


def test_a_model_may_have_two_names_and_be_given_twice() -> None:
    refuse_shared_names(("a=majority", "b=majority", "majority", "a=majority"))
    found = plan_runs(
        RunRequest(tasks=("mini-ja-nli",), models=("a=majority", "b=majority", "a=majority"))
    )
    assert [family.model for family in found.families] == ["a", "b"]
    assert len({run.folder for family in found.families for run in family.runs({})}) == 2
