"""Submissions that an owner should look at: copies, small changes, one label, permuted labels, random answers.

A flag refuses nothing and says nothing about labels: it is computed from answers alone, and only the owner sees it. What an honest
team does now and then (the same file sent twice) and what an attack is made of (a file with one answer changed, a hundred times) look
the same once; so flags name the other submissions, and count them.

- `identical`: the same answers as an earlier submission.
- `near`: few answers differ from an earlier one (`MAX_NEAR_SHARE`). The difference of the two scores is about those items.
- `probing`: at least `MIN_PROBES` earlier ones of the account differ in few items (`MAX_PROBE_SHARE`): a search, item by item or block by block.
- `one-label`: nearly all answers are the same label, whose share its score would be.
- `permuted`: the answers of an earlier one with the labels exchanged, which gives each label a score of its own.
- `random`: the answers agree with several earlier ones of the account no more than chance: material for the attack of Blum and Hardt
  (2015), which keeps the lucky ones of many random files. Files of systems, even bad ones, agree.

Answers are coded as small integers (`encode_answers`), so that one file is compared with a thousand in milliseconds.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.board.folder import Board
from nikawa.board.records import Flag, Submission
from nikawa.board.submissions import PREDICTIONS
from nikawa.io.atomic import atomic_write
from nikawa.serve.database import Connection, Row

Codes = NDArray[np.int32]

NO_ANSWER = -1
MAX_NEAR_SHARE = 0.01
"""Up to this share of the items differs in files that are near each other; at least two items."""
MAX_PROBE_SHARE = 0.05
"""Up to this share differs in the files of a search: two that change a block each differ in both."""
MIN_PROBES = 3
"""So many earlier files make a search."""
ONE_LABEL_SHARE = 0.99
PERMUTED_SHARE = 0.99
MIN_RANDOM = 3
"""With so many earlier files of the account the answers must agree only by chance."""
MAX_COMPARED = 20
"""Of so many of the account's latest files."""
CHANCE_Z = 4.0
"""Standard errors above chance up to which an agreement counts as chance: that of each file, and the mean of all."""
SAMPLE = 512
"""Items that decide whether a file can be a permutation of another, before all are counted."""
MAX_NAMED = 10
"""Submissions that one flag names."""


@dataclass(frozen=True)
class EarlierAnswers:
    """The answers of earlier submissions to the same items."""

    submissions: Sequence[str]
    accounts: Sequence[str | None]
    codes: Codes
    """One row a submission, one column an item."""


def encode_answers(
    answers: Mapping[str, Any], items: Sequence[str], labels: Sequence[Any] = ()
) -> Codes:
    """Answers in the order of the items: the place of the label, or for open answers a number made from the answer; -1: none.

    >>> encode_answers({"1": "yes", "2": None}, ["1", "2", "3"], ["no", "yes"]).tolist()
    [1, -1, -1]
    """
    places = {_canonical(label): place for place, label in enumerate(labels)}
    codes = np.full(len(items), NO_ANSWER, dtype=np.int32)
    for place, item in enumerate(items):
        answer = answers.get(item)
        if answer is None:
            continue
        text = _canonical(answer)
        # 31 bits of a checksum: two answers of one item share it once in two thousand million pairs
        codes[place] = places[text] if text in places else zlib.crc32(text) & 0x7FFFFFFF
    return codes


def _canonical(answer: Any) -> bytes:
    return msgspec.json.encode(answer, order="deterministic")


