"""The rules workers write under, and the choices forms make for them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.collect.form import Problem, find_form
from nikawa.collect.forms._rules import MAX_TEXT_CHARS, check_texts, count_negations, is_far
from nikawa.collect.forms.relation import likely_labels
from nikawa.errors import BadInput
from nikawa.records import Example, Span
from nikawa.text.distance import relative_distance as distance


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("犬は走っていない。", 1),
        ("水が少ないので、間もなく止まる。", 0),
        ("雨は降りませんでした。", 1),
        ("彼は窓を開けず、戸も開けなかった。", 2),
        ("必ず二つずつ配る。", 0),
        ("店がなくなった。", 0),
        ("朝食を食べずに出かけた。", 1),
        ("개가 달리지 않는다.", 1),
        ("안내원이 안전하게 안내한다.", 0),
        ("나는 안 가고 그는 못 간다.", 2),
        ("그는 학생이 아니다.", 1),
        ("돈이 없다.", 1),
        ("The dog doesn't run and nobody knows.", 2),
        ("A notable knot.", 0),
    ],
)
def test_negations_are_counted(text: str, count: int) -> None:
    assert count_negations(text) == count


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [("", "", 0.0), ("あ", "", 1.0), ("いろは", "いろは", 0.0), ("kitten", "sitting", 3 / 7)],
)
def test_distance_is_over_the_longer_text(one: str, other: str, far: float) -> None:
    assert distance(one, other) == distance(other, one) == pytest.approx(far)


@given(
    st.text("あいう", max_size=12),
    st.text("あいう", max_size=12),
    st.sampled_from([0.25, 0.5, 0.75, 1.0]),
)
@settings(max_examples=60)
def test_far_is_that_distance_or_more(one: str, other: str, limit: float) -> None:
    assert is_far(one, other, limit) == (distance(one, other) >= limit)


def test_a_text_of_a_megabyte_is_not_compared_letter_by_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nikawa.collect.forms._rules.relative_distance", lambda *_: pytest.fail("compared")
    )
    assert is_far("長" * 1_000_000, "短い文。", 0.75)


def table(one: str, other: str) -> int:
    """Levenshtein by the whole table."""
    row = list(range(len(other) + 1))
    for place, char in enumerate(one, start=1):
        before, row[0] = row[0], place
        for column, wanted in enumerate(other, start=1):
            steps = (before + (char != wanted), row[column] + 1, row[column - 1] + 1)
            before, row[column] = row[column], min(steps)
    return row[-1]


@settings(max_examples=150, deadline=None)
@given(st.text("いろは", max_size=9), st.text("いろは", max_size=9))
def test_distance_is_that_of_the_table(one: str, other: str) -> None:
    assert distance(one, other) == table(one, other) / max(len(one), len(other), 1)


def test_written_texts() -> None:
    found = check_texts(["", "あ", "あ", "い\nう", "え" * (MAX_TEXT_CHARS + 1)])
    assert [(p.code, p.where) for p in found] == [
        ("text_missing", "text-0"),
        ("text_twice", "text-2"),
        ("text_lines", "text-3"),
        ("text_long", "text-4"),
    ]


def told(name: str, answer: dict[str, Any], inputs: dict[str, Any], **how: Any) -> list[Problem]:
    chosen = find_form(name)
    return chosen.validate(answer, Example(id="i", inputs=inputs), chosen.parse_options(how))


def test_a_sentence_that_is_negated_already_may_stay_so() -> None:
    """Only what is negated more often than the given sentence contradicts by negation."""
    inputs = {"text": "白い犬は川辺を走っていない。"}
    texts = ["黒い犬は川辺を走っていない。", "白い猫は川辺を走っていない。"]
    assert told("write-contradictions", {"contradictions": texts}, inputs, texts=2, negated=0) == []


def test_a_negation_in_the_false_hypothesis_alone_is_told_not_refused() -> None:
    texts = ["祖母は毎日市場へ行く。", "祖母は市場へ行かない。", "祖母は豆腐が大好きだ。"]
    (problem,) = told(
        "write-hypotheses", {"hypotheses": texts}, {"premise": "祖母は毎朝市場で豆腐を買う。"}
    )
    assert (problem.code, problem.where, problem.warning) == ("text_negated", "text-1", True)


def relation(subject: str, obj: str, **more: Any) -> Example:
    spans = {"subject": Span(0, 2, subject), "object": Span(3, 5, obj)}
    return Example(id="i", inputs={"text": "가나 다라마", **spans, **more})


def test_few_relations_come_first() -> None:
    chosen = find_form("relation")
    options = chosen.parse_options({})
    assert likely_labels(relation("PER", "DAT"), options) == [
        "no_relation",
        "per:date_of_birth",
        "per:date_of_death",
    ]
    assert all(
        label.startswith(("org:", "no_"))
        for label in likely_labels(relation("ORG", "XYZ"), options)
    )
    assert likely_labels(relation("PER", "DAT", candidates=["org:product"]), options) == [
        "no_relation",
        "org:product",
    ]
    assert likely_labels(relation("", ""), options) == list(options.labels)
    own = chosen.parse_options(
        {"labels": ["a", "b", "c"], "candidates": {"X": ["b"]}, "always": ["c"]}
    )
    assert likely_labels(relation("X", "Y"), own) == ["b", "c"]


def test_control_items_of_each_kind() -> None:
    scale, ranked, spans, further = map(
        find_form, ("scale", "ranked", "span-tagging", "further-answers")
    )
    assert scale.gold_matches({"score": 4}, {"score": 3.2}, scale.parse_options({}))
    assert not scale.gold_matches({"score": 1}, {"score": 3.2}, scale.parse_options({}))
    assert ranked.gold_matches(
        {"label": ["정치", "경제"]}, {"label": "정치"}, ranked.parse_options({})
    )
    assert not ranked.gold_matches(
        {"label": ["경제", "정치"]}, {"label": "정치"}, ranked.parse_options({})
    )
    person, place = ({"start": 0, "end": 3, "label": "PS"}, {"start": 5, "end": 7, "label": "LC"})
    assert spans.gold_matches({"spans": []}, {"spans": []}, spans.parse_options({}))
    assert not spans.gold_matches(
        {"spans": [person]}, {"spans": [person, place]}, spans.parse_options({})
    )
    assert spans.gold_matches(
        {"spans": [person]}, {"spans": [person, place]}, spans.parse_options({"share": 0.6})
    )
    rights = {"answers": [{"text": "석유등", "start": 24}, {"text": "석유 등불", "start": 24}]}
    assert further.gold_matches({"answer": "석유등", "start": 2}, rights, further.parse_options({}))
    assert not further.gold_matches({"answer": "전등"}, rights, further.parse_options({}))


def test_a_scale_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="2 to 101 numbers"):
        find_form("scale").parse_options({"low": 5, "high": 0})
    with pytest.raises(BadInput, match="no setting 'lables'"):
        find_form("choice").parse_options({"lables": ["a", "b"]})


def test_finer_scales() -> None:
    inputs = {"sentence1": "一", "sentence2": "二"}
    assert told("scale", {"score": 2.5}, inputs, step=0.5) == []
    assert told("scale", {"score": 2.25}, inputs, step=0.5)[0].code == "choose_one"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ("english", "japanese", "japanese", "japanese")),
        ({"script": "any"}, ("english", "japanese", "japanese", "any")),
        ({"target_language": "ko"}, ("english", "korean", "korean", "korean")),
        (
            {"source_language": "ja", "target_language": "zh-Hant"},
            ("japanese", "chinese", "chinese", "han"),
        ),
        ({"source_language": "ja"}, ("text", "japanese", "japanese", "japanese")),
        ({"source_language": "eo", "target_language": "ain"}, ("eo", "ain", "ain", "any")),
        (
            {"source_language": "ko", "target_language": "en", "question": "mine"},
            ("korean", "mine", "english", "latin"),
        ),
    ],
)
def test_a_translation_is_called_after_its_languages(
    settings: dict[str, Any], names: tuple[str, ...]
) -> None:
    form = find_form("translation")
    options = form.parse_options(settings)
    assert (options.source, options.question, options.begun, options.script) == names
    assert form.initial_options(settings)["question"] == names[1]
    again = form.parse_options(form.initial_options(settings))
    assert again == options


def test_settings_of_earlier_versions_tell_the_languages() -> None:
    form = find_form("translation")
    found = form.parse_options({"source": "korean", "question": "korean_fixed", "script": "any"})
    assert (found.source_language, found.target_language) == ("ko", "und")
    found = form.parse_options({"source": "text", "question": "korean", "script": "korean"})
    assert (found.source_language, found.target_language) == ("und", "ko")
    assert form.initial_options({"question": "x"})["target_language"] == "und"


def test_a_language_is_a_tag() -> None:
    with pytest.raises(BadInput, match="target_language"):
        find_form("translation").parse_options({"target_language": "Korean!"})


def codes_of(text: Any, inputs: dict[str, str] | None = None, **settings: Any) -> list[str]:
    form = find_form("free-text")
    example = Example(id="1", inputs=inputs or {"text": "港の朝市で魚を売る。"})
    found = form.validate({"text": text}, example, form.parse_options(settings))
    return [f"{problem.code}{'?' if problem.warning else ''}" for problem in found]


@pytest.mark.parametrize(
    ("text", "settings", "codes"),
    [
        ("二行\nある", {}, ["text_lines"]),
        ("二行\nある", {"lines": True}, []),
        ("短い", {"shortest": 3}, ["text_short"]),
        ("長い文", {"longest": 2}, ["text_long"]),
        ("Hello", {"script": "korean"}, ["not_korean"]),
        ("Hello", {"script": "thai"}, ["not_script"]),
        ("魚を買う。", {"contains": ["text"]}, ["text_lacks"]),
        ("昨日、港の朝市で魚を売る。", {"omits": ["text"]}, ["text_forbidden"]),
        ("港の朝市で魚を買う。", {"most_copied": 0.5}, ["text_copied"]),
        ("まるで違う話", {"edit_distance": 0.5}, ["text_far"]),
        ("売らない。", {"negated": 0}, ["text_negated"]),
        ("売る", {"rules": [{"pattern": "。$", "says": "x"}]}, ["text_rule"]),
        (
            "やばい",
            {"rules": [{"pattern": "やばい", "says": "x", "refuse": True, "warning": True}]},
            ["text_rule?"],
        ),
        (["一つ", "一つ"], {"texts": 2}, ["text_twice"]),
        (["一つ", "二つ"], {"texts": 2}, []),
        ("一つ", {"texts": 2}, ["answer_invalid"]),
    ],
)
def test_rules_of_free_text(text: Any, settings: dict[str, Any], codes: list[str]) -> None:
    assert codes_of(text, **settings) == codes


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"rules": [{"pattern": "(", "says": "x"}]}, "the pattern '.' of rule 1 is not a regular"),
        ({"shortest": 9, "longest": 3}, "shortest = 9 is more than longest = 3"),
        ({"rules": [{"pattern": "a"}]}, "says"),
        ({"shortest": 0}, "shortest"),
    ],
)
def test_rules_that_cannot_be_kept(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        find_form("free-text").parse_options(settings)


def test_the_relation_of_the_root_is_one_of_the_relations() -> None:
    with pytest.raises(BadInput, match="root_label = 'top' is not one of the labels"):
        find_form("tree").parse_options({"root_label": "top"})
    assert find_form("tree").parse_options({"root_label": "VP"}).root_label == "VP"
