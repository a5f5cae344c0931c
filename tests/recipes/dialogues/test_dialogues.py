"""Dialogue state tracking by simulated workers and by people: goals, rules, states, splits, and the metrics of WoS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.recipes.small_sources import SMALL_SOURCES

import nikawa as nk
from nikawa.collect.form import find_form
from nikawa.collect.forms.dialogue import FORM
from nikawa.datasets import load
from nikawa.datasets.lineage import read_lineage
from nikawa.errors import BadInput
from nikawa.io.json import read_json
from nikawa.io.ontology import (
    Domain,
    Ontology,
    Slot,
    complete_ontology,
    parse_entities,
    read_entities,
    read_ontology,
)
from nikawa.io.records import read_examples
from nikawa.io.task_sheet import Sheet
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.recipes.dialogues.goals import GoalSettings, check_phrases, draw_goal
from nikawa.recipes.dialogues.stages import _write_turns, form_options
from nikawa.recipes.dialogues.wos import WORDS, Wos
from nikawa.recipes.recipe import Stage, recipes
from nikawa.recipes.store import run_stage
from nikawa.records import Example, Judgement

FOLDER = Path(__file__).parents[3] / "examples" / "dialogue"
NAMES = ("wos", "dst-ja")
Run = Callable[..., BuildReport]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Build a recipe of the small sources, with further settings."""

    def make(name: str, out: str = "out", simulate: int | None = 3, **more: Any) -> BuildReport:
        files = SMALL_SOURCES[name]()
        settings = {"goals": 24, "split": "0.6,0.2,0.2", **more}
        lines = files.pop("config.toml").splitlines()
        lines = [line for line in lines if line.partition(" ")[0] not in settings]
        lines += [
            f"{key} = {msgspec.json.encode(value).decode()}" for key, value in settings.items()
        ]
        for file, text in files.items():
            (tmp_path / file).write_text(text, "utf-8")
        config = tmp_path / f"{name}.toml"
        config.write_text("\n".join(lines), "utf-8")
        return build(name, tmp_path / out, BuildOptions(config=config, simulate=simulate))

    return make


def answer(out: Path, ask: str, tell: Callable[[Example], list[Any]], question: str) -> None:
    place = out / "people" / ask
    rows = [
        Judgement(example=item.id, worker=f"{ask}{n}", question=question, answer=given)
        for item in read_examples(place / "tasks.jsonl")
        for n, given in enumerate(tell(item))
    ]
    (place / "answers.jsonl").write_bytes(
        b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    )


def released(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.is_file()}


