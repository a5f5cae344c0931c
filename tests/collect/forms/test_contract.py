"""What holds for every form: a new file in `collect/forms` is checked by being there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nikawa.collect.form import REFUSED, Form, Sample, forms
from nikawa.collect.project import create_project, open_project
from nikawa.collect.settings import Settings
from nikawa.collect.site import owner_messages as owner_words
from nikawa.collect.site import page_message, page_messages
from nikawa.recipes.answer_readers import ANSWER_READERS, Question, read_answer
from nikawa.recipes.recipe import Ask
from nikawa.records import Example, revive
from nikawa.serve.languages import LANGUAGES

each = pytest.mark.parametrize("form", forms().values(), ids=list(forms()))
PAGES = Path(str(files("nikawa.collect") / "pages"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["start", "end", "label", "question", "answer", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def sample_of(form: Form) -> Sample:
    assert form.sample is not None, f"{form.name} has no sample"
    return form.sample


def opened(form: Form) -> tuple[Sample, Example, Any]:
    sample = sample_of(form)
    example = revive(Example(id="i", inputs=dict(sample.inputs), gold={"hidden": "secret"}))
    return sample, example, form.parse_options(sample.settings)


@each
def test_it_takes_its_own_answer_and_refuses_others(form: Form) -> None:
    sample, example, options = opened(form)
    assert form.find_fault(example) == ""
    assert [p for p in form.validate(sample.answer, example, options) if not p.warning] == []
    assert len(sample.refused) >= 4
    for answer in sample.refused:
        assert any(not problem.warning for problem in form.validate(answer, example, options)), (
            answer
        )


@each
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_answer_makes_it_fail(form: Form, data: st.DataObject) -> None:
    sample, example, options = opened(form)
    keys = st.sampled_from([*form.questions, *sample.answer, "x"])
    answer = data.draw(st.dictionaries(keys, JSON, max_size=3))
    mutated = {
        key: data.draw(JSON) if data.draw(st.booleans()) else value
        for key, value in sample.answer.items()
    }
    for given_answer in (answer, mutated):
        found = form.validate(given_answer, example, options)
        assert all(problem.code in page_messages("en", form) for problem in found)
        if not any(not problem.warning for problem in found):
            form.gold_matches(given_answer, dict(sample.answer), options)


@each
def test_judgements_and_back(form: Form) -> None:
    sample, _, options = opened(form)
    rows = form.to_judgements(sample.answer)
    assert rows
    assert {question for question, _ in rows} <= {*form.questions, options.question}
    again = msgspec.json.decode(msgspec.json.encode(rows))
    assert form.from_judgements([(question, answer) for question, answer in again]) == sample.answer


@each
def test_its_control_items_can_be_passed(form: Form) -> None:
    sample, _, options = opened(form)
    assert form.gold_matches(sample.answer, sample.answer, options)


@each
def test_the_page_never_gets_gold(form: Form) -> None:
    _, example, options = opened(form)
    shown = msgspec.json.encode(form.view(form, example, options)).decode()
    assert "secret" not in shown


@each
def test_its_words_are_there_in_every_language(form: Form) -> None:
    sample, example, options = opened(form)
    assert set(form.title) == set(form.words) == set(form.guideline) == set(LANGUAGES)
    assert "prompt" in form.words["en"]
    for key, text in form.words["en"].items():
        for language in LANGUAGES:
            assert form.words[language][key].strip()
            assert holes(form.words[language][key]) == holes(text), (language, key)
    assert form.words["ja"].keys() == form.words["ko"].keys() == form.words["en"].keys()
    assert not form.words["en"].keys() & page_messages("en").keys() - {"input_choices"}
    for answer in sample.refused:
        for problem in form.validate(answer, example, options):
            for language in LANGUAGES:
                told = page_message(language, problem.code, problem.values, form)
                assert told != problem.code
                assert "{" not in told


def holes(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


@each
def test_a_new_project_says_all_its_settings(form: Form, tmp_path: Path) -> None:
    sample, example, _ = opened(form)
    first = Settings(title="試し", form=form.name, options=dict(sample.settings))
    project = create_project(tmp_path / "p", first, [example])
    table_ = tomllib.loads((project.folder / "project.toml").read_text("utf-8"))["form_settings"]
    assert set(table_) == {found.encode_name for found in msgspec.structs.fields(project.options)}
    assert open_project(tmp_path / "p").options == project.options
    assert len(project.guideline("ko")) > 100


def ask_of(form: Form, options: Any, sample: Sample) -> Question:
    labels = getattr(options, "labels", ("entailment", "contradiction", "neutral"))
    scale = (options.low, options.high) if hasattr(options, "low") else None
    ask = Ask(
        "ask",
        "",
        (),
        form.name,
        options.question,
        "workers",
        labels=tuple(labels),
        scale=scale,
        texts="texts",
    )
    count = (
        len(sample.answer[options.question])
        if isinstance(sample.answer[options.question], list)
        else 1
    )
    return Question(ask, 1, count)


def test_the_names_are_those_of_the_recipes() -> None:
    assert set(forms()) == set(ANSWER_READERS)


@each
def test_recipes_read_its_answers_as_they_are(form: Form) -> None:
    sample, example, options = opened(form)
    answer = dict(form.to_judgements(sample.answer))[options.question]
    read = read_answer(answer, ask_of(form, options, sample), example)
    assert read == bare(answer)


def bare(answer: Any) -> Any:
    """Questions without the place of their answer, which recipes find themselves."""
    if (
        isinstance(answer, list)
        and answer
        and isinstance(answer[0], Mapping)
        and "question" in answer[0]
        and "type" not in answer[0]
    ):
        return [{"question": pair["question"], "answer": pair["answer"]} for pair in answer]
    return answer


def test_every_word_the_scripts_ask_for_is_there() -> None:
    known = {key for form in forms().values() for key in page_messages("en", form)} | set(
        owner_words("en")
    )
    for script in sorted((PAGES / "static").glob("*.js")):
        text = script.read_text("utf-8")
        asked = set(re.findall(r"\bmessages\.([a-z_0-9]+)", text)) | set(
            re.findall(r'\bsay\("([a-z_]+)"', text)
        )
        asked |= set(re.findall(r'"(key_[a-z]+)"', text))
        assert asked <= known, (script.name, asked - known)
    page = (PAGES / "worker.html").read_text("utf-8")
    assert set(re.findall(r"t\[[\"'](\w+)[\"']\]", page)) <= set(page_messages("en"))


def test_a_refusal_of_shape_has_words() -> None:
    assert all(page_message(language, REFUSED) != REFUSED for language in LANGUAGES)


def test_the_premise_is_read_before_the_hypothesis() -> None:
    form = forms()["choice"]
    pair = Example(id="i", inputs={"hypothesis": "b", "note": "c", "premise": "a"})
    assert list(form.view(form, pair, form.parse_options({}))) == ["premise", "hypothesis", "note"]
    chosen = form.parse_options({"shows": ["note", "premise"]})
    assert list(form.view(form, pair, chosen)) == ["note", "premise"]
