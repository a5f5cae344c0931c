"""Shards in, shards out: the same sentences as one file of all shards, and nothing that is finished is done again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nikawa.cleaning import Settings, job, shards
from nikawa.cleaning.job import CleanOptions, CleanReport, ReadOptions, clean
from nikawa.cleaning.toxicity import command_scorer
from nikawa.errors import BadInput
from nikawa.io import growing
from nikawa.io.growing import GrowingFiles
from nikawa.io.records import read_examples
from nikawa.io.remote import UNFINISHED, to_path
from nikawa.io.shards import ShardFolder, list_files

FILES = 4


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Shards in the current folder, each with sentences of the others; the second one is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job, "CHUNK_CHARS", 300)
    paths = [Path(f"part-{number}.txt") for number in range(FILES)]
    for number, path in enumerate(paths):
        lines = [
            f"{(number * 7 + line) % 31 + 1}番目の犬が{'庭海山空'[line % 4]}を走るのを、隣の人は窓から静かに見ていた。短い。"
            for line in range(24)
        ]
        path.write_text("\n".join(lines) if number != 1 else "\n", "utf-8")
    return paths


def clean_to(out: str, texts: list[Path], **changes: Any) -> CleanReport:
    settings: dict[str, Any] = {
        "reading": ReadOptions(licence="CC0"),
        "settings": Settings(language="ja"),
        "removed": Path(f"{out}-removed"),
        "shards": True,
    }
    return clean(texts, Path(out), CleanOptions(**(settings | changes)))


def read_folder(folder: Path | str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def test_shards_have_what_one_file_of_all_has(texts: list[Path]) -> None:
    whole = clean_to("whole.jsonl", texts, shards=False)
    report = clean_to("out", texts)
    assert report == whole
    assert {step.step: step.removed for step in report.steps}["duplicates"] > 10
    files = read_folder("out")
    manifest = json.loads(files.pop("shards.json"))
    names = [f"part-{number}.jsonl" for number in range(FILES)]
    assert list(files) == [shard["name"] for shard in manifest["shards"]] == names
    assert b"".join(files.values()) == Path("whole.jsonl").read_bytes()
    removed = read_folder("out-removed")
    assert list(removed) == names
    together = b"".join(removed.values()).splitlines()
    assert sorted(together) == sorted(Path("whole.jsonl-removed").read_bytes().splitlines())
    assert clean_to("two", texts, workers=2) == report
    for kind in ("", "-removed"):
        assert read_folder(f"two{kind}") == read_folder(f"out{kind}")
    Path("corpus").mkdir()
    for text in texts:
        text.rename(Path("corpus") / text.name)
    clean_to("folder", [Path("corpus")], removed=None)
    assert b"".join(read_folder("folder")[name] for name in names) == b"".join(files.values())


def test_a_folder_stands_for_the_same_files_here_and_at_an_address(tmp_path: Path) -> None:
    store = pytest.importorskip("fsspec").filesystem("memory")
    names = ["a.txt", "year-1/b.txt", "year-1/deep/c.txt", "year/d.txt"]
    for name in (*names, ".git/e.txt", "year/.f.txt", "year/shards.json"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text\n", "utf-8")
        store.pipe(f"/corpus-of-shards/{name}", b"text\n")
    here = [path.relative_to(tmp_path).as_posix() for path in list_files([tmp_path])]
    address = "memory://corpus-of-shards"
    there = [str(path).removeprefix(f"{address}/") for path in list_files([to_path(address)])]
    assert here == there == names


class Killed(BaseException):
    """Stands for a signal."""


def test_a_killed_cleaning_takes_up_what_is_finished(
    texts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = clean_to("expected", texts)
    cleaned: list[str] = []
    work = job.clean_chunk
    dies = True

    def clean_chunk(chunk: list[Any], *words: Any, **settings: Any) -> job.ChunkResult:
        name = chunk[0].name.partition(":")[0]
        if dies and name == "part-3.txt":
            raise Killed
        cleaned.append(name)
        return work(chunk, *words, **settings)

    monkeypatch.setattr(shards, "clean_chunk", clean_chunk)
    with pytest.raises(Killed):
        clean_to("out", texts)
    for path in (Path("out/part-0.jsonl"), Path("out-removed/part-0.jsonl")):
        with pytest.raises(BadInput, match="is incomplete: not all its shards are written"):
            list(read_examples(path))
    with pytest.raises(
        BadInput, match="was begun with other settings: encodings of the files, input files"
    ):
        clean_to("out", texts[:2])
    journal = Path("out") / UNFINISHED
    assert (
        journal.read_bytes().count(b"\n") == 3
    )  # the third shard is finished when the fourth one's first chunk is there
    with journal.open("ab") as stream:
        stream.write(b'{"name": "part-2')  # a line that was cut
    dies = False
    cleaned.clear()
    assert clean_to("out", texts) == expected
    assert set(cleaned) == {"part-2.txt", "part-3.txt"}
    for kind in ("", "-removed"):
        assert read_folder(f"out{kind}") == read_folder(f"expected{kind}")


def test_what_was_changed_is_done_again(texts: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    clean_to("expected", texts, removed=None)

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(ShardFolder, "close", die)
        with pytest.raises(Killed):
            clean_to("out", texts, removed=None)
    Path("out/part-2.jsonl").write_text("{}", "utf-8")
    clean_to("out", texts, removed=None)
    assert read_folder("out") == read_folder("expected")
    with pytest.raises(BadInput, match="is not empty; choose another folder, or pass --overwrite"):
        clean_to("out", texts, removed=None)
    clean_to("out", texts[:2], removed=None, overwrite=True)
    assert list(read_folder("out")) == ["part-0.jsonl", "part-1.jsonl", "shards.json"]


def test_files_that_cannot_be_shards_are_refused(texts: list[Path]) -> None:
    Path("part-0.jsonl").write_text('{"text": "犬が庭を走る。"}\n', "utf-8")
    with pytest.raises(BadInput, match=r"would be written to part-0\.jsonl, as part-0\.txt is"):
        clean_to("out", [texts[0], Path("part-0.jsonl")])
    with pytest.raises(BadInput, match="holds an input file"):
        clean_to(".", texts, removed=None)
    assert not Path("out").exists()


def score_by_length(texts: Sequence[str]) -> list[float]:
    return [float(len(text) % 7 == 0) for text in texts]


def score_nothing(texts: Sequence[str]) -> list[float]:
    return [0.0 for _ in texts]


def test_another_toxicity_scorer_is_refused(
    texts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Path("score.py")
    first = command_scorer(f"{sys.executable} score.py")
    others = [score_nothing, None, command_scorer(f"{sys.executable} score.py --strict"), first]

    def die(*_: object) -> None:
        raise Killed

    for name, target in (("out", ShardFolder), ("out.jsonl", GrowingFiles)):
        script.write_text("import sys\nfor line in sys.stdin: print(0)\n", "utf-8")
        options = CleanOptions(settings=Settings(language="ja"), shards=name == "out")
        with monkeypatch.context() as patched:
            patched.setattr(target, "close" if name == "out" else "publish", die)
            patched.setattr(growing, "SAVE_SECONDS", 0)
            with pytest.raises(Killed):
                clean(texts, Path(name), options, scorer=first)
        for scorer in others:
            if scorer is first:
                script.write_text("import sys\nfor line in sys.stdin: print(1)\n", "utf-8")
            with pytest.raises(BadInput, match=r"was begun with other settings: .*toxicity scorer"):
                clean(texts, Path(name), options, scorer=scorer)


def stop_after(monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
    """Let the cleaning die before it saves so many chunks; it saves after each."""
    monkeypatch.setattr(growing, "SAVE_SECONDS", 0)
    save, saved = GrowingFiles.save, 0

    def save_or_die(self: GrowingFiles, describe_state: Any) -> None:
        nonlocal saved
        if saved == chunks:
            for stream in self.streams:
                stream.write(b"written after the last save")
            raise Killed
        saved += 1
        save(self, describe_state)

    monkeypatch.setattr(GrowingFiles, "save", save_or_die)


@pytest.mark.parametrize("out", ["out.jsonl", "out.jsonl.zst"])
def test_a_killed_cleaning_of_one_file_goes_on(
    texts: list[Path], out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = clean_to(f"expected-{out}", texts, shards=False)
    before = {path.name for path in Path().iterdir()}
    with monkeypatch.context() as patched:
        stop_after(patched, 4)
        with pytest.raises(Killed):
            clean_to(out, texts, shards=False)
    assert not Path(out).exists()
    cleaned: list[int] = []
    work = job.clean_chunk

    def clean_chunk(chunk: list[Any], *words: Any, **settings: Any) -> job.ChunkResult:
        cleaned.append(len(chunk))
        return work(chunk, *words, **settings)

    with pytest.raises(BadInput, match="was begun with other settings: options of the steps;"):
        clean_to(out, texts, shards=False, settings=Settings(language="ja", min_length=5))
    monkeypatch.setattr(shards, "clean_chunk", clean_chunk)
    assert clean_to(out, texts, shards=False) == expected
    assert 0 < sum(cleaned) < 24 * (FILES - 1) - 4
    assert {path.name for path in Path().iterdir()} == {*before, out, f"{out}-removed"}
    for kind in ("", "-removed"):
        assert Path(f"{out}{kind}").read_bytes() == Path(f"expected-{out}{kind}").read_bytes()


def test_text_that_changed_meanwhile_is_refused(
    texts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        with pytest.raises(Killed):
            clean_to("out.jsonl", texts, shards=False)
    texts[0].write_text(texts[0].read_text("utf-8").replace("犬", "猫"), "utf-8")
    with pytest.raises(BadInput, match=r"^out\.jsonl: was begun with other text"):
        clean_to("out.jsonl", texts, shards=False)
    clean_to("out.jsonl", texts, shards=False, overwrite=True)
    clean_to("expected.jsonl", texts, shards=False)
    assert Path("out.jsonl").read_bytes() == Path("expected.jsonl").read_bytes()


def test_an_error_at_the_beginning_leaves_nothing(texts: list[Path]) -> None:
    texts[3].write_bytes(b"\xff\xfe\xff\x00\xff")
    before = sorted(Path().iterdir())
    with pytest.raises(BadInput, match=r"part-3\.txt"):
        clean_to("out.jsonl", texts, shards=False, reading=ReadOptions(encoding="utf-8"))
    assert sorted(Path().iterdir()) == before
