"""Stages from Google Cloud Storage to Google Cloud Storage, with the bytes that they write on this machine. An emulator answers for the store.

    python -m tests.soak.google_storage

gcsfs and the emulator (gcp-storage-emulator) are in an environment of their own, because gcsfs needs one release of fsspec. pip installs
them at the first start. The emulator cannot take back an upload, so parts that are discarded stay there.
"""

from __future__ import annotations

import gzip
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nikawa

REQUIREMENTS = (
    "gcsfs==2026.10.1",
    "gcp-storage-emulator==2026.7.19",
    *(
        "fugashi",
        "ipadic",
        "jinja2",
        "markdown-it-py",
        "msgspec",
        "numpy",
        "rich",
        "typer",
        "zstandard",
    ),
)
SERVER = """
import sys
from gcp_storage_emulator.server import create_server
server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="lab")
server.start()
print(server._api._httpd.server_port, flush=True)
sys.stdin.read()
server.stop()
"""
CORPUS = tuple(f"part-{number}.txt.gz" for number in range(3))
WALK = (
    ("clean", "corpus", "--out", "all.jsonl.gz"),
    ("clean", "corpus", "--shards", "--out", "kept", "--removed", "removed"),
    ("perturb", "punctuation-drop", "kept", "--shards", "--out", "plain"),
    ("generate", "comparative-ja", "-n", "1", "--seed", "2", "--out", "made"),
    ("split", "made", "--by", "group", "--out", "parts"),
)
PLACES = ("corpus", "all.jsonl.gz", "kept", "removed", "plain", "made", "parts")
"""Words of the walk that name something in the folder, or in the bucket."""


def place_words(words: Sequence[str], place: str) -> list[str]:
    """The words of a command at a place."""
    return [f"{place}/{word}" if word in PLACES else word for word in words]


def write_corpus(folder: Path, store: Any) -> None:
    """The same texts in a folder and in the bucket."""
    (folder / "corpus").mkdir()
    for number, name in enumerate(CORPUS):
        lines = (
            f"これは{number}番目の文書の{line}行目で、候補に残る長さの文です。"
            for line in range(40)
        )
        data = gzip.compress("\n".join(lines).encode(), mtime=0)
        (folder / "corpus" / name).write_bytes(data)
        store.pipe_file(f"lab/corpus/{name}", data)


def read_outputs(folder: Path, store: Any) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """What the walk wrote in the folder and in the bucket, without the lists of shards, which name the sources."""
    here = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("shards.json", "lock")
    }
    store.invalidate_cache()
    names = [name for name in store.find("lab") if not name.endswith("shards.json")]
    return here, {name.removeprefix("lab/"): store.cat(name) for name in names}


def refuse(words: Sequence[str], what: str) -> None:
    """A command that must fail with one line."""
    done = run(words)
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert what in done.stderr, done.stderr


def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    command = [sys.executable, "-m", "nikawa", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def walk() -> None:
    """In the environment with gcsfs: start the emulator, and compare."""
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        ) as server,
        tempfile.TemporaryDirectory() as temporary,
    ):
        assert server.stdout is not None
        folder = Path(temporary)
        os.environ["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{int(server.stdout.readline())}"
        os.environ["FSSPEC_GS_TOKEN"] = "anon"
        os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # the emulator has no gRPC
        store = importlib.import_module("gcsfs").GCSFileSystem(token="anon")
        write_corpus(folder, store)
        for words in WALK:
            for place in (str(folder), "gs://lab"):
                done = run(place_words(words, place))
                assert done.returncode == 0, (words, place, done.stderr)
        here, there = read_outputs(folder, store)
        assert here == there, sorted(
            name for name in here | there if here.get(name) != there.get(name)
        )
        refuse(place_words(WALK[0], "gs://lab"), "gs://lab/all.jsonl.gz: already exists")
        local = str(folder / "x.jsonl")
        refuse(["clean", "gs://lab/none.txt", "--out", local], "gs://lab/none.txt: no such file")
        missing = "the bucket 'nowhere' does not exist"
        refuse(["clean", "gs://nowhere/a.txt", "--out", local], missing)
        refuse(["clean", str(folder / "corpus"), "--out", "gs://nowhere/x.jsonl"], missing)
        server.terminate()
    sys.stdout.write(
        f"Google Cloud Storage (emulated): {len(here)} files with the bytes of this machine\n"
    )


def main() -> None:
    if "--walk" in sys.argv:
        walk()
        return
    from tests.interop.environments import ensure_environment

    folder = ensure_environment("google-storage", *REQUIREMENTS)
    root = Path(__file__).parents[2]
    paths = os.pathsep.join((str(Path(nikawa.__file__).parents[1]), str(root)))
    command = [str(folder / "python"), "-m", "tests.soak.google_storage", "--walk"]
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }
    sys.exit(subprocess.run(command, check=False, env=environment, cwd=root).returncode)


if __name__ == "__main__":
    main()
