"""From files a user has to scores: encoders with their published input, and training on several datasets joined."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.datasets.jamp.conftest import HEADER as JAMP_HEADER
from tests.datasets.jamp.conftest import ROWS as JAMP_ROWS

from nikawa.datasets.jsick.rows import COLUMNS as JSICK_COLUMNS

Nikawa = Callable[..., CompletedProcess[str]]
LABELS = ("entailment", "contradiction", "neutral")
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set"
PLMUTE_HEADER = ",Premise,Hypothesis,Label"


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a few invented pairs of each dataset, in the published layouts."""
    root = tmp_path / "data"
    numbered = list(enumerate(LABELS * 4))
    jsick = []
    for number, label in numbered:
        part = ("train", "trial", "test")[number % 3 if number % 4 else 0]
        cells = dict.fromkeys(JSICK_COLUMNS, "") | {
            "pair_ID": str(number),
            "data": part,
            "sentence_A_En": f"Kite {number} dances",
            "sentence_B_En": "Something dances",
            "entailment_label_En": label,
            "relatedness_score_En": "3.5",
            "sentence_A_Ja": f"凧{number}が踊る",
            "sentence_B_Ja": "何かが踊る",
            "entailment_label_Ja": label,
            "relatedness_score_Ja": "3.5",
            "semtag_short": "Numerical",
        }
        jsick.append("\t".join(cells.values()))
    write(root / "jsick" / "jsick" / "jsick.tsv", "\t".join(JSICK_COLUMNS), *jsick)
    segmented = [f"{label}\t凧 {n} が 踊る 。\t何 か が 踊る 。" for n, label in numbered]
    write(root / "jsnli" / "jsnli_1.1" / "train_w_filtering.tsv", *segmented)
    write(root / "jsnli" / "jsnli_1.1" / "dev.tsv", *segmented[:6])
    plmute = [f"{n},{n}月に踊る。,九月以前踊る。,{label.title()}" for n, label in numbered]
    write(root / "plmute-ja" / "data" / "plmute" / "cs1_train_ja.csv", PLMUTE_HEADER, *plmute)
    english = [f"{n},A kite {n} danced.,It danced.,{label.title()}" for n, label in numbered]
    write(root / "plmute" / "data" / "cs1_train.csv", PLMUTE_HEADER, *english)
    snli = [
        {"gold_label": label, "sentence1": f"A kite {n}.", "sentence2": "A toy.", "pairID": str(n)}
        for n, label in numbered
    ]
    write(root / "snli" / "snli_1.0_train.jsonl", *map(json.dumps, snli))
    for name, file in (
        ("sick", "SICK.txt"),
        ("sick-nl", "SICK_NL.txt"),
        ("sick-br", "SICK_BR.txt"),
    ):
        rows = [
            f"{n}\tVlieger {n} danst\tIets danst\t{label.upper()}\t3.5\t{('TRAIN', 'TRIAL', 'TEST')[n % 3 if n % 4 else 0]}"
            for n, label in numbered
        ]
        write(root / name / file, SICK_HEADER, *rows)
    jamp = root / "jamp" / "dataset"
    write(jamp / "train_all.tsv", JAMP_HEADER, *JAMP_ROWS)
    write(jamp / "test_2.tsv", JAMP_HEADER, *JAMP_ROWS)
    return root


def run(nikawa: Nikawa, *words: str) -> dict[str, Any]:
    done = nikawa("run", *words, "--workers", "1", "--json")
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def read_spec(runs: Path) -> dict[str, Any]:
    (path,) = runs.rglob("run.json")
    spec: dict[str, Any] = json.loads(path.read_bytes())
    return spec


def test_several_datasets_are_joined_for_training(
    nikawa: Nikawa, data: Path, tmp_path: Path
) -> None:
    sets = "jsnli,jsick:train,jsick:dev,plmute-ja"
    words = ("--tasks", "jamp", "--train", sets, "--data", str(data))
    run(nikawa, "--model", "char-linear", *words, "--out", str(tmp_path / "runs"))
    spec = read_spec(tmp_path / "runs")
    assert spec["protocol"]["train"] == [
        "jsnli:train",
        "jsick:train",
        "jsick:dev",
        "plmute-ja:train",
    ]
    counts = {each["name"]: each["n"] for each in spec["data"]}
    assert counts["jsnli:train"] == counts["plmute-ja:train"] == 12
    assert counts["jsick:train"] + counts["jsick:dev"] < 12


