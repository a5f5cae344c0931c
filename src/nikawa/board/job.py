"""What the commands of a board do: make one, serve it, look after it."""

from __future__ import annotations

import secrets
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nikawa.board.accounts import account_password, make_invitation, set_account_password
from nikawa.board.folder import DATASETS, KEYS, SCORER, SECRET, SUBMISSIONS, Board, open_board
from nikawa.board.leakage import pool_tests
from nikawa.board.records import System, SystemState
from nikawa.board.settings import SETTINGS, SetSettings, format_settings, parse_date
from nikawa.board.store import (
    BoardStore,
    list_accounts,
    list_submissions,
    list_systems,
    open_existing_store,
    open_store,
    sum_disclosures,
)
from nikawa.board.submissions import change_any_system
from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.keys import (
    LabelKeys,
    describe_mode,
    digest_inputs,
    read_keys,
    read_notice,
    restore_labels,
)
from nikawa.datasets.load import load
from nikawa.errors import BadInput, list_names, unknown
from nikawa.io.atomic import atomic_folder, atomic_write, private_files
from nikawa.io.folders import is_dataset_folder
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused
from nikawa.serve.login import hash_password, set_person
from nikawa.serve.names import MAX_NAME_CHARS, find_name_fault
from nikawa.serve.store import get_value

OWNER = "owner"
ADDRESS = "address"
"""The key under which the store keeps where the server was last started."""

SMALL_TEST = 500
"""Items of a test under which a new board warns."""

ABOUT = {
    "en": "The test labels of this benchmark are hidden. Send the answers of your system; the board scores them.\n\n"
    "## Rules\n\n1. Do not label the test items yourself, and do not tune on them.\n2. Name all training data.\n"
    "3. Describe your system so that others can understand what it does.\n",
    "ja": "このベンチマークのテストの正解は公開されていません。システムの解答を提出すると、採点結果がリーダーボードに載ります。\n\n"
    "## 参加の決まり\n\n1. テスト問題に自分で正解を付けたり、テスト問題に合わせて調整したりしないでください。\n"
    "2. 学習に使ったデータはすべて書いてください。\n3. どのようなシステムかがほかの人にも分かるように説明してください。\n",
    "ko": "이 벤치마크의 테스트 정답은 공개하지 않습니다. 시스템의 답을 제출하면 채점 결과가 리더보드에 올라갑니다.\n\n"
    "## 참가 규칙\n\n1. 테스트 문항에 직접 정답을 달거나 테스트 문항에 맞추어 조정하지 마세요.\n"
    "2. 학습에 쓴 데이터를 모두 밝혀 주세요.\n3. 어떤 시스템인지 다른 사람도 알 수 있게 설명해 주세요.\n",
}
"""What the page about a new board says, to be edited."""


# Make a board


@dataclass(frozen=True)
class NewBoard:
    """What a new board is made of."""

    datasets: tuple[Path, ...]
    """Folders that `nikawa data hide` wrote."""
    keys: tuple[Path, ...]
    """Their key files, in any order."""
    public: tuple[str, ...] = ()
    """Splits that are scored on arrival; empty: all hidden splits that are not final."""
    final: tuple[str, ...] = ()
    """Splits that are scored once, after the board closes."""
    name: str = ""
    """Empty: the name of the folder."""
    title: str = ""
    """Empty: the name."""
    language: str = "en"
    closes: str = ""
    """The closing date, which a final split needs."""
    database: str = ""


@dataclass(frozen=True)
class NewBoardReport:
    """The new board; the password is shown once and is not stored."""

    board: str
    """The folder."""
    tasks: tuple[str, ...]
    sets: tuple[str, ...]
    """`TASK:SPLIT (ROLE)`."""
    items: int
    """Items of all sets."""
    owner: str
    """The name the owner logs in with."""
    password: str
    notes: tuple[str, ...] = ()


