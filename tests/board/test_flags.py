"""Flags: copies, small changes, searches, one label, exchanged labels and random answers; honest files have none."""

from __future__ import annotations

import numpy as np
from tests.board.conftest import MakeBoard

from nikawa.board.flags import CODES, Codes, EarlierAnswers, FlagFinder, encode_answers, find_flags

N, LABELS = 1_200, 3
GOLD = np.random.default_rng(0).integers(0, LABELS, N)


def system(seed: int, quality: float = 0.7) -> Codes:
    """Answers of a system, right with that probability: two systems agree more than chance."""
    random = np.random.default_rng((1, seed))
    return np.where(random.random(N) < quality, GOLD, random.integers(0, LABELS, N)).astype(
        np.int32
    )


def kinds(codes: Codes, rows: list[Codes], account: str = "a", other: str = "a") -> list[str]:
    names = [f"s{place}" for place in range(len(rows))]
    matrix = np.stack(rows) if rows else np.zeros((0, N), dtype=np.int32)
    earlier = EarlierAnswers(names, [other] * len(rows), matrix)
    return [flag.kind for flag in find_flags(codes, account, earlier, 5.0, LABELS)]


def change(codes: Codes, count: int, seed: int) -> Codes:
    changed = codes.copy()
    places = np.random.default_rng((2, seed)).permutation(N)[:count]
    changed[places] = (changed[places] + 1) % LABELS
    return changed


def test_honest_files_have_no_flag() -> None:
    """Ten seeds of one bad system, and other systems, better and worse."""
    rows: list[Codes] = []
    for seed, quality in enumerate([0.4] * 10 + [0.5, 0.9, 0.95]):
        assert kinds(system(seed, quality), rows) == []
        rows.append(system(seed, quality))


def test_files_of_a_small_test_are_not_taken_for_random() -> None:
    """With 36 items, two systems often agree no more than chance may; six systems together do not."""
    rows = [system(seed, 0.6)[:36] for seed in range(20)]
    flagged = sum("random" in kinds(rows[k], rows[k - 6 : k]) for k in range(6, 20))
    chance = [np.random.default_rng((4, k)).integers(0, LABELS, 36, np.int32) for k in range(20)]
    caught = sum("random" in kinds(chance[k], chance[k - 6 : k]) for k in range(6, 20))
    assert flagged == 0
    assert caught == 14


def test_copies_and_small_changes_are_flagged_across_accounts() -> None:
    rows = [system(0), system(1)]
    assert kinds(rows[1].copy(), rows, account="b") == ["identical"]
    assert kinds(change(rows[0], 12, 0), rows, account="b") == ["near"]
    assert kinds(change(rows[0], 60, 0), rows, account="b") == []
    (flag,) = find_flags(
        change(rows[0], 1, 0), "b", EarlierAnswers(["x", "y"], ["a", "b"], np.stack(rows)), 5.0, 3
    )
    assert flag.detail == {"submissions": ["x"], "count": 1, "same_account": False, "differing": 1}
    assert flag.at == 5.0


def test_a_search_in_steps_is_flagged() -> None:
    """Each file changes a block of the one before; blocks larger than `near` count too."""
    rows = [system(0)]
    seen = []
    for step in range(5):
        file = change(rows[0], 30, step)
        seen.append(kinds(file, rows))
        rows.append(file)
    assert seen[0] == []
    assert seen[-1] == ["probing"]


def test_one_label_is_flagged() -> None:
    codes = np.full(N, 2, dtype=np.int32)
    codes[:5] = 1
    assert kinds(codes, []) == ["one-label"]


def test_exchanged_labels_are_flagged() -> None:
    rows = [system(0), system(1)]
    twin = np.array([1, 2, 0], dtype=np.int32)[rows[1]]
    assert kinds(twin, rows) == ["permuted"]
    assert kinds(np.where(np.arange(N) < 8, 0, twin).astype(np.int32), rows) == ["permuted"]
    two = np.array([1, 0, 2], dtype=np.int32)[rows[0]]
    assert kinds(two, rows, account="b") == ["permuted"]


def test_random_files_of_an_account_are_flagged() -> None:
    rows = [np.random.default_rng((3, k)).integers(0, LABELS, N).astype(np.int32) for k in range(6)]
    assert [kinds(rows[k], rows[:k]) for k in range(6)] == [[]] * 3 + [["random"]] * 3
    assert kinds(rows[5], rows[:5], account="b") == []


def test_open_answers_are_compared_too() -> None:
    items = [f"i{n}" for n in range(300)]
    answers = {item: f"答え{item}" for item in items}
    codes = encode_answers(answers, items)
    near = encode_answers({**answers, "i7": "別", "i9": None}, items)
    earlier = EarlierAnswers(["s"], ["a"], codes[None])
    assert [flag.kind for flag in find_flags(near, "a", earlier, 0.0)] == ["near"]
    assert find_flags(codes, "a", earlier, 0.0)[0].kind == "identical"
    spans = {"i0": [{"start": 1, "end": 2}], "i1": ["x", "y"]}
    assert len(set(encode_answers(spans, items)[:2].tolist())) == 2


def test_the_queue_flags_submissions_as_they_come(make_sqlite_board: MakeBoard) -> None:
    """Files of two accounts, found again by a server that was restarted; a submission is not compared with its own seeds."""
    here = make_sqlite_board()
    here.queue.find_flags = FlagFinder()
    first = here.submit(here.answers(100), here.answers(100, seed=1))
    copy = here.submit(here.answers(100), account="bob")
    here.score()
    here.queue.find_flags = FlagFinder()
    near = here.submit(here.answers(101), account="bob")
    here.score()
    assert here.find(first).flags == ()
    (flag,) = here.find(copy).flags
    assert flag.kind == "identical"
    assert flag.detail["submissions"] == [first.id]
    assert not flag.detail["same_account"]
    assert (flag.detail["task"], flag.detail["split"], flag.detail["seed"]) == ("tides", "test", 0)
    (flag,) = here.find(near).flags
    assert (flag.kind, flag.detail["count"], flag.detail["differing"]) == ("near", 2, 1)
    codes = (here.board.folder / near.files[0].path).with_name(CODES)
    assert codes.stat().st_mode & 0o777 == 0o600
