"""Who may go by what name, and what a new project's guideline says."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.collect.project import MAX_NAME_CHARS, create_project, is_person_name
from nikawa.collect.settings import Settings
from nikawa.records import Example


@pytest.mark.parametrize("name", ["aki", "山田\u3000太郎", "김 하나", "x" * MAX_NAME_CHARS, "<b>"])
def test_names_that_can_be_seen(name: str) -> None:
    assert is_person_name(name)


@pytest.mark.parametrize(
    "name", ["", " ", "\u3000", "x" * (MAX_NAME_CHARS + 1), "a\nb", "a\x00", "a\u202eb", "\ud800"]
)
def test_names_that_cannot(name: str) -> None:
    assert not is_person_name(name)


@pytest.mark.parametrize("options", [{}, {"naturalness": True}, {"naturalness": False}])
def test_a_guideline_explains_what_is_asked_and_nothing_else(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    example = Example(id="a", inputs={"premise": "비가 온다.", "hypothesis": "날이 흐리다."})
    settings = Settings(title="t", form="inference", options=options)
    project = create_project(tmp_path / "p", settings, [example])
    asked = options.get("naturalness", True)
    assert project.options.naturalness is asked
    for language, word in (("ja", "自然さ"), ("ko", "자연스러움"), ("en", "naturalness")):
        assert (word in project.guideline(language)) is asked
