"""Nikawa finds the dataset, the metric and the form of this package once it is installed."""

from __future__ import annotations

import doctest

import nikawa_plugin_example.metric
import pytest

import nikawa as nk
from nikawa.collect.form import find_form
from nikawa.records import Example


def test_the_dataset_loads() -> None:
    dataset = nk.load("politeness-ja")
    assert {split: len(examples) for split, examples in dataset.splits.items()} == {
        "train": 8,
        "dev": 6,
    }
    assert {example.gold["label"] for example in dataset} == {"polite", "plain"}


def test_the_metric_weighs_labels_alike() -> None:
    result = nk.Metric("balanced-accuracy")(["plain"] * 4, ["plain", "plain", "plain", "polite"])
    assert result.value == 0.5
    assert result.detail == [1.0, 1.0, 1.0, 0.0]
    assert doctest.testmod(nikawa_plugin_example.metric).failed == 0


def test_the_form_takes_its_sample_and_refuses_the_rest() -> None:
    form = find_form("sure-choice")
    assert form.sample is not None
    example = Example(id="1", inputs=dict(form.sample.inputs))
    options = form.parse_options({})
    assert form.validate(form.sample.answer, example, options) == []
    for answer in form.sample.refused:
        assert form.validate(answer, example, options)
    assert (
        form.differ([{"label": "polite", "sure": 1}, {"label": "polite", "sure": 3}], options)
        is False
    )


@pytest.mark.parametrize("language", ["ja", "ko", "en"])
def test_every_language_has_every_message(language: str) -> None:
    form = find_form("sure-choice")
    assert form.words[language].keys() == form.words["en"].keys()
    assert form.title[language]
    assert form.guideline[language]


def test_page_and_script_are_there() -> None:
    form = find_form("sure-choice")
    assert form.assets is not None
    assert (form.assets / form.page).is_file()
    assert (form.assets / "static" / form.code).is_file()
