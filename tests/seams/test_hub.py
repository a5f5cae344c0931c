"""Stages from the Hugging Face Hub to the Hub, with the bytes that they write on this machine. A stand-in answers for the Hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from tests.seams.hub import Hub, start_hub
from tests.seams.test_s3 import run

from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.io.remote import RemotePath, forget_known

fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
HOME = "hf://datasets/lab/texts"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the empty repository `lab/texts`."""
    from huggingface_hub import HfFileSystem

    with start_hub() as started:
        started.repositories["lab/texts"] = {}
        options = {"endpoint": started.address, "token": "hf_test"}
        monkeypatch.setitem(fsspec.config.conf, "hf", options)
        HfFileSystem.clear_instance_cache()
        yield started
        HfFileSystem.clear_instance_cache()
        forget_known()


@pytest.fixture
def corpus(hub: Hub, tmp_path: Path) -> Path:
    """A folder of compressed texts, which are also at `corpus/` of the hub."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(2):
        lines = (
            f"これは{number}番目の文書の{line}行目で、候補に残る長さの文です。"
            for line in range(40)
        )
        path = folder / f"part-{number}.txt.zst"
        path.write_bytes(zstandard.compress("\n".join(lines).encode()))
        hub.repositories["lab/texts"][f"corpus/{path.name}"] = path.read_bytes()
    return folder


def test_stages_write_the_bytes_of_this_machine(hub: Hub, corpus: Path, tmp_path: Path) -> None:
    for place, source in ((str(tmp_path), str(corpus)), (HOME, f"{HOME}/corpus/part-?.txt.zst")):
        run("clean", source, "--shards", "--out", f"{place}/kept")
        run("tag", f"{place}/kept", "--shards", "--out", f"{place}/tagged")
        run("perturb", "punctuation-drop", f"{place}/tagged", "--out", f"{place}/plain")
        run("clean", f"{place}/corpus", "--out", f"{place}/all.jsonl.zst")
    assert hub.ranges  # files are read by ranges
    files = hub.repositories["lab/texts"]
    for name in ("kept", "tagged", "plain"):
        here = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        there = {
            path.partition("/")[2]: data
            for path, data in files.items()
            if path.startswith(f"{name}/")
        }
        assert here.pop("shards.json", b"") != there.pop(
            "shards.json", None
        )  # it names the sources
        assert there == here, name
    assert files["all.jsonl.zst"] == (tmp_path / "all.jsonl.zst").read_bytes()
    assert load(f"{HOME}/plain").splits == load(f"{tmp_path}/plain").splits
    with pytest.raises(BadInput, match=rf"^{HOME}/all.jsonl.zst: already exists"):
        run("clean", f"{HOME}/corpus", "--out", f"{HOME}/all.jsonl.zst")


def test_a_changed_file_is_known(hub: Hub, corpus: Path) -> None:
    path = RemotePath(f"{HOME}/corpus/part-0.txt.zst")
    before = path.identify()
    files = hub.repositories["lab/texts"]
    files["corpus/part-0.txt.zst"] = files["corpus/part-0.txt.zst"][:-1] + b"x"
    forget_known()
    assert path.identify() != before


def test_what_is_not_there_is_one_line(hub: Hub, corpus: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "a.jsonl")
    for source, what in (
        (f"{HOME}/nothing.txt", "no such file; check the address"),
        (f"{HOME}/corpus/*.gz", "no file has this pattern"),
        ("hf://datasets/lab/nothing/a.txt", "no such file; check the address"),
        ("hf://lab", "cannot be read"),
    ):
        with pytest.raises(BadInput) as problem:
            run("clean", source, "--out", out)
        assert str(problem.value).startswith(f"{source}: {what}"), problem.value
    with pytest.raises(BadInput, match=r"hf://datasets/lab/nothing/a.jsonl: "):
        run("clean", str(corpus), "--out", "hf://datasets/lab/nothing/a.jsonl")
