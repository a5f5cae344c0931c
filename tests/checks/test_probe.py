from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.checks import probe
from nikawa.checks.probe import ProbeOptions, open_source, probe_artifacts
from nikawa.datasets.load import loose_dataset
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.io.records import write_records
from nikawa.records import Example

Nikawa = Callable[..., CompletedProcess[str]]

LABELS = ("entailment", "contradiction", "neutral")


def example(number: int, label: str, hypothesis: str, **meta: Any) -> Example:
    inputs = {"hypothesis": hypothesis, "premise": f"{number} 番 の 船 が 港 に 着いた 。"}
    return Example(id=str(number), inputs=inputs, gold={"label": label}, meta=meta)


def planted(times: int = 40) -> list[Example]:
    """Segmented problems: 決して stands in every contradiction of template 7, the rest is even."""
    plain = [example(i, LABELS[i % 3], "船 は 着いた 。", template=1) for i in range(times * 3)]
    told = [
        example(1000 + i, "contradiction", "船 は 決して 着か なかった 。", template=7)
        for i in range(20)
    ]
    return plain + told


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = tmp_path / "problems.jsonl"
    write_records(path, planted())
    return str(path)


def over(spec: str, **how: Any) -> set[tuple[str, str]]:
    return {
        (p.token, p.label) for p in probe_artifacts(spec, options=ProbeOptions(**how)).report.over
    }


def test_a_records_file_tells_question_sides_and_tokeniser(records: str) -> None:
    report = probe_artifacts(records).report
    assert (report.question, report.sides, report.tokeniser) == (
        "label",
        ("premise", "hypothesis"),
        "whitespace",
    )
    assert report.labels == {"entailment": 40, "contradiction": 60, "neutral": 40}
    assert {"決して", "着か", "なかった"} == {p.token for p in report.over}
    assert report.tokens_over == 3
    assert report.threshold == pytest.approx(0.01 / report.vocabulary)


def test_sides(records: str) -> None:
    assert ("決して", "contradiction") in over(records, side="hypothesis")
    assert over(records, side="premise") == set()
    with pytest.raises(BadInput, match="did you mean 'premise'"):
        probe_artifacts(records, options=ProbeOptions(side="premiss"))


def test_without_leaves_out_by_meta(records: str) -> None:
    report = probe_artifacts(records, options=ProbeOptions(without=("template=7",))).report
    assert (report.left_out, report.examples, report.over) == (20, 120, ())