def create_board(
    folder: Path, new: NewBoard, change: Callable[[str], str] | None = None
) -> NewBoardReport:
    """Make the folder of a board, whole or not at all, with an owner who can log in.

    Raises `BadInput` where the folder exists, a dataset has no hidden labels, or a key file does not belong to it. `change` may change the
    text of board.toml before it is written.
    """
    if folder.exists():
        raise BadInput("the folder already exists", file=folder, cure="choose another name")
    refuse_dates(new)
    parts, notes = _read_parts(new)
    sets = sorted((one for part in parts for one in part.sets), key=lambda one: one.role == "final")
    if not any(one.role == "public" for one in sets):
        what = "no split is public: every hidden split is final"
        raise BadInput(what, cure="name fewer splits with --final, or add one with --split")
    name = new.name or _plain_name(folder) or "board"
    text = format_settings(name, new.title or new.name or folder.name, new.language, sets)
    if new.closes:
        text = text.replace('closes = ""', f'closes = "{new.closes}"', 1)
    with private_files(), atomic_folder(folder) as made:
        (made / SETTINGS).write_text(text if change is None else change(text), "utf-8")
        for language, about in ABOUT.items():
            (made / f"about.{language}.md").write_text(about, "utf-8")
        for name in (DATASETS, SCORER, f"{SCORER}/{KEYS}", SUBMISSIONS):
            (made / name).mkdir(mode=0o700)
        for part in parts:
            shutil.copytree(part.folder, made / DATASETS / part.name)
            shutil.copyfile(part.keys.path, made / SCORER / KEYS / f"{part.name}.jsonl")
        with atomic_write(made / SECRET) as stream:
            stream.write(f"{secrets.token_hex(32)}\n".encode())
        for path in made.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
    try:
        board = open_board(folder)
        password = secrets.token_urlsafe(12)
        with open_store(new.database, board) as store:
            store.write(set_person, OWNER, "owner", hash_password(password), time.time())
    except BaseException:
        shutil.rmtree(folder)  # what does not open leaves no half of a board
        raise
    return NewBoardReport(
        board=str(folder),
        tasks=tuple(board.tasks),
        sets=tuple(f"{one.task}:{one.split} ({one.role})" for one in board.sets),
        items=sum(len(board.examples(one.task, one.split)) for one in board.sets),
        owner=OWNER,
        password=password,
        notes=(*notes, *_note_small_tests(board), *_note_shared_items(board)),
    )


def refuse_dates(new: NewBoard) -> None:
    """Refuse a closing date that cannot be read, and a final split without one."""
    try:
        closes = parse_date(new.closes)
    except ValueError:
        cure = "write it like 2027-03-31T23:59:59+09:00"
        what = f"{new.closes!r} is not a date with a time zone"
        raise BadInput(what, cure=cure) from None
    if new.final and closes is None:
        what = "a final split needs a closing date: it is scored after that"
        raise BadInput(what, cure="pass --closes 2027-03-31T23:59:59+09:00")


@dataclass(frozen=True)
class _Part:
    """A dataset of a new board."""

    folder: Path
    name: str
    keys: LabelKeys
    sets: tuple[SetSettings, ...]


def _read_parts(new: NewBoard) -> tuple[list[_Part], list[str]]:
    """The datasets of a new board, each with its keys, and notes for the owner."""
    every = [read_keys(path) for path in new.keys]
    parts: list[_Part] = []
    notes = [note for note in map(describe_mode, new.keys) if note]
    wanted = dict.fromkeys((*new.public, *new.final))
    known: set[str] = set()
    for folder in new.datasets:
        notice = read_notice(folder) if is_dataset_folder(folder) else None
        if notice is None:
            cure = "hide the test labels first: nikawa data hide DATASET --split test --out FOLDER --keys FILE"
            raise BadInput("is no dataset folder with hidden labels", file=folder, cure=cure)
        seals = {notice_of_split.seal for notice_of_split in notice.splits.values()}
        keys = next((one for one in every if one.header.seal in seals), None)
        if keys is None:
            files = list_names(str(path) for path in new.keys) or "none was passed"
            what = f"no key file belongs to this folder ({files})"
            raise BadInput(
                what, file=folder, cure="pass the file that nikawa data hide --keys wrote"
            )
        dataset = load(str(folder), hidden=True)
        restore_labels(dataset, keys, str(folder))
        for name in wanted:
            if name in dataset.splits and name not in notice.splits:
                what = f"the labels of {name} are not hidden: everybody can read them"
                raise BadInput(
                    what, file=folder, cure="choose a hidden split, or hide this one first"
                )
        hidden = [name for name in notice.splits if name in dataset.splits]
        known.update(hidden)
        chosen = [
            SetSettings(
                dataset=_choose_name(folder, parts),
                split=name,
                role="final" if name in new.final else "public",
            )
            for name in hidden
            if name in new.final or not new.public or name in new.public
        ]
        parts.append(_Part(folder, _choose_name(folder, parts), keys, tuple(chosen)))
        custom_tasks(str(folder))
    for name in wanted:
        if name not in known:
            raise unknown("hidden split", name, known)
    return parts, notes


