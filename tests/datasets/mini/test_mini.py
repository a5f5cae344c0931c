"""The embedded mini-benchmark: its size, its shape, and that its gold follows from its judgements."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean, pvariance
from typing import Any

import pytest

from nikawa.datasets import benchmarks, load, load_task, read_judgements, tasks_of
from nikawa.io.json import encode_json
from nikawa.records import Dataset, Example, reference

SIZES = {
    "nli": (18, 9, 9),
    "sts": (12, 6, 6),
    "qa": (9, 5, 4),
    "choice": (9, 5, 4),
    "ner": (10, 5, 5),
}
SPLITS = ("train", "dev", "test")
SCRIPT = {"mini-ja": r"[\u3040-\u30ff\u4e00-\u9fff]", "mini-ko": r"[\uac00-\ud7a3]"}
TAGS = {
    *(
        "aspect",
        "causative",
        "comparison",
        "conditional",
        "conjunction",
        "giving",
        "honorific",
        "modality",
    ),
    *("negation", "numeral", "paraphrase", "passive", "quantifier", "temporal", "tense"),
}


@pytest.fixture(params=["mini-ja", "mini-ko"], scope="module")
def dataset(request: pytest.FixtureRequest) -> Dataset:
    name: str = request.param
    return load(name)


def every(dataset: Dataset) -> list[Example]:
    return [example for split in SPLITS for example in dataset.splits[split]]


def asked(dataset: Dataset, kind: str) -> list[Example]:
    task = next(task for task in benchmarks()[dataset.name].tasks if task.kind == kind)
    return [example for example in every(dataset) if task.asks(example)]


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from value


def strings(example: Example) -> list[str]:
    return [text for value in example.inputs.values() for text in texts(value)]


@pytest.mark.parametrize("part", SIZES)
def test_size_of_each_kind_and_split(dataset: Dataset, part: str) -> None:
    sizes = tuple(len(load_task(f"{dataset.name}-{part}", split)[1]) for split in SPLITS)
    assert sizes == SIZES[part]


def test_each_example_belongs_to_exactly_one_task(dataset: Dataset) -> None:
    for example in every(dataset):
        names = [task.name for task in tasks_of(dataset.name) if task.asks(example)]
        assert names == [f"{dataset.name}-{example.id.split('-')[0]}"]


def test_ids_are_unique_over_the_dataset(dataset: Dataset) -> None:
    ids = [example.id for example in every(dataset)]
    assert len(ids) == 116 == len(set(ids))
    assert all(re.fullmatch(r"(nli|sts|qa|choice|ner)-\d{3}", i) for i in ids)


def test_groups_stay_in_one_split(dataset: Dataset) -> None:
    where = defaultdict(set)
    for split, examples in dataset.splits.items():
        for example in examples:
            if example.group:
                where[example.group].add(split)
    assert Counter(group.split("-")[0] for group in where) == {"premise": 12, "paragraph": 7}
    assert all(len(splits) == 1 for splits in where.values())


def test_no_text_occurs_in_two_splits(dataset: Dataset) -> None:
    found = defaultdict(set)
    for split, examples in dataset.splits.items():
        for example in examples:
            for text in strings(example):
                if len(text) > 6 and not example.inputs.get("choices"):
                    found[text.rstrip("。.")].add(split)
    assert [text for text, splits in found.items() if len(splits) > 1] == []


def test_no_item_is_repeated(dataset: Dataset) -> None:
    assert max(Counter(encode_json(example.inputs) for example in every(dataset)).values()) == 1
    questions = Counter(example.inputs["question"] for example in asked(dataset, "choice"))
    assert max(questions.values()) == 1


def test_texts_are_clean_and_in_their_language(dataset: Dataset) -> None:
    for example in every(dataset):
        for text in strings(example):
            assert text == unicodedata.normalize("NFC", text).strip()
            assert re.search(SCRIPT[dataset.name], text), text
            assert "  " not in text
        other = SCRIPT["mini-ko" if dataset.name == "mini-ja" else "mini-ja"]
        assert not re.search(other, "".join(strings(example)))


def test_what_trips_tools_is_there(dataset: Dataset) -> None:
    joined = [strings(example)[0] for example in every(dataset)]
    assert any(
        re.search(r"[０-９]", text) for example in every(dataset) for text in strings(example)
    )
    assert any(text.endswith(("。", ".")) for text in joined)
    assert any(not text.endswith(("。", ".", "？", "?")) for text in joined)


def test_inference_labels_are_balanced_in_each_group_and_split(dataset: Dataset) -> None:
    groups = defaultdict(list)
    for example in asked(dataset, "inference"):
        groups[(example.group, example.inputs["premise"])].append(example.gold["label"])
        assert example.tags <= TAGS
    assert all(sorted(g) == ["contradiction", "entailment", "neutral"] for g in groups.values())
    assert sum(bool(example.tags) for example in asked(dataset, "inference")) >= 30


def test_similarity_spreads_over_the_scale(dataset: Dataset) -> None:
    scores = [example.gold["score"] for example in asked(dataset, "similarity")]
    assert {min(int(score), 4) for score in scores} == {0, 1, 2, 3, 4}
    assert all(0 <= score <= 5 and round(score * 5, 6).is_integer() for score in scores)


def test_reading_answers_lie_at_their_offsets(dataset: Dataset) -> None:
    counts: Counter[int] = Counter()
    for example in asked(dataset, "reading"):
        context, answers = example.inputs["context"], example.gold["answers"]
        counts[len(answers)] += 1
        for answer in answers:
            assert context[answer["start"] :].startswith(answer["text"])
        assert len({answer["text"] for answer in answers}) == len(answers)
        assert 3 <= len(re.findall(r"[。.](?=\s|$|\D)", context)) <= 5
    assert counts[0] == 1
    assert set(counts) == {0, 2, 3}


def test_reading_answers_of_a_question_overlap(dataset: Dataset) -> None:
    for example in asked(dataset, "reading"):
        spans = [(a["start"], a["start"] + len(a["text"])) for a in example.gold["answers"]]
        assert all(max(s, t) < min(e, f) for s, e in spans for t, f in spans)


def test_choices_are_five_and_right_ones_are_spread(dataset: Dataset) -> None:
    places = Counter(example.gold["choice"] for example in asked(dataset, "choice"))
    assert set(places) == {0, 1, 2, 3, 4}
    assert max(places.values()) <= 4
    for example in asked(dataset, "choice"):
        assert len(set(example.inputs["choices"])) == 5


def test_spans_are_entities_without_their_particles(dataset: Dataset) -> None:
    for split in SPLITS:
        labels: Counter[str] = Counter()
        for example in load_task(f"{dataset.name}-ner", split)[1]:
            text, spans = example.inputs["text"], example.gold["spans"]
            assert 1 <= len(spans) <= 4
            assert all(a.end <= b.start for a, b in pairwise(spans))
            for span in spans:
                covered = text[span.start : span.end]
                assert covered == covered.strip(" 、。.,") != ""
                labels[span.label] += 1
        assert set(labels) == {"PS", "LC", "OG", "DT", "TI", "QT"}


def test_korean_particles_follow_entities_directly() -> None:
    followed = [
        example.inputs["text"][span.end : span.end + 1]
        for example in asked(load("mini-ko"), "tagging")
        for span in example.gold["spans"]
    ]
    assert sum(bool(re.match(r"[가-힣]", after)) for after in followed) >= 30


def test_judgements_cover_inference_and_similarity(dataset: Dataset) -> None:
    wanted = {
        (reference(dataset.name, split, example.id), question)
        for split, examples in dataset.splits.items()
        for example in examples
        for question in example.gold
        if question in ("label", "score")
    }
    seen = Counter((j.example, j.question) for j in read_judgements(dataset.name))
    assert set(seen) == wanted
    assert set(seen.values()) == {5}
    assert {j.worker for j in read_judgements(dataset.name)} == {"w1", "w2", "w3", "w4", "w5"}


def test_gold_follows_from_the_judgements(dataset: Dataset) -> None:
    answers = defaultdict(list)
    for judgement in read_judgements(dataset.name):
        answers[(judgement.example, judgement.question)].append(judgement.answer)
    for split, examples in dataset.splits.items():
        for example in examples:
            ref = reference(dataset.name, split, example.id)
            if "label" in example.gold:
                votes = Counter(answers[(ref, "label")])
                assert votes[example.gold["label"]] >= 3
            elif "score" in example.gold:
                given = answers[(ref, "score")]
                assert round(fmean(given), 1) == example.gold["score"]
                assert pvariance(given) < 1


def test_workers_err_more_the_higher_their_number(dataset: Dataset) -> None:
    gold = {
        reference(dataset.name, split, example.id): example.gold
        for split, examples in dataset.splits.items()
        for example in examples
    }
    right: Counter[str] = Counter()
    for judgement in read_judgements(dataset.name):
        if judgement.question == "label":
            right[judgement.worker] += judgement.answer == gold[judgement.example]["label"]
    assert [worker for worker, _ in right.most_common()] == ["w1", "w2", "w3", "w4", "w5"]


def test_card_says_that_the_workers_are_simulated(dataset: Dataset) -> None:
    assert "simulated" in dataset.card.workers
    assert "no human being" in dataset.card.workers
    assert dataset.card.licence == "Apache-2.0"


def test_files_are_as_the_writer_writes_them(dataset: Dataset) -> None:
    from nikawa.datasets.locate import files_here

    for split, files in files_here(benchmarks()[dataset.name]).items():
        written = b"".join(encode_json(example) + b"\n" for example in dataset.splits[split])
        assert files[0].read_bytes() == written
