"""A project with control items and a pilot, and a model behind the loopback server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.models.chat.conftest import server

from nikawa.collect.project import KINDS, create_project
from nikawa.collect.settings import Settings
from nikawa.io.records import write_records
from nikawa.judging.job import JudgeOptions, JudgeReport, judge
from nikawa.records import Example

__all__ = ["server"]

LABELS = ["entailment", "contradiction", "neutral"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Twelve pairs with gold in Japanese, two control items and a pilot item."""
    examples = [
        Example(
            id=f"i{n}",
            inputs={
                "premise": f"{n}匹の犬が走る。",
                "hypothesis": "犬が動く。",
                "votes": "秘密票 x2",
            },
            gold={"label": "秘密の正解"},
            tags=frozenset({"秘密のタグ"}),
            meta={"by": "秘密の作者"},
        )
        for n in range(12)
    ]
    options = {"labels": LABELS, "shows": ["premise", "hypothesis"]}
    settings = msgspec.convert(
        {"title": "試験", "form": "choice", "form_settings": options}, Settings
    )
    made = create_project(tmp_path / "project", settings, examples)
    for kind in ("gold", "pilot"):
        known = [Example(id=kind, inputs={"premise": f"秘密の{kind}"}, gold={"label": "neutral"})]
        write_records(made.folder / KINDS[kind], known, overwrite=True)
    (made.folder / "guideline.ja.md").write_text("# 指針\n\n例: 犬が走る → 含意", "utf-8")
    return made.folder


@pytest.fixture
def ask(server: Any, tmp_path: Path) -> Callable[..., JudgeReport]:
    """Judge with the loopback server."""

    def run(tasks: Path | str, out: str = "out", **how: Any) -> JudgeReport:
        more = how.pop("settings", {})
        settings = {"base_url": server.url, "wait": 0.002, "timeout": 60.0, **more}
        options = JudgeOptions(settings=settings, **{"copies": 2, **how})
        return judge(str(tasks), "chat:some/model", tmp_path / out, options)

    return run


def key_of(question: str, word: str) -> str:
    """The key under which a word is offered in a question."""
    lines = [line.partition(": ") for line in question.splitlines()]
    return next(key for key, _, name in lines if name == word)


def choose(word: str, question: str = "label") -> Callable[[str], str]:
    """A model that always chooses this word."""
    return lambda asked: json.dumps({question: key_of(asked, word)})
