"""Every batch stage on a cluster of two nodes, against the same stage in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.desk import write_dataset
from tests.cluster.nodes import TestCluster

from nikawa.checks.probe import ProbeOptions, probe_artifacts
from nikawa.cleaning import job as cleaning_job
from nikawa.cleaning.job import CleanOptions, clean
from nikawa.errors import BadInput
from nikawa.execute.base import WorkProgress, work_listener
from nikawa.generation.job import GenerateOptions, generate
from nikawa.generation.pack import open_pack
from nikawa.pairing import greedy
from nikawa.pairing.job import PairOptions, pair
from nikawa.perturbation import job as perturbation_job
from nikawa.perturbation.job import PerturbOptions, perturb
from nikawa.pretrain import packing
from nikawa.pretrain.job import PretrainOptions, pretrain
from nikawa.scoring.many import Place, score_many
from nikawa.tagging.job import TagOptions, tag

Stage = Callable[[Path, dict[str, Any]], object]
"""Works in the current folder, writes to the path, and returns what else must be equal."""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stages begin in, with small chunks; nodes cannot read it."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cleaning_job, "CHUNK_CHARS", 800)
    monkeypatch.setattr(greedy, "CHUNK_SENTENCES", 8)
    monkeypatch.setattr(perturbation_job, "CHUNK_EXAMPLES", 20)
    monkeypatch.setattr(packing, "CHUNK_BYTES", 1000)
    write_dataset(folder)
    for number in range(2):
        lines = [
            f"{(number * 7 + line) % 50 + 1}番目の犬が{'庭海山空'[line % 4]}を走るのを、隣の人は窓から静かに見ていた。"
            + ("\n" if line % 5 == 4 else "")
            for line in range(60)
        ]
        (folder / f"part-{number}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    shutil.copytree(open_pack("comparative-ja").folder, folder / "own")
    return folder


def clean_shards(out: Path, place: dict[str, Any]) -> object:
    options = CleanOptions(removed=out.with_name("removed"), shards=True, **place)
    report = clean([Path("part-0.txt"), Path("part-1.txt")], out, options)
    assert {step.step: step.removed for step in report.steps}["duplicates"] > 10
    return report


def tag_dataset(out: Path, place: dict[str, Any]) -> object:
    return tag("mine", options=TagOptions(out=out, **place))


def perturb_dataset(out: Path, place: dict[str, Any]) -> object:
    options = PerturbOptions(out=out, assume_eligible=True, **place)
    return perturb("swap-o,width-full", "mine", options=options).operations


def generate_dataset(out: Path, place: dict[str, Any]) -> object:
    options = GenerateOptions(counts={"": 1}, seed=3, chunk=40, **place)
    return generate("own", out, options=options).splits


def make_shards(out: Path, place: dict[str, Any]) -> object:
    """Problems in shards, tagged and perturbed shard by shard: each stage reads what the one before wrote."""
    problems, tagged, changed = Path("problems"), Path("tagged"), Path(out.name)
    with chdir(out.parent):  # the list of shards names the files that they are made from
        options = GenerateOptions(
            counts={"": 276}, per="total", seed=3, chunk=40, shards=3, **place
        )
        sizes = generate("../own", problems, options=options).splits
        tags = tag(str(problems), options=TagOptions(out=tagged, shards=True, **place))
        perturb_options = PerturbOptions(out=changed, assume_eligible=True, shards=True, **place)
        report = perturb("swap-o,width-full", str(tagged), options=perturb_options)
        assert len(list(changed.glob("test-*-swap-o.jsonl"))) == 3
    return sizes, tags.found, report.operations


def pair_sentences(out: Path, place: dict[str, Any]) -> object:
    options = PairOptions(units="ja", out=out.with_suffix(".jsonl"), seed=1, **place)
    return pair("greedy", Path("part-0.txt"), options=options).mean


def pair_globally(out: Path, place: dict[str, Any]) -> object:
    options = PairOptions(units="characters", rouge="2", out=out.with_suffix(".jsonl"), **place)
    return pair("greedy-global", Path("part-0.txt"), options=options).mean


def probe_dataset(_out: Path, place: dict[str, Any]) -> object:
    return probe_artifacts("mine", options=ProbeOptions(**place)).report


def score_files(_out: Path, place: dict[str, Any]) -> object:
    scored = score_many("mine:dev", [Path("answers.jsonl"), Path("no.jsonl")], place=Place(**place))
    assert [bool(file.report) for file in scored.files] == [True, False]
    return scored


def pretrain_text(out: Path, place: dict[str, Any]) -> object:
    options = PretrainOptions(
        language="ja",
        tokenizer="characters",
        vocabulary=400,
        only="pack",
        against=("mine",),
        **place,
    )
    pretrain([Path("part-0.txt"), Path("part-1.txt")], out, options)
    return None


def read_files(place: Path) -> dict[str, bytes]:
    """The files below a folder by name."""
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


STAGES = (
    clean_shards,
    tag_dataset,
    perturb_dataset,
    generate_dataset,
    make_shards,
    pair_sentences,
    pair_globally,
    probe_dataset,
    score_files,
    pretrain_text,
)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_the_bytes_of_a_local_one(
    desk: Path, cluster: TestCluster, stage: Stage
) -> None:
    here, there = desk / "here" / "out", desk / "there" / "out"
    here.parent.mkdir()
    there.parent.mkdir()
    result = stage(here, {})
    assert stage(there, {"executor": "ray", "address": cluster.address}) == result
    assert read_files(there.parent) == read_files(here.parent)


def test_a_bar_says_what_the_nodes_do(desk: Path, cluster: TestCluster) -> None:
    """While they work on chunks; a machine alone has no line of its own."""
    progress: list[WorkProgress] = []
    before = work_listener.set(progress.append)
    try:
        for name, place in (
            ("here", {"executor": "here"}),
            ("there", {"executor": "ray", "address": cluster.address}),
        ):
            assert progress == []
            (desk / name).mkdir()
            perturb_dataset(desk / name / "out", place)  # five chunks
    finally:
        work_listener.reset(before)
    assert {each.nodes for each in progress} == {2}
    assert progress[0].under_way > 0
    assert progress[-1].under_way == 0


def test_an_address_needs_a_cluster(desk: Path) -> None:
    for place in ({"address": "auto"}, {"executor": "pool", "address": "auto"}):
        with pytest.raises(BadInput, match="--address needs an executor with machines of its own"):
            clean_shards(desk / "out", place)
    with pytest.raises(BadInput, match="there is no executor 'rai'"):
        clean_shards(desk / "out", {"executor": "rai"})
    assert not list(desk.glob("out*"))
