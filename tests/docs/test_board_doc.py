"""docs/board.md: its commands run, one after the other, from a dataset folder to a first submission and the closing day."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Listening
from tests.docs.page_files import change_board_settings
from typer.testing import CliRunner

from nikawa.board.accounts import add_account, make_token
from nikawa.board.app import create_app
from nikawa.board.checker import Checker
from nikawa.board.folder import open_board
from nikawa.board.queue import ScoringQueue
from nikawa.board.scorer import Scorer
from nikawa.board.store import open_store
from nikawa.board.wire import InProcessHelper
from nikawa.cli.terminal.app import build

PAGE = Path(__file__).parents[2] / "docs" / "board.md"
TEXT = PAGE.read_text("utf-8")
ADDRESS = "http://127.0.0.1:8000"


def read_commands() -> list[list[str]]:
    """The commands of the page, without the demo and the server."""
    blocks = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [words[1:] for words in lines if words[2] not in ("serve", "demo")]


@pytest.fixture
def serve() -> Iterator[list[Listening]]:
    running: list[Listening] = []
    yield running
    for one in running:
        one.close()


def test_the_steps_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: list[Listening]
) -> None:
    monkeypatch.chdir(tmp_path)
    address = ""
    for words in read_commands():
        if words[:2] == ["board", "submit"]:
            board = open_board(Path("my-board"))
            store = open_store("", board)
            account = store.write(add_account, "Team Blue", "correct horse", 1.0)
            token = store.write(make_token, account.id, "laptop", 1.0)
            monkeypatch.setenv("NIKAWA_BOARD_TOKEN", token)
            scorer = InProcessHelper(Scorer(board).compute)
            queue = ScoringQueue(board, store, scorer)
            checker = InProcessHelper(Checker(board).check)
            app = create_app(board, store, queue=queue, checker=checker)
            serve.append(Listening(app))
            address = serve[-1].address
            queue.start()
            done = CliRunner().invoke(build(), [word.replace(ADDRESS, address) for word in words])
            queue.stop()
            serve.pop().close()
            store.close()
            assert "accuracy" in done.stdout
        else:
            done = CliRunner().invoke(build(), words)
        assert done.exit_code == 0, (words, done.output, done.exception)
        if words[:3] == ["board", "new", "my-board"]:
            change_board_settings(Path("my-board"))
    assert address
    made = json.loads(CliRunner().invoke(build(), ["board", "status", "my-board", "--json"]).stdout)
    assert made["systems"] == {"published": 2}
    assert Path("pages/index.html").is_file()
    code = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    table: dict[str, Any] = {}
    exec("".join(code), table)
    assert set(table["main"]["system"]) == {"majority", "char-linear"}
    assert "scored once" in Path("shared-task/board.toml").read_text("utf-8")
    assert Path("my-board.tar.gz").stat().st_mode & 0o777 == 0o600


def test_the_table_lists_the_files_of_a_board(tmp_path: Path) -> None:
    table = TEXT.partition("A board is a folder:\n")[2].partition("\n\nThe folder has")[0]
    names = re.findall(r"^\| `([a-z.]+)/?`", table, re.MULTILINE)
    assert sorted(names) == sorted(
        ["about.en.md", "board.db", "board.toml", "datasets", "scorer", "secret.key", "submissions"]
    )


def test_pages_lead_to_each_other() -> None:
    assert "(deploy.md)" in TEXT
    assert "(board-trust.md)" in TEXT
    for name in ("deploy.md", "hidden.md", "commands.md", "index.md"):
        assert "(board.md" in (PAGE.parent / name).read_text("utf-8"), name
