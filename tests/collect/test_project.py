"""Who may go by what name."""

from __future__ import annotations

import pytest

from nikawa.collect.project import NAME, can_be_called


@pytest.mark.parametrize("name", ["aki", "山田\u3000太郎", "김 하나", "x" * NAME, "<b>"])
def test_names_that_can_be_seen(name: str) -> None:
    assert can_be_called(name)


@pytest.mark.parametrize("name", ["", " ", "\u3000", "x" * (NAME + 1), "a\nb", "a\x00", "a\u202eb", "\ud800"])
def test_names_that_cannot(name: str) -> None:
    assert not can_be_called(name)
