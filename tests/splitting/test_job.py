"""`nikawa split`: a dataset in, a dataset folder out, the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.checks.job import check
from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.io.records import read_examples, write_records
from nikawa.records import Dataset, Example, Judgement
from nikawa.splitting import SplitterSettings
from nikawa.splitting.job import SplitOptions, drop_repeating_splits, pool_splits, split


def folder_bytes(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Twenty premises; every second set gives its labels away."""
    ends = {"entailment": "晴れる。", "contradiction": "晴れない。", "neutral": "騒ぐ。"}
    examples = [
        Example(
            id=f"{p}-{label}",
            inputs={
                "premise": f"{p}番の空は青い。",
                "hypothesis": f"{p}番の空は{ends[label] if p % 2 else '広い。'}",
            },
            gold={"label": label},
        )
        for p in range(20)
        for label in ends
    ]
    path = tmp_path / "pairs.jsonl"
    write_records(path, examples)
    return path


def test_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        split("mini-ja", options=SplitOptions(by="stratified", out=tmp_path / name))
    assert folder_bytes(tmp_path / "a") == folder_bytes(tmp_path / "b")
    again = load(str(tmp_path / "a"))
    assert set(again.splits) == {"train", "dev", "test"}
    assert len(again) == len(load("mini-ja"))
    assert "--by stratified" in again.card.description


def test_the_report_tells_what_leaks(tmp_path: Path) -> None:
    path = tmp_path / "twins.jsonl"
    twins = [
        Example(id=str(i), inputs={"text": f"雨{i // 2}"}, gold={"label": "wet"}) for i in range(40)
    ]
    write_records(path, twins)
    report = split(str(path), options=SplitOptions(sizes="0.5,0.5"))
    assert {leak.check for leak in report.leaks} == {"leaked-texts"}
    assert report.labels["test"] == {"label": {"wet": 1.0}}
    kept = split(
        str(path),
        options=SplitOptions(
            by="group", sizes="0.5,0.5", settings=SplitterSettings(fields=("text",))
        ),
    )
    assert kept.leaks == ()
    assert kept.sizes == {"train": 20, "test": 20}


