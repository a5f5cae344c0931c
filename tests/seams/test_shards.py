"""A corpus in shards through the stages: the lines of one process, whatever was killed, and nothing that is finished done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nikawa as nk
from nikawa.checks.hide_job import HideOptions, hide
from nikawa.cleaning import Settings
from nikawa.cleaning.job import CleanOptions, clean
from nikawa.datasets import load
from nikawa.datasets.card import make_card
from nikawa.datasets.stream import open_stream
from nikawa.errors import BadInput
from nikawa.generation.job import GenerateOptions, generate
from nikawa.io import remote, shards
from nikawa.io.lines import read_bytes
from nikawa.io.remote import MANIFEST, UNFINISHED, to_path
from nikawa.pairing.job import pair
from nikawa.perturbation.job import PerturbOptions, perturb
from nikawa.tagging.job import TagOptions, tag

PARTS = 3


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of text in the folder `corpus` of the current folder; of the second one nothing is kept."""
    monkeypatch.chdir(tmp_path)
    folder = Path("corpus")
    folder.mkdir()
    for number in range(PARTS):
        lines = [
            f"{number}人目の男性が{line}番目の部屋で大きな荷物を静かに{'運ばなかった' if line % 2 else '運んだ'}。"
            for line in range(8)
        ]
        (folder / f"part-{number}.txt").write_text("\n".join(lines if number != 1 else ["短い。"]))
    options = CleanOptions(settings=Settings(language="ja"), without=("duplicates",), shards=True)
    clean([folder], Path("cleaned"), options)
    return Path("cleaned")


@pytest.fixture
def memory() -> Iterator[str]:
    """An address of the memory of this process, empty."""
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.store.clear()
    remote.forget_known()
    yield "memory://lab"
    store.store.clear()
    remote.forget_known()


class Killed(BaseException):
    """Stands for a signal."""


def read_shards(folder: str) -> dict[str, bytes]:
    """The files of a folder of shards, but for the manifest, which names other sources."""
    path = to_path(folder)
    files = {each.name: read_bytes(each) for each in path.iterdir() if each.name != MANIFEST}
    listed = [shard["name"] for shard in json.loads(read_bytes(path / MANIFEST))["shards"]]
    assert sorted({*listed, "card.json"} | set(files)) == sorted(files)
    return files


def do_tag(source: str, out: str, **changes: Any) -> Any:
    settings: dict[str, Any] = {"out": to_path(out), "shards": True}
    return tag(source, options=TagOptions(**settings | changes))


def do_perturb(source: str, out: str, **changes: Any) -> Any:
    options: dict[str, Any] = {"out": to_path(out), "shards": True, "assume_eligible": True}
    return perturb("scramble,punctuation-drop", source, options=PerturbOptions(**options | changes))


def do_generate(_: str, out: str, **changes: Any) -> Any:
    settings: dict[str, Any] = {
        "counts": {"": 2, "test": 1},
        "splits": ("all",),
        "shards": 2,
        "chunk": 100,
    }
    return generate("comparative-ja", to_path(out), options=GenerateOptions(**settings | changes))


STAGES: dict[str, Callable[..., Any]] = {
    "tag": do_tag,
    "perturb": do_perturb,
    "generate": do_generate,
}


def without_place(report: Any) -> Any:
    """A report without the folder that it names."""
    names = ("out", "folder")
    return {k: v for k in report.__struct_fields__ if (v := getattr(report, k), k not in names)[1]}


@pytest.mark.parametrize("name", STAGES)
def test_shards_have_the_lines_of_one_process(name: str, corpus: Path) -> None:
    stage = STAGES[name]
    one_file: dict[str, Any] = {"shards": False} if name != "generate" else {"shards": 0}
    whole = stage("cleaned", "whole", **one_file)
    report = stage("cleaned", "out")
    assert without_place(report) == without_place(whole)
    assert read_shards("out")["card.json"] == Path("whole/card.json").read_bytes()
    dataset, expected = load("out"), load("whole")
    assert dataset == expected
    assert list(dataset.splits) == list(expected.splits)
    splits: dict[str, bytes] = {}
    for shard in json.loads(Path("out/shards.json").read_bytes())["shards"]:
        path = Path("out") / shard["name"]
        splits[shard["split"]] = splits.get(shard["split"], b"") + path.read_bytes()
    files = {split: Path(f"whole/{split}.jsonl") for split in expected.splits}
    assert splits == {split: file.read_bytes() for split, file in files.items()}
    stage("cleaned", "pool", workers=2)
    assert read_shards("pool") == read_shards("out")


