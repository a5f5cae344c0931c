"""From runs to tables, page and release: one unit a table, and nothing said that is not so."""

from __future__ import annotations

import csv
import json
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from msgspec.structs import replace

from nikawa.datasets import load
from nikawa.io.folders import write_folder
from nikawa.records import Dataset, Example

Nikawa = Callable[..., CompletedProcess[str]]
LABELS = ("entailment", "contradiction", "neutral")
HYPOTHESES = dict(zip(LABELS, ("鳥が飛ぶ。", "鳥は飛ばない。", "鳥は青い。"), strict=True))
SCORED = re.compile(r"(?<![\d.])(\d+\.\d+)")


def write_dataset(folder: str, name: str, splits: dict[str, Sequence[Example]]) -> None:
    """A folder of invented examples under the name of a published dataset: it has that one's metrics and official unit."""
    card = replace(load("mini-ja").card, name=name, version="1.0")
    parts = {split: tuple(examples) for split, examples in splits.items()}
    write_folder(
        Dataset(name=name, language="ja", version="1.0", card=card, splits=parts), Path(folder)
    )


def pairs(split: str, count: int) -> list[Example]:
    """Invented pairs of all three labels."""
    examples = []
    for n in range(count):
        label = LABELS[n % 3]
        inputs = {"premise": f"{split}の{n}羽目の鳥。", "hypothesis": HYPOTHESES[label]}
        examples.append(Example(id=f"{split}{n}", inputs=inputs, gold={"label": label}))
    return examples


