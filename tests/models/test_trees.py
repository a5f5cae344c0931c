"""Dependency trees: the decoder against all trees there are, and what the parsers learn."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput
from nikawa.metrics import Items, metrics
from nikawa.models import Trainable, model
from nikawa.models.trees import graph
from nikawa.models.trees.decoding import best_projective_tree
from nikawa.models.trees.features import arc_features, sentence_atoms, word_atoms
from nikawa.records import Example, Kind


def trees(n: int) -> Iterator[tuple[int, ...]]:
    """All projective trees over n words with one root."""
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and _reaches_root(heads) and not _crosses(heads):
            yield heads


def _reaches_root(heads: Sequence[int]) -> bool:
    for word in range(1, len(heads) + 1):
        at, steps = word, 0
        while at and steps <= len(heads):
            at, steps = heads[at - 1], steps + 1
        if at:
            return False
    return True


def _crosses(heads: Sequence[int]) -> bool:
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_no_tree_is_better(n: int) -> None:
    every = list(trees(n))
    assert len(every) == [1, 2, 7, 30, 143][n - 1]  # OEIS A006013
    for seed in range(20):
        scores = np.random.default_rng(seed).normal(size=(n, n + 1))
        found = best_projective_tree(scores)
        assert tuple(found) in every
        best = max(sum(scores[i, head] for i, head in enumerate(heads)) for heads in every)
        assert scores[np.arange(n), found].sum() == pytest.approx(best)


def test_words_without_morphemes_or_with_too_many_tags() -> None:
    whole = word_atoms({"form": "갔다.", "lemma": "가 았 다 .", "pos": "VV+EP+EF+SF"})
    assert (
        len(
            {
                whole,
                word_atoms({"form": "갔다."}),
                word_atoms({"form": "갔다.", "lemma": "가 다", "pos": "VV"}),
            }
        )
        == 3
    )
    assert whole == word_atoms({"form": "갔다 .", "lemma": "가 았 다 .", "pos": "VV+EP+EF+SF"})
    rows = sentence_atoms([{"form": "가"}, {"form": "나"}])
    assert arc_features(rows).shape[:2] == (2, 3)


def _sentence(name: str, *rows: tuple[str, int, str]) -> Example:
    words = [{"form": form, "lemma": form, "pos": form.upper()} for form, _, _ in rows]
    tree = {"heads": [head for _, head, _ in rows], "labels": [label for _, _, label in rows]}
    return Example(
        id=name, inputs={"text": " ".join(r[0] for r in rows), "words": words}, gold={"tree": tree}
    )


def fitted(name: str, task: Any, examples: Sequence[Example], **settings: Any) -> Trainable:
    found = model(name, settings=settings)
    assert isinstance(found, Trainable)
    found.fit(task, examples)
    return found


def test_heads_to_the_left_are_given_where_they_are_taught(invented: Mapping[Kind, Any]) -> None:
    task = invented["tree"].task
    learn = [
        _sentence(f"{i}", ("dogs", 2, "subj"), ("chase", 0, "root"), (thing, 2, "obj"))
        for i, thing in enumerate(("cats", "mice", "birds"))
    ]
    answer = fitted("tree-graph", task, learn).predict(task, learn[:1])[0].answer
    assert answer == {"heads": [2, 0, 2], "labels": ["subj", "root", "obj"]}


def test_only_what_the_task_shows_is_used(invented: Mapping[Kind, Any]) -> None:
    case = invented["tree"]
    shown = replace(case.task, inputs=("text",))
    for name in ("tree-graph", "right-headed"):
        answers = fitted(name, shown, case.learn).predict(shown, case.ask)
        blind = [replace(e, inputs={"text": e.inputs["text"]}) for e in case.ask]
        assert answers == fitted(name, shown, case.learn).predict(shown, blind)
        with pytest.raises(BadInput, match="neither words nor text"):
            fitted(name, shown, [replace(case.learn[0], inputs={})])


def test_the_chain_falls_back_from_unseen_tags(invented: Mapping[Kind, Any]) -> None:
    case = invented["tree"]
    found = fitted("right-headed", case.task, case.learn)
    words = [{"form": "x", "lemma": "x", "pos": pos} for pos in ("NNG+NNP+JKB", "NNB+JKS", "SL")]
    asked = Example(id="new", inputs={"text": "x x x", "words": words})
    labels = case.learn[1].gold["tree"]["labels"]
    assert found.predict(case.task, [asked])[0].answer == {
        "heads": [2, 3, 0],
        "labels": ["NP_AJT", "NP_SBJ", "NP_AJT"],
    }
    assert "NP_AJT" in labels


def test_trees_that_do_not_fit_their_words_are_refused(invented: Mapping[Kind, Any]) -> None:
    case = invented["tree"]
    for tree, what in (
        ({"heads": [2], "labels": ["NP"]}, "has 3 words, 1 heads and 1 labels"),
        (
            {"heads": [1, 3, 0], "labels": ["A", "B", "C"]},
            "a head that is neither 0 nor another of its 3 words",
        ),
        (
            {"heads": [2, 4, 0], "labels": ["A", "B", "C"]},
            "a head that is neither 0 nor another of its 3 words",
        ),
    ):
        with pytest.raises(BadInput, match=what):
            fitted("tree-graph", case.task, [replace(case.learn[0], gold={"tree": tree})])


def test_one_label_no_words_and_small_pickles(invented: Mapping[Kind, Any]) -> None:
    case = invented["tree"]
    learn = [
        replace(e, gold={"tree": {**e.gold["tree"], "labels": ["X"] * len(e.inputs["words"])}})
        for e in case.learn
    ]
    found = fitted("tree-graph", case.task, learn)
    empty = Example(id="none", inputs={"text": "", "words": []})
    assert [a.answer["labels"] for a in found.predict(case.task, [*case.ask[:1], empty])] == [
        ["X"] * 3,
        [],
    ]
    assert len(pickle.dumps(found)) < 100_000


@pytest.mark.slow
def test_the_parser_beats_the_chain_on_klue(shared_data: Path) -> None:
    """Learned from 300 sentences only; the whole of dev is in the table of models."""
    examples = load("klue-dp:dev", data=shared_data).splits["dev"]
    task, asked = tasks()["klue-dp"], examples[1000:1150]
    right = {}
    for name in ("right-headed", "tree-graph"):
        answers = [a.answer for a in fitted(name, task, examples[:300]).predict(task, asked)]
        items = Items([e.gold["tree"] for e in asked], answers, labels=task.labels)
        right[name] = [
            metrics()[m].evaluate(items, "official").value for m in ("uas-micro", "las-micro")
        ]
    assert all(
        parser > chain + 0.08
        for parser, chain in zip(right["tree-graph"], right["right-headed"], strict=True)
    )


def test_what_does_not_fit_in_memory_is_made_again(
    invented: Mapping[Kind, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = invented["tree"]
    answers = fitted("tree-graph", case.task, case.learn).predict(case.task, case.ask)
    monkeypatch.setattr(graph, "MAX_CACHE_BYTES", 10_000)
    assert fitted("tree-graph", case.task, case.learn).predict(case.task, case.ask) == answers