@pytest.mark.parametrize("place", ["here", "address"])
@pytest.mark.parametrize("name", STAGES)
def test_a_killed_stage_takes_up_what_is_finished(
    name: str, place: str, corpus: Path, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, out = STAGES[name], "out" if place == "here" else f"{memory}/out"
    report = stage("cleaned", "expected")
    written: list[str] = []
    write_shard = shards.ShardFolder._write_shard
    last_before_kill = 1

    def write(self: Any, *arguments: Any) -> None:
        if len(written) == last_before_kill:
            raise Killed
        write_shard(self, *arguments)
        written.append(self.shards[-1].name)

    monkeypatch.setattr(shards.ShardFolder, "_write_shard", write)
    with pytest.raises(Killed):
        stage("cleaned", out)
    incomplete = "is incomplete: (not all its shards are written|its upload has not ended)"
    for read in (
        lambda: load(out),
        lambda: list(open_stream(out).pairs),
        lambda: list(open_stream(f"{out}/{written[0]}").pairs),
        lambda: nk.load(f"{out}/{written[0]}"),
        lambda: clean([to_path(out)], Path("no.jsonl")),
        lambda: pair("greedy", to_path(out)),
        lambda: do_tag(out, "no"),
    ):
        with pytest.raises(BadInput, match=incomplete):
            read()
    last_before_kill = -1
    changes: dict[str, Any] = {"seed": 5} if name != "tag" else {"replace": True}
    with pytest.raises(BadInput, match=r"was begun with other settings: (options|pack)"):
        stage("cleaned", out, **changes)
    before = list(written)
    assert without_place(stage("cleaned", out)) == without_place(report)
    assert len(set(written)) == len(written) > len(before)
    assert read_shards(out) == read_shards("expected")
    assert not (to_path(out) / UNFINISHED).exists()
    with pytest.raises(BadInput, match="is not empty"):
        stage("cleaned", out)
    stage("cleaned", out, overwrite=True)
    assert read_shards(out) == read_shards("expected")


def test_every_stage_reads_shards(corpus: Path, memory: str) -> None:
    for place in ("", f"{memory}/"):
        do_tag("cleaned", f"{place}tagged")
        do_perturb(f"{place}tagged", f"{place}perturbed")
    assert read_shards("perturbed") == read_shards(f"{memory}/perturbed")
    tagged, shifted = load("tagged"), load(f"{memory}/tagged")
    assert tagged.splits == shifted.splits
    assert [example.id for example in tagged] == [
        line["id"]
        for number in (0, 2)
        for line in map(json.loads, Path(f"cleaned/part-{number}.jsonl").read_text().splitlines())
    ]
    again = CleanOptions(overwrite=True, without=("duplicates",))
    for kind in ("cleaned", "tagged", f"{memory}/tagged"):
        tag(kind, options=TagOptions(out=Path("one.jsonl"), overwrite=True))
        together = b"".join(Path(f"tagged/part-{n}.jsonl").read_bytes() for n in (0, 2))
        assert Path("one.jsonl").read_bytes() == together
        report = pair("greedy", to_path(kind))
        assert report.sentences == len(tagged)
        clean([to_path(kind)], Path("again.jsonl"), again)
        assert [e.inputs for e in load("again.jsonl")] == [e.inputs for e in tagged]
    do_tag(f"{memory}/tagged/*.jsonl", "pattern")
    assert [e.inputs for e in load("pattern")] == [e.inputs for e in tagged]
    parts = nk.split("tagged", by="group", seed=1)
    assert len(parts) == len(tagged)
    assert set(nk.load("perturbed").splits) >= {"scramble-o"}
    nk.load("tagged").save("joined")
    assert load("joined").splits == tagged.splits


def test_a_shard_that_is_missing_or_repeated_is_refused(corpus: Path) -> None:
    do_tag("cleaned", "tagged")
    shard = Path("tagged/part-2.jsonl")
    text = shard.read_bytes()
    shard.write_bytes(Path("tagged/part-0.jsonl").read_bytes())
    with pytest.raises(BadInput, match=r"is also in part-0\.jsonl; give each record its own id"):
        load("tagged")
    shard.unlink()
    for source in ("tagged", "tagged:all"):
        with pytest.raises(BadInput, match=r"the shard part-2\.jsonl is missing"):
            load(source)
    shard.write_bytes(b"".join(text.splitlines(keepends=True)[:-1]))  # cut at the end of a line
    for read in (load, open_stream):
        with pytest.raises(
            BadInput, match=r"part-2\.jsonl: is not as it was written: it has [\d,]+ bytes"
        ):
            read("tagged")
    shard.write_bytes(text)
    assert load("tagged")
    with pytest.raises(BadInput, match="holds an input file"):
        do_tag("tagged", "tagged")
    with pytest.raises(BadInput, match="mini-ja is not a folder of shards"):
        do_tag("mini-ja", "no")
    with pytest.raises(BadInput, match="the gate needs each split in one file"):
        do_generate("", "no", gate=0)
    with pytest.raises(BadInput, match="nothing was rewritten"):
        perturb(
            "plain",
            "cleaned",
            options=PerturbOptions(out=Path("no"), shards=True),
        )
    assert not Path("no").exists()


def test_a_command_that_changes_a_folder_refuses_shards_before_it_writes(corpus: Path) -> None:
    do_generate("", "made")
    cure = "join the shards first: nikawa data export made --to jsonl --out FOLDER"
    for change in (
        lambda: make_card(Path("made"), overwrite=True),
        lambda: hide("made", Path("hidden"), Path("keys.jsonl"), options=HideOptions(("test",))),
    ):
        with pytest.raises(BadInput, match=cure):
            change()
    assert not Path("hidden").exists()
    assert not Path("keys.jsonl").exists()
