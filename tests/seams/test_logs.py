"""Walks from the logs of inspect, lm-eval and flexeval into `score`, `compare` and `run`.

The logs are the tools' own (`make interop` makes them again), and so are the figures beside them: what
`nikawa score` reports must be what the tool computed. The items are in `tests/interop/log_items.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.interop.log_items import write_published

from nikawa.datasets.load import load_task
from nikawa.io.answers import read_answers
from nikawa.io.answers.inspect_log import parse_log

Nikawa = Callable[..., CompletedProcess[str]]
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with our items, laid out as the published repositories are."""
    folder = tmp_path_factory.mktemp("published")
    write_published(folder)
    return folder


def figures_of(tool: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((DATA / tool / "figures.json").read_text())
    return figures


def score(nikawa: Nikawa, task: str, path: Path, data: Path, *more: str) -> dict[str, Any]:
    """The report of `nikawa score`, every item of which must be answered and readable."""
    done = nikawa("score", task, str(path), "--data", str(data), "--json", *more)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert (report["missing"], report["unknown"], report["duplicates"]) == (0, 0, 0)
    return report


def fraction(report: dict[str, Any], metric: str) -> float:
    (value,) = (
        row["value"] / (100 if row["unit"] == "percent" else 1)
        for row in report["scores"]
        if row["metric"] == metric and row["mode"] == "official" and not row["where"]
    )
    return float(value)


ACCURACY_LOGS = [
    ("jnli", "jnli_generate.eval"),
    ("jnli", "jnli_choice.eval"),
    ("jnli", "jnli_shuffled_choices.json"),
    ("jnli", "jnli_solver_shuffle.eval"),
    ("jnli", "jnli_ids.json"),
    ("jnli", "jnli_few_shot.eval"),
    ("klue-nli", "klue_nli_choice.eval"),
    ("jcommonsenseqa", "jcommonsenseqa_shuffled.eval"),
]


@pytest.mark.parametrize(("task", "name"), ACCURACY_LOGS)
def test_inspect_accuracy(nikawa: Nikawa, published: Path, task: str, name: str) -> None:
    """Samples numbered from 1, shuffled choices, letters for labels, few-shot examples of the same set."""
    report = score(nikawa, task, DATA / "inspect" / name, published)
    assert report["form"] == "inspect"
    assert fraction(report, "accuracy") == pytest.approx(figures_of("inspect")[name])


def test_inspect_topics_and_passages(nikawa: Nikawa, published: Path) -> None:
    name = "ynat_choice.eval"
    report = score(nikawa, "ynat", DATA / "inspect" / name, published)
    rows = report["confusion"]
    right = sum(rows[label].get(label, 0) for label in rows)
    assert right / report["n"] == figures_of("inspect")[name] == 0.75
    name = "jsquad_generate.eval"
    report = score(nikawa, "jsquad", DATA / "inspect" / name, published)
    assert fraction(report, "jsquad-em") == figures_of("inspect")[name]


def test_twins_are_told_apart_by_order(published: Path) -> None:
    """Items 2 and 3 of our JSTS have the same texts; the log has no ids and counts from 1."""
    task, examples = load_task("jsts", "dev", data=published)
    answers = read_answers(DATA / "inspect" / "jsts_generate.eval", task, examples)
    values = {name: prediction.answer for name, prediction in answers.predictions.items()}
    assert values == {"0": 4.2, "1": 0.8, "2": 4.0, "3": 1.5, "4": 4.6, "5": 1.0}


def test_what_nobody_can_tell_is_refused(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    path = DATA / "inspect" / "jnli_unclear.eval"
    words = "sample 3: has the texts of the items '5' and '6', so the item is ambiguous"
    data = ("--data", str(published))
    for command in (
        ("score", "jnli", str(path), *data, "--partial"),
        ("compare", f"a={path}", f"b={path}", "--task", "jnli", *data),
        ("run", "--model", f"replay:{path}", "--tasks", "jnli", "--out", str(tmp_path), *data),
    ):
        done = nikawa(*command)
        assert done.returncode != 0
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


LM_EVAL_LOGS = [
    ("jnli", "samples_jnli_ids.jsonl", "acc,none", "accuracy"),
    ("jnli", "samples_jnli_no_ids.jsonl", "exact_match,none", "accuracy"),
    ("klue-nli", "samples_klue_nli_ids.jsonl", "exact_match,none", "accuracy"),
    ("jcommonsenseqa", "samples_jcommonsenseqa_no_ids.jsonl", "acc,none", "accuracy"),
    ("jsquad", "samples_jsquad_ids.jsonl", "exact_match,none", "jsquad-em"),
]


@pytest.mark.parametrize(("task", "name", "figure", "metric"), LM_EVAL_LOGS)
def test_lm_eval(
    nikawa: Nikawa, published: Path, task: str, name: str, figure: str, metric: str
) -> None:
    report = score(nikawa, task, DATA / "lm_eval" / name, published)
    assert report["form"] == "lm-eval"
    assert fraction(report, metric) == pytest.approx(figures_of("lm_eval")[name][figure])


def test_lm_eval_filters(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    """A log of two filters is refused until one is named; `run` names it by a setting."""
    path = DATA / "lm_eval" / "samples_jsts_no_ids.jsonl"
    done = nikawa("score", "jsts", str(path), "--data", str(published))
    assert done.returncode == 2
    assert "several filters" in done.stderr
    form = "lm-eval:first-number"
    report = score(nikawa, "jsts", path, published, "--form", form)
    assert fraction(report, "pearson") == pytest.approx(1.0)
    words = ("run", "--model", f"replay:{path}", "--tasks", "jsts", "--set", f"form={form}")
    done = nikawa(*words, "--out", str(tmp_path), "--data", str(published), "--json")
    assert done.returncode == 0, done.stderr
    (cell,) = (c for c in json.loads(done.stdout)["cells"] if c["metric"] == "pearson")
    assert cell["mean"] == pytest.approx(1.0)


FLEXEVAL_LOGS = [
    ("jnli", "jnli_generation", "exact_match"),
    ("jnli", "jnli_choice", "accuracy"),
    ("klue-nli", "klue_nli_chat", "exact_match"),
    ("jcommonsenseqa", "jcommonsenseqa_choice", "accuracy"),
]


def test_a_form_for_one_of_several_logs(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    """`compare` takes the form that the refusal names, for one system; a form of another tool is refused as that."""
    two_filters = f"a={DATA / 'lm_eval' / 'samples_jsts_no_ids.jsonl'}"
    other = DATA / "inspect" / "jsts_generate.eval"
    words = ("compare", two_filters, f"b={other}", "--task", "jsts", "--data", str(published))
    done = nikawa(*words)
    assert (done.returncode, "--form lm-eval:strict" in done.stderr) == (2, True)
    done = nikawa(*words, "--form", "lm-eval:strict")
    assert done.returncode == 2
    assert "is a log of inspect, but the form is lm-eval" in done.stderr
    done = nikawa(*words, "--form", "a=lm-eval:strict", "--rounds", "100", "--json")
    assert done.returncode == 0, done.stderr
    values = [s["value"] for s in json.loads(done.stdout)["systems"] if s["metric"] == "pearson"]
    alone = score(nikawa, "jsts", Path(two_filters[2:]), published, "--form", "lm-eval:strict")
    assert values == [
        fraction(alone, "pearson"),
        fraction(score(nikawa, "jsts", other, published), "pearson"),
    ]
    done = nikawa(*words, "--form", "c=lm-eval:strict")
    assert (done.returncode, "no system 'c'" in done.stderr) == (2, True)
    done = nikawa(*words, "--form", "a=lm-eval:strict", "--form", "a=lm-eval")
    assert (done.returncode, "the form of 'a' is given twice" in done.stderr) == (2, True)
    runs = ("--tasks", "jsts", "--data", str(published), "--out", str(tmp_path / "runs"))
    done = nikawa("run", "--model", f"b=replay:{other}", *runs, "--set", "form=lm-eval:strict")
    assert (done.returncode, "is a log of inspect" in done.stderr) == (2, True)


@pytest.mark.parametrize(("task", "name", "figure"), FLEXEVAL_LOGS)
def test_flexeval(nikawa: Nikawa, published: Path, task: str, name: str, figure: str) -> None:
    """The run folder, as flexeval leaves it; choices come with a prompt and without fields."""
    report = score(nikawa, task, DATA / "flexeval" / name, published)
    assert report["form"] == "flexeval"
    assert fraction(report, "accuracy") == pytest.approx(figures_of("flexeval")[name][figure])


def test_from_logs_to_compare_and_run(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    """Three tools' logs of one task in one table, and replayed as runs with the same figures."""
    logs = {
        "inspect": DATA / "inspect" / "jnli_choice.eval",
        "lm-eval": DATA / "lm_eval" / "samples_jnli_no_ids.jsonl",
        "flexeval": DATA / "flexeval" / "jnli_generation",
    }
    values = {
        name: fraction(score(nikawa, "jnli", path, published), "accuracy")
        for name, path in logs.items()
    }
    systems = [f"{name}={path}" for name, path in logs.items()]
    data = ("--data", str(published), "--json")
    done = nikawa("compare", *systems, "--task", "jnli", "--rounds", "100", *data)
    assert done.returncode == 0, done.stderr
    compared = {row["system"]: row["value"] for row in json.loads(done.stdout)["systems"]}
    assert compared == pytest.approx(values)
    models = [word for name, path in logs.items() for word in ("--model", f"{name}=replay:{path}")]
    out = ("--out", str(tmp_path / "runs"), "--executor", "here")
    done = nikawa("run", *models, "--tasks", "jnli", *out, *data)
    assert done.returncode == 0, done.stderr
    replayed = {cell["model"]: cell["mean"] for cell in json.loads(done.stdout)["cells"]}
    assert replayed == pytest.approx(values)


@pytest.mark.parametrize(
    ("task", "name", "limit"),
    [("jsts", "inspect/jsts_generate.eval", 3), ("jnli", "flexeval/jnli_generation", 6)],
)
def test_from_logs_to_a_part_of_the_set(
    nikawa: Nikawa, published: Path, tmp_path: Path, task: str, name: str, limit: int
) -> None:
    """The last of the items that are asked has the texts of the first that is not."""
    chosen, examples = load_task(task, "dev", data=published)
    assert examples[limit - 1].inputs == examples[limit].inputs
    whole = read_answers(DATA / name, chosen, examples).predictions
    assert whole[examples[limit - 1].id].answer != whole[examples[limit].id].answer
    words = ("run", "--model", f"replay:{DATA / name}", "--tasks", task, "--limit", str(limit))
    done = nikawa(*words, "--data", str(published), "--out", str(tmp_path), "--quiet")
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*/predictions/dev.jsonl")
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["answer"] for row in stored] == [whole[e.id].answer for e in examples[:limit]]


def write_inspect_log(path: Path, samples: list[dict[str, Any]]) -> Path:
    """A log of inspect with other samples in the shape of its own."""
    document = json.loads((DATA / "inspect" / "jnli_ids.json").read_text())
    path.write_text(json.dumps({**document, "samples": samples}, ensure_ascii=False))
    return path


def renumber(name: str, count: Callable[[int], Any]) -> list[dict[str, Any]]:
    """The samples of a log of inspect, with ids that somebody counted."""
    samples = [sample for _, sample in parse_log(DATA / "inspect" / name)]
    samples.sort(key=lambda sample: int(sample["id"]))
    return [{**sample, "id": count(place)} for place, sample in enumerate(samples)]


@pytest.mark.parametrize(
    "count", [str, lambda place: str(place + 1), lambda place: place + 1, lambda place: place]
)
def test_numbers_do_not_win_over_texts(
    nikawa: Nikawa, published: Path, tmp_path: Path, count: Callable[[int], Any]
) -> None:
    """The same log with ids as published, and counted by somebody from 0 and from 1, as texts and as numbers."""
    samples = renumber("jnli_generate.eval", count)
    log = write_inspect_log(tmp_path / "log.json", samples)
    done = nikawa("score", "jnli", str(log), "--data", str(published), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert fraction(report, "accuracy") == figures_of("inspect")["jnli_generate.eval"]


def test_logs_of_other_items_are_refused(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    """Ids of another set that happen to be ids of this one: nothing is scored."""
    log = DATA / "inspect" / "jsts_generate.eval"
    done = nikawa("score", "jnli", str(log), "--data", str(published), "--partial")
    assert done.returncode == 2
    assert "none of the 6 samples has the id or the texts of an item of jnli" in done.stderr
    samples = renumber("jsts_generate.eval", str)
    log = write_inspect_log(tmp_path / "log.json", samples)
    done = nikawa("score", "jnli", str(log), "--data", str(published), "--partial")
    assert done.returncode == 2
    assert "has different texts in the split" in done.stderr


def test_ids_and_names_as_published(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    """The id with its source, as in the published file, and the names people give to answers."""
    folder = tmp_path / "data" / "klue" / "klue_benchmark" / "klue-ner-v1.1"
    folder.mkdir(parents=True)
    texts = {
        "klue-ner-v1_dev_00000-wikitree": "미오가 왔다",
        "klue-ner-v1_dev_00001-nsmc": "섬이 희다",
    }
    tags = ["B-PS", "I-PS", *["O"] * 4, *["O"] * 5]
    lines = ["## 토큰, 레이블 구분자 : \\t\n", "## 컬럼명 : CHAR\tNE_TAG\n"]
    for name, text in texts.items():
        lines.append(f"## {name}\t{text}\n")
        lines += [f"{sign}\t{tags.pop(0)}\n" for sign in text]
        lines.append("\n")
    (folder / "klue-ner-v1.1_dev.tsv").write_text("".join(lines))
    answers = tmp_path / "answers.jsonl"
    spans = [[{"start": 0, "end": 2, "label": "PS"}], []]
    for key in ("output", "response", "prediction", "pred"):
        rows = [{"guid": name, key: span} for name, span in zip(texts, spans, strict=True)]
        answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
        report = score(nikawa, "klue-ner", answers, tmp_path / "data")
        assert fraction(report, "entity-macro-f1") == 1.0
    words = ("run", "--model", f"replay:{answers}", "--tasks", "klue-ner", "--main", "--json")
    done = nikawa(*words, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"][0]["answered"] == 2


def test_texts_beside_ids_decide(nikawa: Nikawa, published: Path, tmp_path: Path) -> None:
    """A table with the texts and somebody's own numbers from 1: the texts decide."""
    task, examples = load_task("jnli", "dev", data=published)
    lines = ["id,sentence1,sentence2,prediction"]
    for number, example in enumerate(examples, start=1):
        lines.append(f"{number},{','.join(example.inputs.values())},{example.gold['label']}")
    kept = [
        line for place, line in enumerate(lines) if place not in (6, 7)
    ]  # two of the same texts
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(kept) + "\n")
    answers = read_answers(path, task, examples)
    assert {name: p.answer for name, p in answers.predictions.items()} == {
        e.id: e.gold["label"] for e in examples if e.id not in ("5", "6")
    }


# The published sets, in the shape of inspect's logs, without ids


def shape_log(
    path: Path, data: Path, task_name: str, limit: int | None = None
) -> tuple[Path, float]:
    """A log of inspect of a published dev set: every third answer is wrong; the share of right ones."""
    _, examples = load_task(task_name, "dev", data=data)
    (sample,) = [sample for _, sample in parse_log(DATA / "inspect" / "jnli_generate.eval")][:1]
    labels = ["entailment", "contradiction", "neutral"]
    samples, right = [], 0
    for place, example in enumerate(examples[:limit]):
        (gold,) = example.gold.values()
        wrong = labels[labels.index(gold) - 1] if task_name == "jnli" else gold / 2
        answer = str(wrong if place % 3 == 0 else gold)
        right += place % 3 != 0
        prompt = "一つ目：{}\n二つ目：{}\n答え：".format(*example.inputs.values())
        output = {**sample["output"], "completion": answer}
        kept: dict[str, Any] = {
            "epoch": 1,
            "choices": None,
            "metadata": {},
            "scores": {},
            "target": str(gold),
        }
        samples.append({"id": place + 1, "input": prompt, "output": output, **kept})
    return write_inspect_log(path, samples), right / len(samples)


@pytest.mark.slow
def test_published_jnli_without_ids(nikawa: Nikawa, shared_data: Path, tmp_path: Path) -> None:
    log, right = shape_log(tmp_path / "all.json", shared_data, "jnli")
    assert fraction(score(nikawa, "jnli", log, shared_data), "accuracy") == pytest.approx(right)
    log, right = shape_log(tmp_path / "sixty.json", shared_data, "jnli", 60)
    words = ("score", "jnli", str(log), "--data", str(shared_data), "--partial", "--json")
    report = json.loads(nikawa(*words).stdout)
    assert report["answered"] == 60
    assert fraction(report, "accuracy") == pytest.approx(right) == pytest.approx(40 / 60)


@pytest.mark.slow
def test_published_jsts_without_ids(shared_data: Path, tmp_path: Path) -> None:
    """Items 1436 and 1437 have the same texts."""
    log, _ = shape_log(tmp_path / "log.json", shared_data, "jsts")
    task, examples = load_task("jsts", "dev", data=shared_data)
    assert examples[1436].inputs == examples[1437].inputs
    answers = read_answers(log, task, examples)
    for place, example in enumerate(examples):
        gold = example.gold["score"]
        assert answers.predictions[example.id].answer == (gold / 2 if place % 3 == 0 else gold)