@pytest.mark.parametrize("language", ["ko", "ja"])
def test_goals_fit_the_table_and_can_be_reached(language: str) -> None:
    """A dialogue with just the goal keeps all rules of the form, whatever is drawn."""
    raw = read_ontology(FOLDER / f"ontology.{language}.json")
    entities = read_entities(FOLDER / f"entities.{language}.json", raw)
    ontology = complete_ontology(raw, entities)
    how = GoalSettings((0.2, 0.4, 0.4), 0, 3, 0.8, 0.8, 0.2, 2)
    options = form_options(ontology, entities, Wos(agent_style=""))
    kinds: Counter[str] = Counter()
    for number in range(300):
        goal = draw_goal(ontology, entities, how, Random(number))
        assert not any("{" in sentence for sentence in goal.sentences)
        assert goal.domains == sorted(goal.domains, key=list(ontology.domains).index)
        named = {row["slot"].partition("-")[0] for row in (*goal.constraints, *goal.asks)}
        assert named == set(goal.domains)
        for row in goal.constraints:
            kinds.update(["carried"] * ("same" in row))
            kinds.update(["dontcare"] * (row.get("value") == "dontcare"))
            assert 0 < row["sentence"] < len(goal.sentences)
        offers = {
            domain: f"{domain}-{slot}"
            for domain in goal.domains
            for slot, one in ontology.domains[domain].slots.items()
            if one.kind == "offer"
        }
        item = Example(
            id="g",
            inputs={"goal": goal.sentences, "constraints": goal.constraints, "asks": goal.asks},
            meta={"domains": goal.domains, "plan": goal.plan, "offers": offers},
        )
        assert find_form("dialogue").find_fault(item, options) == ""
        turns = list(_write_turns(item, WORDS))
        problems = FORM.validate({"dialogue": {"how": "self", "turns": turns}}, item, options)
        assert [one for one in problems if not one.warning and one.code != "text_long"] == []
        kinds.update([str(len(goal.domains))])
    assert min(kinds.values()) > 10
    assert set(kinds) == {"1", "2", "3", "carried", "dontcare"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_killed_at_every_stage_it_resumes(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, made = run(name, "whole"), run_stage
    for doomed in [stage.name for stage in recipes()[name].stages if isinstance(stage, Stage)]:

        def stopped(store: Any, stage: Stage, key: str, doomed: str = doomed) -> Any:
            if stage.name == doomed:
                raise KeyboardInterrupt
            return made(store, stage, key)

        monkeypatch.setattr("nikawa.recipes.build.run_stage", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(name, "killed")
        assert not (tmp_path / "killed" / "card.json").exists()
    monkeypatch.setattr("nikawa.recipes.build.run_stage", made)
    again = run(name, "killed")
    assert [stage.wrote for stage in again.stages] == [stage.wrote for stage in whole.stages]
    assert released(tmp_path / "killed") == released(tmp_path / "whole")


@pytest.mark.parametrize("name", NAMES)
def test_a_release_runs_with_the_official_metrics_at_once(
    name: str, run: Run, tmp_path: Path
) -> None:
    report = run(name)
    assert report.released is not None
    assert report.released.workers_are == "simulated"
    dataset = load(str(tmp_path / "out"))
    for entry in read_lineage(tmp_path / "out"):
        assert {source["licence"] for source in entry.sources} == {"CC0"}
        assert {row.question for row in entry.judgements} == {"dialogue", "states"}
        assert entry.steps[-1].rule.startswith(f"split {entry.split}: ")
    values = read_json(tmp_path / "out" / "ontology.json", dict[str, list[str]])
    marked = {
        entry for split in dataset.splits for one in dataset[split] for entry in one.gold["state"]
    }
    known = {f"{slot}-{value}" for slot, found in values.items() for value in found}
    assert all(found[:2] == ["none", "dontcare"] for found in values.values())
    assert marked <= known
    groups = {split: {one.group for one in dataset[split]} for split in dataset.splits}
    assert not groups["train"] & (groups["dev"] | groups["test"])
    assert not groups["dev"] & groups["test"]
    page = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "joint-goal" in page
    assert "of dev have a combination of domains that train does not have" in page
    runs = nk.run(["baseline"], tasks=str(tmp_path / "out"), out=tmp_path / "runs")
    table = runs.to_pandas()
    assert set(table["metric"]) == {"jga", "slot-f1"}
    right = {one.id: one.gold["state"] for one in dataset["test"]}
    scores = nk.score(f"{tmp_path / 'out'}:test", right).to_pandas()
    assert set(scores["value"]) == {100.0}
    nk.report(tmp_path / "runs", out=tmp_path / "report")
    assert "jga" in (tmp_path / "report" / "summary.csv").read_text("utf-8")


def test_combinations_may_be_held_out_of_train(run: Run, tmp_path: Path) -> None:
    run("wos", goals=60, held_out=2)
    dataset = load(str(tmp_path / "out"))
    by_split = {
        split: {one.meta["combination"] for one in dataset[split]} for split in dataset.splits
    }
    unseen = {
        one.meta["combination"]
        for split in ("dev", "test")
        for one in dataset[split]
        if one.meta["combination_in_train"] == "unseen"
    }
    assert len(unseen) >= 2
    assert not unseen & by_split["train"]
    assert all("combination_in_train" not in one.meta for one in dataset["train"])
    assert all(
        ", ".join(sorted(unseen & by_split[s])) in "".join(dataset.card.problems)
        for s in ("dev", "test")
    )
    with pytest.raises(BadInput, match="held_out = 99"):
        run("wos", "other", held_out=99)


def test_people_write_and_check_and_the_votes_are_slot_by_slot(run: Run, tmp_path: Path) -> None:
    """The sheet holds the ontology; a slot on which two of three agree is gold, an open one drops the dialogue."""
    waiting = run("wos", simulate=None, goals=3, split="rest,0,0", asks_most=0, carried=0.0)
    assert [one.ask for one in waiting.waiting] == ["dialogues"]
    out = tmp_path / "out"
    sheet = read_json(out / "people" / "dialogues" / "sheet.json", Sheet)
    assert sheet.settings["ontology"] == read_json(tmp_path / "ontology.ko.json", Any)
    assert list(sheet.settings["ontology"]["domains"]) == ["숙소", "식당", "명소", "택시"]
    assert sheet.settings["politeness"] == {"sys": "polite"}
    goals = {one.id: one for one in read_examples(out / "build" / "goals" / "goals.jsonl")}

    def write(item: Example) -> list[Any]:
        return [{"how": "self", "turns": list(_write_turns(goals[item.id], WORDS))}]

    answer(out, "dialogues", write, "dialogue")
    again = run("wos", simulate=None, goals=3, split="rest,0,0", asks_most=0, carried=0.0)
    assert [one.ask for one in again.waiting] == ["states"]

    def mark(item: Example) -> list[Any]:
        states = [list(state) for state in item.inputs["states"]]
        first, rest = states[0][0], [state[1:] for state in states]
        if item.id.startswith("g1"):  # one of three misses an entry
            return [states, rest]
        if item.id.startswith("g2"):  # both do, against the writer
            return [rest, rest]
        slot = first.rpartition("-")[0]
        return [rest, [[f"{slot}-dontcare", *state] for state in rest]]  # three answers

    answer(out, "states", mark, "states")
    done = run("wos", simulate=None, goals=3, split="rest,0,0", asks_most=0, carried=0.0)
    agreed = next(stage for stage in done.stages if stage.name == "agreed")
    assert agreed.dropped == {"no majority for a slot": 1}
    written = {
        one.id: one.inputs["states"]
        for one in read_examples(out / "build" / "written" / "written.jsonl")
    }
    gold = {one.id: one.gold["state"] for one in load(str(out))["train"]}
    assert gold["g1d-0"] == sorted(written["g1d"][0])
    assert gold["g2d-0"] == sorted(written["g2d"][0][1:])
    assert not any(name.startswith("g3") for name in gold)


def test_the_same_turns_twice_are_one_dialogue(run: Run, tmp_path: Path) -> None:
    """Goals that differ in their questions alone could give the same dialogue to train and test."""
    settings: dict[str, Any] = {"goals": 3, "split": "rest,0,0", "validators": 0}
    run("wos", simulate=None, **settings)
    out = tmp_path / "out"
    goals = {one.id: one for one in read_examples(out / "build" / "goals" / "goals.jsonl")}
    same = list(_write_turns(goals["g1"], WORDS))

    def write(item: Example) -> list[Any]:
        turns = same if item.id == "g2" else list(_write_turns(goals[item.id], WORDS))
        return [{"how": "self", "turns": turns}]

    answer(out, "dialogues", write, "dialogue")
    done = run("wos", simulate=None, **settings)
    written = next(stage for stage in done.stages if stage.name == "written")
    assert written.dropped == {"the turns of another dialogue": 1}


def test_two_workers_who_met_give_one_dialogue(run: Run, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"mode": "live", "writers": 2, "goals": 2, "split": "rest,0,0"}
    run("wos", simulate=None, validators=0, **settings)
    out = tmp_path / "out"
    goals = {one.id: one for one in read_examples(out / "build" / "goals" / "goals.jsonl")}

    def write(item: Example) -> list[Any]:
        turns = list(_write_turns(goals[item.id], WORDS))
        if item.id == "g1":
            return [{"how": "alone", "turns": turns}]
        return [{"how": "live", "turns": turns}, {"how": "live", "turns": turns, "speaker": 1}]

    answer(out, "dialogues", write, "dialogue")
    done = run("wos", simulate=None, validators=0, **settings)
    assert done.released is not None
    train = load(str(out))["train"]
    assert {one.meta["how"] for one in train} == {"live", "alone"}
    assert len({one.group for one in train}) == 2


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"domain_shares": "0.5,0.2"}, "domain_shares"),
        ({"domain_shares": "all"}, "domain_shares"),
        ({"domain_shares": "nan,0.5"}, "domain_shares"),
        ({"constraints_least": 4}, "constraints_least = 4"),
        ({"turns_least": 30}, "turns_least = 30"),
        ({"mode": "live"}, "takes writers = 2"),
        ({"writers": 2}, "takes writers = 1"),
        ({"split": "1"}, "split"),
        ({"ontology": "entities.ko.json"}, "is not an ontology"),
        ({"entities": "ontology.ko.json"}, "is not a table of entities"),
    ],
)
def test_settings_that_would_fail_later_are_refused(
    settings: dict[str, Any], what: str, run: Run
) -> None:
    with pytest.raises(BadInput, match=what):
        run("wos", **settings)


