"""Walks every perturbation: a new one is held to this without a line here."""

from __future__ import annotations

import re
import time
from random import Random

import pytest

from nikawa.perturbation import Perturbation, apply, perturbations
from nikawa.perturbation.base import RECIPE
from nikawa.records import Example, Span
from nikawa.text import Analyser, analyser
from nikawa.text.analysers import DEFAULTS

NAMES = list(perturbations())
SENTENCES = (
    "銀色の狐が古い時計を磨いている。",
    "その船長は港で眠っています。",
    "魔女が塔に登った。",
    "狐が帽子をかぶっていて、狸がカメラ３台を庭で並べている。",
    "猫はＡＢＣという店に行きませんでした！",
    "은색 여우가 낡은 시계를 닦고 있다.",
    "선장은 항구에서 자고 있습니다.",
    "마녀가 탑에 올라갔어요.",
    "아이가 고양이에게 생선을 주었고, 노인이 마당에서 노래를 불렀다.",
    "ㅋㅋ 정말 좋은 날이에요 ㅠㅠ",
)
HOSTILE = (
    "",
    " ",
    "\n\n",
    "、",
    "。。。",
    "がをにで",
    "が",
    "をが",
    "狐がを",
    "이가을를",
    "가",
    "을",
    "👩‍👩‍👧‍👦が🎈を🎉",
    "가\u0301가\u0308を",
    "\u0301\u0302",
    "か\u3099は\u3099が",
    "ﾊﾟﾝがｱを",
    "שלום が عالم を",
    "\u202e狐が笛を\u202c",
    "狐が\x00笛を吹く",
    "狐が\ud800笛を吹く",
    "\ufeff狐が笛を吹く",
    "狐が\u3000笛を\t吹く",
    "<b>狐</b>が「笛」を吹く",
    "ᄀ",
    "ㄱ",
    "각",
)
LONG = {
    "one sentence": "銀色の狐が古い時計を磨いていて、",
    "subjects": "狐が",
    "relative clauses": "見る狐が",
    "nested": "狐が笛を吹く",
    "attributes": "狐の",
    "particles": "が",
    "korean": "여우가 시계를 닦고 ",
    "korean particles": "가",
    "emoji": "👩‍👧",
    "combining": "가\u0301",
}
LENGTH = 15_000


def reader(perturbation: Perturbation) -> Analyser:
    """The analyser a user would get for it."""
    best = (
        perturbation.analysers[0] if perturbation.analysers else DEFAULTS.get(perturbation.language)
    )
    return analyser(best or "characters")


def pair(text: str, key: str = "1") -> Example:
    inputs = {
        "premise": text,
        "hypothesis": text,
        "sentence1": text,
        "sentence2": text,
        "text": text,
    }
    return Example(
        id=key, inputs=inputs, gold={"label": "entailment"}, meta={"source": "here"}, group="g"
    )


def check_child(child: Example, parent: Example, perturbation: Perturbation) -> None:
    changed = [name for name in parent.inputs if child.inputs[name] != parent.inputs[name]]
    assert changed
    assert set(changed) <= set(perturbation.inputs)
    assert all(str(child.inputs[name]).strip() for name in changed)
    assert child.inputs.keys() == parent.inputs.keys()
    assert (child.id, child.gold, child.group) == (parent.id, parent.gold, parent.group)
    assert child.origin is not None
    assert (child.origin.recipe, child.origin.step) == (RECIPE, perturbation.name)
    assert child.origin.parents == (f"toy:test/{parent.id}",)
    assert child.origin.gold == "inherited"
    assert child.meta["effect"] == perturbation.effect
    assert child.meta["changed_inputs"] == "+".join(changed)
    assert all(child.meta[f"original_{name}"] == parent.inputs[name] for name in changed)


@pytest.mark.parametrize("name", NAMES)
def test_declaration(name: str) -> None:
    perturbation = perturbations()[name]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", perturbation.name)
    assert perturbation.language in ("", "ja", "ko")
    assert perturbation.effect in ("keeps", "neutral")
    assert perturbation.inputs
    assert len(set(perturbation.inputs)) == len(perturbation.inputs)
    assert 10 <= len(perturbation.title) <= 90


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("assume", [False, True])
def test_children_are_linked_and_texts_whole(name: str, assume: bool) -> None:
    perturbation = perturbations()[name]
    parents = {str(i): pair(text, str(i)) for i, text in enumerate((*SENTENCES, *HOSTILE))}
    kept = {key: repr(parent) for key, parent in parents.items()}
    children = apply(
        perturbation,
        parents.values(),
        reader(perturbation),
        source="toy:test",
        assume_eligible=assume,
    )
    for child in children:
        check_child(child, parents[child.id], perturbation)
    assert {key: repr(parent) for key, parent in parents.items()} == kept


@pytest.mark.parametrize("name", NAMES)
def test_some_sentence_is_changed(name: str) -> None:
    perturbation = perturbations()[name]
    examples = [pair(text, str(i)) for i, text in enumerate(SENTENCES)]
    assert list(apply(perturbation, examples, reader(perturbation), assume_eligible=True))


@pytest.mark.parametrize("name", NAMES)
def test_eligible_sentences_are_rewritten_and_same_each_time(name: str) -> None:
    perturbation, tool = perturbations()[name], reader(perturbations()[name])
    examples = [pair(text, str(i)) for i, text in enumerate(SENTENCES)]
    once = {child.id: child for child in apply(perturbation, examples, tool)}
    again = {child.id: child for child in apply(perturbation, examples[::-1], tool)}
    assert once == again
    assert set(once) == {e.id for e in examples if perturbation.eligible(e, tool)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_never_raises(name: str, text: str) -> None:
    perturbation, tool = perturbations()[name], reader(perturbations()[name])
    for example in (pair(text), Example(id="1", inputs={}), Example(id="1", inputs={"premise": 3})):
        assert perturbation.eligible(example, tool) in (True, False)
        changed = perturbation.rewrite(example, tool, Random(0))
        assert changed is None or changed.inputs != example.inputs


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", LONG)
def test_long_text_takes_its_time_and_no_more(name: str, kind: str) -> None:
    perturbation, tool = perturbations()[name], reader(perturbations()[name])
    text = (LONG[kind] * LENGTH)[:LENGTH]
    example = Example(id="1", inputs={"premise": text, "text": text})
    for short in SENTENCES:  # an analyser that is not loaded yet is not what is timed
        perturbation.eligible(pair(short), tool)
    began = time.process_time()
    perturbation.eligible(example, tool)
    perturbation.rewrite(example, tool, Random(0))
    assert time.process_time() - began < 2  # square time would be eight seconds


@pytest.mark.parametrize("name", NAMES)
def test_texts_that_positions_point_into_stay(name: str) -> None:
    perturbation, tool = perturbations()[name], reader(perturbations()[name])
    for text in SENTENCES:
        tagged = Example(id="1", inputs={"text": text}, gold={"spans": [Span(0, 2, "X")]})
        related = Example(
            id="1", inputs={"text": text, "subject": Span(0, 2), "object": Span(3, 4)}
        )
        for example in (tagged, related):
            changed = perturbation.rewrite(example, tool, Random(0))
            assert changed is None or changed.inputs["text"] == text
