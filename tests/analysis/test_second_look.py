"""Suspected label errors go back to people: from a run to a sheet, annotation pages, new judgements, amended gold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from nikawa.analysis.job import Analyses, AnalysisOptions, analyse, collect_commands
from nikawa.cli.terminal.app import build
from nikawa.collect.app import create_app
from nikawa.collect.items import open_synced
from nikawa.collect.job import create_links
from nikawa.datasets import load
from nikawa.errors import BadInput, NikawaError
from nikawa.io.folders import write_folder
from nikawa.records import Card, Dataset, Example, Span
from nikawa.runs.job import RunOptions, RunRequest, run

CARD = Card(
    name="harbour",
    title="Harbour",
    version="1.0",
    languages=("ja",),
    licence="CC0",
    citation="none",
    homepage="none",
    description="",
    labels="",
    workers="",
    workers_are="none",
    source="",
)
LABELS = ("entailment", "contradiction", "neutral")
WORDS = {"entailment": "着いた", "contradiction": "着いていない", "neutral": "赤く塗られた"}
QUICK = AnalysisOptions(resamples=100, tokeniser="none")
WRONG = (61, 74)
"""Test items whose label is not what their words say."""
ODD = (41, 42, 45, 47, 50, 54)
"""The same in smaller sets: a model is as sure as usual of some of them."""


def item(n: int, wrong: Sequence[int] = ()) -> Example:
    right = LABELS[n % 3]
    inputs = {"premise": f"{n}番の船が港に着いた。", "hypothesis": f"{n}番の船は{WORDS[right]}。"}
    return Example(id=f"h{n}", inputs=inputs, gold={"label": LABELS[(n + (n in wrong)) % 3]})


def command(line: str) -> str:
    done = CliRunner().invoke(build(), shlex.split(line)[1:])
    if isinstance(done.exception, NikawaError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def analysed(
    splits: Mapping[str, Sequence[Example]], *models: str, task: str = "harbour"
) -> Analyses:
    whole = {name: tuple(examples) for name, examples in splits.items()}
    write_folder(
        Dataset(name="harbour", language="ja", version="1.0", card=CARD, splits=whole),
        Path("harbour"),
    )
    run(RunRequest(tasks=(task,), models=models), RunOptions(out=Path("runs"), workers=1))
    return analyse(["runs"], options=QUICK)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def judge(project: Path, names: Sequence[str]) -> int:
    """Workers read the words and answer on the pages; how many answers were taken."""
    count = 0
    made = create_links(project, names, "http://here").links
    with open_synced(project) as (found, store):
        client = TestClient(create_app(found, store), base_url="http://here")
        for _, link in made:
            state = client.get(f"{link}/next").json()
            while state["item"]:
                label = next(
                    k for k, word in WORDS.items() if word in state["item"]["inputs"]["hypothesis"]
                )
                lease = state["item"]["lease"]
                sent = {"lease": lease, "key": lease, "answer": {"label": label}}
                reply = client.post(f"{link}/answer", json=sent)
                assert reply.status_code == 200, reply.text
                state, count = reply.json()["state"], count + 1
    return count


@pytest.mark.slow
def test_from_suspects_to_amended_gold() -> None:
    splits = {"train": map(item, range(60)), "test": (item(n, WRONG) for n in range(60, 90))}
    found = analysed({k: tuple(v) for k, v in splits.items()}, "char-linear")
    (suspects,) = found.across.suspects
    assert {s.example for s in suspects.items[: len(WRONG)]} == {
        f"harbour:test/h{n}" for n in WRONG
    }
    (typed,) = collect_commands(Path("runs/analyses"), found).values()
    command(typed)
    assert judge(Path("second-look"), ["rin", "mio", "sora"]) == 3 * len(suspects.items)
    command("nikawa collect export second-look --out judgements.jsonl --pseudonymise")
    command("nikawa aggregate judgements.jsonl --question label --rule votes:2/3 --out looked")
    told = command("nikawa build --amend harbour --relabel looked --out harbour-next --runs runs")
    new = {e.id: e.gold["label"] for e in load("harbour-next").splits["test"]}
    assert new == {f"h{n}": LABELS[n % 3] for n in range(60, 90)}
    assert load("harbour-next").version == "1.1"
    assert "1 of 1 stored scores change" in told or "stored scores change" in told
    lineage = command(f"nikawa lineage test/h{WRONG[0]} --in harbour-next")
    assert "3 workers" in lineage


@pytest.mark.slow
def test_labels_that_people_confirm_are_nothing_to_amend(tmp_path: Path) -> None:
    write_folder(
        Dataset(
            name="harbour",
            language="ja",
            version="1.0",
            card=CARD,
            splits={"test": tuple(map(item, range(6)))},
        ),
        Path("harbour"),
    )
    lines = [(f"harbour:test/h{n}", w, LABELS[n % 3]) for n in range(4) for w in "abc"]
    rows = ["example,worker,label", *(",".join(line) for line in lines)]
    Path("answers.csv").write_text("\n".join(rows) + "\n", "utf-8")
    words = "--map example=example,worker=worker,answer=label --question label --rule majority"
    command(f"nikawa aggregate answers.csv {words} --out looked")
    with pytest.raises(BadInput, match="all 4 reviewed answers stay as they are"):
        command("nikawa build --amend harbour --relabel looked --out next")
    Path("answers.csv").write_text(
        "\n".join(rows).replace("h1,a,contradiction", "h1,a,neutral") + "\n", "utf-8"
    )
    command(f"nikawa aggregate answers.csv {words} --out split")
    with pytest.raises(BadInput, match="stay as they are"):  # two of three still say so
        command("nikawa build --amend harbour --relabel split --out next")
    assert not Path("next").exists()
    with pytest.raises(BadInput, match=r"holds no items\.jsonl"):
        command("nikawa build --amend harbour --relabel harbour --out next")


def texts(n: int) -> Example:
    word = ("嬉しい", "悲しい")[n % 2]
    gold = ("glad", "sad")[(n + (n in ODD)) % 2]
    return Example(
        id=f"t{n}", inputs={"text": f"{n}日はとても{word}一日だった。"}, gold={"label": gold}
    )


def relations(n: int) -> Example:
    word = ("社長", "先生")[n % 2]
    text = f"青木{n}は港の{word}だ。"
    inputs: dict[str, Any] = {
        "text": text,
        "subject": Span(0, 2, "PER"),
        "object": Span(text.index(word), text.index(word) + 2, "POH"),
    }
    return Example(
        id=f"r{n}",
        inputs=inputs,
        gold={"relation": ("per:leads", "per:teaches")[(n + (n in ODD)) % 2]},
    )


def two_way(n: int) -> Example:
    found = item(n)
    gold = "follows" if (n % 3 == 0) != (n in ODD) else "does-not"
    return Example(id=found.id, inputs=found.inputs, gold={"label": gold})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "form"),
    [(texts, "choice"), (relations, "relation"), (two_way, "choice"), (item, "inference")],
)
def test_every_form_of_sheet_can_be_served(made: Any, form: str) -> None:
    examples = [made(n) if made is not item else item(n, ODD) for n in range(60)]
    found = analysed({"train": examples[:36], "test": examples[36:]}, "baseline")
    (typed,) = collect_commands(Path("runs/analyses"), found).values()
    assert f"--form {form} " in typed
    command(typed)
    served = {e.id for e in load("second-look/examples.jsonl").splits.popitem()[1]}
    assert served == {s.example for s in found.across.suspects[0].items}


def test_a_model_that_learned_from_the_items_has_no_say() -> None:
    examples = tuple(item(n, WRONG) for n in range(60, 90))
    write_folder(
        Dataset(
            name="harbour",
            language="ja",
            version="1.0",
            card=CARD,
            splits={"train": tuple(map(item, range(30))), "test": examples},
        ),
        Path("harbour"),
    )
    run(
        RunRequest(tasks=("harbour",), models=("char-linear",), train=("harbour:test",)),
        RunOptions(out=Path("runs"), workers=1),
    )
    assert analyse(["runs"], options=QUICK).across.suspects == ()


def test_training_data_is_doubted_in_folds() -> None:
    """Where only one split is there, each item is judged by a model of the other folds."""
    found = analysed({"train": [item(n, (12, 25)) for n in range(60)]}, "char-linear")
    (suspects,) = found.across.suspects
    assert {s.example for s in suspects.items[:2]} == {"harbour:train/h12", "harbour:train/h25"}