@pytest.mark.parametrize(
    ("rule", "said"), [("template=8", "no example of"), ("template", "has no value")]
)
def test_a_rule_that_takes_nothing_is_a_slip(records: str, rule: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        probe_artifacts(records, options=ProbeOptions(without=(rule,)))


def test_two_labels_of_inference_are_still_three(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    write_records(path, [e for e in planted() if e.gold["label"] != "neutral"])
    assert probe_artifacts(str(path)).report.labels == {
        "entailment": 40,
        "contradiction": 60,
        "neutral": 0,
    }


def test_other_labels_are_those_seen(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    examples = [
        Example(
            id=str(i),
            inputs={"text": f"{'good' if i % 2 else 'bad'} tea {i % 5}"},
            gold={"tone": "+-"[i % 2]},
        )
        for i in range(40)
    ]
    write_records(path, examples)
    report = probe_artifacts(str(path)).report
    assert (report.question, report.sides, set(report.labels)) == ("tone", ("text",), {"+", "-"})
    assert {(p.token, p.label) for p in report.over} == {("good", "-"), ("bad", "+")}


def test_workers_change_nothing(records: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "EXAMPLES_PER_CHUNK", 9)  # many chunks
    assert (
        probe_artifacts(records, options=ProbeOptions(workers=2)).report
        == probe_artifacts(records).report
    )


def test_progress_is_told(records: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "EXAMPLES_PER_REPORT", 10)
    told: list[tuple[int, int | None]] = []
    probe_artifacts(records, on_progress=lambda done, of: told.append((done, of)))
    assert told == [(n, None) for n in range(10, 141, 10)]
    told.clear()
    how = ProbeOptions(tokeniser="characters")
    probe_artifacts("mini-ja", options=how, on_progress=lambda done, of: told.append((done, of)))
    assert told
    assert {of for _, of in told} == {told[0][1]} != {None}


def test_the_embedded_benchmarks() -> None:
    report = probe_artifacts("mini-ja", options=ProbeOptions(tokeniser="characters")).report
    assert (report.examples, report.over) == (36, ())
    assert probe_artifacts(
        "mini-ko:train", options=ProbeOptions(tokeniser="whitespace")
    ).report.labels == dict.fromkeys(LABELS, 6)


@pytest.mark.parametrize(
    ("spec", "how", "said"),
    [
        ("mini-ja", {"question": "score"}, "pass --question label"),
        ("mini-ja", {"tokeniser": "ipadik"}, "did you mean 'ipadic'"),
        ("jsquad", {}, "is not in"),
        ("mini-jaa", {}, "did you mean 'mini-ja'"),
    ],
)
def test_bad_input(spec: str, how: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        probe_artifacts(spec, tmp_path, ProbeOptions(**how))


def test_no_gold_is_said(tmp_path: Path) -> None:
    path = tmp_path / "hidden.jsonl"
    write_records(path, [Example(id="1", inputs={"text": "水"})])
    with pytest.raises(BadInput, match="has no gold label"):
        probe_artifacts(str(path))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_text_that_no_analyser_takes_is_named(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "odd.jsonl"
    made = [example(i, LABELS[i % 3], "船 は 着いた 。") for i in range(9)]
    write_records(path, [*made, example(9, "neutral", "船\0は 着いた 。")])
    with pytest.raises(BadInput) as told:
        probe_artifacts(str(path), options=ProbeOptions(workers=workers))
    assert "odd.jsonl: example '9', hypothesis: character 2 of the text is NUL; remove it" in str(
        told.value
    )


def test_no_svg_is_written_under_another_name(nikawa: Nikawa, records: str, tmp_path: Path) -> None:
    done = nikawa("probe", "artifacts", records, "--plot", str(tmp_path / "plot.png"))
    assert (done.returncode, "the plot must be an SVG file; pass --plot" in done.stderr) == (
        2,
        True,
    )
    assert not list(tmp_path.glob("plot*"))


@pytest.mark.parametrize(
    ("limit", "status", "said"), [("3", 0, "Gate: passed"), ("2", 1, "Gate: failed")]
)
def test_the_gate(nikawa: Nikawa, records: str, limit: str, status: int, said: str) -> None:
    done = nikawa("probe", "artifacts", records, "--fail-over", limit)
    assert (done.returncode, said in done.stdout) == (status, True), done.stderr
    assert "3 pairs over 3 tokens" in done.stdout


def test_without_a_gate_the_status_is_0_and_json_is_json(
    nikawa: Nikawa, records: str, tmp_path: Path
) -> None:
    plot = tmp_path / "plot.svg"
    done = nikawa("probe", "artifacts", records, "--json", "--plot", str(plot))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"vocabulary", "threshold", "over"} <= found.keys()
    assert {"token": "決して", "label": "contradiction", "n": 20, "share": 1.0}.items() <= found[
        "over"
    ][1].items()
    assert plot.read_text("utf-8").startswith("<svg")
    again = nikawa("probe", "artifacts", records, "--quiet", "--plot", str(plot))
    assert (again.returncode, "already exists" in again.stderr) == (2, True)


def test_uneven_labels_are_said(nikawa: Nikawa, tmp_path: Path) -> None:
    path = tmp_path / "uneven.jsonl"
    write_records(
        path, [example(i, LABELS[i % 3 if i < 60 else 2], "船 は 着いた 。") for i in range(200)]
    )
    assert (
        "neutral is the label of 80.0% of all examples"
        in nikawa("probe", "artifacts", str(path)).stdout
    )


@pytest.mark.slow
def test_jamp_by_name_is_recognised_as_segmented(shared_data: Path) -> None:
    report = probe_artifacts(
        "jamp:train-wakati", shared_data, ProbeOptions(without=("template=20",))
    ).report
    found = (
        report.tokeniser,
        report.examples,
        report.vocabulary,
        len(report.over),
        report.tokens_over,
    )
    assert found == ("whitespace", 9750, 5035, 32, 26)


def test_an_even_test_file_of_jamp_has_none(tmp_path: Path) -> None:
    header = "num\tpremise\thypothesis\tgold_label\ttemplate_num\ttime_format\ttime_span\tcategory"
    rows = [
        f"{3 * i + j + 1}\tソラ が {i % 9} 日 に 鐘 を 鳴らした 。\tソラ は 鐘 を 鳴らした 。\t{label}\t1\t日\trandom\t以来（状態動詞）"
        for i in range(116)
        for j, label in enumerate(LABELS)
    ]
    path = tmp_path / "jamp" / "dataset" / "test_2_wakati.tsv"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in (header, *rows)), "utf-8")
    report = probe_artifacts("jamp:test-wakati", tmp_path).report
    assert (report.tokeniser, report.examples, report.over, report.uneven) == (
        "whitespace",
        348,
        (),
        (),
    )


def test_a_folder_that_bears_a_published_name_is_read_whole(tmp_path: Path) -> None:
    rows, half = planted(), len(planted()) // 2
    dataset = loose_dataset(Path("jamp.jsonl"), ())
    write_folder(
        replace(dataset, splits={"train": tuple(rows[:half]), "template-easy": tuple(rows[half:])}),
        tmp_path / "jamp",
    )
    assert sum(1 for _ in open_source(str(tmp_path / "jamp"), None).stream) == len(rows)
