"""Examples that take less memory say the same."""

from __future__ import annotations

import json
from pathlib import Path
from sys import getsizeof

from nikawa.datasets.compact import Compactor
from nikawa.datasets.load import load
from nikawa.io.json import encode_json
from nikawa.records import Example


def make_example(number: int, **fields: object) -> Example:
    return Example(
        id=str(number),
        inputs={"premise": f"猫が{number // 2}匹いる。", "hypothesis": f"{number}"},
        gold=fields.get("gold", {"label": "yes"}),  # type: ignore[arg-type]
        meta={"genre": "news"},
        tags=frozenset(("negation",)),
        group=f"g{number // 2}",
    )


def copy(example: Example) -> Example:
    return Example(**json.loads(encode_json(example)) | {"tags": frozenset(example.tags)})


def test_equal_parts_become_one_object_and_no_example_changes() -> None:
    golds = [
        {"score": 1},
        {"score": 1.0},
        {"flag": True},
        {"score": 0.0},
        {"score": -0.0},
        {"s": [1]},
    ]
    examples = [make_example(n) for n in range(4)] + [
        make_example(4 + n, gold=gold) for n, gold in enumerate(golds)
    ]
    made = list(Compactor().compact(map(copy, examples)))
    assert [encode_json(one) for one in made] == [encode_json(one) for one in examples]
    first, second, third, *_ = made
    assert first.gold is second.gold is third.gold
    assert first.meta is third.meta
    assert first.tags is third.tags
    assert first.inputs["premise"] is second.inputs["premise"]
    assert first.group is second.group


def test_inputs_of_one_shape_share_their_keys_whatever_the_names() -> None:
    examples = [make_example(number) for number in range(100)]
    for names in (("__class__", "a b"), map(str, range(40)), ("",), ()):
        examples.append(Example(id=str(len(examples)), inputs=dict.fromkeys(names, "猫")))
    before = [encode_json(one) for one in examples]
    made = list(Compactor().compact(examples))
    assert [encode_json(one) for one in made] == before
    assert {type(one.inputs) for one in made} == {dict}
    shared = made[99].inputs
    assert getsizeof(shared) < getsizeof(dict(shared))
    shared["sentence"] = "a further name is no matter"
    assert list(shared) == ["premise", "hypothesis", "sentence"]
    assert list(made[98].inputs) == ["premise", "hypothesis"]


def test_texts_are_dropped_only_where_gold_is_labels() -> None:
    answers = [{"text": "猫", "start": 0}]
    reading = Example(
        id="r", inputs={"context": "猫", "question": "何?"}, gold={"answers": answers}
    )
    pair, kept = Compactor(drop_texts=True).compact((make_example(0), reading))
    assert pair.inputs == {"premise": "", "hypothesis": ""}
    assert kept.inputs == {"context": "猫", "question": "何?"}


def test_a_loose_file_has_the_language_of_the_texts_that_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"".join(encode_json(make_example(n)) + b"\n" for n in range(3)))
    assert (
        load(str(path), compactor=Compactor(drop_texts=True)).language == load(str(path)).language
    )