def questions(split: str, count: int) -> list[Example]:
    """Invented questions with five choices; the right one is at every place."""
    examples = []
    for n in range(count):
        choices = [f"{n}の{place}番" for place in range(5)]
        inputs = {"question": f"{split}の問い{n}はどれか。", "choices": choices}
        examples.append(Example(id=f"{split}{n}", inputs=inputs, gold={"label": n % 5}))
    return examples


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nikawa: Nikawa) -> Nikawa:
    """An empty folder, and commands that must end well in it."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> CompletedProcess[str]:
        done = nikawa(*words)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done

    return run


def answer(file: str, examples: Sequence[Example], wrong: int, scores: bool = False) -> None:
    """A file of answers of which the first `wrong` are not gold; with `scores`, as sure as can be."""
    lines = []
    for n, example in enumerate(examples):
        gold = example.gold["label"]
        label = gold if n >= wrong else LABELS[(LABELS.index(gold) + 1) % 3]
        line: dict[str, object] = {"id": example.id, "answer": label}
        if scores:
            line["scores"] = {name: 0.9 if name == label else 0.05 for name in LABELS}
        lines.append(json.dumps(line, ensure_ascii=False))
    Path(file).write_text("\n".join(lines), "utf-8")


@pytest.fixture
def birds(here: Nikawa) -> Nikawa:
    """A run on a task whose official scorer reports fractions, and one on a task that reports percent, in one folder."""
    write_dataset("birds", "jnli", {"train": pairs("train", 12), "test": pairs("test", 30)})
    answer("birds.jsonl", pairs("test", 30), 6)
    words = ("run", "--out", "runs", "--workers", "1")
    here(*words, "--model", "mine=replay:birds.jsonl", "--tasks", "birds")
    here(*words, "--model", "majority", "--tasks", "mini-ja-nli")
    return here


def test_score_prints_percent_and_keeps_the_official_unit_for_programs(birds: Nikawa) -> None:
    shown = birds("score", "birds:test", "birds.jsonl").stdout
    assert re.search(r"accuracy +official +80\.00 +\d+\.\d\d to \d+\.\d\d ", shown)
    assert "in percent; the official scorer reports fractions" in shown
    official = birds("score", "birds:test", "birds.jsonl", "--unit", "official").stdout
    assert re.search(r"accuracy +official +0\.8000 +0\.\d{4} to 0\.\d{4} ", official)
    report = json.loads(birds("score", "birds:test", "birds.jsonl", "--json").stdout)
    assert (report["scores"][0]["value"], report["scores"][0]["unit"]) == (0.8, "fraction")


def test_run_list_has_one_unit(birds: Nikawa) -> None:
    def list_scores(*words: str) -> list[float]:
        lines = birds("run", "list", "--out", "runs", *words).stdout.splitlines()
        return [float(SCORED.findall(line)[-1]) for line in lines if " done " in line]

    assert list_scores() == [80.0, 33.33]
    assert list_scores("--unit", "official") == [0.8, 33.33]
    listed = json.loads(birds("run", "list", "--out", "runs", "--json").stdout)
    assert [(run["value"], run.get("unit", "percent")) for run in listed] == [
        (0.8, "fraction"),
        (pytest.approx(33.333, abs=0.001), "percent"),
    ]


def test_every_table_says_where_the_official_unit_is_another(birds: Nikawa) -> None:
    """Named are the tasks that differ, where the table has others."""
    some = "in percent; the official scorers of birds report fractions: --unit official prints them"
    every = "in percent; the official scorer reports fractions: --unit official prints them"
    model = ("--model", "mine=replay:birds.jsonl")
    words = ("run", *model, "--tasks", "birds", "--out", "runs", "--workers", "1")
    assert every in birds(*words).stdout
    assert "in percent" not in birds(*words, "--unit", "official").stdout
    assert some in birds("run", "list", "--out", "runs").stdout
    assert every in birds("run", "list", "--out", "runs", "--task", "birds").stdout
    assert "in percent" not in birds("run", "list", "--out", "runs", "--unit", "official").stdout
    hashes = [run.name.rpartition("--")[2] for run in Path("runs").glob("birds--*")]
    assert every in birds("run", "diff", *hashes, *hashes, "--out", "runs").stdout
    assert some in birds("analyse", "runs", "--resamples", "100", "--tokeniser", "none").stdout


def test_compare_has_one_unit(birds: Nikawa) -> None:
    answer("worse.jsonl", pairs("test", 30), 12)
    words = ("compare", "birds.jsonl", "worse.jsonl", "--task", "birds", "--rounds", "100")
    shown = birds(*words, "--split", "test").stdout
    assert re.search(r" 80\.00 .*\n.* 60\.00 ", shown)
    assert "-20.00" in shown
    assert "-0.2000" in birds(*words, "--split", "test", "--unit", "official").stdout
    (row,) = csv.DictReader(birds(*words, "--split", "test", "--as", "csv").stdout.splitlines())
    assert (row["unit"], row["first_score"]) == ("percent", "80.0")
    assert float(row["difference"]) == pytest.approx(-20)
    pair = json.loads(birds(*words, "--split", "test", "--json").stdout)["pairs"][0]
    assert (pair["unit"], pair["difference"]) == ("fraction", pytest.approx(-0.2))


def test_a_report_has_one_unit_and_its_files_keep_the_official_one(birds: Nikawa) -> None:
    birds("report", "runs", "--out", "page", "--rounds", "100", "--no-dataset", "--digits", "2")
    markdown = Path("page/summary.md").read_text("utf-8")
    assert re.search(r"\| mine \| +\| 80\.00 \(", markdown)
    assert "Scores are in percent; the official scorers of birds report fractions." in markdown
    assert "80.00" in Path("page/summary.tex").read_text("utf-8")
    rows = list(csv.DictReader(Path("page/summary.csv").read_text("utf-8").splitlines()))
    assert {row["unit"] for row in rows} == {"percent"}
    page = Path("page/index.html").read_text("utf-8")
    assert ">80.00</span>" in page
    assert "0.8000" not in page
    assert "mine: 80<" in page  # the plot
    numbers = json.loads(Path("page/numbers.json").read_bytes())
    number = numbers["sections"][1]["rows"][0]["metrics"]["accuracy"]
    assert (number["value"], number["unit"]) == (0.8, "fraction")
    birds(
        *("report", "runs", "--out", "official", "--rounds", "100", "--no-dataset"),
        *("--digits", "2", "--unit", "official"),
    )
    assert "| 0.8000 (" in Path("official/summary.md").read_text("utf-8")
    assert "--unit official" in Path("official/index.html").read_text("utf-8")


def test_analyse_prints_percent_and_writes_the_official_unit(birds: Nikawa) -> None:
    shown = birds("analyse", "runs", "--resamples", "100", "--tokeniser", "none").stdout
    assert re.search(r"birds +test +mine +accuracy +80\.00 ", shown)
    (file,) = Path("runs/analyses").glob("birds--*.json")
    analysis = json.loads(file.read_bytes())
    assert (analysis["score"]["value"], analysis["unit"]) == (0.8, "fraction")


def test_a_metric_without_bound_has_no_percent(here: Nikawa) -> None:
    examples = [e for e in load("mini-ja:test").splits["test"] if "score" in e.gold]
    lines = [json.dumps({"id": e.id, "answer": e.gold["score"] + 0.5}) for e in examples]
    Path("sts.jsonl").write_text("\n".join(lines), "utf-8")
    shown = here("score", "mini-ja-sts:test", "sts.jsonl", "--metric", "mse").stdout
    assert " 0.2500 " in shown


def test_dev_of_a_published_dataset_is_what_the_field_reports(here: Nikawa, tmp_path: Path) -> None:
    """JNLI's dev counts as published; folds of it do not. A dataset of your own was never published."""
    folder = tmp_path / "data/jglue/datasets/jnli-v1.1"
    folder.mkdir(parents=True)
    for split, count in {"train": 12, "valid": 12}.items():
        with (folder / f"{split}-v1.1.json").open("w", encoding="utf-8") as file:
            for n, example in enumerate(pairs(split, count)):
                row = {
                    "sentence_pair_id": str(n),
                    "yjcaptions_id": f"{n}-{n}-{n + 1}",
                    "sentence1": example.inputs["premise"],
                    "sentence2": example.inputs["hypothesis"],
                    "label": example.gold["label"],
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    write_dataset("own", "own", {"train": pairs("train", 12), "dev": pairs("dev", 12)})
    words = ("run", "--model", "majority", "--workers", "1", "--data", "data")
    here(*words, "--tasks", "jnli", "--out", "runs")
    here(*words, "--tasks", "own", "--out", "runs")
    here("report", "runs", "--out", "page", "--no-analyses", "--data", "data")
    for name in ("summary.md", "summary.tex", "index.html"):
        text = Path("page", name).read_text("utf-8")
        assert "Not as published" not in text
        assert "On dev: jnli, own." in text
    (folder / "train-v1.1.json").unlink()
    here(*words, "--tasks", "jnli", "--out", "folds")
    here("report", "folds", "--out", "page2", "--no-analyses", "--data", "data")
    assert "Not as published: jnli: 5 folds of dev." in Path("page2/summary.md").read_text("utf-8")


def test_one_system_without_confidence_suspects_no_label(birds: Nikawa) -> None:
    shown = birds("analyse", "runs", "--resamples", "100", "--tokeniser", "none").stdout
    reason = "the model returns no probabilities, and there is no second system"
    assert f"No suspected label errors of birds test: {reason}" in shown
    birds("report", "runs", "--out", "page", "--rounds", "100", "--no-dataset")
    page = Path("page/index.html").read_text("utf-8")
    assert f"The list is empty: {reason}." in page
    answer("sure.jsonl", pairs("test", 30), 3, scores=True)
    birds(
        *("run", "--model", "sure=replay:sure.jsonl", "--tasks", "birds", "--out", "sure"),
        *("--workers", "1"),
    )
    shown = birds("analyse", "sure", "--resamples", "100", "--tokeniser", "none").stdout
    assert "No suspected label errors" not in shown
    assert re.search(r"birds +test +1 +30 +3 +3 ", shown)


def test_two_systems_without_confidence_must_agree(birds: Nikawa) -> None:
    """Where neither gives probabilities, two different errors are no suspicion, however poor both systems are."""
    examples = pairs("test", 30)
    for name, turn in {"one": 1, "two": 2}.items():
        lines = []
        for n, example in enumerate(examples):
            gold = LABELS.index(example.gold["label"])
            label = LABELS[(gold + (turn if n < 20 else n >= 28)) % 3]
            lines.append(json.dumps({"id": example.id, "answer": label}))
        Path(f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
    models = ("--model", "one=replay:one.jsonl", "--model", "two=replay:two.jsonl")
    birds("run", *models, "--tasks", "birds", "--out", "pair", "--workers", "1")
    words = ("analyse", "pair", "--resamples", "100", "--tokeniser", "none", "--json")
    (suspects,) = json.loads(birds(*words).stdout)["across"]["suspects"]
    assert {item["example"] for item in suspects["items"]} == {
        "jnli:test/test28",
        "jnli:test/test29",
    }


def test_the_place_of_the_right_choice_is_no_slice_unless_named(here: Nikawa) -> None:
    parts: dict[str, Sequence[Example]] = {
        "train": questions("train", 10),
        "test": questions("test", 40),
    }
    write_dataset("choices", "jcommonsenseqa", parts)
    words = ("run", "--model", "majority", "--tasks", "choices", "--out", "runs", "--workers", "1")
    here(*words)
    analyse = ("analyse", "runs", "--resamples", "100", "--tokeniser", "none", "--json")
    (analysis,) = json.loads(here(*analyse).stdout)["analyses"]
    assert "gold" not in {part["by"] for part in analysis["slices"]}
    (analysis,) = json.loads(here(*analyse, "--overwrite", "--by", "gold").stdout)["analyses"]
    assert {part["where"] for part in analysis["slices"]} == set("01234")


def test_hidden_labels_are_named_and_opened_by_their_holder(here: Nikawa) -> None:
    """A report of a test set without labels says so; whoever has the key file gets the scores of `score`, in private files."""
    write_dataset("birds", "birds", {"train": pairs("train", 12), "test": pairs("test", 30)})
    here("data", "hide", "birds", "--split", "test", "--out", "public", "--keys", "keys.jsonl")
    here("run", "--model", "majority", "--tasks", "public", "--out", "team", "--workers", "1")
    here("report", "team", "--out", "open", "--rounds", "100")
    page = Path("open/index.html").read_text("utf-8")
    assert re.search(r"0 examples</span>; <span[^>]*>the labels of 30 more are hidden", page)
    assert "their labels are hidden" in Path("open/summary.md").read_text("utf-8")
    shown = here("analyse", "team", "--resamples", "100", "--tokeniser", "none").stdout
    assert "its labels are hidden: if you have them, pass --hidden" in " ".join(shown.split())

    opening = ("--hidden", "--keys", "keys.jsonl")
    here("report", "team", "--out", "private", "--rounds", "100", *opening)
    numbers = json.loads(Path("private/numbers.json").read_bytes())
    (file,) = Path("team").glob("*/predictions/test.jsonl")
    scored = json.loads(here("score", "public:test", str(file), *opening, "--json").stdout)
    (row,) = numbers["sections"][0]["rows"]
    number, score = row["metrics"]["accuracy"], scored["scores"][0]
    assert [number[key] for key in ("value", "low", "high")] == [
        score[key] for key in ("value", "low", "high")
    ]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in Path("private").rglob("*")}
    assert modes <= {0o600, 0o700}
    here(
        *("analyse", "team", "--out", "secret", "--resamples", "100", "--tokeniser", "none"),
        *opening,
    )
    (analysis,) = [json.loads(path.read_bytes()) for path in Path("secret").glob("public--*.json")]
    assert analysis["score"]["value"] == score["value"]
    assert stat.S_IMODE(Path("secret").stat().st_mode) == 0o700
    index = json.loads(Path("secret/index.json").read_bytes())
    assert index["command"].endswith("--hidden --keys keys.jsonl")


def test_keys_without_a_set_to_open_are_refused(birds: Nikawa, nikawa: Nikawa) -> None:
    birds("data", "hide", "birds", "--split", "test", "--out", "public", "--keys", "keys.jsonl")
    done = nikawa("report", "runs", "--out", "page", "--hidden", "--keys", "keys.jsonl")
    assert done.returncode == 2
    assert "none of these runs answered items whose labels the file has" in done.stderr
    done = nikawa("analyse", "runs", "--keys", "keys.jsonl")
    assert (done.returncode, done.stderr.strip().startswith("nikawa: --keys needs --hidden")) == (
        2,
        True,
    )
    assert not Path("page").exists()
