"""The board as a visitor sees it, on both databases."""

from __future__ import annotations

from pathlib import Path

from tests.board.filled import DAY, NOW, USUAL, Entrant, fill_store, make_board

from nikawa.board.snapshot import describe_tasks, read_board, read_mark
from nikawa.board.store import open_store


def test_a_snapshot_holds_what_is_shown(tmp_path: Path, database: str) -> None:
    board = make_board(tmp_path, ("tides", "moon"), dates={"closes": "2027-02-01T00:00:00Z"})
    with open_store(database, board) as store:
        ids = fill_store(store, board, (*USUAL, Entrant("kept back", 90.0, state="private")))
        tasks = describe_tasks(board)
        view = store.read(read_board, board, tasks, NOW)
        assert [entry.id for entry in view.entries if entry.kind == "human"] == [ids[7]]
        assert {entry.name for entry in view.shown} >= {"Tide-Base", "majority", ""}
        assert "kept back" not in {entry.name for entry in view.entries}
        best = view.entry(ids[0])
        assert best is not None
        score = best.score("tides", "test", "accuracy")
        assert score is not None
        assert (score.value, score.low, score.high, score.seeds) == (
            88.5,
            87.1,
            89.9,
            (0, 1, 2, 3, 4),
        )
        rank = best.rank("tides", "test")
        assert rank is not None
        assert rank.rank == 1
        mark = store.read(read_mark, board, NOW)
        assert mark == store.read(read_mark, board, NOW + 1)
        assert mark != store.read(read_mark, board, NOW + 30 * DAY)
        store.write(
            lambda db: db.execute("UPDATE systems SET state = 'private' WHERE kind = 'human'")
        )
        assert mark != store.read(read_mark, board, NOW)


def test_the_best_submission_stands_for_a_system(tmp_path: Path) -> None:
    board = make_board(tmp_path)
    with open_store("", board) as store:
        fill_store(store, board, (Entrant("a", 80.0), Entrant("b", 85.0), Entrant("c", None)))
        store.write(lambda db: db.execute("UPDATE submissions SET system = 'sys000000000'"))
        view = store.read(read_board, board, describe_tasks(board), NOW)
    entry = view.entry("sys000000000")
    assert entry is not None
    assert [(s.metric, s.value) for s in entry.scores] == [("accuracy", 85.0), ("macro-f1", 84.4)]
