"""Every pack that ships: no fault, natural words, gold that can be read back, nothing shared between splits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from nikawa.datasets.jamp.splits import categories, fragment_of, split_names, split_rule
from nikawa.generation.check import check_pack
from nikawa.generation.conditions import LABELS
from nikawa.generation.generator import Generator, load_pack_lexicon
from nikawa.generation.pack import Pack, load_pack, pack_names
from nikawa.generation.problem_reader import ProblemReader
from nikawa.generation.template import Literal
from nikawa.records import Example

OWN = [name for name in pack_names() if name != "jamp"]
"""Packs whose templates ship; JAMP's lie with the published data."""


@cache
def pack(name: str) -> Pack:
    return load_pack(name)


@cache
def problems(name: str, split: str, per: int = 2) -> tuple[Example, ...]:
    maker = Generator(pack(name), load_pack_lexicon(pack(name)), "3")
    return tuple(e for place in maker.plan_cells(split, per) for e in maker.problems(split, place))


def test_the_packs() -> None:
    assert OWN == [
        "comparative-ja",
        "modality-ja",
        "modality-ko",
        "negation-ja",
        "negation-ko",
        "temporal-ja",
        "temporal-ko",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_no_fault_is_found(name: str) -> None:
    _, troubles = check_pack(name)
    assert not [trouble.sentence(path) for path, trouble in troubles]


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_gold_reads_back(name: str) -> None:
    readers = {template.id: ProblemReader(template) for template in pack(name).templates}
    assert {e.meta["template"] for e in problems(name, "train")} == set(readers)
    for example in problems(name, "train"):
        reader = readers[example.meta["template"]]
        parsed = reader.read(example.inputs["premise"], example.inputs["hypothesis"])
        assert parsed is not None, example
        assert not parsed.faults
        assert reader.template.is_consistent(parsed.values, parsed.format)
        assert reader.template.compute_label(parsed.values, parsed.format) == example.gold["label"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_meta_and_origin(name: str) -> None:
    marks = set(pack(name).rules)
    for split in pack(name).head.cells:
        for example in problems(name, split):
            keys = {"template", "category", "time_format", "time_span", "cell"}
            assert set(example.meta) == (keys if split == "train" else keys | marks)
            assert example.gold.keys() == {"label"}
            assert example.gold["label"] in LABELS
            assert example.origin is not None
            assert example.origin.recipe == name
            assert example.origin.step == example.meta["template"]
            assert example.origin.gold == "derived"


@pytest.mark.parametrize("name", OWN)
def test_splits_share_no_masked_sentence(name: str) -> None:
    def masked(split: str, side: str) -> set[str]:
        return {re.sub(r"\d+", "0", str(example.inputs[side])) for example in problems(name, split)}

    for side in ("premise", "hypothesis"):
        assert masked("train", side).isdisjoint(masked("test", side))


@pytest.mark.parametrize("name", OWN)
def test_no_problem_twice(name: str) -> None:
    for split in pack(name).head.cells:
        found = Counter(
            (e.inputs["premise"], e.inputs["hypothesis"]) for e in problems(name, split)
        )
        assert max(found.values()) == 1


@pytest.mark.parametrize("name", OWN)
def test_no_word_is_excluded_and_no_slot_is_left(name: str) -> None:
    lexicon = load_pack_lexicon(pack(name))
    assert lexicon.excluded.isdisjoint((*lexicon.agents, *lexicon.nouns, *lexicon.verbs))
    for example in problems(name, "train"):
        text = example.inputs["premise"] + example.inputs["hypothesis"]
        assert not re.search(r"[A-Za-z{}_|]", text), text


@pytest.mark.parametrize("name", OWN)
def test_training_splits_leave_something_out_and_something_in(name: str) -> None:
    for split in pack(name).rules:
        marks = Counter(example.meta[split] for example in problems(name, "test"))
        assert set(marks) == {"seen", "unseen"}, split


@pytest.mark.parametrize("name", [name for name in OWN if name.startswith("temporal")])
def test_temporal_packs_have_every_fragment(name: str) -> None:
    assert len(pack(name).categories) == 45
    assert len({fragment_of(category) for category in pack("temporal-ja").categories}) == 12
    assert len({fragment_of(category)[0] for category in pack("temporal-ja").categories}) == 6
    assert len(pack("temporal-ja").categories) == len(pack("temporal-ko").categories)


def test_the_japanese_categories_are_those_of_jamp() -> None:
    assert set(pack("temporal-ja").categories) == categories()


@pytest.mark.parametrize("name", ["temporal-ja", "temporal-ko"])
def test_labels_are_even(name: str) -> None:
    counts = Counter(example.gold["label"] for example in problems(name, "train"))
    assert max(counts.values()) / counts.total() < 0.35


def _literals(name: str) -> Iterator[str]:
    for template in pack(name).templates:
        yield from (
            e.text for e in (*template.premise, *template.hypothesis) if isinstance(e, Literal)
        )


def test_sentences_end_and_are_spaced() -> None:
    for name in OWN:
        end = "." if name.endswith("ko") else "。"
        for example in problems(name, "train"):
            for text in example.inputs.values():
                assert text.endswith(end)
                assert text == text.strip()
                assert "  " not in text
                assert not name.endswith("ja") or " " not in text
        assert all("  " not in literal for literal in _literals(name))


def test_korean_shapes() -> None:
    """A particle of two shapes follows a name in the shape its last sound asks for."""
    from nikawa.text.conjugation_ko import attach

    agents = load_pack_lexicon(pack("temporal-ko")).agents
    right = {attach(agent, particle) for agent in agents for particle in ("은/는", "이/가")}
    for example in problems("temporal-ko", "train"):
        for text in example.inputs.values():
            for agent in agents:
                for found in re.findall(rf"(?<!\S)({agent}(?:은|는|이|가))(?= )", text):
                    assert found in right, text


def test_korean_names_are_one_token() -> None:
    """Parts of a name would go with the templates in which Kiwi cuts it, and so with their labels."""
    from nikawa.text import analyser
    from nikawa.text.conjugation_ko import attach

    analyse = analyser("kiwi", cache=0).analyse
    for agent in load_pack_lexicon(pack("temporal-ko")).agents:
        for text in (
            f"{attach(agent, '은/는')} 보고서를 읽었다.",
            f"{attach(agent, '이/가')} 공원까지 걸어간 것은 어제이다.",
        ):
            assert analyse(text)[0].form == agent, text


def test_lengths_of_time_are_even_in_korean() -> None:
    """Numbers of years, months, days and hours go with every label equally often."""
    lengths: Counter[str] = Counter()
    for cell in pack("temporal-ko").cells("train"):
        slots = {slot for slot in cell.template.slots.values() if slot.kind == "interval"}
        lengths[cell.label] += cell.weight * len(slots)
    assert min(lengths.values()) > 0.985 * max(lengths.values())


@pytest.mark.parametrize("name", ["jamp", "temporal-ja"])
def test_the_authors_splits_are_the_same_rules(name: str) -> None:
    import tomllib

    from msgspec import convert

    from nikawa.generation.pack import PACKS, PackHead, rules_of

    path = PACKS / name / "pack.toml"
    rules = rules_of(convert(tomllib.loads(path.read_text("utf-8")), PackHead), path)
    assert {split: dict(found) for split, found in rules.items()} == {
        s: dict(split_rule(s)) for s in split_names()
    }


def test_no_literal_of_the_comparative_pack_leans_to_a_label() -> None:
    found: dict[str, Counter[str]] = {}
    for example in problems("comparative-ja", "train"):
        text = f"{example.inputs['premise']}{example.inputs['hypothesis']}"
        for word in ("以上", "以下", "より", "ほど", "一番", "身長", "年齢", "成績", "重さ"):
            if word in text:
                found.setdefault(word, Counter())[str(example.gold["label"])] += 1
    assert len(found) == 9
    for labels in found.values():
        assert len(labels) == 3
        assert len(set(labels.values())) == 1


def test_people_of_one_age_are_not_told_apart() -> None:
    ages = {"sai-1": 0, "sai-3": 0, "sai-6": 0}
    for example in problems("comparative-ja", "train"):
        name = str(example.meta["template"])
        first, second, *_ = [
            *re.findall(r"\d+", f"{example.inputs['premise']}{example.inputs['hypothesis']}"),
            "",
            "",
        ]
        if name in ages and first == second:
            ages[name] += 1
            assert example.gold["label"] == "neutral"
    assert not ages["sai-1"]
