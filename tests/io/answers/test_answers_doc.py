"""The examples of docs/answers.md are read as the page says, and it names every form and every alias."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.io.answers import FORMS, Answers
from nikawa.io.answers.base import ANSWER_NAMES, ID_NAMES, SCORE_NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "answers.md").read_text()
BLOCKS = re.findall(r"```\w+ (\S+) (\S+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("task", "form", "text"), BLOCKS)
def test_examples(read: Callable[..., Answers], task: str, form: str, text: str) -> None:
    found = read("answers", text, task)
    assert found.form == form
    assert found.predictions
    assert (found.unknown, found.duplicates, found.unparsed) == ([], [], [])


def test_examples_were_found() -> None:
    assert len(BLOCKS) >= 11


@pytest.mark.parametrize("name", [*FORMS, *ID_NAMES, *ANSWER_NAMES, *SCORE_NAMES])
def test_every_name_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE
