"""Stages from an S3 server to an S3 server, with the bytes that they write on this machine; uploads that are killed."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from typer.testing import CliRunner

from nikawa import api
from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.io import remote, uploads
from nikawa.io.atomic import atomic_write
from nikawa.io.folders import write_folder
from nikawa.io.remote import UNFINISHED, RemotePath, to_path
from nikawa.io.shards import ShardFolder

server = pytest.importorskip("moto.moto_server.threaded_moto_server", reason="needs moto")
s3fs = pytest.importorskip("s3fs", reason="needs the extra remote")
RUN = CliRunner()
SOURCE = Path(__file__).parents[2] / "src"


class Server:
    """An S3 server of this machine that can be stopped and started again: it keeps what it has."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        self._server = server.ThreadedMotoServer("127.0.0.1", self.port, verbose=False)
        self._server.start()
        self.port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """An S3 server of this machine."""
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    started = Server()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def store(running: Server) -> Iterator[Any]:
    """The file system of the server, with the bucket `lab`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{running.port}")
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
            patch.setenv(f"AWS_{name}", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem()
        system.mkdir("lab")
        yield system
        s3fs.S3FileSystem.clear_instance_cache()


def run(*words: str) -> str:
    done = RUN.invoke(build(), list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def shards(store: Any, tmp_path: Path) -> list[Path]:
    """Compressed shards on this machine and, with the same names, at `s3://lab/corpus/`."""
    made = []
    for number in range(3):
        lines = (
            f"これは{number}番目の文書の{line}行目で、候補に残る長さの文です。"
            for line in range(40)
        )
        path = tmp_path / f"part-{number}.txt.zst"
        path.write_bytes(zstandard.compress("\n".join(lines).encode()))
        store.put_file(str(path), f"lab/corpus/{path.name}")
        made.append(path)
    return made


def test_clean_writes_the_same_bytes(store: Any, shards: list[Path], tmp_path: Path) -> None:
    local, removed = tmp_path / "kept.jsonl.zst", tmp_path / "removed.jsonl"
    run("clean", *map(str, shards), "--out", str(local), "--removed", str(removed))
    target = ("--out", "s3://lab/out/kept.jsonl.zst", "--removed", "s3://lab/out/removed.jsonl")
    said = run("clean", "s3://lab/corpus/*.txt.zst", *target)
    assert "Written to s3://lab/out/kept.jsonl.zst, removed to s3://lab/out/removed.jsonl" in said
    assert store.cat("lab/out/kept.jsonl.zst") == local.read_bytes()
    assert store.cat("lab/out/removed.jsonl") == removed.read_bytes()
    with pytest.raises(BadInput, match=r"^s3://lab/out/kept.jsonl.zst: already exists"):
        run("clean", "s3://lab/corpus", *target)
    run("clean", "s3://lab/corpus", *target, "--overwrite")
    assert store.cat("lab/out/kept.jsonl.zst") == local.read_bytes()
    store.rm("lab/out", recursive=True)


def list_objects(store: Any, folder: str) -> dict[str, bytes]:
    """The objects of a folder by name, but for the manifest, which names the sources."""
    store.invalidate_cache()
    found = {path.rpartition("/")[2]: store.cat(path) for path in store.find(folder)}
    found.pop("shards.json", None)
    return found


def test_shards_have_the_bytes_of_this_machine(
    store: Any, shards: list[Path], tmp_path: Path
) -> None:
    home = "s3://lab/parts"
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for path in shards:
        path.rename(corpus / path.name)
    for place, source in ((str(tmp_path), str(corpus)), (home, "s3://lab/corpus/part-?.txt.zst")):
        words = ("--out", f"{place}/kept", "--removed", f"{place}/removed")
        run("clean", source, "--shards", *words)
        run("tag", f"{place}/kept", "--shards", "--out", f"{place}/tagged")
        run("perturb", "punctuation-drop", f"{place}/tagged", "--shards", "--out", f"{place}/plain")
        pack = ("comparative-ja", "-n", "1", "--seed", "2", "--shards", "2")
        run("generate", *pack, "--out", f"{place}/made")
    for name in ("kept", "removed", "tagged", "plain", "made"):
        there = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        there.pop("shards.json", None)
        assert list_objects(store, f"lab/parts/{name}") == there, name
    assert load(f"{home}/tagged").splits == load(f"{tmp_path}/tagged").splits
    store.rm("lab/parts", recursive=True)


@pytest.mark.parametrize("stage", ["clean", "tag"])
@pytest.mark.parametrize("moment", ["reading", "writing"])
def test_a_server_that_dies_is_one_line_and_the_work_goes_on(
    running: Server,
    store: Any,
    shards: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    moment: str,
) -> None:
    run("clean", *map(str, shards), "--shards", "--out", str(tmp_path / "kept"))
    store.put(f"{tmp_path}/kept", "lab/kept", recursive=True)
    place = "s3://lab/dies"
    words = ["clean", "s3://lab/corpus"] if stage == "clean" else ["tag", "s3://lab/kept"]
    words += ["--shards", "--out"]
    run(*words, str(tmp_path / "expected"))
    expected = {path.name: path.read_bytes() for path in (tmp_path / "expected").iterdir()}
    expected.pop("shards.json")
    with monkeypatch.context() as patch:
        patch.setattr(s3fs.S3FileSystem, "retries", 1)
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        patch.setattr(remote, "READ_BLOCK_BYTES", 500)
        write_shard, done = ShardFolder._write_shard, 0

        def write(self: ShardFolder, results: Any, write_results: Any) -> None:
            nonlocal done

            def write_and_stop(number: int, results: Any, streams: Any) -> Any:
                counts = write_results(number, results, streams)
                if done == 1:  # all of the second shard is sent but not published
                    running.stop()
                return counts

            if done == 1 and moment == "reading":
                running.stop()
                for _ in results:
                    pass
                remote.to_path("s3://lab/corpus/part-2.txt.zst").read_bytes()
            write_shard(self, results, write_and_stop)
            done += 1

        patch.setattr(ShardFolder, "_write_shard", write)
        s3fs.S3FileSystem.clear_instance_cache()
        line = (
            r"^s3://lab/\S+: cannot be (read|written) \([^\n]+\); check the address and the network"
        )
        try:
            with pytest.raises(BadInput, match=line):
                run(*words, place)
        finally:
            running.start()
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    half = list_objects(store, "lab/dies")
    journal = half.pop(UNFINISHED)
    assert journal.count(b"\n") <= 2
    assert half == {"part-0.jsonl": expected["part-0.jsonl"]}
    with pytest.raises(BadInput, match="is incomplete: its upload has not ended"):
        load(place)
    run(*words, place)
    assert list_objects(store, "lab/dies") == expected
    store.rm("lab/dies", recursive=True)
    store.rm("lab/kept", recursive=True)


def test_datasets_travel_through_the_stages(store: Any, tmp_path: Path) -> None:
    home = "s3://lab/sets"
    for place in (str(tmp_path), home):
        run("data", "export", "mini-ja", "--to", "jsonl", "--out", f"{place}/mini")
        run("tag", f"{place}/mini", "--out", f"{place}/tagged")
        run("tag", f"{place}/mini/dev.jsonl", "--out", f"{place}/dev.jsonl.gz")
        run("split", f"{place}/tagged", "--by", "group", "--out", f"{place}/parts")
        run("perturb", "kana-hiragana", f"{place}/mini:dev", "--out", f"{place}/spaced.jsonl")
    for name in (
        "mini/train.jsonl",
        "tagged/dev.jsonl",
        "dev.jsonl.gz",
        "parts/train.jsonl",
        "spaced.jsonl",
    ):
        assert store.cat(f"lab/sets/{name}") == (tmp_path / name).read_bytes(), name
    assert load(f"{home}/mini:dev").splits == load(f"{tmp_path}/mini:dev").splits
    gold = {e.id: e.gold["label"] for e in load(f"{home}/mini:dev") if "label" in e.gold}
    store.pipe(
        "lab/answers.csv",
        "".join(f"{k},{v}\n" for k, v in {"id": "answer", **gold}.items()).encode(),
    )
    assert api.score("mini-ja-nli", Path("s3://lab/answers.csv")).report.scores[0].value == 100
    done = run(
        "run", "--model", "majority", "--tasks", f"{home}/mini", "--out", str(tmp_path / "runs")
    )
    assert "5 runs done" in done
    with pytest.raises(BadInput, match="stored runs need locks and a journal"):
        run("run", "--model", "majority", "--tasks", "mini-ja", "--out", "s3://lab/runs")
    store.rm("lab/sets", recursive=True)


def test_generation_goes_on_and_is_sent_when_complete(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ("generate", "comparative-ja", "-n", "1", "--seed", "2")
    run(*words, "--out", str(tmp_path / "made"))
    out = RemotePath("s3://lab/made")
    with monkeypatch.context() as patch:
        patch.setattr(uploads, "_send_files", stop)
        with pytest.raises(OSError, match="the line is down"):
            run(*words, "--out", str(out))
    assert not store.exists("lab/made")
    assert (uploads.staging_folder(out) / "card.json").is_file()
    run(*words, "--out", str(out))
    for path in (tmp_path / "made").glob("*.jsonl"):
        assert store.cat(f"lab/made/{path.name}") == path.read_bytes()
    assert not uploads.staging_folder(out).exists()
    with pytest.raises(BadInput, match="already contains a dataset"):
        run(*words, "--out", str(out))


def stop(*_: Any) -> None:
    raise OSError("the line is down")


KILLED = """
import sys
from nikawa.io import remote, uploads
from nikawa.io.atomic import atomic_write
from nikawa.io.remote import to_path
uploads.PART_BYTES = 5 << 20
with atomic_write(to_path(sys.argv[1])) as stream:
    for _ in range(12):
        stream.write(bytes(1 << 20))
    print("under way", flush=True)
    sys.stdin.read()