@pytest.mark.parametrize("value", ["none", "dontcare", "a\nb", "a\x85b", " "])
def test_a_value_of_the_table_that_would_mean_something_else_is_refused(value: str) -> None:
    """`none` in a state is what no state has, by the metrics of WoS; a name with a wide space is a name."""
    ontology = read_ontology(FOLDER / "ontology.ko.json")
    table: Any = read_json(FOLDER / "entities.ko.json", Any)
    domain, rows = next(iter(table.items()))
    slot = next(
        name
        for name, slot in ontology.domains[domain].slots.items()
        if slot.kind in ("find", "offer") and not slot.values
    )
    rows[0][slot] = "다온　여관"
    assert parse_entities(table, ontology).rows[domain][0][slot] == "다온　여관"
    rows[0][slot] = value
    with pytest.raises(BadInput, match="cannot be the"):
        parse_entities(table, ontology)


@pytest.mark.parametrize("phrase", ["{source} 쪽", "{value.x}", "{value", "값}", "{valu}"])
def test_a_sentence_that_could_not_be_filled_is_refused(phrase: str) -> None:
    slot = Slot(values=("강변",), phrase={"": phrase})
    ontology = Ontology("ko", {"숙소": Domain("숙소를 찾습니다.", {"지역": slot})})
    with pytest.raises(BadInput, match="in a sentence"):
        check_phrases(ontology)
