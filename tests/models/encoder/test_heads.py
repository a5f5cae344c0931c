"""What every head makes of examples, and what it reads back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.io.jsonl import check_record
from nikawa.metrics import Items, metrics
from nikawa.models.crf import tags_to_spans
from nikawa.models.encoder.heads.dialogue import format_state, number_values, read_ontology
from nikawa.models.encoder.heads.relation import cut_around_markers, insert_markers
from nikawa.models.encoder.heads.tagging import spans_to_tags
from nikawa.models.trees.decoding import best_tree
from nikawa.records import Kind, Span

KINDS: tuple[Kind, ...] = get_args(Kind)
S, O = ("<subj>", "</subj>"), ("<obj>", "</obj>")  # noqa: E741


@pytest.mark.parametrize("kind", KINDS)
def test_one_answer_each_in_order_from_the_inputs_of_the_task_alone(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented[kind], made(epochs=2)
    with pytest.raises(BadInput, match="is not trained on"):
        encoder.predict(case.task, case.ask)
    encoder.fit(case.task, case.learn)
    answers = encoder.predict(case.task, case.ask)
    assert [a.example for a in answers] == [e.id for e in case.ask]
    for answer in answers:
        check_record(answer)
    told = [
        replace(e, gold={}, inputs={**e.inputs, "other": "x"}, meta={"hint": e.gold})
        for e in case.ask
    ]
    assert encoder.predict(case.task, told) == answers
    assert encoder.predict(case.task, []) == []
    turned = encoder.predict(case.task, case.ask[::-1])[::-1]
    expected = [
        pytest.approx(a.answer, abs=1e-5) if kind == "similarity" else a.answer for a in answers
    ]
    assert [a.answer for a in turned] == expected
    gold = [e.gold[case.task.question] for e in case.ask]
    items = Items(
        gold,
        [a.answer for a in answers],
        [e.inputs for e in case.ask],
        case.task.labels,
        [a.scores for a in answers],
    )
    for name in case.task.metrics:
        assert 0 <= metrics()[name].evaluate(items, "official").value <= 100


GOOD: dict[Kind, tuple[str, float]] = {
    "tagging": ("entity-macro-f1", 0.9),
    "relation": ("relation-micro-f1", 0.9),
    "tree": ("las", 0.9),
    "dialogue": ("jga", 0.9),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GOOD)
def test_it_learns(kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]) -> None:
    case, encoder = invented[kind], made(epochs=14, learning_rate=3e-3, dropout=0.0)
    encoder.fit(case.task, case.learn)
    gold = [e.gold[case.task.question] for e in case.ask]
    found = [a.answer for a in encoder.predict(case.task, case.ask)]
    items = Items(gold, found, [e.inputs for e in case.ask], case.task.labels, [None] * len(gold))
    name, least = GOOD[kind]
    assert metrics()[name].evaluate(items, "official").value >= least


def test_tags_of_pieces_are_those_of_the_spans_that_hold_most_of_them() -> None:
    places = [(0, 1), (1, 3), (3, 3), (3, 4), (5, 7)]
    assert spans_to_tags(places, [Span(0, 3, "PS"), Span(5, 7, "LC")]) == [
        "B-PS",
        "I-PS",
        "",
        "O",
        "B-LC",
    ]
    assert spans_to_tags(places, [Span(2, 4, "PS")]) == ["O", "B-PS", "", "I-PS", "O"]
    assert spans_to_tags(places, [Span(0, 1, "PS"), Span(1, 3, "PS")]) == [
        "B-PS",
        "B-PS",
        "",
        "O",
        "O",
    ]
    assert spans_to_tags([(0, 6)], [Span(0, 2, "PS")]) == ["O"]


def test_spans_are_read_back_with_their_blanks_and_without_a_beginning() -> None:
    places = [(0, 2), (3, 5), (5, 5), (5, 6), (7, 8)]
    tags = ["B-PS", "I-PS", "O", "I-LC", "B-LC"]
    assert tags_to_spans(tags, places) == [Span(0, 5, "PS"), Span(5, 6, "LC"), Span(7, 8, "LC")]
    assert tags_to_spans(["B-PS", "B-PS"], [(0, 1), (1, 2)]) == [Span(0, 1, "PS"), Span(1, 2, "PS")]


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", "PS", "LC"])), max_size=12))
def test_spans_of_whole_pieces_survive(parts: list[tuple[int, str]]) -> None:
    places, spans, at = [], [], 0
    for size, label in parts:
        places += [(at + i, at + i + 1) for i in range(size)]
        if label:
            spans.append(Span(at, at + size, label))
        at += size
    assert tags_to_spans(spans_to_tags(places, spans), places) == spans


def test_long_texts_are_tagged_in_windows(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["tagging"], made(epochs=0.1, max_length=16, doc_stride=6)
    encoder.fit(case.task, case.learn)
    text, spans = "", []
    for example in case.learn[1:5]:
        spans += [
            Span(len(text) + s.start, len(text) + s.end, s.label) for s in example.gold["spans"]
        ]
        text += example.inputs["text"] + " "
    asked = [replace(case.learn[1], inputs={"text": text}, gold={"spans": spans})]
    rows = encoder._head.rows(encoder._work, asked, learn=True)
    assert len(rows) > 3
    assert max(len(ids) for ids in rows.tokens["input_ids"]) == 16
    covered = {i for _, places in rows.notes for a, b in places for i in range(a, b)}
    assert covered == {i for i, c in enumerate(text) if not c.isspace()}
    right = [(np.maximum(tags, 0),) for tags in rows.tokens["labels"]]
    (answer,) = encoder._head.answers(encoder._work, asked, rows, right)
    assert answer.answer == spans


MARKED = [
    ("가나 다라", (0, 2), (3, 5), "<subj>가나</subj> <obj>다라</obj>"),
    ("가나 다라", (3, 5), (0, 2), "<obj>가나</obj> <subj>다라</subj>"),
    ("가나다라", (0, 2), (2, 4), "<subj>가나</subj><obj>다라</obj>"),
    ("가나다라", (0, 4), (0, 2), "<subj><obj>가나</obj>다라</subj>"),
    ("가나다라", (2, 4), (0, 4), "<obj>가나<subj>다라</subj></obj>"),
    ("가나", (0, 2), (0, 2), "<subj><obj>가나</obj></subj>"),
    ("가나다라", (0, 3), (1, 4), "<subj>가<obj>나다</subj>라</obj>"),
]


@pytest.mark.parametrize(("text", "subject", "object_", "expected"), MARKED)
def test_markers_never_write_a_text_twice(
    text: str, subject: tuple[int, int], object_: tuple[int, int], expected: str
) -> None:
    assert insert_markers(text, [(*subject, S), (*object_, O)]) == expected


@given(st.integers(0, 40), st.lists(st.integers(0, 39), max_size=4), st.integers(4, 20))
def test_what_is_cut_keeps_the_ends_of_the_marked_stretch(
    n: int, places: list[int], room: int
) -> None:
    ids = [1000 if i in places else i for i in range(n)]
    kept = cut_around_markers(ids, {1000}, room)
    assert len(kept) == min(n, room)
    held = [i for i in places if i < n]
    if held and max(held) - min(held) < room:
        assert kept.count(1000) == len(set(held))
    elif held:
        assert 1000 in kept[: room // 2]
        assert 1000 in kept[room // 2 :]


@pytest.mark.parametrize("markers", ["typed", "untyped"])
def test_markers_are_pieces_of_their_own(
    markers: str, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["relation"], made(markers=markers, epochs=0.1)
    encoder.fit(case.task, case.learn)
    tokenizer = encoder._work.reader.tokenizer
    added = {"<subj>", "</subj>", "<obj>", "</obj>"}
    typed = {f"<{e}{r}>" for e in ("", "/") for r in ("subj:PER", "subj:ORG", "obj:LOC")}
    assert set(tokenizer.get_added_vocab()) >= added | (typed if markers == "typed" else set())
    rows = encoder._head.rows(encoder._work, case.ask[:1], learn=False)
    shown = tokenizer.convert_ids_to_tokens(rows.tokens["input_ids"][0].tolist())
    assert sum(piece.startswith("<") for piece in shown) == 4
    strange = replace(case.ask[0], inputs={**case.ask[0].inputs, "subject": Span(0, 2, "ANIMAL")})
    rows = encoder._head.rows(encoder._work, [strange], learn=False)
    assert "<subj>" in tokenizer.convert_ids_to_tokens(rows.tokens["input_ids"][0].tolist())


def test_a_particle_behind_a_marker_goes_on_with_its_word(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["relation"], made(markers="untyped", epochs=0.1)
    encoder.fit(case.task, case.learn)
    text = "하나람은 푸른읍 을 지나갔다."
    asked = replace(
        case.ask[0],
        inputs={"text": text, "subject": Span(0, 3, "PER"), "object": Span(5, 8, "LOC")},
    )
    rows = encoder._head.rows(encoder._work, [asked], learn=False)
    shown = encoder._work.reader.tokenizer.convert_ids_to_tokens(
        rows.tokens["input_ids"][0].tolist()
    )
    assert shown[1:14] == [
        "<subj>",
        "하",
        "##나",
        "##람",
        "</subj>",
        "##은",
        "<obj>",
        "푸",
        "##른",
        "##읍",
        "</obj>",
        "을",
        "지",
    ]


@pytest.mark.parametrize("markers", ["typed", "untyped"])
def test_relations_read_at_their_markers(
    markers: str, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case = invented["relation"]
    encoder = made(markers=markers, relation_reads="markers", epochs=12, learning_rate=3e-3)
    encoder.fit(case.task, case.learn)
    rows = encoder._head.rows(encoder._work, case.ask, learn=False)
    tokens = encoder._work.reader.tokenizer.convert_ids_to_tokens
    for ids, (subject, other) in zip(rows.tokens["input_ids"], rows.dense["opens"], strict=True):
        assert tokens(int(ids[subject])).startswith("<subj")
        assert tokens(int(ids[other])).startswith("<obj")
    answers = encoder.predict(case.task, case.ask)
    assert (
        np.mean([a.answer == e.gold["relation"] for a, e in zip(answers, case.ask, strict=True)])
        >= 0.9
    )
    encoder.save(tmp_path)
    assert (
        made(checkpoint=tmp_path, markers=markers, epochs=0).predict(case.task, case.ask) == answers
    )


def test_an_entity_that_is_not_shown_is_read_at_the_first_position(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["relation"]
    partial = replace(case.task, inputs=("text", "object"))
    encoder = made(relation_reads="markers", epochs=0.1)
    encoder.fit(partial, case.learn)
    opens = encoder._head.rows(encoder._work, case.ask, learn=False).dense["opens"]
    assert not opens[:, 0].any()
    assert opens[:, 1].all()


def test_a_head_of_another_kind_is_not_taken_for_a_trained_one(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    tree, dialogue = invented["tree"], invented["dialogue"]
    encoder = made(epochs=0.1)
    encoder.fit(tree.task, tree.learn)
    encoder.save(tmp_path)
    with pytest.raises(BadInput, match="has no trained head for a dialogue task; set epochs"):
        made(checkpoint=tmp_path, epochs=0).fit(dialogue.task, dialogue.learn)


def test_an_entity_outside_its_text_is_told(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["relation"]
    wrong = replace(case.learn[0], inputs={**case.learn[0].inputs, "object": Span(3, 900, "LOC")})
    with pytest.raises(BadInput, match="has no object inside its text"):
        made().fit(case.task, [wrong])


def _is_tree(heads: tuple[int, ...]) -> bool:
    for start in range(1, len(heads) + 1):
        node, steps = start, 0
        while node and steps <= len(heads):
            node, steps = heads[node - 1], steps + 1
        if node:
            return False
    return heads.count(0) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_tree_is_the_best_of_all_trees(n: int) -> None:
    random = np.random.default_rng(n)
    trees = [heads for heads in product(range(n + 1), repeat=n) if _is_tree(heads)]
    assert len(trees) == n ** (n - 1)
    for _ in range(60):
        scores = random.normal(size=(n, n + 1)).round(1)
        found = tuple(best_tree(scores))
        assert found in trees
        best = max(sum(scores[i, h] for i, h in enumerate(heads)) for heads in trees)
        assert sum(scores[i, h] for i, h in enumerate(found)) == pytest.approx(best)


def test_no_words_make_no_tree() -> None:
    assert best_tree(np.zeros((0, 1))) == []


@pytest.mark.parametrize("may", [True, False])
def test_no_answer_is_one_where_training_has_such_questions(
    may: bool, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented["reading"], made(epochs=0.1)
    encoder.fit(case.task, [e for e in case.learn if e.gold["answers"] or may])
    encoder.save(tmp_path)
    again = made(checkpoint=tmp_path, epochs=0)
    again.fit(case.task, [e for e in case.learn if e.gold["answers"]])
    asked = case.ask[:1]
    rows = again._head.rows(again._work, asked, learn=False)
    scores = np.zeros(len(rows.tokens["input_ids"][0]))
    scores[0], scores[rows.notes[0][0] + 2] = 9.0, 3.0
    (answer,) = again._head.answers(again._work, asked, rows, [(scores, scores)])
    assert (answer.answer == "") == may


@pytest.mark.parametrize("decode", ["tree", "argmax"])
def test_heads_by_themselves_need_not_make_a_tree(
    decode: str, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["tree"], made(decode=decode, epochs=0.2)
    encoder.fit(case.task, case.learn)
    work, rows = encoder._work, encoder._head.rows(encoder._work, case.ask[:1], learn=False)
    arcs = np.full((rows.notes[0], rows.notes[0] + 1), -9.0)
    arcs[0, 2], arcs[1, 1], arcs[2, 0] = 0.0, 0.0, -1.0
    if len(arcs) > 3:
        arcs[3, 3] = 0.0
    (answer,) = encoder._head.answers(work, case.ask[:1], rows, [(arcs, np.zeros(arcs.shape))])
    assert _is_tree(tuple(answer.answer["heads"])) == (decode == "tree")


def test_words_past_the_longest_input_are_still_answered(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["tree"], made(max_length=8)
    encoder.fit(case.task, case.learn)
    for example, answer in zip(case.ask, encoder.predict(case.task, case.ask), strict=True):
        assert len(answer.answer["heads"]) == len(example.inputs["words"])


def test_the_ontology_is_that_of_the_training_examples(invented: Mapping[Kind, Any]) -> None:
    case = invented["dialogue"]
    found = read_ontology(case.task, case.learn)
    assert found == {"숙소-예약 요일": ["월요일", "화요일"], "숙소-지역": ["남쪽", "북쪽", "서쪽"]}
    assert number_values(found)["숙소-지역", "남쪽"] == 2
    any_day = replace(
        case.learn[0], gold={"state": ["택시-출발지-A-B 빌딩", "숙소-예약 요일-dontcare"]}
    )
    assert read_ontology(case.task, [any_day]) == {
        "숙소-예약 요일": [],
        "택시-출발지": ["A-B 빌딩"],
    }
    with pytest.raises(BadInput, match="is not of the form domain-slot-value"):
        read_ontology(case.task, [replace(case.learn[0], gold={"state": ["이름"]})])


def test_gates_and_values_make_a_state() -> None:
    slots = ["a-x", "a-y", "a-z", "a-w", "a-v"]
    assert format_state(slots, [0, 1, 2, 2, 2], ["p", "p", "p", "none", ""]) == [
        "a-y-dontcare",
        "a-z-p",
    ]


@pytest.mark.parametrize("kind", ["text", "tagging", "relation", "tree"])
def test_a_label_the_task_does_not_know_is_told(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented[kind]
    wrong = {
        "text": "ugly",
        "tagging": [Span(0, 1, "ugly")],
        "relation": "ugly",
        "tree": {**case.learn[0].gold.get("tree", {}), "labels": ["ugly"] * 3},
    }[kind]
    with pytest.raises(BadInput, match="the label 'ugly', which is not a label of invented-"):
        made().fit(case.task, [replace(case.learn[0], gold={case.task.question: wrong})])


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_needs_no_value_on_the_host(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    """Tensors without values stop whatever a captured graph would: `.item()`, boolean indexing, shapes by values."""
    import torch
    from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

    from nikawa.models.encoder.batches import RowStore

    case, encoder = invented[kind], made()
    work, model = encoder._prepare(case.task, case.learn)
    store = RowStore(encoder._head.rows(work, case.learn, learn=True), torch.device("cpu"))
    length = int(store.row_lengths().max())
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        store.tokens = {name: mode.from_tensor(value) for name, value in store.tokens.items()}
        store.dense = {name: mode.from_tensor(value) for name, value in store.dense.items()}
        store.starts, store.lengths = (
            mode.from_tensor(store.starts),
            mode.from_tensor(store.lengths),
        )
        batch = store.gather(torch.zeros(8, dtype=torch.long), length)
        encoder._head.loss(model, batch).backward()
        with pytest.raises(DataDependentOutputException):
            bool(batch["input_ids"].sum())
