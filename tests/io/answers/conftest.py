"""Tasks and examples of our own invention, and ways to write an answer file and read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.task_lookup import has_numbered_labels
from nikawa.errors import BadInput
from nikawa.io.answers import Answers, read_answers
from nikawa.records import Example, Kind, Span, Task

NLI = ("entailment", "contradiction", "neutral")


def _task(
    name: str, kind: Kind, question: str, inputs: tuple[str, ...], labels: tuple[str, ...] = ()
) -> Task:
    return Task(
        name=name,
        dataset=name,
        kind=kind,
        question=question,
        inputs=inputs,
        labels=labels,
        metrics=("none",),
    )


TASKS = {
    task.name: task
    for task in (
        _task("jnli", "inference", "label", ("premise", "hypothesis"), NLI),
        _task("klue-nli", "inference", "label", ("premise", "hypothesis"), NLI),
        _task("jcola", "text", "label", ("text",), ("unacceptable", "acceptable")),
        _task("marc-ja", "text", "label", ("text",), ("positive", "negative")),
        _task("jsts", "similarity", "score", ("sentence1", "sentence2")),
        _task("jcommonsenseqa", "choice", "choice", ("question", "choices")),
        _task("jsquad", "reading", "answers", ("title", "context", "question")),
        _task("klue-ner", "tagging", "spans", ("text",), ("PS", "LC")),
        _task(
            "klue-re",
            "relation",
            "relation",
            ("text", "subject", "object"),
            ("no_relation", "org:members"),
        ),
        _task("klue-dp", "tree", "tree", ("text", "words"), ("NP", "VP")),
        _task("wos", "dialogue", "state", ("turns",)),
    )
}

_PAIR = [
    {"premise": "灯台守が油を運ぶ。", "hypothesis": "人が油を運ぶ。"},
    {"premise": "人が油を運ぶ。", "hypothesis": "灯台守が油を運ぶ。"},
    {"premise": "猫が桟橋で眠る。", "hypothesis": "桟橋は無人だ。"},
]
_INPUTS: dict[str, list[dict[str, Any]]] = {
    "jnli": _PAIR,
    "klue-nli": _PAIR,
    "jcola": [{"text": "船が港に着いた。"}, {"text": "船が港を着いた。"}],
    "marc-ja": [{"text": "この羅針盤は良い。"}, {"text": "この望遠鏡は曇る。"}],
    "jsts": [
        {"sentence1": "波が高い。", "sentence2": "高い波だ。"},
        {"sentence1": "風が吹く。", "sentence2": "鐘が鳴る。"},
    ],
    "jcommonsenseqa": [
        {"question": "船をつなぐものは？", "choices": ["鐘", "綱", "帆", "魚", "地図"]},
        {"question": "三つ目の灯の数字は？", "choices": ["3", "1", "A", "７", "鐘 "]},
    ],
    "jsquad": [
        {
            "title": "霧島灯台",
            "context": "霧島灯台 [SEP] 塔は白い。守は三人。",
            "question": "塔の色は？",
        },
        {
            "title": "霧島灯台",
            "context": "霧島灯台 [SEP] 塔は白い。守は三人。",
            "question": "守は何人？",
        },
    ],
    "klue-ner": [{"text": "미오가 새벽 섬에"}, {"text": "등대가 희다"}],
    "klue-re": [{"text": "등대회 미오", "subject": Span(0, 3, "ORG"), "object": Span(4, 6, "PER")}]
    * 2,
    "klue-dp": [{"text": "배가 온다", "words": [{"form": "배가"}, {"form": "온다"}]}] * 2,
    "wos": [{"turns": [{"role": "user", "text": "조용한 숙소요"}]}] * 2,
}


@pytest.fixture
def task() -> Callable[[str], Task]:
    """The task of a name."""
    return TASKS.__getitem__


@pytest.fixture
def examples() -> Callable[[str], list[Example]]:
    """The examples of a task: ids 100, 101, …, no gold."""
    return lambda name: [
        Example(id=str(100 + i), inputs=inputs) for i, inputs in enumerate(_INPUTS[name])
    ]


Read = Callable[..., Answers]


@pytest.fixture
def read(tmp_path: Path, examples: Callable[[str], list[Example]]) -> Read:
    """Write `data` (text, bytes, or nothing where the file is there already) and read it as answers to a task."""

    def reading(
        name: str,
        data: str | bytes | None,
        task: str = "jnli",
        form: str | None = None,
        split: Sequence[Example] | None = None,
    ) -> Answers:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is not None:
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        return read_answers(
            path,
            TASKS[task],
            examples(task) if split is None else split,
            form=form,
            numbered_labels=has_numbered_labels(TASKS[task]),
        )

    return reading


@pytest.fixture
def complain(read: Read, tmp_path: Path) -> Callable[..., BadInput]:
    """Like `read`, for what is refused: the error, which must be one line with the file's name and a cure."""

    def complaint(
        name: str, data: str | bytes | None, task: str = "jnli", form: str | None = None
    ) -> BadInput:
        with pytest.raises(BadInput) as caught:
            read(name, data, task, form)
        problem = caught.value
        assert str(problem).startswith(str(tmp_path))
        assert "\n" not in str(problem)
        assert problem.cure
        return problem

    return complaint
