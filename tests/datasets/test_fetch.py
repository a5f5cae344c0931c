"""Fetching against a real server on the loopback that misbehaves on demand."""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

import pytest

from nikawa.datasets import fetch as module
from nikawa.datasets import tasks_of
from nikawa.datasets.fetch import RetryPolicy, datasets_of, fetch, url_of
from nikawa.datasets.upstream import Upstream, blob_id, pinned_files
from nikawa.errors import BadInput, UnknownName

CONTENT = "".join(f"{n}\t猫が{n}匹、縁側で歌っている。\n" for n in range(4000)).encode()


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `content`; `plan` says how each request in turn goes wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.gone = threading.Event()
        self.plan: list[int | str] = []
        self.ranges: list[str | None] = []
        self.paths: list[str] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the game."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        self.server.paths.append(self.path)
        step = self.server.plan.pop(0) if self.server.plan else "whole"
        if step == "drop":
            self.close_connection = True
            return
        if isinstance(step, str) and "://" in step:
            self.send_response(302)
            self.send_header("Location", step)
            self.end_headers()
            return
        if step in (403, 404, 500, 503):
            self.send_error(int(step))
            return
        self._send(wanted if step != "ignore-range" else None, step)

    def _send(self, wanted: str | None, step: int | str) -> None:
        content = self.server.content
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        first = start + 1 if step == "wrong-range" else start
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        if isinstance(step, str) and step.startswith("length="):
            self.send_header("Content-Length", step.removeprefix("length="))
        elif step != "no-length":
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = start + step if isinstance(step, int) else len(content)
        if step == "stall":
            self.wfile.write(content[start : start + 10])
            self.server.gone.wait(60)
            return
        self.wfile.write(content[start:end])

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """One published file, in place of those of jsts."""
    file = Upstream(
        "jglue", "someone/Some", "c0ffee0", "sets/a b.tsv", git_blob(CONTENT), len(CONTENT)
    )
    monkeypatch.setattr(module, "pinned_files", lambda name: (file,))
    return file


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def bring(
    server: Server, pinned: Upstream, tmp_path: Path, naps: list[float]
) -> Callable[..., Path]:
    """Fetch the one file from the server; returns where it should be."""

    def run(**more: Any) -> Path:
        fetch(
            "jsts",
            tmp_path,
            base=server.base,
            retry=RetryPolicy(timeout=60, tries=3, sleep=naps.append),
            **more,
        )
        return tmp_path / pinned.place

    return run