"""


def test_a_killed_upload_leaves_no_file(store: Any) -> None:
    address = "s3://lab/long/killed.bin"
    command = [sys.executable, "-c", KILLED, address]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"under way\n"
        os.kill(process.pid, signal.SIGKILL)
    assert not store.exists("lab/long")
    with atomic_write(to_path(address)) as stream:
        stream.write(b"whole")
    assert store.cat("lab/long/killed.bin") == b"whole"
    store.rm("lab/long", recursive=True)


def test_an_interrupted_upload_leaves_no_parts(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", 5 << 20)
    path = to_path("s3://lab/half.bin")
    seen = list_parts(store)

    def write() -> None:
        with atomic_write(path) as stream:
            stream.write(bytes(11 << 20))
            assert list_parts(store) - seen
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list_parts(store) == seen
    assert not path.exists()


def list_parts(store: Any) -> set[str]:
    answer = store.call_s3("list_multipart_uploads", Bucket="lab")
    return {upload["UploadId"] for upload in answer.get("Uploads", ())}


def test_long_files_of_a_folder_appear_with_the_others(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LONG_FILE_BYTES", 100)
    write_folder(load("mini-ja"), to_path("s3://lab/folder"))
    assert load("s3://lab/folder").splits == load("mini-ja").splits
    assert not store.exists(f"lab/folder/{UNFINISHED}")


def test_a_wrong_bucket_is_one_line(
    store: Any, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = r"the bucket 'nowhere' does not exist; check the address"
    for words in (
        ("clean", "s3://nowhere/a.txt", "--out", "a.jsonl"),
        ("clean", str(shards[0]), "--out", "s3://nowhere/a.jsonl"),
        ("tag", "s3://nowhere/mini"),
        ("data", "export", "mini-ja", "--to", "jsonl", "--out", "s3://nowhere/mini"),
        ("tag", "mini-ja", "--out", "s3://nowhere/mini"),
    ):
        with pytest.raises(BadInput, match=missing):
            run(*words)
    assert not store.exists("nowhere")
    with pytest.raises(BadInput, match="is a folder, not a file"):
        run("clean", str(shards[0]), "--out", "s3://lab", "--overwrite")
    with pytest.raises(BadInput, match=r"^s3://lab/nothing.txt: no such file; check the address"):
        run("clean", "s3://lab/nothing.txt", "--out", "a.jsonl")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(BadInput, match=r"^s3://lab/part.txt: cannot be read \(Could not connect"):
        run("clean", "s3://lab/part.txt", "--out", "a.jsonl")
    s3fs.S3FileSystem.clear_instance_cache()