def _choose_name(folder: Path, parts: Sequence[_Part]) -> str:
    """The name of a dataset in the board, which also names its tasks."""
    name = _plain_name(folder) or "dataset"
    if any(part.name == name for part in parts):
        what = f"two datasets are called {name}"
        raise BadInput(what, file=folder, cure="rename the folder of one: its name is on the pages")
    return name


def _plain_name(folder: Path) -> str:
    """The name of a folder as board.toml takes names: letters of any script, digits and `._-`."""
    # some systems write kana and hangul as several characters
    own = unicodedata.normalize("NFC", folder.resolve().name)
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in own)
    return name.strip("._-")[:100]  # what board.toml allows


def _note_small_tests(board: Board) -> Iterator[str]:
    """A warning about public tests so small that every score says much about the labels; a final one is scored once."""
    sizes = {
        f"{one.task}:{one.split}": len(board.examples(one.task, one.split))
        for one in board.sets
        if one.role == "public"
    }
    small = [f"{name} ({count:,} items)" for name, count in sizes.items() if count < SMALL_TEST]
    if small:
        yield (
            f"small tests: {list_names(small)}; their scores are coarse, and a few submissions say much about the labels"
            " (docs/board-trust.md)"
        )


def _note_shared_items(board: Board) -> Iterator[str]:
    """A warning about splits with the same items: what the scores of one reveal holds for the other."""
    texts = {
        f"{one.dataset}:{one.split}": frozenset(
            digest_inputs(example.inputs) for example in board.examples(one.task, one.split)
        )
        for one in board.sets
    }
    for pool in pool_tests(texts):
        if len(pool) > 1:
            yield f"{' and '.join(pool)} have items in common: what scores of one reveal about them holds for the other"


# Look after a board


@contextmanager
def open_both(folder: Path, database: str = "") -> Iterator[tuple[Board, BoardStore]]:
    """A board and its store, for a command."""
    board = open_board(folder)
    with open_existing_store(database, board) as store:
        yield board, store


def set_password(
    folder: Path, name: str, role: str, secret: str | None = None, database: str = ""
) -> str:
    """Add an owner or reviewer, or give them or a submitter a new password, which is returned.

    `role` is `owner`, `reviewer` or `submitter`, whose account must exist; without a `secret` the password is random.
    """
    if role not in ROLES:
        raise unknown("role", role, ROLES)
    if fault := find_name_fault(name):
        cure = f"use 1 to {MAX_NAME_CHARS} visible characters"
        raise BadInput(f"{name!r} cannot log in: {fault}", cure=cure)
    password = secret or secrets.token_urlsafe(12)
    password_hash = hash_password(password)
    with open_both(folder, database) as (_, store):
        if role == "submitter":
            id, _ = store.read(account_password, name)
            if id is None:
                raise unknown("account", name, (one.name for one in store.read(list_accounts)))
            store.write(set_account_password, id, password_hash, time.time(), who="command")
        else:
            store.write(set_person, name, role, password_hash, time.time())
    return password


ROLES = ("owner", "reviewer", "submitter")
STATES: tuple[SystemState, ...] = ("published", "private", "withdrawn")


