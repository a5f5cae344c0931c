"""Whatever a server sends, it is a reply or a problem; whatever a model says, it is an answer or unreadable."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.models.chat.journal import Reply
from nikawa.models.chat.prompts import find_template
from nikawa.models.chat.questions import QUESTIONS
from nikawa.models.chat.responses import RequestProblem, read_reply
from nikawa.records import Example, Kind, Task

WORDS = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "logprobs",
        "top_logprobs",
        "token",
        "logprob",
        "usage",
        "prompt_tokens",
        "error",
        "code",
        "text",
        "tokens",
        "token_logprobs",
        "finish_reason",
        "entities",
        "words",
        "state",
        "index",
        "head",
        "label",
        "slot",
        "value",
        "occurrence",
        "answer",
        "score",
        "PS",
        "A",
        "花",
    ]
)
PLAIN = st.none() | st.booleans() | st.integers(-3, 600) | st.floats() | WORDS | st.text(max_size=5)
ANY = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
EXAMPLE = Example(
    id="1",
    inputs={
        "text": "花と花",
        "context": "花",
        "question": "花は？",
        "choices": ["花", "鳥"],
        "words": [{"form": "花"}, {"form": "鳥"}],
    },
)


@settings(max_examples=80, deadline=None)
@given(
    found=st.fixed_dictionaries(
        {"choices": ANY | st.lists(st.dictionaries(WORDS, ANY), max_size=2)},
        optional={"usage": ANY, "error": ANY},
    ),
    status=st.sampled_from([200, 400, 429, 500]),
)
def test_any_response(found: Any, status: int) -> None:
    try:
        reply = read_reply("k", status, {}, json.dumps(found).encode())
    except RequestProblem as problem:
        told = problem.what
    else:
        told = "read"
        assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply
    assert told
    assert "\n" not in told


@pytest.mark.parametrize("kind", get_args(Kind))
@settings(max_examples=30, deadline=None)
@given(
    said=st.text(max_size=20)
    | ANY.map(json.dumps)
    | st.dictionaries(WORDS, ANY | st.lists(st.dictionaries(WORDS, PLAIN), max_size=3)).map(
        json.dumps
    )
)
def test_any_answer(kind: Kind, said: str) -> None:
    inputs = (
        ("question", "choices") if kind == "choice" else ("text", "words", "context", "question")
    )
    task = Task(
        name="own",
        dataset="own",
        kind=kind,
        question="x",
        inputs=inputs,
        labels=("PS", "LC"),
        metrics=(),
    )
    form = QUESTIONS[kind](task, find_template(task, "ja"), "ja")
    reading = form.read(EXAMPLE, said)
    assert (reading.answer is None) == bool(reading.why)
    assert 0 <= reading.start <= reading.end <= len(said)
