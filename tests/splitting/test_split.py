"""Each way to split does what it says, loses nothing, and depends on ids and seed alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.records import Example, Span
from nikawa.splitting import Parts, SplitterSettings, parse_sizes, splitters
from nikawa.splitting.artifacts import distance
from nikawa.splitting.base import quotas, share_out
from nikawa.splitting.entities import entities_of

COUNT = 300
LABELS = ("entailment", "contradiction", "neutral")
SIZES = {"train": 240, "dev": 20, "test": 40}


def made(place: int) -> Example:
    """An example that every way to split can take."""
    name, word = f"人物{place % 70}", f"語{place}" if place % 5 == 0 else "語"
    text = f"{name} が {word} を 見る"
    second = text if place % 3 else f"別 の {word}"
    return Example(
        id=f"e{place}",
        inputs={"premise": text, "hypothesis": second},
        gold={
            "label": LABELS[place % 3],
            "score": (place * 7 % 51) / 10,
            "spans": [Span(0, len(name), "PS")],
        },
        meta={
            "source": f"s{place % 4}",
            "style": "formal" if place % 4 < 3 else "spoken",
            "date": f"2020-{1 + place % 12:02}",
        },
        group=f"g{place // 3}",
    )


EXAMPLES = [made(place) for place in range(COUNT)]
TEXTS = [
    Example(id=e.id, inputs={"text": e.inputs["premise"]}, gold=e.gold, meta=e.meta, group=e.group)
    for e in EXAMPLES
]


def signal(examples: Sequence[Example], groups: Sequence[str]) -> list[dict[str, float]]:
    """Sure of the label in every group but those whose number divides by 5."""
    even = {"entailment": 1 / 3, "contradiction": 1 / 3, "neutral": 1 / 3}
    sure = {"entailment": 0.9, "contradiction": 0.05, "neutral": 0.05}
    return [even if int(group[1:]) % 5 == 0 else sure for group in groups]


WAYS: dict[str, dict[str, Any]] = {
    "random": {},
    "stratified": {"question": "label"},
    "group": {},
    "stratified-groups": {"question": "label"},
    "date": {},
    "flat": {"question": "score", "fields": ("source",)},
    "balanced": {"fields": ("source", "style")},
    "least-artifact": {"signal": signal},
    "entities": {},
}


def split(way: str, *, seed: int = 0, **more: Any) -> Parts:
    given = TEXTS if way == "entities" else EXAMPLES
    return splitters()[way].split(
        given, SIZES, SplitterSettings(**{**WAYS[way], "seed": seed, **more})
    )


def ids(parts: Parts) -> dict[str, set[str]]:
    return {name: {example.id for example in part} for name, part in parts.items()}


def test_every_way_is_tried_here() -> None:
    assert set(WAYS) == set(splitters())


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost_and_seeds_matter(way: str) -> None:
    parts = split(way)
    assert list(parts) == ["train", "dev", "test"]
    assert sorted(e.id for part in parts.values() for e in part) == sorted(e.id for e in EXAMPLES)
    sizes = {name: len(part) for name, part in parts.items()}
    assert all(abs(sizes[name] - SIZES[name]) <= 3 for name in sizes), sizes
    assert ids(parts) == ids(split(way)) != ids(split(way, seed=1))


@pytest.mark.parametrize("way", WAYS)
def test_the_order_of_the_examples_does_not_matter(way: str) -> None:
    given = TEXTS if way == "entities" else EXAMPLES
    options = SplitterSettings(**WAYS[way])
    assert ids(splitters()[way].split(given[::-1], SIZES, options)) == ids(split(way))


def test_stratified_keeps_the_shares() -> None:
    for part in split("stratified").values():
        counts = Counter(e.gold["label"] for e in part)
        assert all(abs(counts[label] - len(part) / 3) <= 1 for label in LABELS)
    for part in split("stratified", question="score").values():
        counts = Counter(int(e.gold["score"]) for e in part)
        whole = Counter(int(e.gold["score"]) for e in EXAMPLES)
        assert all(abs(counts[s] - whole[s] * len(part) / COUNT) <= 1 for s in whole)


def test_groups_stay_together() -> None:
    ways: list[tuple[dict[str, Any], str]] = [({}, "group"), ({"fields": ("source",)}, "source")]
    for more, key in ways:
        homes: dict[str, set[str]] = {}
        for name, part in split("group", **more).items():
            for example in part:
                value = example.group if key == "group" else example.meta[key]
                homes.setdefault(str(value), set()).add(name)
        assert all(len(found) == 1 for found in homes.values())


def test_dates_and_unseen_terms() -> None:
    parts = split("date", after="2020-11", unseen=0.2)
    known = {word for e in parts["train"] for text in e.inputs.values() for word in text.split()}
    old = [e for name in ("dev", "test") for e in parts[name] if e.meta["date"] < "2020-11"]
    assert all(e.meta["date"] < "2020-11" for e in parts["train"])
    assert len(old) == 12
    assert all(any(w not in known for w in " ".join(e.inputs.values()).split()) for e in old)
    assert abs(2 * len(parts["dev"]) - len(parts["test"])) <= 2


def test_without_a_date_the_newest_are_taken() -> None:
    parts = split("date", unseen=0.0)
    newest = min(e.meta["date"] for name in ("dev", "test") for e in parts[name])
    assert all(e.meta["date"] <= newest for e in parts["train"])


def test_a_date_that_parts_nothing() -> None:
    with pytest.raises(BadInput, match="2020-01 to 2020-12"):
        split("date", after="2021")


def test_flat_scores_odd_overlap_and_sources() -> None:
    parts = split("flat")
    chosen = parts["dev"] + parts["test"]
    counts = Counter(round(10 * e.gold["score"]) for e in chosen)
    assert len(counts) == 51
    assert max(counts.values()) <= 2
    sources = Counter(e.meta["source"] for e in chosen)
    assert max(sources.values()) - min(sources.values()) <= 2
    taken = {e.id for e in chosen}
    for score in set(counts):
        mates = [e for e in EXAMPLES if round(10 * e.gold["score"]) == score]
        alike = {e.id: e.inputs["premise"] == e.inputs["hypothesis"] for e in mates}
        for source in sources:
            same = [e.id for e in mates if e.meta["source"] == source]
            inside, outside = (
                [alike[i] for i in same if i in taken],
                [alike[i] for i in same if i not in taken],
            )
            assert not (inside and outside) or (
                max(inside) <= min(outside) if score >= 30 else min(inside) >= max(outside)
            )


def test_flat_refuses_scores_off_the_scale() -> None:
    with pytest.raises(BadInput, match="not one from 0 to 1"):
        split("flat", scale=(0.0, 1.0))


def test_balanced_parts() -> None:
    parts = split("balanced")
    assert Counter(e.meta["source"] for e in parts["test"]) == dict.fromkeys(
        ("s0", "s1", "s2", "s3"), 10
    )
    with pytest.raises(BadInput, match="--field source"):
        split("balanced", fields=())


def test_least_artifact_takes_what_says_nothing() -> None:
    parts = split("least-artifact")
    assert all(int(str(e.group)[1:]) % 5 == 0 for name in ("dev", "test") for e in parts[name])
    homes = {(e.group, name) for name, part in parts.items() for e in part}
    assert len(homes) == COUNT // 3
    with pytest.raises(BadInput, match="no hypothesis-only model"):
        split("least-artifact", signal=None)


def test_a_set_larger_than_the_evaluation_does_not_end_the_search() -> None:
    """The set nearest to uniform has 9 examples, and 6 are wanted."""
    sized = [made(place) for place in range(30)]
    fields = [str(min(place // 3, 7)) for place in range(30)]  # set 7 holds the last 9
    joined = [replace(e, group=f"g{number}") for e, number in zip(sized, fields, strict=True)]
    even, sure = dict.fromkeys(LABELS, 1 / 3), {LABELS[0]: 0.9, LABELS[1]: 0.05, LABELS[2]: 0.05}
    options = SplitterSettings(
        signal=lambda examples, groups: [even if g in ("g7", "g2", "g5") else sure for g in groups]
    )
    parts = splitters()["least-artifact"].split(joined, {"train": 24, "dev": 3, "test": 3}, options)
    assert {e.group for name in ("dev", "test") for e in parts[name]} == {"g2", "g5"}


def test_distance_is_least_at_uniform() -> None:
    assert (
        distance({"a": 0.5, "b": 0.5})
        < distance({"a": 0.6, "b": 0.4})
        < distance({"a": 1.0, "b": 0.0})
    )


def test_entities_are_held_out() -> None:
    parts = split("entities")
    learned = {entity for e in parts["train"] for entity in entities_of(e)}
    before_test = learned | {entity for e in parts["dev"] for entity in entities_of(e)}
    assert all(entities_of(e) - learned for e in parts["dev"])
    assert all(entities_of(e) - before_test for e in parts["test"])
    with pytest.raises(BadInput, match="no example contains an entity"):
        splitters()["entities"].split(
            [Example(id="1", inputs={"text": "雨"})], {"train": 1}, SplitterSettings()
        )


def test_a_missing_value_is_named() -> None:
    with pytest.raises(BadInput, match="has no 'colour'"):
        split("group", fields=("colour",))
    with pytest.raises(BadInput, match="--question"):
        split("flat", question="")
    with pytest.raises(BadInput, match="no gold for 'mood'"):
        split("flat", question="mood")


def test_sizes() -> None:
    assert parse_sizes("0.8,0.1,0.1", 11) == {"train": 9, "dev": 1, "test": 1}
    assert parse_sizes("rest,3", 10) == {"train": 7, "test": 3}
    assert parse_sizes("rest,1,2,3", 10, ("a", "b", "c", "d")) == {"a": 4, "b": 1, "c": 2, "d": 3}


@pytest.mark.parametrize(
    "text", ["", "0.5,x", "0.5,0.2", "rest,11", "-1,2", "1,1,1,7", "rest,nan", "rest,1e999"]
)
def test_bad_sizes(text: str) -> None:
    with pytest.raises(BadInput):
        parse_sizes(text, 10)


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 20), max_size=8), st.integers(0, 200))
def test_quotas_are_even(available: dict[int, int], wanted: int) -> None:
    given_ = quotas(available, wanted)
    assert sum(given_.values()) == min(wanted, sum(available.values()))
    lacking = [given_[k] for k in available if given_[k] < available[k]]
    assert not lacking or max(given_.values()) - min(lacking) <= 1


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 9))
def test_every_stretch_is_shared_out(count: int, first: int, second: int) -> None:
    parts = share_out(range(count), {"a": first, "b": second})
    assert sorted(parts["a"] + parts["b"]) == list(range(count))
    assert abs(len(parts["a"]) - count * first / (first + second)) <= 1


def test_a_group_is_one_however_it_is_composed() -> None:
    forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
    made = [
        Example(
            id=f"{n}-{form}",
            inputs={"premise": normalize(form, f"{n}번 감나무")},
            gold={"label": normalize(form, "긍정")},
        )
        for n in range(10)
        for form in forms
    ]
    parts = splitters()["group"].split(
        made, {"train": 10, "test": 10}, SplitterSettings(fields=("premise",))
    )
    homes = {(example.id.split("-")[0], name) for name, part in parts.items() for example in part}
    assert len(homes) == 10


def test_what_a_field_says_nothing_of_is_one_group() -> None:
    formats = [None, "年", "月", "日", None, "時"]
    made = [
        Example(
            id=str(n),
            inputs={"premise": f"{n}"},
            gold={"label": "x"},
            meta={"time_format": formats[n % 6]},
        )
        for n in range(60)
    ]
    parts = splitters()["group"].split(
        made, {"train": 40, "test": 20}, SplitterSettings(fields=("time_format",))
    )
    homes = {
        (example.meta["time_format"], name) for name, part in parts.items() for example in part
    }
    assert len(homes) == 5
    with pytest.raises(BadInput, match="has no 'time_span'"):
        splitters()["group"].split(
            made, {"train": 40, "test": 20}, SplitterSettings(fields=("time_span",))
        )
