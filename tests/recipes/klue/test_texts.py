"""Source texts of KLUE's recipes: read, cleaned by section 2.3, each once, held to what they must say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unicodedata import normalize

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.recipes.decide import most_voted
from nikawa.recipes.klue.texts import counts_of, draw_by_group, take_texts, words_of
from nikawa.recipes.recipe import Dropped, Kept, Outcome
from nikawa.records import Example


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """The outcomes of some lines."""

    def make(
        *lines: dict[str, Any], needed: tuple[str, ...] = (), cleaning: bool = True
    ) -> list[Outcome]:
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        return list(take_texts(path, "r", needed, SimpleNamespace(cleaning=cleaning)))

    return make


def test_noise_is_taken_off_and_personal_data_goes(read: Any) -> None:
    given = [
        "새 다리가<br>열렸다 #다리 ()",
        "문의는 gildong@example.com으로",
        "새 다리가 열렸다",
        "漢字漢字漢字漢字漢字漢字로 쓴 글",
        "@gildong 봤어?",
    ]
    made = read(*({"id": n, "text": text} for n, text in enumerate(given)))
    assert [o.example.inputs["text"] for o in made if isinstance(o, Kept)] == ["새 다리가 열렸다"]
    whys = [o.why for o in made if isinstance(o, Dropped)]
    assert whys[0] == "cleaning: personal data (email)"
    assert whys[1] == "the same text came before"
    assert [why.rpartition("(")[2] for why in whys[2:]] == ["script)", "mention)"]


def test_a_copy_written_in_parts_is_a_copy(read: Any) -> None:
    text = "새 다리가 열렸다"
    kept, copy = read({"id": 1, "text": normalize("NFD", text)}, {"id": 2, "text": text})
    assert kept.example.inputs == {"text": text}
    assert copy.why == "the same text came before"


@pytest.mark.parametrize("cleaning", [True, False])
def test_blank_texts_go(read: Any, cleaning: bool) -> None:
    (made,) = read({"id": 1, "text": " \n "}, cleaning=cleaning)
    assert isinstance(made, Dropped)


def test_cleaning_can_be_left_out(read: Any) -> None:
    (made,) = read({"id": 1, "text": "문의는  gildong@example.com으로"}, cleaning=False)
    assert made.example.inputs == {"text": "문의는 gildong@example.com으로"}


def test_records_and_lines_say_the_same(read: Any) -> None:
    line = {
        "id": "a",
        "text": "집이 넓어요",
        "source": "own",
        "intent": 0,
        "licence": "CC0",
        "url": "https://example.org/a",
    }
    record = {
        "id": "a",
        "inputs": {"text": "집이 넓어요"},
        "meta": {"source": "own", "intent": 0, "licence": "CC0", "url": "https://example.org/a"},
    }
    (one,), (other,) = read(line), read(record)
    assert one == other
    assert one.example.meta["intent"] == "0"
    assert one.example.meta["from"] == {
        "file": "s.jsonl",
        "line": 1,
        "url": "https://example.org/a",
        "licence": "CC0",
    }


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"id": 1, "text": "글"}, "line 1: has no source"),
        ({"id": 1, "source": "own"}, "line 1: has no text"),
        (
            {"id": 1, "text": "글 #글", "source": "own", "spans": [{"start": 0, "end": 1}]},
            "has spans that do not fit its text",
        ),
        ({"text": "글", "source": "own"}, "line 1: .*id"),
    ],
)
def test_lines_that_lack_something_are_refused(read: Any, line: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        read(line, needed=("source",))


def test_draws_depend_on_names_alone() -> None:
    examples = [Example(id=str(n), inputs={}, meta={"kind": "ab"[n % 2]}) for n in range(40)]
    limits = {"a": 5}

    def chosen(some: list[Example]) -> set[str]:
        found = draw_by_group(some, lambda e: str(e.meta["kind"]), limits.get, 7)
        return {o.example.id for o in found if isinstance(o, Kept)}

    whole = chosen(examples)
    assert len(whole) == 25
    assert chosen(examples[::-1]) == whole
    assert len(chosen([e for e in examples if e.id != min(whole)]) & whole) == 24


def test_numbers_by_name() -> None:
    assert counts_of(("가=1", "나=b=2"), "s") == {"가": 1, "나=b": 2}
    for wrong in ("가", "=1", "가=x"):
        with pytest.raises(BadInput, match=r"the setting s holds .*; write s = "):
            counts_of((wrong,), "s")


def test_votes_need_a_leader() -> None:
    assert most_voted("aab", 2) == "a"
    assert most_voted("aabb", 2) is None
    assert most_voted("abc", 2) is None
    assert most_voted("", 1) is None


def test_words_stand_between_blanks() -> None:
    assert words_of("none")("집이 넓어요") == ["집이", "넓어요"]
