"""Whatever a file holds, it is read or refused in one line; and published inputs find their way back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nikawa.datasets.load import load_task
from nikawa.errors import BadInput
from nikawa.io.answers import FORMS, read_answers
from nikawa.records import Example, Task

SUFFIXES = (
    "",
    ".jsonl",
    ".json",
    ".tsv",
    ".csv",
    ".txt",
    ".npy",
    ".eval",
    ".parquet",
    ".jsonl.gz",
    ".txt.zst",
)
PIECES = (
    b'{"id":"100","answer":',
    b'"neutral"}',
    b'"100"',
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b",",
    b"\n",
    b"\t",
    b"\r",
    b"\0",
    b"id",
    b"answer",
    b"index\tprediction",
    b"0",
    b"1.5",
    b"NaN",
    b"null",
    b'"doc_id":0',
    b'"resps":[["x"]]',
    b'"filter":1',
    b'"lm_output":',
    b'"samples":[',
    b'"eval":1',
    b'"',
    b"\\ud800",
    b"PK\x03\x04",
    b"PAR1",
    b"\x93NUMPY",
    b"\xff\xfe",
    b'{"scores":',
    "中立".encode(),
    "中立".encode("cp932"),
    b'"log_probs":[1],"choices":["a"],"prediction":0',
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["100", "neutral"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "id",
        "example",
        "answer",
        "label",
        "scores",
        "doc_id",
        "doc",
        "filter",
        "filtered_resps",
        "resps",
        "arguments",
        "lm_output",
        "extra_info",
        "choices",
        "log_probs",
        "prediction",
        "samples",
        "eval",
        "input",
        "output",
        "epoch",
        "metadata",
    ]
)


def attempt(
    data: bytes, suffix: str, form: str | None, task: Task, examples: list[Example]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        path.write_bytes(data)
        problem = None
        try:
            found = read_answers(path, task, examples, form=form)
        except BadInput as raised:
            problem = raised
    if problem is not None:
        assert str(problem).startswith(folder)
        assert "\n" not in str(problem)
        assert problem.cure
    else:
        assert {*found.missing, *found.predictions} == {example.id for example in examples}
        assert len(found.unparsed) == sum(p.answer is None for p in found.predictions.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jnli", "jcommonsenseqa", "klue-ner", "jsquad"])
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=12),
    suffix=st.sampled_from(SUFFIXES),
    form=st.sampled_from([None, "indices", *FORMS]),
)
def test_any_bytes(
    task: Callable[[str], Task],
    examples: Callable[[str], list[Example]],
    name: str,
    pieces: list[bytes],
    suffix: str,
    form: str | None,
) -> None:
    attempt(b"".join(pieces), suffix, form, task(name), examples(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jnli", "jcommonsenseqa", "klue-ner", "klue-dp", "wos"])
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(st.dictionaries(NAMES, VALUES, max_size=7), min_size=1, max_size=3),
    form=st.sampled_from([None, None, *FORMS]),
)
def test_any_records(
    task: Callable[[str], Task],
    examples: Callable[[str], list[Example]],
    name: str,
    rows: list[dict[str, Any]],
    form: str | None,
) -> None:
    data = "\n".join(map(json.dumps, rows)).encode()
    attempt(data, ".jsonl", form, task(name), examples(name))
    attempt(
        json.dumps({"eval": 1, "samples": rows}).encode(), ".json", form, task(name), examples(name)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jnli", "jsts", "jcommonsenseqa", "jsquad"])
def test_published_inputs_are_found_by_their_texts(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    task, examples = load_task(name, "dev", data=shared_data)
    path = tmp_path / "samples.jsonl"
    with path.open("w") as stream:
        for order, example in reversed(list(enumerate(examples))):
            row = {"doc_id": order, "doc": example.inputs, "filtered_resps": ["1"]}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    found = read_answers(path, task, examples)
    assert list(found.predictions) == [example.id for example in reversed(examples)]
    assert (found.unknown, found.duplicates, found.missing) == ([], [], [])
