"""The static export: every link leads to a file of the export, nothing leads elsewhere, and only what is shown is in it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.board.filled import NOW, ODD, USUAL, Entrant, fill_store, make_board

from nikawa.board.export_html import export_html
from nikawa.board.snapshot import describe_tasks, read_board
from nikawa.board.store import open_store
from nikawa.errors import BadInput

PRIVATE = Entrant("a private system", 99.0, state="private")
SHOWN = {"shown": {"slices": ["tag", "meta.source"]}}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    board = make_board(folder, ("tides", "moon"), **SHOWN)
    out = folder / "site"
    with open_store("", board) as store:
        fill_store(store, board, (*USUAL[:2], *ODD[2:5], *USUAL[10:], PRIVATE))
        view = store.read(read_board, board, describe_tasks(board), NOW)
        count = export_html(board, view, out, now=NOW)
        assert count == sum(path.is_file() for path in out.rglob("*"))
        with pytest.raises(BadInput, match="already exists"):
            export_html(board, view, out, now=NOW)
        (folder / "mine").mkdir()
        with pytest.raises(BadInput, match="is no export of a board"):
            export_html(board, view, folder / "mine", now=NOW, overwrite=True)
    return out


def test_every_link_leads_to_a_file(exported: Path) -> None:
    seen = set()
    for page in exported.rglob("*.html"):
        text = page.read_text("utf-8")
        for address in re.findall(r'(?:href|src|action)="([^"]*)"', text):
            if address.startswith("#") or re.match(r"https?://(?!board)", address):
                continue
            target = (page.parent / unquote(address)).resolve()
            assert target.is_file(), (page, address)
            seen.add(target)
    pages = set(exported.rglob("*.html"))
    assert pages <= seen | {exported / "index.html"}
    assert len(pages) == 3 * (2 + 2 * 3 + 7)


def test_it_asks_nothing_of_any_other_place(exported: Path) -> None:
    for page in exported.rglob("*.html"):
        text = page.read_text("utf-8")
        loads = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*", text)
        assert not [tag for tag in loads if re.search(r"(?:src|href)=\"(?:https?:)?//", tag)]
        assert "<script>" not in text
        assert 'type="module"' not in text
    style = (exported / "static" / "board.css").read_text("utf-8")
    assert "url(" not in style


def test_what_is_private_is_in_no_file(exported: Path) -> None:
    for path in exported.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"private system" not in data, path
            assert b"hidden name" not in data, path
            assert b"no one knows" not in data, path


def test_an_earlier_export_is_replaced(tmp_path: Path) -> None:
    board = make_board(tmp_path)
    out = tmp_path / "site"
    with open_store("", board) as store:
        view = store.read(read_board, board, describe_tasks(board), NOW)
        export_html(board, view, out, now=NOW)
        (out / "old.html").touch()
        export_html(board, view, out, now=NOW, overwrite=True)
    assert not (out / "old.html").exists()


def test_each_language_has_its_pages(exported: Path) -> None:
    for folder, word in (("", "順位"), ("ko", "순위"), ("en", "Rank")):
        text = (exported / folder / "t" / "tides.html").read_text("utf-8")
        assert f'lang="{folder or "ja"}"' in text
        assert word in text
