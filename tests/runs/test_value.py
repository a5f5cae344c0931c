from __future__ import annotations

import pickle

import msgspec
from msgspec.structs import replace

from nikawa.records import Run
from nikawa.runs import DataVersion, EvaluationProtocol, RunSpec, Variation
from nikawa.runs.records import shorten_model

SPEC = RunSpec(
    task="jnli",
    predictor="replay:answers/of mine.jsonl",
    seed=3,
    settings={"b": 1, "a": [0.5]},
    protocol=EvaluationProtocol(
        kind="standard", train=("jnli:train",), select="jnli:dev", evaluate=("jnli:test",)
    ),
    data=(DataVersion(name="jnli:train", version="1.3", digest="00", n=2),),
)


def test_the_hash_is_of_the_content_not_of_the_order_it_was_written_in() -> None:
    other = replace(SPEC, settings={"a": [0.5], "b": 1})
    assert SPEC.hash == other.hash
    assert len(SPEC.hash) == 12
    assert SPEC.folder == f"jnli--replay-answers-of-mine.jsonl--{SPEC.hash}"


def test_a_file_of_a_model_counts_by_name_and_content_not_by_its_place() -> None:
    held = DataVersion(name="replay:mine.jsonl", version="file", digest="07", n=0)
    here, there = (
        replace(SPEC, predictor=f"replay:{place}/mine.jsonl", data=(held,))
        for place in ("a", "b/c")
    )
    assert here.hash == there.hash
    assert here.model == "replay:mine.jsonl"
    assert here.hash != replace(here, data=(replace(held, digest="08"),)).hash
    assert replace(here, data=()).hash != replace(there, data=()).hash


def test_a_name_is_what_the_model_is_called_and_defines_the_run() -> None:
    mine = replace(SPEC, name="mine v2")
    assert (SPEC.model, mine.model) == ("replay:answers/of mine.jsonl", "mine v2")
    assert mine.folder == f"jnli--mine-v2--{mine.hash}"
    assert len({SPEC.hash, mine.hash, replace(SPEC, name="other").hash}) == 3
    assert msgspec.json.decode(msgspec.json.encode(mine), type=RunSpec) == mine
    written = replace(SPEC, name="自社")
    assert written.folder == f"jnli--自社--{written.hash}"


def test_the_hash_is_the_same_in_another_process() -> None:
    protocol = EvaluationProtocol(kind="answers", evaluate=("jnli:dev",))
    for spec in (SPEC, replace(SPEC, protocol=protocol, variation=Variation())):
        there = pickle.loads(pickle.dumps(spec))
        assert (there, there.hash, there.folder) == (spec, spec.hash, spec.folder)


def test_names_of_models_stay_in_folders_as_far_as_they_can() -> None:
    assert shorten_model("東北大/BERT base", 200) == "東北大-BERT-base"
    assert shorten_model("か\u3099 각", 200) == "が-각"
    assert shorten_model("모" * 60, 10) == "모모모"
    assert shorten_model("..☆ ", 200) == ""
    long = replace(SPEC, task="問" * 60, name="모델" * 30)
    assert len(long.folder.encode()) <= 240
    assert long.folder.endswith(f"--{long.hash}")


def test_runs_without_a_name_are_what_they_were() -> None:
    assert SPEC.hash == "b347d3916df1"


def test_everything_that_defines_the_outcome_is_in_the_hash() -> None:
    others = [
        replace(SPEC, seed=4),
        replace(SPEC, settings={}),
        replace(SPEC, stage="selection"),
        replace(SPEC, variation=Variation(share=0.5)),
        replace(SPEC, protocol=replace(SPEC.protocol, folds=5)),
        replace(SPEC, data=(replace(SPEC.data[0], digest="01"),)),
    ]
    assert len({SPEC.hash, *(other.hash for other in others)}) == 7


def test_it_is_a_run_and_comes_back_from_json() -> None:
    assert isinstance(SPEC, Run)
    assert msgspec.json.decode(msgspec.json.encode(SPEC), type=RunSpec) == SPEC


def test_a_variation_tells_itself_in_words() -> None:
    assert Variation().title == ""
    found = Variation(
        inputs=("hypothesis",), share=0.25, train=("jsick:train", "jnli:train"), shots=8
    )
    assert (
        found.title == "hypothesis only, trained on jsick:train+jnli:train, 25% of train, 8 shots"
    )