@pytest.mark.parametrize("by", ["random", "stratified"])
def test_broken_groups_are_no_all_clear(by: str, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "rel"
    broken = {("broken-groups", "dev in train"), ("broken-groups", "test in train+dev")}
    report = split(str(pairs), options=SplitOptions(by=by, sizes="0.6,0.2,0.2", out=out))
    assert {(leak.check, leak.where) for leak in report.leaks} >= broken
    assert {(found.check, found.where) for found in check(str(out)).findings} >= broken
    said = CliRunner().invoke(build(), ["split", str(pairs), "--by", by])
    assert "--by group" in said.output
    assert "nothing leaks" not in said.output
    whole = SplitOptions(
        by="group", sizes="0.6,0.2,0.2", settings=SplitterSettings(fields=("premise",))
    )
    assert split(str(pairs), options=whole).leaks == ()


def test_least_artifact_finds_the_sets_that_say_nothing(pairs: Path) -> None:
    report = split(
        str(pairs),
        options=SplitOptions(by="least-artifact", sizes="rest,12,12", out=pairs.parent / "out"),
    )
    made = load(str(pairs.parent / "out"))
    premises = [int(e.id.split("-")[0]) for name in ("dev", "test") for e in made.splits[name]]
    assert report.sizes == {"train": 36, "dev": 12, "test": 12}
    assert all(premise % 2 == 0 for premise in premises)


@pytest.fixture
def viewed(tmp_path: Path) -> Path:
    """A dataset folder whose split `few-shot` is a part of train, and `extra` is not."""
    made = [
        Example(id=str(n), inputs={"text": f"{n}番の雨"}, gold={"label": "wet"}) for n in range(40)
    ]
    splits = {
        "train": made[:20],
        "test": made[20:30],
        "few-shot": made[5:9],
        "extra": [*made[:2], made[30]],
    }
    card = load("mini-ja").card
    write_folder(
        Dataset(
            name="own",
            language="ja",
            version="1",
            card=card,
            splits={n: tuple(e) for n, e in splits.items()},
        ),
        tmp_path / "viewed",
    )
    return tmp_path / "viewed"


def test_parts_of_another_split_are_left_out(viewed: Path, tmp_path: Path) -> None:
    report = split(str(viewed), options=SplitOptions(sizes="0.5,0.5", out=tmp_path / "out"))
    assert report.views == {"few-shot": "train"}
    assert sum(report.sizes.values()) == 20 + 10 + 3
    ids = [example.id for part in load(str(tmp_path / "out")).splits.values() for example in part]
    assert sorted(ids, key=str) == sorted(
        [
            *(f"train-{n}" for n in (0, 1)),
            *(f"extra-{n}" for n in (0, 1)),
            *map(str, [*range(2, 31)]),
        ],
        key=str,
    )
    said = CliRunner().invoke(build(), ["split", str(viewed)])
    assert said.stdout.startswith("few-shot repeats train by design: skipped\n")
    alone = split(f"{viewed}:few-shot", options=SplitOptions(sizes="0.5,0.5"))
    assert (alone.sizes, alone.views) == ({"train": 2, "test": 2}, {})


def test_parts_of_a_split_that_is_not_here_do_not_stand_for_it() -> None:
    made = [Example(id=str(n), inputs={"text": f"{n}番の雨"}) for n in range(6)]
    parts = {"template-easy": made[:4], "template-hard": made[:2], "template-easy-wakati": made[:4]}
    dataset = replace(load("mini-ja"), splits={name: tuple(rows) for name, rows in parts.items()})
    kept, views = drop_repeating_splits(dataset, "jamp")
    assert (list(kept.splits), len(views)) == (["template-easy"], 2)
    other = replace(dataset, splits=dataset.splits | {"timespan-easy": tuple(made[3:])})
    said = "timespan-easy and template-easy are parts of train, which is not here; run: nikawa data fetch jamp, or split one"
    with pytest.raises(BadInput, match=said):
        drop_repeating_splits(other, "jamp")


@pytest.mark.slow
def test_published_views_are_left_out(shared_data: Path) -> None:
    report = split("jamp", data=shared_data)
    assert {"template-easy", "timespan-easy"} <= set(report.views)
    assert not {leak.check for leak in report.leaks} & {"leaked-pairs", "shared-pairs"}
    alone = split("jamp:template-easy", data=shared_data)
    assert (sum(alone.sizes.values()), alone.views) == (6730, {})


def test_progress_tells_which_model_learns(pairs: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    options = SplitOptions(by="least-artifact", sizes="rest,12,12")
    split(str(pairs), options=options, on_progress=lambda *step: told.append(step))
    assert told == [
        (f"reading {pairs}", 0, None),
        (f"splitting {pairs}", 0, None),
        *((f"char-linear, model {n + 1} of 5", n, 5) for n in range(5)),
        ("looking for leaks", 0, 1),
    ]


def test_progress_of_the_models_themselves_is_passed_on(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.models import model
    from nikawa.splitting import job

    def telling(name: str, **setup: Any) -> Any:
        if "progress" in setup:
            setup["progress"]("epochs", 1, 3)
        return model(name)

    monkeypatch.setattr(job, "model", telling)
    told: list[tuple[str, int, int | None]] = []
    options = SplitOptions(by="least-artifact", sizes="rest,12,12")
    split(str(pairs), options=options, on_progress=lambda *step: told.append(step))
    assert ("char-linear, model 2 of 5: epochs", 1, 3) in told


def test_shared_ids_are_told_apart(tmp_path: Path) -> None:
    examples = pool_splits(load("mini-ja"))
    assert len({e.id for e in examples}) == len(examples)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (SplitOptions(by="randon"), "did you mean 'random'"),
        (SplitOptions(sizes="1,2,3,4"), "4 sizes and 0 names"),
        (SplitOptions(sizes="0.5,0.5", names=("a", "../b")), "file name"),
        (SplitOptions(by="least-artifact", model="majorit"), "did you mean 'majority'"),
        (SplitOptions(by="flat", analyser="koo"), "no analyser"),
    ],
)
def test_bad_requests(request_: SplitOptions, said: str, pairs: Path) -> None:
    with pytest.raises(BadInput, match=said):
        split(str(pairs), options=request_)


@pytest.mark.parametrize(
    ("by", "sizes", "said"),
    [
        ("group", "0.5,0.5", "test would be empty: groups stay whole"),
        ("random", "0.9,0.05,0.05", "dev, test would be empty: the part is too small"),
    ],
)
def test_an_empty_part_is_refused(by: str, sizes: str, said: str, tmp_path: Path) -> None:
    path, out = tmp_path / "one.jsonl", tmp_path / "out"
    labels = ("entailment", "neutral")
    inputs = {"premise": "空は青い。", "hypothesis": "海は広い。"}
    write_records(
        path,
        [
            Example(id=str(i), inputs=inputs, gold={"label": labels[i % 2]}, group="one")
            for i in range(6)
        ],
    )
    options = SplitOptions(by=by, sizes=sizes, out=out)
    with pytest.raises(BadInput, match=said):
        split(str(path), options=options)
    assert not out.exists()
    assert split(str(path), options=SplitOptions(by="random", sizes="rest,0,2")).sizes == {
        "train": 4,
        "dev": 0,
        "test": 2,
    }


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    options = SplitOptions(out=tmp_path / "out")
    split("mini-ko", options=options)
    with pytest.raises(BadInput, match="--overwrite"):
        split("mini-ko", options=options)


def test_the_command(tmp_path: Path) -> None:
    runner, app = CliRunner(), build()
    assert "least-artifact" in runner.invoke(app, ["split"]).stdout
    assert set(json.loads(runner.invoke(app, ["split", "--json"]).stdout)) >= {"flat", "date"}
    words = ["split", "mini-ko", "--by", "stratified", "--out", str(tmp_path / "out")]
    shown = runner.invoke(app, words)
    assert "written to" in shown.stdout
    told = json.loads(
        runner.invoke(app, ["split", "mini-ko", "--json", "--sizes", "0.7,0.3"]).stdout
    )
    assert {"sizes", "labels", "leaks"} <= set(told)
    assert list(told["sizes"]) == ["train", "test"]
    assert runner.invoke(app, ["split", "mini-ko", "--by", "flat", "--scale", "5,0"]).exit_code != 0
    assert runner.invoke(app, ["split", "mini-ko", "--by", "flat", "--scale", "x"]).exit_code != 0


def test_published_entities(shared_data: Path) -> None:
    report = split("klue-ner:dev", data=shared_data, options=SplitOptions(by="entities"))
    assert report.sizes == {"train": 4000, "dev": 500, "test": 500}
    assert report.measured == {name: {"with unseen entities": 1.0} for name in ("dev", "test")}


def test_published_scores_are_made_flat(shared_data: Path) -> None:
    settings = SplitterSettings(question="score", fields=("corpus",))
    options = SplitOptions(by="flat", sizes="rest,51,102", settings=settings)
    report = split("klue-sts:dev", data=shared_data, options=options)
    assert report.sizes == {"train": 366, "dev": 51, "test": 102}
    for part in ("dev", "test"):
        assert all(0.15 < share < 0.26 for share in report.labels[part]["score"].values())


def test_published_premise_sets_stay_whole(shared_data: Path) -> None:
    report = split(
        "klue-nli:dev",
        data=shared_data,
        options=SplitOptions(by="group", settings=SplitterSettings(fields=("premise",))),
    )
    assert report.sizes == {"train": 2400, "dev": 300, "test": 300}
    assert report.labels["test"]["label"] == pytest.approx(
        dict.fromkeys(("entailment", "contradiction", "neutral"), 1 / 3)
    )


@pytest.fixture
def gold(pairs: Path, tmp_path: Path) -> Path:
    """The pairs judged anew by three workers, who agree but for one pair, which a person settles."""
    from nikawa.aggregation.job import AggregateOptions as How
    from nikawa.aggregation.job import aggregate
    from nikawa.aggregation.report import write_result

    judged = [
        Judgement(
            example=e.id,
            worker=w,
            question="label",
            answer=e.gold["label"] if e.id != "0-neutral" else w,
        )
        for e in read_examples(pairs)
        for w in ("an", "bo", "cy")
    ]
    write_records(tmp_path / "j.jsonl", judged)
    (tmp_path / "decided.tsv").write_text(
        "example\tquestion\tanswer\tperson\treason\n0-neutral\tlabel\tbo\trin\tbo saw it\n", "utf-8"
    )
    how = How(examples=str(pairs), adjudicated=tmp_path / "decided.tsv")
    write_result(aggregate(str(tmp_path / "j.jsonl"), options=how), tmp_path / "gold")
    return tmp_path / "gold" / "examples.jsonl"


def test_gold_of_workers_keeps_its_judgements_and_fills_the_card(
    gold: Path, tmp_path: Path
) -> None:
    said = {"name": "skies", "version": "1.0", "licence": "CC BY 4.0", "source": "written for this"}
    split(str(gold), options=SplitOptions(out=tmp_path / "out", card=said))
    made = load(str(tmp_path / "out"))
    card = made.card
    assert (card.name, card.title, card.version, card.licence) == (
        "skies",
        "skies",
        "1.0",
        "CC BY 4.0",
    )
    assert (card.workers, card.workers_are) == ("3 workers, 180 answers about 60 items", "unknown")
    assert "label by majority (ties: adjudicate), 60 of 60 items" in card.labels
    found = find_lineage("0-neutral", tmp_path / "out")
    workers = [(j.worker, j.answer) for j in found.judgements if j.kind == "person"]
    assert workers == [(w, w) for w in ("an", "bo", "cy")]
    (decision,) = [j for j in found.judgements if j.kind == "decision"]
    assert (decision.worker, decision.answer, decision.comment) == (
        "decision:rin",
        "bo",
        "bo saw it",
    )
    assert found.gold == {"label": "bo"}
    assert [step.stage for step in found.steps] == ["aggregate", "split"]
    assert found.steps[0].rule.endswith("(an 1, bo 1, cy 1); decided by rin: bo saw it")
    split(str(gold), options=SplitOptions(out=tmp_path / "out", card=said, overwrite=True))
    assert find_lineage("0-neutral", tmp_path / "out") == found


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("colour=red", "a card has no field 'colour'"),
        ("name=a:b", "cannot name"),
        ("licence", "has no value"),
        ("workers_are=cats", "the card is not valid"),
    ],
)
def test_what_no_card_can_say(pairs: Path, said: str, words: str) -> None:
    result = CliRunner().invoke(build(), ["split", str(pairs), "--card", said])
    assert words in str(result.exception)