def change_entry(
    folder: Path, system: str, *, state: str = "", name: str = "", database: str = ""
) -> System:
    """Publish, hide or withdraw a system of anybody, or rename it; `system` is its id, or its name where only one has it.

    A withdrawn system stays withdrawn.
    """
    if state and state not in STATES:
        raise unknown("state", state, STATES)
    if not state and not name:
        raise BadInput("there is nothing to change", cure="pass --state or --name")
    facts = {key: value for key, value in (("state", state), ("name", name)) if value}
    with open_both(folder, database) as (_, store):
        systems = store.read(list_systems)
        matching = [one for one in systems if system in (one.id, one.name)]
        if len(matching) > 1:
            ids = list_names(one.id for one in matching)
            raise BadInput(
                f"{len(matching)} systems are called {system!r}", cure=f"pass the id: {ids}"
            )
        if not matching:
            raise unknown("system", system, (one.name for one in systems))
        try:
            return store.write(change_any_system, matching[0].id, facts, time.time())
        except Refused as problem:
            what = (
                f"{matching[0].name} cannot be changed: {REFUSALS.get(problem.code, problem.code)}"
            )
            raise BadInput(what) from None


REFUSALS = {
    "withdrawn": "it was withdrawn, and stays so",
    "bad_name": "the name cannot be shown",
    "name_taken": "its account has another system of that name",
}


@dataclass(frozen=True)
class Invitations:
    """Links with which somebody may sign up, once each."""

    links: tuple[tuple[str, str], ...]
    """Note and link."""
    address: str
    days: float


def invite(
    folder: Path,
    notes: Sequence[str],
    *,
    days: float = 30.0,
    address: str | None = None,
    database: str = "",
) -> Invitations:
    """Make an invitation link for each note, such as a name; each works once."""
    with open_both(folder, database) as (board, store):
        base = find_address(board, store, address)
        links = []
        for note in notes:
            token = store.write(
                make_invitation, "command", time.time(), note=note, seconds=days * 86_400
            )
            links.append((note, f"{base}/sign-up?invitation={token}"))
    return Invitations(tuple(links), base, days)


def find_address(board: Board, store: BoardStore, address: str | None = None) -> str:
    """What links begin with: the given address, that of board.toml, or where the server was last started."""
    if address is None:
        address = (
            board.settings.address or store.read(get_value, ADDRESS) or "http://127.0.0.1:8000"
        )
    return address.rstrip("/")


# Figures


def read_status(folder: Path, database: str = "") -> dict[str, Any]:
    """How a board is doing: submissions, accounts, flags; it may be served meanwhile."""
    with open_both(folder, database) as (board, store):
        return store.read(count_all, board, folder)


def count_all(db: Connection, board: Board, folder: Path) -> dict[str, Any]:
    """The figures of `nikawa board status`."""
    now, settings = time.time(), board.settings

    def count(sql: str) -> dict[str, int]:
        return {str(name): int(number) for name, number in db.rows(sql)}

    closes = settings.dates.closes_at
    opens = settings.dates.opens_at
    state = "open"
    if opens is not None and now < opens:
        state = "not open yet"
    elif closes is not None and now >= closes:
        state = "closed"
    leaks = [
        {
            "task": task,
            "split": split,
            "account": account,
            "kind": kind,
            "count": number,
            "bits": round(bits, 1),
        }
        for task, split, account, kind, number, bits in sum_disclosures(db)
    ]
    latest = list_submissions(db, limit=20)
    names = {system.id: system.name for system in list_systems(db)}
    return {
        "board": str(folder),
        "title": settings.title,
        "state": state,
        "closes": settings.dates.closes,
        "sets": [f"{one.task}:{one.split} ({one.role})" for one in board.sets],
        "submissions": count("SELECT state, COUNT(*) FROM submissions GROUP BY state"),
        "systems": count("SELECT state, COUNT(*) FROM systems GROUP BY state"),
        "accounts": count("SELECT state, COUNT(*) FROM accounts GROUP BY state"),
        "flags": count(
            "SELECT f.kind, COUNT(DISTINCT f.submission) FROM flags f JOIN submissions s ON s.id = f.submission"
            " WHERE f.resolved_at IS NULL AND s.account IS NOT NULL GROUP BY f.kind"
        ),  # of each kind one a submission, as on the dashboard; a baseline may well answer one label
        "latest": [
            {
                "submission": one.id,
                "system": names.get(one.system, ""),
                "received": format_moment(one.received),
                "state": one.state,
                "problem": one.problem,
                "flags": sorted({flag.kind for flag in one.flags if one.account}),
            }
            for one in latest
        ],
        "disclosed": leaks,
    }


def format_moment(at: float) -> str:
    """A moment for tables, in UTC.

    >>> format_moment(0)
    '1970-01-01 00:00'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
