from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.datasets.locate import data_root


def test_a_tilde_in_the_variable_is_the_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NIKAWA_DATA", "~/x")
    assert data_root() == tmp_path / "x"
    monkeypatch.setenv("NIKAWA_DATA", "~nobody-at-all/x")
    assert data_root() == Path("~nobody-at-all/x")
    assert data_root(Path("given")) == Path("given")