def part_of(root: Path, pinned: Upstream) -> Path:
    part = root / (pinned.place + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    return part


def test_a_file_is_put_in_place_and_nothing_else(
    bring: Callable[..., Path], server: Server, tmp_path: Path
) -> None:
    seen: list[tuple[str, int, int | None]] = []
    target = bring(on_progress=lambda *step: seen.append(step))
    assert target.read_bytes() == CONTENT
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["a b.tsv"]
    assert server.paths == ["/someone/Some/c0ffee0/sets/a%20b.tsv"]
    assert seen[0] == ("jglue/sets/a b.tsv", 0, len(CONTENT))
    assert seen[-1] == ("jglue/sets/a b.tsv", len(CONTENT), len(CONTENT))


def test_an_interrupted_transfer_resumes_with_a_range(
    bring: Callable[..., Path], server: Server, naps: list[float]
) -> None:
    server.plan = [1000, 2500]
    assert bring().read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-", "bytes=3500-"]
    assert naps == [1.0, 1.0]


def test_a_part_from_an_earlier_run_is_taken_up(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part = part_of(tmp_path, pinned)
    part.write_bytes(CONTENT[:777])
    assert bring().read_bytes() == CONTENT
    assert server.ranges == ["bytes=777-"]
    assert not part.exists()


def test_a_complete_part_needs_no_request(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part_of(tmp_path, pinned).write_bytes(CONTENT)
    assert bring().read_bytes() == CONTENT
    assert server.ranges == []


def test_a_server_that_ignores_ranges_restarts_the_file(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part_of(tmp_path, pinned).write_bytes(CONTENT[:777])
    server.plan = ["ignore-range"]
    assert bring().read_bytes() == CONTENT


def test_a_server_that_sends_another_range_is_not_believed(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part_of(tmp_path, pinned).write_bytes(CONTENT[:777])
    server.plan = ["wrong-range"]
    assert bring().read_bytes() == CONTENT
    assert server.ranges == ["bytes=777-", None]


def test_a_part_longer_than_the_file_is_dropped(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part_of(tmp_path, pinned).write_bytes(CONTENT + b"more")
    assert bring().read_bytes() == CONTENT
    assert server.ranges == [None]


def test_416_drops_the_part_where_the_size_is_unknown(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Upstream("jglue", "someone/Some", "c0ffee0", "a.tsv", git_blob(CONTENT), None)
    monkeypatch.setattr(module, "pinned_files", lambda name: (file,))
    part_of(tmp_path, file).write_bytes(CONTENT + b"more")
    fetch("jsts", tmp_path, base=server.base, retry=RetryPolicy(sleep=lambda pause: None))
    assert (tmp_path / file.place).read_bytes() == CONTENT
    assert server.ranges == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_file_of_unknown_size_without_a_length_is_judged_by_its_checksum(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Upstream("jglue", "someone/Some", "c0ffee0", "a.tsv", git_blob(CONTENT), None)
    monkeypatch.setattr(module, "pinned_files", lambda name: (file,))
    server.plan = ["no-length"]
    fetch("jsts", tmp_path, base=server.base)
    assert (tmp_path / file.place).read_bytes() == CONTENT


def test_a_stale_part_of_other_content_is_fetched_anew(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part_of(tmp_path, pinned).write_bytes(b"x" * 500)
    assert bring().read_bytes() == CONTENT
    assert server.ranges == ["bytes=500-", None]


def test_wrong_content_is_not_put_in_place(
    bring: Callable[..., Path], server: Server, tmp_path: Path
) -> None:
    server.content = CONTENT[:-1] + b"!"
    with pytest.raises(BadInput, match="checksum") as caught:
        bring()
    assert "\n" not in str(caught.value)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("code", [404, 403])
def test_a_refusal_is_final(
    bring: Callable[..., Path], server: Server, naps: list[float], code: int
) -> None:
    server.plan = [code]
    with pytest.raises(BadInput, match=str(code)):
        bring()
    assert len(server.ranges) == 1
    assert naps == []


def test_server_errors_are_waited_out(
    bring: Callable[..., Path], server: Server, naps: list[float]
) -> None:
    server.plan = [500, 503]
    assert bring().read_bytes() == CONTENT
    assert naps == [1.0, 2.0]


def test_lasting_server_errors_end_in_one_line(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    server.plan = [2000, 500, 500, 500]
    with pytest.raises(BadInput, match="500") as caught:
        bring()
    assert "\n" not in str(caught.value)
    assert part_of(tmp_path, pinned).read_bytes() == CONTENT[:2000]


def test_a_dropped_connection_is_tried_again(bring: Callable[..., Path], server: Server) -> None:
    server.plan = ["drop", 100, "drop"]
    assert bring().read_bytes() == CONTENT
    assert server.ranges == [None, None, "bytes=100-", "bytes=100-"]


def test_a_server_that_falls_silent_is_left_and_asked_again(
    server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    server.plan = ["stall"]
    retry = RetryPolicy(timeout=2, tries=3, sleep=lambda pause: server.gone.set())
    fetch("jsts", tmp_path, base=server.base, retry=retry)
    assert (tmp_path / pinned.place).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=10-"]


def test_a_server_that_is_not_there(pinned: Upstream, tmp_path: Path) -> None:
    with Server() as gone:
        base = gone.base
    with pytest.raises(BadInput, match="could not be fetched"):
        fetch(
            "jsts",
            tmp_path,
            base=base,
            retry=RetryPolicy(timeout=2, tries=2, sleep=lambda pause: None),
        )


def test_a_full_disk_keeps_the_part(
    bring: Callable[..., Path],
    server: Server,
    pinned: Upstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = part_of(tmp_path, pinned)
    part.write_bytes(CONTENT[:4096])
    plain = Path.open

    def full(path: Path, mode: str = "r", **more: Any) -> IO[Any]:
        stream = plain(path, mode, **more)
        return FullDisk(stream) if mode == "ab" else stream  # type: ignore[return-value]

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(BadInput, match=r"disk is full.*kept"):
        bring()
    monkeypatch.undo()
    assert part.read_bytes() == CONTENT[:4096]
    assert not (tmp_path / pinned.place).exists()


class FullDisk:
    """A file on a disk without room."""

    def __init__(self, stream: IO[Any]) -> None:
        self.stream = stream

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stream.close()

    def write(self, chunk: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_folder_that_may_not_be_written(
    pinned: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(BadInput, match="cannot be written: permission denied"):
        fetch("jsts", tmp_path, base="http://127.0.0.1:9")


def test_a_right_file_is_left_alone(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    part_of(tmp_path, pinned).with_suffix("").write_bytes(CONTENT)
    bring()
    assert server.ranges == []


def test_a_wrong_file_is_overwritten_only_when_asked(
    bring: Callable[..., Path], server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    target = part_of(tmp_path, pinned).with_suffix("")
    target.write_bytes(b"my own work")
    with pytest.raises(BadInput, match="--overwrite"):
        bring()
    assert target.read_bytes() == b"my own work"
    assert bring(overwrite=True).read_bytes() == CONTENT


def test_a_clone_is_filled_up(bring: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "JGLUE").mkdir()
    bring()
    assert (tmp_path / "JGLUE" / "sets" / "a b.tsv").read_bytes() == CONTENT
    assert not (tmp_path / "jglue").exists()


def test_the_address_comes_from_argument_then_environment(
    pinned: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert url_of(pinned) == "https://raw.githubusercontent.com/someone/Some/c0ffee0/sets/a%20b.tsv"
    monkeypatch.setenv("NIKAWA_UPSTREAM", "http://mirror/{folder}/{path}?at={commit}")
    assert url_of(pinned) == "http://mirror/jglue/sets/a%20b.tsv?at=c0ffee0"
    assert url_of(pinned, "http://near/") == "http://near/someone/Some/c0ffee0/sets/a%20b.tsv"
    with pytest.raises(BadInput, match="template"):
        url_of(pinned, "http://near/{branch}")


def test_only_http_is_fetched(pinned: Upstream, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="http"):
        fetch("jsts", tmp_path, base="file:///etc/{path}")


@pytest.mark.parametrize("said", ["²", "²²", "many", "-1", "9" * 5000])
def test_a_length_that_makes_no_sense(
    bring: Callable[..., Path], server: Server, said: str
) -> None:
    server.plan = [f"length={said}"]
    assert bring().read_bytes() == CONTENT


def test_a_redirection_is_followed(bring: Callable[..., Path], server: Server) -> None:
    server.plan = [f"{server.base}/elsewhere"]
    assert bring().read_bytes() == CONTENT
    assert server.paths[1] == "/elsewhere"


@pytest.mark.parametrize(
    "address", ["http://[::bad", "http://x:abc/", "http://..invalid/", "http://a b/"]
)
def test_a_redirection_to_nowhere(
    bring: Callable[..., Path], server: Server, naps: list[float], address: str
) -> None:
    server.plan = [address]
    with pytest.raises(
        BadInput, match=r"redirects to an invalid address \(.*check --base"
    ) as caught:
        bring()
    assert "\n" not in str(caught.value)
    assert naps == []


@pytest.mark.parametrize(
    "base",
    [
        "http://[bad/",
        "http://[::bad",
        "http://猫.invalid/",
        "http://x.invalid/猫",
        "http://x.invalid:abc/",
        "http:///x",
        "http://a b.invalid/",
        "http://a\nb.invalid/",
    ],
)
def test_a_base_that_is_no_address(pinned: Upstream, tmp_path: Path, base: str) -> None:
    with pytest.raises(BadInput, match=r"is not an address \(.*; check --base$") as caught:
        fetch("jsts", tmp_path, base=base)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.rglob("*.part")) == []


@pytest.mark.parametrize("step", ["whole", "no-length"])
@pytest.mark.parametrize("begun", [0, 777])
def test_a_file_without_end_is_left(
    bring: Callable[..., Path],
    server: Server,
    pinned: Upstream,
    tmp_path: Path,
    step: str,
    begun: int,
) -> None:
    server.content = CONTENT + b"and more" * 500_000
    server.plan = [step]
    part_of(tmp_path, pinned).write_bytes(CONTENT[:begun])
    with pytest.raises(
        BadInput, match=f"sends more than the {len(CONTENT):,} bytes it should have; nothing was"
    ):
        bring()
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    assert len(server.ranges) == 1


@pytest.mark.parametrize("step", ["whole", "no-length"])
def test_a_file_of_unknown_size_is_bounded_too(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = Upstream("jglue", "someone/Some", "c0ffee0", "a.tsv", git_blob(CONTENT), None)
    monkeypatch.setattr(module, "pinned_files", lambda name: (file,))
    monkeypatch.setattr("nikawa.datasets.fetch.MAX_BYTES_OF_UNKNOWN", 3_000_000)
    server.content = b"more" * 1_000_000
    server.plan = [step]
    with pytest.raises(BadInput, match="sends more than 3 MB; nothing was kept"):
        fetch("jsts", tmp_path, base=server.base)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_marc_ja_says_that_the_reviews_are_withdrawn(
    server: Server, pinned: Upstream, tmp_path: Path
) -> None:
    summary = fetch("marc-ja", tmp_path, base=server.base)
    assert [file.outcome for file in summary.files] == ["fetched"]
    assert "withdrawn" in summary.notes[0]


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> list[Upstream]:
    """Five published files of the same content."""
    files = [
        Upstream("jglue", "someone/Some", "c0ffee0", f"{n}.tsv", git_blob(CONTENT), len(CONTENT))
        for n in range(5)
    ]
    monkeypatch.setattr(module, "pinned_files", lambda name: tuple(files))
    return files


def test_a_failing_file_does_not_stop_the_others(
    server: Server, several: list[Upstream], tmp_path: Path
) -> None:
    server.plan = ["whole", 404, "whole", 403]
    with pytest.raises(BadInput, match="3 of 5 files are in place, 2 failed") as caught:
        fetch("jsts", tmp_path, base=server.base)
    text = str(caught.value)
    assert "jglue/1.tsv (is not there (404))" in text
    assert "jglue/3.tsv (is forbidden (403))" in text
    assert "\n" not in text
    assert sorted(p.name for p in tmp_path.rglob("*.tsv")) == ["0.tsv", "2.tsv", "4.tsv"]


def test_many_failures_are_not_all_named(
    tmp_path: Path, server: Server, several: list[Upstream]
) -> None:
    several += [
        Upstream("jglue", "someone/Some", "c0ffee0", f"{n}.tsv", git_blob(CONTENT), len(CONTENT))
        for n in range(5, 9)
    ]
    server.plan = [404] * 9
    with pytest.raises(BadInput, match="0 of 9 files are in place, 9 failed") as caught:
        fetch("jsts", tmp_path, base=server.base)
    assert "4.tsv" in str(caught.value)
    assert "5.tsv" not in str(caught.value)
    assert "and 4 more" in str(caught.value)


def test_a_dead_server_is_not_asked_for_every_file(
    server: Server, several: list[Upstream], tmp_path: Path
) -> None:
    server.plan = [500] * 50
    with pytest.raises(BadInput, match="0 of 5 files are in place, 3 failed, 2 not tried"):
        fetch(
            "jsts", tmp_path, base=server.base, retry=RetryPolicy(tries=2, sleep=lambda pause: None)
        )
    assert len(server.ranges) == 6


def test_a_file_of_ones_own_is_told_beside_the_others(
    server: Server, several: list[Upstream], tmp_path: Path
) -> None:
    mine = tmp_path / several[2].place
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"my own work")
    with pytest.raises(BadInput, match=r"4 of 5 files .*jglue/2.tsv \(exists but .*--overwrite"):
        fetch("jsts", tmp_path, base=server.base)
    assert mine.read_bytes() == b"my own work"


def test_the_setting_that_gave_the_address_is_named(
    server: Server, pinned: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def complaint(base: str | None) -> str:
        server.plan = [404]
        with pytest.raises(BadInput) as caught:
            fetch("jsts", tmp_path, base=base)
        return str(caught.value)

    given = complaint(server.base)
    assert "check --base" in given
    assert "NIKAWA_UPSTREAM" not in given
    monkeypatch.setenv("NIKAWA_UPSTREAM", server.base)
    for base in (None, server.base):  # the command line hands the variable on as the option
        assert "check NIKAWA_UPSTREAM" in complaint(base)
        assert "--base" not in complaint(base)
    assert "check --base" in complaint(server.base + "/elsewhere")
    monkeypatch.delenv("NIKAWA_UPSTREAM")
    monkeypatch.setattr(module, "BASE", server.base + "/{path}")
    assert complaint(None).endswith("; fetch again later")


@pytest.mark.parametrize("name", ["demo", "mini-ja", "mini-ko"])
def test_what_is_embedded_needs_no_fetching(name: str, tmp_path: Path) -> None:
    summary = fetch(name, tmp_path, base="http://127.0.0.1:9")
    assert summary.files == ()
    assert summary.notes == (f"{name} is included in Nikawa; there is nothing to fetch",)


def test_jsick_brings_its_whole_repository() -> None:
    brought = {file.path for dataset in datasets_of("jsick") for file in pinned_files(dataset)}
    assert brought >= {"jsick/jsick.tsv", "jsick/train.tsv", "jsick-stress/ex_ga_o/test.tsv"}
    assert datasets_of("jsick-en") == ["jsick-en"]
    assert {task.dataset for task in tasks_of("jsick")} == {"jsick"}


def test_names() -> None:
    assert datasets_of("jsts") == ["jsts"]
    assert datasets_of("jsem") == ["jsem"]
    assert "jsem" in datasets_of("all")
    assert set(datasets_of("jglue")) == {
        "marc-ja",
        "jcola",
        "jsts",
        "jnli",
        "jsquad",
        "jcommonsenseqa",
    }
    assert "wos" in datasets_of("all")
    with pytest.raises(UnknownName, match="jsts"):
        datasets_of("jstss")


def test_the_blob_id_is_that_of_git(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert blob_id(path) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