def test_a_mixture_with_the_task_s_own_data_chooses_settings_on_its_dev(
    nikawa: Nikawa, data: Path, tmp_path: Path
) -> None:
    """JSICK's Table 7: trained on JSNLI and JSICK, tested on JSICK."""
    words = ("--tasks", "jsick-nli", "--train", "jsnli,jsick", "--data", str(data))
    run(nikawa, "--model", "char-linear", *words, "--out", str(tmp_path / "runs"))
    protocol = read_spec(tmp_path / "runs")["protocol"]
    assert protocol["train"] == ["jsnli:train", "jsick:train"]
    assert protocol["evaluate"] == ["jsick:test"]
    assert protocol["select"] == "jsick:dev"


@pytest.mark.parametrize(
    ("preset", "train"),
    [
        ("jamp-monolingual", ["jsnli:train", "jsick:train", "jsick:dev", "plmute-ja:train"]),
        (
            "jamp-crosslingual",
            ["snli:train", "sick:train", "sick:dev", "sick:test", "plmute:train"],
        ),
    ],
)
def test_the_zero_shot_settings_of_jamp_are_presets(
    preset: str, train: list[str], data: Path
) -> None:
    from nikawa.runs.plan import plan_runs
    from nikawa.runs.request import RunRequest, apply_preset, read_preset

    pytest.importorskip("torch")
    asked = RunRequest(tasks=("jamp",), models=("encoder:xlm-roberta-base",), seeds=())
    (family,) = plan_runs(apply_preset(read_preset(preset), asked), data).families
    assert list(family.protocol.train) == train
    assert len(family.seeds) == len(family.options) == 5
    assert family.protocol.select == "+".join(train)


def test_the_languages_of_sick_are_compared(nikawa: Nikawa, data: Path, tmp_path: Path) -> None:
    """JSICK's Tables 12 to 14: each language's own training set, confusion, and slices by the tags of the Japanese pair."""
    tasks = "jsick-en-nli,sick-nl-nli,sick-br-nli,jsick-en-labels-nli,jsick-nli"
    runs = tmp_path / "runs"
    run(nikawa, "--model", "char-linear", "--tasks", tasks, "--data", str(data), "--out", str(runs))
    folder = str(tmp_path / "analyses")
    done = nikawa(
        *("analyse", str(runs), "--by", "tag", "--data", str(data), "--out", folder, "--json")
    )
    assert done.returncode == 0, done.stderr
    files = [json.loads(p.read_bytes()) for p in Path(folder).glob("*.json")]
    analysed = {each["system"]["task"]: each for each in files if each.get("confusion") is not None}
    assert set(analysed) == set(tasks.split(","))
    assert all("Numerical" in json.dumps(each["slices"]) for each in analysed.values())


def test_a_note_follows_a_known_checkpoint_to_the_report(
    nikawa: Nikawa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known checkpoint with another input: below the table, in --json, about.json and the report."""
    pytest.importorskip("torch")
    from tests.models.encoder.checkpoints import save_tiny

    from nikawa.datasets import load

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    texts = [e.inputs for examples in load("mini-ja").splits.values() for e in examples]
    letters = {c for c in json.dumps(texts, ensure_ascii=False) if not c.isspace()}
    wide = {chr(ord(c) + 0xFEE0) for c in letters if "!" <= c <= "~"}
    folder = tmp_path / "nlp-waseda" / "roberta-base-japanese"
    save_tiny(folder, letters | wide)
    runs = str(tmp_path / "runs")
    words = ("--model", f"encoder:{folder}", "--tasks", "mini-ja-nli", "--out", runs)
    short = ("--set", "epochs=1", "--set", "max_length=64", "--set", "device=cpu", "--shots", "2")
    printed = run(nikawa, *words, *short)
    (note,) = printed["notes"]
    assert "was published with segmentation=jumanpp, normalise=fullwidth, but this run uses" in note
    (about,) = Path(runs).rglob("about.json")
    assert json.loads(about.read_bytes())["model"]["notes"][0] in note
    shown = nikawa("run", *words, *short, "--workers", "1")
    assert "was published with" in " ".join((shown.stdout + shown.stderr).split())
    page = tmp_path / "report"
    done = nikawa("report", runs, "--out", str(page), "--no-analyses", "--no-dataset")
    assert done.returncode == 0, done.stderr
    assert "Notes of the models" in (page / "index.html").read_text("utf-8")
    numbers = json.loads((page / "numbers.json").read_bytes())
    assert numbers["sections"][0]["model_notes"][0]["text"] in note

    # with the published normal form, and a segmentation that is here, only the segmentation is noted
    own = ("--set", "input=published", "--set", "segmentation=characters")
    printed = run(nikawa, *words, *short, *own)
    stored = [json.loads(path.read_bytes())["settings"] for path in Path(runs).rglob("run.json")]
    assert any(each.get("normalise") == "fullwidth" and "input" not in each for each in stored)
    (note,) = printed["notes"]
    assert "normalise" not in note
