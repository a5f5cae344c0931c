"""The shape of an invented package, counted by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # bench lies beside the package, not in it

from bench import shape

FILES = {
    "__init__.py": "from pack.a import one\n",
    "a.py": '''"""Module."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pack.b import B


def one() -> None:
    """First line.

    Last line.
    """
    _two()


def _two() -> None:
    found = f"{_three()} {_three()}"


def _three() -> None:
    import pack.c
''',
    "b.py": '''from . import a


class B:
    x: int
    """About x."""
    y = 1
    """Not about y."""
''',
    "c.py": "import pack.a as a\nfrom .b import B\n",
}


@pytest.fixture
def source(tmp_path: Path) -> list[shape.Module]:
    (tmp_path / "pack").mkdir()
    for name, text in FILES.items():
        (tmp_path / "pack" / name).write_text(text, encoding="utf-8")
    return shape.read_source(tmp_path / "pack")


def test_who_imports_whom(source: list[shape.Module]) -> None:
    assert shape.importers(source) == {
        "pack.a": {"pack", "pack.b", "pack.c"},
        "pack.b": {"pack.a", "pack.c"},
        "pack.c": {"pack.a"},
    }
    assert shape.one_importer(source) == 1 / 4


def test_cycles_count_functions_but_not_types(source: list[shape.Module]) -> None:
    assert shape.cycles(source) == [["pack.a", "pack.b", "pack.c"]]
    assert shape.cycles(source, top_level_only=True) == []


def test_functions_strings_and_names(source: list[shape.Module]) -> None:
    assert shape.private_used_once(source) == 1 / 3
    assert shape.docstring_share(source) == 5 / 22
    assert shape.vague_variables(source) == 1


def test_an_fstring_is_one_token(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "x = f\"{a!r} {f'{b}':>{c}}\"  # words\n\ny = (\n    1,\n)\n", encoding="utf-8"
    )
    source = shape.read_source(tmp_path)
    assert shape.tokens(source) == 9
    assert shape.tokens_per_line(source) == 9 / 4


def test_every_row_has_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.py").write_text("x = 1\n", encoding="utf-8")
    shape.print_table({"mine": shape.figures(tmp_path)})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 + len(shape.ROWS)
    assert printed[4].split() == ["tokens", "3", "≤", "620,000"]
