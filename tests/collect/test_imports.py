"""Judgements of other tools, fitted to a form: whose question is whose, and what else may be meant by an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nikawa.collect.form import find_form, forms
from nikawa.collect.imports import fit_judgements, list_questions, map_questions
from nikawa.errors import BadInput
from nikawa.io.judgements import Reading
from nikawa.records import Example, Judgement


class FakeProject:
    """What fitting needs of a project: its form and settings."""

    def __init__(self, form: str, settings: Mapping[str, Any]) -> None:
        self.form = find_form(form)
        self.options = self.form.parse_options(self.form.initial_options(settings))


def fit(
    form: str,
    answers: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    skip_invalid: bool = False,
    **settings: Any,
) -> tuple[dict[str, Any], dict[str, str]]:
    """One worker's answer about an item, fitted: our questions with their answers, and the notes."""
    rows = [
        (place, Judgement(example="1", worker="w", question=question, answer=answer))
        for place, (question, answer) in enumerate(answers.items(), start=1)
    ]
    reading = Reading(Path("j.jsonl"), "records", iter(rows), kinds=dict(kinds or {}))
    example = Example(id="1", inputs=dict(inputs or {"text": "雨が降る。"}))
    project: Any = FakeProject(form, settings)
    fitted = fit_judgements(project, reading, lambda _: {"1": example}, skip_invalid=skip_invalid)
    notes = {note.what: note.done for note in reading.notes.report()}
    return {row.question: row.answer for _, row in fitted}, notes


@pytest.mark.parametrize("form", list(forms()))
def test_every_form_tells_what_it_asks_and_takes_its_own_answer(form: str) -> None:
    declared = find_form(form)
    assert declared.sample is not None
    sample = declared.sample
    kinds = list_questions(declared, declared.parse_options(dict(sample.settings)))
    assert set(sample.answer) <= set(kinds)
    pairs = dict(declared.to_judgements(dict(sample.answer)))
    fitted, _ = fit(form, pairs, sample.inputs, **sample.settings)
    assert fitted == pairs
    options = declared.parse_options(declared.initial_options(sample.settings))
    example = Example(id="1", inputs=dict(sample.inputs))
    for refused in sample.refused:
        try:
            fitted, _ = fit(form, refused, sample.inputs, **sample.settings)
        except BadInput:
            continue
        # a list of one label where a label is asked: what comes in keeps the rules
        if fitted:
            answer = declared.from_judgements(list(fitted.items()))
            problems = declared.validate(answer, example, options)
            assert not [problem for problem in problems if problem.where in fitted]


LABELS: dict[str, Any] = {"labels": ["good", "bad"]}


def test_another_name_of_the_question() -> None:
    fitted, notes = fit("choice", {"mood": "good"}, **LABELS)
    assert fitted == {"label": "good"}
    assert notes == {"answers to 'mood'": "read as answers to 'label'"}


def test_a_question_of_another_kind_is_skipped() -> None:
    fitted, notes = fit("choice", {"mood": "good", "stars": 4, "spans": []}, **LABELS)
    assert fitted == {"label": "good"}
    assert (
        notes["answers to 'stars'"]
        == notes["answers to 'spans'"]
        == "skipped: the form does not ask it"
    )
    assert fit("scale", {"mood": "good", "stars": 4})[0] == {"score": 4}


def test_texts_and_choices_are_told_apart_where_the_file_does() -> None:
    answers = {"mood": "good", "why": "晴れだから"}
    with pytest.raises(BadInput, match="several questions could be 'label': 'mood' or 'why'"):
        fit("choice", answers, **LABELS)
    assert fit("choice", answers, kinds={"mood": "choice", "why": "text"}, **LABELS)[0] == {
        "label": "good"
    }


def test_no_question_that_fits() -> None:
    with pytest.raises(
        BadInput, match=r"answers 'mood' \(choice\); the form asks 'spans' \(spans\)"
    ):
        map_questions({"mood": "choice"}, {"spans": "spans"}, "j.jsonl")


def test_what_is_only_written_otherwise_is_taken() -> None:
    names: dict[str, Any] = {"names": {"good": "よい", "bad": "わるい"}}
    assert fit("choice", {"label": "わるい"}, **LABELS, **names)[0] == {"label": "bad"}
    assert fit("choice", {"label": 1}, labels=["0", "1"])[0] == {"label": "1"}
    assert fit("scale", {"score": "3"})[0] == {"score": 3}
    assert fit("scale", {"score": 3.0})[0] == {"score": 3.0}
    assert fit("ranked", {"label": "경제"})[0] == {"label": ["경제"]}
    question = {"question": "雨の日に差すものは？", "choices": ["傘", "箸"]}
    assert fit("multiple-choice", {"answer": "箸"}, question)[0] == {"choice": 1}
    assert fit("translation", {"japanese": ["雨が降る。"]}, {"english": "It rains."})[0] == {
        "japanese": "雨が降る。"
    }


def test_an_answer_without_a_further_question_is_taken_and_noted() -> None:
    pair = {"premise": "雨が降る。", "hypothesis": "晴れだ。"}
    fitted, notes = fit("inference", {"label": "contradiction"}, pair, naturalness=True)
    assert fitted == {"label": "contradiction"}
    assert notes == {"answers without 'naturalness'": "taken as they are"}


@pytest.mark.parametrize(
    ("form", "answer", "inputs", "reason"),
    [
        ("choice", "banana", {"text": "雨"}, "the labels are entailment, contradiction, neutral"),
        ("scale", 9, {"text": "雨"}, "the scale goes from 0 to 5 in steps of 1"),
        (
            "span-tagging",
            [{"start": 0, "end": 9, "label": "PS"}],
            {"text": "雨"},
            "the labels are PS, LC",
        ),
        (
            "span-tagging",
            [{"start": 0, "end": 1, "label": "ZZ"}],
            {"text": "雨"},
            "the labels are PS, LC",
        ),
        ("translation", "It rains.", {"english": "It rains."}, "--skip-invalid"),
    ],
)
def test_what_the_form_does_not_take(
    form: str, answer: Any, inputs: dict[str, Any], reason: str
) -> None:
    question = next(iter(list_questions(find_form(form), FakeProject(form, {}).options)))
    with pytest.raises(
        BadInput, match=r"^j\.jsonl, line 1: the answer .* breaks a rule of the form"
    ) as caught:
        fit(form, {question: answer}, inputs)
    assert reason in str(caught.value)
    fitted, notes = fit(form, {question: answer}, inputs, skip_invalid=True)
    assert fitted == {}
    assert notes == {"answers that the form does not accept": "skipped because of --skip-invalid"}