def find_flags(
    codes: Codes, account: str | None, earlier: EarlierAnswers, at: float, labels: int = 0
) -> list[Flag]:
    """The flags of new answers; `labels` is the number of labels, 0 for open answers.

    >>> first = EarlierAnswers(["s1"], ["a"], np.array([[0, 1, 1, 0] * 100], dtype=np.int32))
    >>> [flag.kind for flag in find_flags(1 - first.codes[0], "a", first, 0.0, labels=2)]
    ['permuted']
    """
    n = len(codes)
    flags: list[Flag] = []

    def add(kind: str, rows: Iterable[int] = (), **detail: Any) -> None:
        places = list(rows)
        if places:
            same = all(earlier.accounts[row] == account for row in places)
            names = [earlier.submissions[row] for row in places[-MAX_NAMED:]]
            detail = {"submissions": names, "count": len(places), "same_account": same, **detail}
        flags.append(Flag(kind=kind, detail=detail, at=at))

    if labels and n:
        values, counts = np.unique(codes, return_counts=True)
        share = float(counts.max() / n)
        if share >= ONE_LABEL_SHARE:
            add("one-label", label=int(values[counts.argmax()]), share=round(share, 4))
    if not n or not len(earlier.submissions):
        return flags
    differing = np.count_nonzero(earlier.codes != codes, axis=1)
    same = np.flatnonzero(differing == 0)
    near = np.flatnonzero((differing > 0) & (differing <= max(2, ceil(MAX_NEAR_SHARE * n))))
    own = np.array([one == account for one in earlier.accounts])
    probes = np.flatnonzero(
        own & (differing > 0) & (differing <= max(2, ceil(MAX_PROBE_SHARE * n)))
    )
    if len(same):
        add("identical", same)
    if len(near):
        add("near", near, differing=int(differing[near].min()))
    if len(probes) >= MIN_PROBES:
        add("probing", probes, differing=int(np.median(differing[probes])))
    if labels > 1:
        twins = find_permuted(codes, earlier.codes, labels)
        if len(twins):
            add("permuted", twins)
        latest = np.flatnonzero(own & (differing > 0))[-MAX_COMPARED:]
        lone = find_unrelated(codes, earlier.codes, labels, latest)
        if len(lone) >= MIN_RANDOM:
            add("random", lone)
    return flags


