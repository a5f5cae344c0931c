"""What a new project's guideline says."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.collect.project import create_project
from nikawa.collect.settings import Settings
from nikawa.records import Example


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
