"""A board as a folder of web pages for any page host: no server, no request to anywhere, in all three languages.

It holds what a visitor sees and no more: the same views, rendered by the same templates. Links are relative, so the folder also
works when `index.html` is opened as a file. The default language of the board is at the top, the others are in folders of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from nikawa.board.exchange import board_csv, board_json
from nikawa.board.folder import Board
from nikawa.board.links import FileLinks, file_part, task_file
from nikawa.board.rendering import (
    STATIC_FILES,
    PageContext,
    read_static_file,
    render_about,
    render_board,
    render_system,
    render_task,
)
from nikawa.board.views import BoardView
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.serve.languages import LANGUAGES

MARKS = ("board.json", "static/board.css")
"""Files that every export has."""


def export_html(
    board: Board, view: BoardView, out: Path, *, now: float, overwrite: bool = False
) -> int:
    """Write the pages of a board into a folder, whole or not at all; how many files there are.

    `overwrite` replaces a folder that this function wrote before. Any other folder, or file, raises `BadInput`.
    """
    is_export = all((out / name).is_file() for name in MARKS)
    if overwrite and out.exists() and not is_export:
        cure = "choose another name: --overwrite replaces only an export of a board"
        raise BadInput("is no export of a board", file=out, cure=cure)
    refuse_existing(out, overwrite)
    abouts = {language: board.about(language) for language in LANGUAGES}
    count = 0
    with atomic_folder(out, overwrite=overwrite) as folder:
        for name, content in list_files(view, abouts, now):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            count += 1
    return count


def list_files(
    view: BoardView, abouts: Mapping[str, str], now: float
) -> Iterator[tuple[str, bytes]]:
    """Every file of an export with its content."""
    yield "board.json", board_json(view)
    yield "board.csv", board_csv(view)
    for name in STATIC_FILES:
        yield f"static/{name}", read_static_file(name)
    first = {task.name: task.splits[0].name for task in view.tasks}
    for language in LANGUAGES:
        folder = "" if language == view.language else f"{language}/"
        for path, render in _list_pages(view):
            links = FileLinks(path, language, view.language, first)
            page = PageContext(view, language, links, now, abouts.get(language, ""))
            yield f"{folder}{path}", render(page).encode("utf-8", "replace")


def _list_pages(view: BoardView) -> Iterator[tuple[str, Callable[[PageContext], str]]]:
    """The pages of one language: their files, and how each is made."""
    yield "index.html", render_board
    yield "about.html", render_about
    for task in view.tasks:
        for split in task.splits:
            name = "" if split == task.splits[0] else split.name
            for by in ("", *dict.fromkeys(one.by for one in task.slices)):
                path = task_file(task.name, name, by)
                yield path, partial(render_task, task=task, split=split, by=by)
    for entry in view.entries:
        yield f"s/{file_part(entry.id)}.html", partial(render_system, entry=entry)
