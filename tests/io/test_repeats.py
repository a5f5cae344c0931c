"""A name that occurs twice in one JSON object is refused, wherever JSON stands, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.errors import BadInput
from nikawa.io.folders import read_folder
from nikawa.io.json import find_repeated_name, read_repeated_name
from nikawa.io.records import read_examples, read_records
from nikawa.records import Example, Judgement, Prediction

Complain = Callable[[str, bytes], BadInput]

GOOD = b'{"id":"0","inputs":{"text":"a"}}\n'
TWICE = [
    (b'{"id":"1","inputs":{},"gold":{"label":"x","label":"y"}}', "label"),
    (b'{"id":"1","id":"2","inputs":{}}', "id"),
    (b'{"id":"1","inputs":{"words":[{"form":"a"},{"form":"b","form":"b"}]}}', "form"),
    (b'{"id":"1","inputs":{"a\\u003ab" : "c", "x":1, "x":2}}', "x"),
    (b'{"id":"1", "inputs" :{"x" : 1 , "x" : ""}, "tags": []}', "x"),
    (b'{"id":"1","inputs":{"a":"\\u003A","x":1,"x":2}}', "x"),
    (b'{"id":"1","inputs":{"\\u0078":1,"x":2}}', "x"),
    (b'{"id":"1","inputs":{"x":{"y":{"z:z":"::"}},"x":{}}}', "x"),
]


@pytest.mark.parametrize(("text", "name"), TWICE)
def test_json_lines_and_arrays(complain: Complain, text: bytes, name: str) -> None:
    problem = complain("x.jsonl", GOOD + text + b"\n" + GOOD.replace(b"0", b"3"))
    assert f"the name {name!r} occurs twice in one object" in str(problem)
    assert problem.line == 2
    assert f"the name {name!r} occurs twice" in str(complain("x.json", b"[" + text + b"]"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.tsv", b'id\tinputs.a:json\n1\t{"x":1,"x":2}\n'),
        ("x.conll", '# id = 1\n# meta = {"x":1,"x":2}\n橋\tO\n\n'.encode()),
    ],
)
def test_cells_and_headers(complain: Complain, name: str, data: bytes) -> None:
    assert "the name 'x' occurs twice in one object" in str(complain(name, data))


def test_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    field = pyarrow.field("meta.a", pyarrow.string(), metadata={"nikawa": "json"})
    schema = pyarrow.schema([("id", pyarrow.string()), ("inputs.text", pyarrow.string()), field])
    columns = [["1"], ["a"], ['{"x":1,"x":2}']]
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), tmp_path / "x.parquet")
    with pytest.raises(BadInput, match="the name 'x' occurs twice in one object"):
        list(read_examples(tmp_path / "x.parquet"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Prediction, b'{"example":"1","answer":"a","answer":"b"}\n'),
        (
            Prediction,
            b'{"example":"1","answer":"b","scores":null,"raw":null,"why":null,"why":null}\n',
        ),
        (Judgement, b'{"example":"1","worker":"w","question":"q","answer":{"a":1,"a":1}}\n'),
    ],
)
def test_predictions_and_judgements(
    tmp_path: Path, kind: type[Prediction] | type[Judgement], text: bytes
) -> None:
    (tmp_path / "p.jsonl").write_bytes(text)
    with pytest.raises(BadInput, match="occurs twice in one object"):
        list(read_records(tmp_path / "p.jsonl", kind))


def test_card(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_bytes(GOOD)
    texts = (
        "title",
        "version",
        "licence",
        "citation",
        "homepage",
        "description",
        "labels",
        "workers",
        "source",
    )
    card = json.dumps({"languages": ["ja"], "workers_are": "none", **dict.fromkeys(texts, "x")})
    (tmp_path / "card.json").write_text('{"name":"a","name":"b",' + card[1:])
    with pytest.raises(BadInput, match=r"card\.json: the name 'name' occurs twice"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"1","inputs":{"x":{"x":{"x":1}}},"gold":{"x":1},"tags":[],"meta":{}}',
        b'{ "id" : "1" , "inputs" : { "text" : "a: b \\": \\u003a" } , "group" : null }',
        '{"inputs":{"text":"橋: \\"青い\\""},"id":"1"}'.encode(),
        b'{"id":"1","inputs":{},"tags":["b","a","c","d"]}',
    ],
)
def test_what_is_no_repeat(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(line)
    assert [example.id for example in read_examples(tmp_path / "x.jsonl")] == ["1"]


TEXT = st.text(st.sampled_from('a:"\\{},[] b'), max_size=4)
VALUE = st.recursive(
    st.one_of(st.none(), st.integers(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
)


@given(VALUE, st.sampled_from([None, 1]), st.booleans())
def test_no_false_alarm(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert find_repeated_name(text, object, json.loads(text)) is None


def _text(pairs: object) -> str:
    """JSON of nested lists of pairs, which may repeat a name."""
    if not isinstance(pairs, list):
        return json.dumps(pairs)
    return "{" + ", ".join(f"{json.dumps(name)}: {_text(value)}" for name, value in pairs) + "}"


PAIRS = st.recursive(TEXT, lambda inner: st.lists(st.tuples(TEXT, inner), max_size=4))


@given(PAIRS)
def test_no_repeat_is_missed(pairs: object) -> None:
    text = _text(pairs).encode()
    assert find_repeated_name(text, object, json.loads(text)) == read_repeated_name(text)


def test_lines_in_several_forms_and_blocks(tmp_path: Path) -> None:
    """Some as we write them, some not, over many blocks; then a fault far down."""
    lines = [
        json.dumps(
            {"id": str(n), "inputs": {"text": "橋" * (n % 50)}},
            separators=(",", ":") if n < 900 else None,
        )
        for n in range(2000)
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines))
    assert [example.id for example in read_examples(path)] == [str(n) for n in range(2000)]
    lines[1500] = lines[1500].replace('"inputs"', '"id": "z", "inputs"')
    path.write_text("\n".join(lines))
    read = read_examples(path)
    assert [next(read).id for _ in range(1500)] == [str(n) for n in range(1500)]
    with pytest.raises(BadInput, match="line 1501: the name 'id' occurs twice"):
        next(read)


def test_two_values_on_a_line_are_no_lines(complain: Complain) -> None:
    one = b'{"id":"1","inputs":{}}'
    assert complain("x.jsonl", one + one.replace(b"1", b"2") + b"\n").line == 1
    assert (
        complain("x.jsonl", one + one.replace(b"1", b"2") + b'\n{"id":"3",\n"inputs":{}}\n').line
        == 1
    )


def test_examples_keep_defaults_out() -> None:
    """What the quick test rests on: an example is written with the fields it was read with."""
    assert Example.__struct_config__.omit_defaults
    assert not Prediction.__struct_config__.omit_defaults
