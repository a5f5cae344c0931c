"""A dataset in a notebook: places, splits, filters, tables and what is printed."""

from __future__ import annotations

import pickle

import msgspec
import pytest

import nikawa as nk
from nikawa.records import Dataset, Split


@pytest.fixture(scope="module")
def mini() -> Dataset:
    return nk.load("mini-ja")


def test_places_go_over_all_splits_in_order(mini: Dataset) -> None:
    everything = [example for examples in mini.splits.values() for example in examples]
    assert list(mini) == everything
    assert len(mini) == len(everything)
    assert mini[0] == everything[0]
    assert mini[len(mini.splits["train"])] == mini.splits["dev"][0]
    assert mini[-1] == everything[-1]
    assert mini[2:4] == tuple(everything[2:4])
    with pytest.raises(IndexError, match="116 examples"):
        mini[116]


def test_a_split_is_a_sequence(mini: Dataset) -> None:
    dev = mini["dev"]
    assert isinstance(dev, Split)
    assert list(dev) == list(mini.splits["dev"])
    assert dev[:5] == mini.splits["dev"][:5]
    assert dev[0] in dev
    assert "dev" in mini
    assert mini[0] in mini
    assert len(dev.to_pandas()) == len(dev) == 30
    with pytest.raises(nk.BadInput, match="'valid'; known: dev, test, train"):
        mini["valid"]


def test_filter_by_function_split_tag_and_values(mini: Dataset) -> None:
    neutral = mini.filter(label="neutral")
    assert len(neutral)
    assert {example.gold["label"] for example in neutral} == {"neutral"}
    assert neutral.card == mini.card
    tagged = mini.filter(tag="negation", split="dev")
    assert list(tagged.splits) == ["dev"]
    assert all("negation" in example.tags for example in tagged)
    assert len(mini.filter(lambda example: example.id == mini[3].id)) == 1
    assert len(mini.filter(topic="family")) == sum(e.meta.get("topic") == "family" for e in mini)
    assert len(mini["dev"].filter(label="neutral")) == len(
        mini.filter(label="neutral", split="dev")
    )


def test_equality_pickling_and_stored_shape_are_as_before(mini: Dataset) -> None:
    assert pickle.loads(pickle.dumps(mini)) == mini
    assert pickle.loads(pickle.dumps(mini["dev"])) == mini["dev"]
    assert set(msgspec.to_builtins(mini)) == {"name", "language", "version", "card", "splits"}


def test_the_text_is_short_and_the_html_is_escaped(mini: Dataset) -> None:
    assert len(repr(mini)) < 1_000
    assert "dev" in repr(mini)
    assert "30" in repr(mini["dev"])
    example = nk.Example(id="<b>", inputs={"text": "<script>alert(1)</script>\x1b[2J"})
    odd = msgspec.structs.replace(mini, name="<i>x</i>", splits={"<u>": (example,)})
    html = odd._repr_html_()
    assert "<script>" not in html
    assert "<i>" not in html
    assert "<u>" not in html
    assert "\x1b" not in html + repr(odd)


def test_pandas_and_hugging_face_have_every_example(mini: Dataset) -> None:
    frame = mini.to_pandas()
    assert len(frame) == len(mini)
    assert list(frame["id"]) == [example.id for example in mini]
    assert list(dict.fromkeys(frame["split"])) == list(mini.splits)
    hugging = mini.to_hf()
    assert {name: len(part) for name, part in hugging.items()} == {
        "train": 58,
        "validation": 30,
        "test": 28,
    }
    assert hugging["validation"][0]["label"] == mini["dev"][0].gold["label"]
