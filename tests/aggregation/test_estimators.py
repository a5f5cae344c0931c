"""The estimators of notebooks: the figures of crowd-kit where the rule is the same, in the form that was given."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import nikawa.aggregation
from nikawa.aggregation import MACE, DawidSkene, MajorityVote
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import apply_rule
from nikawa.agreement import fleiss_kappa, krippendorff_alpha
from nikawa.errors import BadInput, UnknownName

NAMES = {"c": "cat", "d": "dog", "f": "fox"}
VOTES = {"w1": "ccddffcdfc", "w2": "ccddffcdff", "w3": "cdddffccfc", "w4": "dcdcfdccdc"}
ROWS = [
    (f"t{item}", worker, NAMES[answer])
    for worker, answers in VOTES.items()
    for item, answer in enumerate(answers)
]
MAJORITY = [NAMES[answer] for answer in "ccddffccfc"]
"""What crowd-kit 1.4.2 gives; t7 is a tie of cat and dog."""
MODELS = [NAMES[answer] for answer in "ccddffcdfc"]
"""What crowd-kit's Dawid-Skene and MACE give: the tie goes to the better workers."""


def make_frame(names: tuple[str, ...] = ("task", "worker", "label")) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS, columns=list(names))


def test_majority_vote_is_that_of_crowd_kit() -> None:
    votes = MajorityVote()
    assert list(votes.fit_predict(ROWS).values()) == MAJORITY
    assert votes.skills_ == {"w1": 0.9, "w2": 0.8, "w3": 0.9, "w4": 0.6}
    assert votes.ties_ == ["t7"]
    assert votes.predict_proba()["t1"] == {"cat": 0.75, "dog": 0.25, "fox": 0.0}


def test_tied_items_can_be_left_out() -> None:
    labels = MajorityVote(ties="drop").fit_predict(ROWS)
    assert "t7" not in labels
    assert len(labels) == 9


def test_dawid_skene_is_that_of_crowd_kit() -> None:
    model = DawidSkene(1000, tol=1e-15)
    assert list(model.fit_predict(ROWS).values()) == MODELS
    assert model.converged_
    assert model.priors_ == pytest.approx({"cat": 0.4, "dog": 0.3, "fox": 0.3})
    assert model.errors_["w4", "cat"] == pytest.approx(
        {"cat": 0.75, "dog": 2 / 3, "fox": 0}, abs=1e-9
    )
    assert model.errors_["w4", "dog"] == pytest.approx({"cat": 0.25, "dog": 1 / 3, "fox": 2 / 3})
    assert model.loss_history_ == sorted(model.loss_history_)


def test_mace_gives_the_labels_of_crowd_kit() -> None:
    model = MACE()
    assert list(model.fit_predict(ROWS).values()) == MODELS
    assert min(model.skills_, key=model.skills_.get) == "w4"
    assert sum(model.thetas_["w4"].values()) == pytest.approx(1)


def test_agreement_is_that_of_crowd_kit_and_statsmodels() -> None:
    assert krippendorff_alpha(ROWS) == pytest.approx(0.4573055028462999, abs=1e-15)
    assert fleiss_kappa(ROWS) == pytest.approx(0.4433902593295382, abs=1e-15)


@pytest.mark.parametrize(("estimator", "rule"), [(DawidSkene, "dawid-skene"), (MACE, "mace")])
def test_the_figures_are_those_of_the_rules(estimator: Any, rule: str) -> None:
    items, workers, labels = zip(*ROWS, strict=True)
    verdicts = apply_rule(Table.from_columns(items, workers, labels), rule)
    model = estimator().fit(ROWS)
    assert list(model.labels_.values()) == verdicts.answers()
    assert verdicts.fit is not None
    assert [list(row.values()) for row in model.probas_.values()] == verdicts.fit.posterior.tolist()
    assert list(model.skills_.values()) == verdicts.fit.skill.tolist()


@pytest.mark.parametrize("names", [("task", "worker", "label"), ("example", "worker", "answer")])
def test_a_frame_gives_frames(names: tuple[str, ...]) -> None:
    frame = make_frame(names)
    model = DawidSkene().fit(frame)
    labels = model.fit_predict(frame)
    assert labels.to_dict() == DawidSkene().fit_predict(ROWS)
    assert (labels.name, labels.index.name) == ("agg_label", names[0])
    assert model.fit_predict_proba(frame).loc["t0"].sum() == pytest.approx(1)
    assert model.probas_.columns.tolist() == ["cat", "dog", "fox"]
    assert model.errors_.index.names == list(names[1:])
    assert model.errors_.loc[("w4", "cat"), "cat"] == pytest.approx(0.75)
    assert model.skills_.index.name == names[1]
    assert model.priors_.index.tolist() == ["cat", "dog", "fox"]
    assert MACE().fit(frame).thetas_.index.name == "worker"
    assert MajorityVote().fit(frame).skills_["w4"] == 0.6


def test_items_and_labels_keep_their_types() -> None:
    labels = MajorityVote().fit_predict([(7, "a", 1), (7, "b", 1), (8, "a", 2)])
    assert labels == {7: 1, 8: 2}
    assert all(type(label) is int for label in labels.values())
    column = np.array([7, 7, 8])
    assert MajorityVote().fit_predict({"task": column, "worker": [1, 2, 1], "label": column}) == {
        7: 7,
        8: 8,
    }


def test_what_is_refused() -> None:
    with pytest.raises(BadInput, match="this MajorityVote is not fitted; call fit first"):
        MajorityVote().predict()
    with pytest.raises(UnknownName, match="there is no rule for ties 'dorp'"):
        MajorityVote(ties="dorp")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="n_iter is 0"):
        DawidSkene(0)
    with pytest.raises(BadInput, match="w1 answers 'answer' twice about t0"):
        DawidSkene().fit([*ROWS, ROWS[0]])


def test_free_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nikawa.aggregation.verdicts.MAX_COUNT_CELLS", 10)
    with pytest.raises(BadInput, match="not free text"):
        MajorityVote().fit(ROWS)


def test_the_folder_is_imported_without_numpy() -> None:
    code = "import sys, nikawa.aggregation; print('numpy' in sys.modules, dir(nikawa.aggregation))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout
        == "False ['DawidSkene', 'MACE', 'MajorityVote', 'RankOptions', 'rank_compared']\n"
    )
    with pytest.raises(AttributeError, match="has no attribute 'GLAD'"):
        _ = nikawa.aggregation.GLAD
