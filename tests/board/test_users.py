"""Started as root, the server and the scoring process are two other users: the server cannot open the labels, the scorer has no secret of the server.

The tests need root, and a Python that other users can run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.board.conftest import HiddenData

from nikawa.board.helpers import connect_scorer
from nikawa.board.job import NewBoard, create_board
from nikawa.board.wire import Message

SERVER, SCORER = "nobody", "daemon"
"""Users that every Debian has."""
STEPS = """
import json, os, signal, sys, time
from pathlib import Path
from nikawa.board.folder import open_board
from contextlib import suppress
from nikawa.board.helpers import start_checker, start_scorer
from nikawa.board.serving import drop_root, give_folders
from nikawa.board.wire import HelperFailed, HelperGone, Message

folder = Path(sys.argv[1])
board = open_board(folder)
scorer = start_scorer(board)
give_folders(board)
found = {"first": scorer.ask(Message({"do": "labels"})).header["labels"][0]["n"]}
drop_root(board)
found["server"] = os.geteuid()

def open_as_server(path):
    try:
        path.open("rb").close()
    except OSError as problem:
        return type(problem).__name__
    return "opened"

keys = board.keys_path("tides")
found["keys"] = open_as_server(keys)
found["secret"] = open_as_server(folder / "secret.key")
try:
    os.seteuid(0)
    found["root"] = "again"
except PermissionError:
    found["root"] = "never"

def find_scorer():
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\\0")
            if b"nikawa.board.scorer" in words and b"nikawa.board.helpers" not in words and str(folder).encode() in words:
                return int(place.name), place.stat().st_uid, (place / "status").read_text()
        except OSError:
            continue
number, found["scorer"], status = find_scorer()
found["groups"] = [line.split()[1:] for line in status.splitlines() if line.startswith("Groups")][0]
print(json.dumps(["kill", number]), flush=True)
sys.stdin.readline()
with suppress(HelperGone):  # where the request was sent before the process had ended
    scorer.ask(Message({"do": "labels"}))
found["again"] = scorer.ask(Message({"do": "labels"})).header["labels"][0]["n"]
found["scorer again"] = find_scorer()[1]
scorer.close()
ends = time.monotonic() + 60
while find_scorer() and time.monotonic() < ends:
    time.sleep(0.02)
found["left"] = find_scorer()
print(json.dumps(found), flush=True)
"""


def find_python() -> str:
    """A Python of this version that any user can run."""
    for path in (sys.executable, "/usr/bin/python3"):
        real = Path(path).resolve()
        version = "import sys; print(sys.version_info[:2])"
        if all(part.stat().st_mode & 0o005 == 0o005 for part in (*real.parents, real)):
            done = subprocess.run(
                [path, "-c", version], capture_output=True, text=True, check=False
            )
            if done.stdout.strip() == str(sys.version_info[:2]):
                return path
    pytest.skip("no Python here that other users can run")


def make_environment() -> dict[str, str]:
    """What such a Python needs to find the packages of this one."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    source = str(Path(__file__).parents[2] / "src")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([source, *packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that other users can pass; those of pytest are closed to them."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    place.chmod(0o711)
    yield place
    shutil.rmtree(place)


needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can change users"
)


@needs_root
def test_the_server_cannot_open_the_labels(hidden_data: HiddenData, open_place: Path) -> None:
    """Both give up root; a scorer that was killed is started again, still as its own user; nothing is left at the end."""
    import pwd

    python, folder = find_python(), open_place / "board"

    def change(text: str) -> str:
        lines = {"of the scoring process": SCORER, "of the server if": SERVER}
        for mark, name in lines.items():
            (line,) = (one for one in text.splitlines() if mark in one)
            text = text.replace(line, line.replace('user = ""', f'user = "{name}"', 1))
        return text

    new = NewBoard(datasets=(hidden_data.folder,), keys=(hidden_data.keys,), public=("test",))
    create_board(folder, new, change)
    trap = folder / "submissions" / "link"
    outside = open_place / "outside"
    outside.write_text("a file of root")
    outside.chmod(0o600)
    trap.symlink_to(outside)
    (folder / "submissions" / "hard").hardlink_to(outside)
    with subprocess.Popen(
        [python, "-c", STEPS, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=make_environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        _, number = json.loads(process.stdout.readline())
        os.kill(number, 9)
        process.stdin.write("\n")
        process.stdin.close()
        found = json.loads(process.stdout.readline())
    server, scorer = (pwd.getpwnam(name).pw_uid for name in (SERVER, SCORER))
    assert found == {
        "first": 200,
        "server": server,
        "keys": "PermissionError",
        "secret": "opened",
        "root": "never",
        "scorer": scorer,
        "groups": [],
        "again": 200,
        "scorer again": scorer,
        "left": None,
    }
    assert (folder / "secret.key").stat().st_uid == server
    assert (folder / "secret.key").stat().st_mode & 0o077 == 0
    assert outside.stat().st_uid == 0
    assert outside.stat().st_mode & 0o777 == 0o600


@needs_root
def test_the_scorer_runs_as_a_service_of_its_own(hidden_data: HiddenData, open_place: Path) -> None:
    """`nikawa board scorer` by a user who may pass through the folder of the board and not list it, as docs/board.md sets it up."""
    import pwd

    python, folder, path = find_python(), open_place / "board", open_place / "run" / "scorer.sock"
    create_board(
        folder,
        NewBoard(datasets=(hidden_data.folder,), keys=(hidden_data.keys,), public=("test",)),
    )
    server, scorer = (pwd.getpwnam(name) for name in (SERVER, SCORER))
    path.parent.mkdir()
    for one in (folder, *folder.rglob("*"), path.parent):
        is_scorers = one.is_relative_to(folder / "scorer") or one == path.parent
        owner = scorer if is_scorers else server
        os.chown(one, owner.pw_uid, owner.pw_gid)
        if one.is_relative_to(folder / "datasets") or one.name == "board.toml":
            one.chmod(0o755 if one.is_dir() else 0o644)
    folder.chmod(0o711)
    words = [python, "-m", "nikawa", "board", "scorer", str(folder), "--socket", str(path)]
    with subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        text=True,
        env=make_environment(),
        cwd=open_place,
        user=scorer.pw_uid,
        group=scorer.pw_gid,
        extra_groups=(),
    ) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert line.startswith("scoring for"), line
            helper = connect_scorer(path)
            assert helper.ask(Message({"do": "labels"})).header["labels"][0]["n"] == 200
            helper.close()
        finally:
            process.terminate()
