"""Heads by name: a kind keeps its own unless another is asked for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from nikawa.errors import BadInput
from nikawa.models.encoder import heads
from nikawa.records import Kind

DOC = (Path(__file__).parents[3] / "docs" / "encoder.md").read_text("utf-8")


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The head of the page, as one more file in the folder of heads."""
    code = re.findall(r"^```python\n(.*?)^```", DOC, re.DOTALL | re.MULTILINE)[-1]
    (tmp_path / "first_text.py").write_text(code.replace("print(HEAD.kinds)\n", ""), "utf-8")
    monkeypatch.setattr(heads, "__path__", [*heads.__path__, str(tmp_path)])
    heads._heads.cache_clear()
    yield
    heads._heads.cache_clear()
    sys.modules.pop(f"{heads.__name__}.first_text", None)


def test_every_kind_has_a_head_of_its_own_first() -> None:
    assert set(heads.kinds()) == set(get_args(Kind))
    assert list(heads._heads())[: len(heads.DEFAULT_HEADS)] == list(heads.DEFAULT_HEADS)


def test_the_head_of_the_page_is_found_by_its_name(
    added: None, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["inference"]
    assert isinstance(sys.modules.get(f"{heads.__name__}.sequence"), ModuleType)
    plain, first = made(), made(head="first-text")
    for encoder in (plain, first):
        encoder.fit(case.task, case.learn[:16])
    assert type(plain._head).__name__ == "Sequences"
    assert type(first._head).__name__ == "FirstText"
    assert plain.predict(case.task, case.ask) != first.predict(case.task, case.ask)


def test_names_that_cannot_be(made: Callable[..., Any], invented: Mapping[Kind, Any]) -> None:
    case = invented["text"]
    with pytest.raises(BadInput, match="there is no head 'sequenc'; did you mean 'sequence'"):
        made(head="sequenc").fit(case.task, case.learn)
    with pytest.raises(
        BadInput, match="the head tree does not answer text tasks; use one of: sequence"
    ):
        made(head="tree").fit(case.task, case.learn)
