from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.perturbation import Perturbation, apply, perturbations
from nikawa.perturbation.base import changeable_inputs, replace_inputs
from nikawa.records import Example, Origin, Span
from nikawa.text import Analyser, analyser

FOX = Example(
    id="33",
    inputs={"premise": "狐が笛を吹いている", "hypothesis": "狸が笛を吹いている"},
    gold={"label": "contradiction"},
    tags=frozenset({"Negation"}),
    meta={"image": "a.jpg"},
    group="狐",
)
IDLE = Example(
    id="34",
    inputs={"premise": "狐が眠っている", "hypothesis": "狸がいる"},
    gold={"label": "neutral"},
)


def test_child_is_linked_to_its_parent(ipadic: Analyser) -> None:
    (child,) = apply(perturbations("ja")["swap-o"], [FOX, IDLE], ipadic, source="zoo:test")
    assert child.id == "33"
    assert child.origin == Origin(
        recipe="perturb", parents=("zoo:test/33",), step="swap-o", gold="inherited"
    )
    assert child.gold == FOX.gold
    assert (child.tags, child.group) == (FOX.tags, FOX.group)
    assert child.inputs == {"premise": "狐を笛が吹いている", "hypothesis": "狸が笛を吹いている"}
    assert child.meta == {
        "image": "a.jpg",
        "effect": "neutral",
        "changed_inputs": "premise",
        "original_premise": "狐が笛を吹いている",
        "confidence": 0.98,
    }
    assert FOX.inputs["premise"] == "狐が笛を吹いている"


def test_hidden_gold_stays_hidden(ipadic: Analyser) -> None:
    hidden = Example(id="1", inputs=FOX.inputs)
    (child,) = apply(perturbations("ja")["scramble-o"], [hidden], ipadic)
    assert child.origin is not None
    assert (child.origin.gold, child.origin.parents) == ("hidden", ("1",))
    held = replace(FOX, origin=Origin(recipe="owner", gold="hidden"))
    (child,) = apply(perturbations("ja")["scramble-o"], [held], ipadic)
    assert child.hidden


def test_examples_stream(ipadic: Analyser) -> None:
    def endless() -> Iterator[Example]:
        while True:
            yield FOX

    assert next(apply(perturbations("ja")["swap-o"], endless(), ipadic)).id == "33"


def test_wrong_analyser_is_named() -> None:
    with pytest.raises(BadInput, match="swap-o does not read the tags of characters; take ipadic"):
        next(apply(perturbations("ja")["swap-o"], [FOX], analyser("characters")))


def test_draws_depend_on_seed_operation_and_id_alone(ipadic: Analyser) -> None:
    def shout(example: Example, _: Analyser, random: Random) -> Example | None:
        return replace_inputs(example, {"premise": f"{random.random()}"})

    def noisy(name: str) -> Perturbation:
        return Perturbation(
            name=name,
            language="",
            inputs=("premise",),
            effect="keeps",
            title="noise",
            eligible=lambda *_: True,
            rewrite=shout,
        )

    def drawn(name: str, examples: list[Example], seed: int = 0) -> dict[str, str]:
        return {e.id: e.inputs["premise"] for e in apply(noisy(name), examples, ipadic, seed=seed)}

    both = drawn("a", [FOX, IDLE])
    assert drawn("a", [IDLE, FOX]) == both
    assert drawn("a", [IDLE]) == {"34": both["34"]}
    assert drawn("b", [FOX])["33"] != both["33"]
    assert drawn("a", [FOX], seed=1)["33"] != both["33"]
    assert both["33"] != both["34"]


def test_inputs_that_positions_point_into_cannot_change() -> None:
    relation = Example(
        id="1", inputs={"text": "狐と狸", "subject": Span(0, 1), "object": Span(2, 3)}
    )
    tree = Example(id="1", inputs={"text": "狐", "words": []}, gold={"tree": {}})
    reading = Example(id="1", inputs={"context": "狐", "question": "誰"}, gold={"answers": []})
    assert changeable_inputs(relation, ("text",)) == changeable_inputs(tree, ("text",)) == {}
    assert changeable_inputs(reading, ("context", "question")) == {"question": "誰"}
    assert changeable_inputs(FOX, ("hypothesis", "premise", "text")) == {
        "hypothesis": "狸が笛を吹いている",
        "premise": "狐が笛を吹いている",
    }


def test_no_blank_and_no_unchanged_input() -> None:
    assert replace_inputs(FOX, {"premise": " \n"}) is None
    assert replace_inputs(FOX, {"premise": FOX.inputs["premise"]}) is None


def test_names_by_language() -> None:
    assert "swap-o" in perturbations("ja")
    assert "ja/swap-o" in perturbations()
    with pytest.raises(BadInput, match="did you mean 'swap-o'"):
        perturbations("ja")["swap-wo"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("狐\x00が笛を吹く", "the text cannot be analysed"),
        ("狐が\ud800笛を吹く", "the text cannot be analysed"),
        ("\u3000", "no subject"),
    ],
)
def test_a_text_that_no_analyser_takes_is_skipped_with_the_reason(
    ipadic: Analyser, text: str, reason: str
) -> None:
    swap = perturbations("ja")["swap-o"]
    example = Example(id="1", inputs={"text": text})
    assert swap.why is not None
    assert swap.why(example, ipadic).startswith(reason)
    assert list(apply(swap, [example], ipadic)) == []