def find_permuted(codes: Codes, earlier: Codes, labels: int) -> NDArray[np.int64]:
    """The rows that are the answers with their labels exchanged, one to one and not all for themselves."""
    sample = np.linspace(0, len(codes) - 1, min(SAMPLE, len(codes))).astype(np.int64)
    rows = np.arange(len(earlier))
    # a few of the sample may differ where all items decide
    for places, share in ((sample, PERMUTED_SHARE - 0.02), (slice(None), PERMUTED_SHARE)):
        if not len(rows):
            break
        tables = count_pairs(codes[places], earlier[rows][:, places], labels)
        best = tables.max(axis=2).sum(axis=1) >= share * max(1, len(codes[places]))
        rows, tables = rows[best], tables[best]
    kept = []
    for row, table in zip(rows, tables if len(rows) else (), strict=True):
        used = np.flatnonzero(table.sum(axis=1))
        image = table[used].argmax(axis=1)
        if len(used) > 1 and len(set(image.tolist())) == len(used) and (image != used).any():
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def find_unrelated(
    codes: Codes, earlier: Codes, labels: int, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Those of some rows that agree with the answers no more than two unrelated files with as many of each label would."""
    if not len(rows):
        return rows
    n = len(codes)
    tables = count_pairs(codes, earlier[rows], labels)
    agreement = np.trace(tables, axis1=1, axis2=2) / n
    chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1) / n**2
    error = np.sqrt(chance * (1 - chance) / n)
    # a file of one label agrees with every other by chance; nothing can be built from it
    varied = (chance < 0.95) & (np.count_nonzero(tables.sum(axis=1), axis=1) > 1)
    varied &= np.count_nonzero(tables.sum(axis=2), axis=1) > 1
    excess = agreement - chance
    kept = varied & (np.abs(excess) <= CHANCE_Z * error)
    # with few items one file tells little: the mean over all of them must be chance as well
    if kept.any() and excess[kept].mean() > CHANCE_Z * np.sqrt(
        np.mean(error[kept] ** 2) / kept.sum()
    ):
        kept[:] = False
    unrelated: NDArray[np.int64] = rows[kept]
    return unrelated


def count_pairs(codes: Codes, earlier: Codes, labels: int) -> NDArray[np.int64]:
    """For each row, how often each label of the answers meets each label of the row; items without an answer are skipped."""
    size = labels * labels
    known = (codes >= 0) & (codes < labels)
    pairs = codes[known] * labels + earlier[:, known]
    pairs[(earlier[:, known] < 0) | (earlier[:, known] >= labels)] = size  # a bin that is dropped
    rows = len(earlier)
    places = pairs + (np.arange(rows) * (size + 1))[:, None]
    counts = np.bincount(places.ravel(), minlength=rows * (size + 1))
    return counts.reshape(rows, size + 1)[:, :size].reshape(rows, labels, labels)


CODES = "answers.npy"
"""The codes of a file of answers, next to it: what is compared is not parsed again."""


class FlagFinder:
    """Flags a submission against all earlier ones, whose codes it keeps in memory. Call it from one thread."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, Codes]] = defaultdict(dict)
        self._items: dict[tuple[str, str], list[str]] = {}

    def __call__(self, db: Connection, board: Board, submission: Submission) -> list[Flag]:
        """The flags of a submission, each with its task and split; several seeds are compared with earlier submissions only."""
        flags: list[Flag] = []
        for task, split in dict.fromkeys((file.task, file.split) for file in submission.files):
            rows = db.rows(
                "SELECT f.path, f.submission, s.account FROM files f JOIN submissions s ON s.id = f.submission"
                " WHERE f.task = ? AND f.split = ? AND s.seq < ? ORDER BY s.seq, f.seed",
                task,
                split,
                submission.seq,
            )
            rows, codes = self._read_rows(board, task, split, rows)
            size = len(self._items_of(board, task, split))
            earlier = EarlierAnswers(
                submissions=[row[1] for row in rows],
                accounts=[row[2] for row in rows],
                codes=np.stack(codes) if codes else np.zeros((0, size), dtype=np.int32),
            )
            labels = len(board.tasks[task].labels)
            for file in submission.files:
                if (file.task, file.split) == (task, split):
                    own = self._codes_of(board, task, split, file.path)
                    for flag in find_flags(
                        own, submission.account, earlier, submission.received, labels
                    ):
                        detail = {"task": task, "split": split, "seed": file.seed, **flag.detail}
                        flags.append(Flag(kind=flag.kind, detail=detail, at=flag.at))
        return flags

    def _read_rows(
        self, board: Board, task: str, split: str, rows: list[Row]
    ) -> tuple[list[Row], list[Codes]]:
        """The earlier files that are still there, with their codes: an owner may have removed some."""
        kept, codes = [], []
        for row in rows:
            with suppress(FileNotFoundError):
                codes.append(self._codes_of(board, task, split, row[0]))
                kept.append(row)
        return kept, codes

    def _items_of(self, board: Board, task: str, split: str) -> list[str]:
        if (task, split) not in self._items:
            self._items[task, split] = [one.id for one in board.examples(task, split)]
        return self._items[task, split]

    def _codes_of(self, board: Board, task: str, split: str, path: str) -> Codes:
        rows = self._rows[task, split]
        if path not in rows:
            folder = (board.folder / path).parent
            items = self._items_of(board, task, split)
            codes = _read_codes(folder / CODES, len(items))
            if codes is None:
                codes = encode_answers(
                    _read_answers(folder / PREDICTIONS), items, board.tasks[task].labels
                )
                with (
                    suppress(OSError),  # a full disk: they are made again
                    atomic_write(folder / CODES, overwrite=True, private=True) as stream,
                ):
                    np.save(stream, codes, allow_pickle=False)
            rows[path] = codes
        return rows[path]


def _read_codes(path: Path, items: int) -> Codes | None:
    try:
        codes = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        return None
    return codes if codes.shape == (items,) and codes.dtype == np.int32 else None


def _read_answers(path: Path) -> dict[str, Any]:
    lines = map(msgspec.json.decode, path.read_bytes().splitlines())
    return {line["example"]: line.get("answer") for line in lines}
