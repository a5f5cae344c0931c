"""The rules of aggregation as objects with `fit_predict`, for people who come from crowd-kit or scikit-learn.

    MajorityVote().fit_predict(frame)      # the label of each item
    DawidSkene().fit(frame).predict_proba()

They compute what `nikawa aggregate --rule majority | dawid-skene | mace` computes: `dawid_skene`, `mace` and `verdicts`
do the work. What is returned has the form of what was given: pandas objects for a pandas DataFrame (index and columns
as crowd-kit names them), plain dictionaries for anything else.

Majority vote and Dawid-Skene follow the same rules as crowd-kit's, except for ties. EM may stop an iteration earlier or later, since the
likelihood is compared here and a bound of it there. crowd-kit fits MACE by variational Bayes from random starts, this
one by EM from the votes: the labels agree nearly everywhere, the probabilities less so.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np

from nikawa.aggregation.dawid_skene import MAX_ITERATIONS, TOLERANCE, Fit, dawid_skene
from nikawa.aggregation.frames import CROWD_KIT_NAMES, make_table, read_columns
from nikawa.aggregation.mace import mace
from nikawa.aggregation.table import Counts, Floats, Table
from nikawa.aggregation.verdicts import POSTERIOR_TIE, find_leaders, refuse_free_text, vote_shares
from nikawa.errors import BadInput, unknown

TieRule = Literal["first", "drop"]
TIE_RULES: tuple[TieRule, ...] = ("first", "drop")


class Estimator:
    """Parts that the three estimators share; `fit` sets the attributes whose names end in an underscore."""

    labels_: Any
    """The label of each item."""
    probas_: Any
    """How probable each label is, by item: shares of votes, or a posterior."""
    skills_: Any
    """How good each worker is; each estimator says how that is measured."""
    ties_: list[Any]
    """The items on which several labels lead equally."""

    def __init__(self, *, ties: TieRule = "first") -> None:
        if ties not in TIE_RULES:
            raise unknown("rule for ties", ties, TIE_RULES)
        self.ties = ties

    def fit(self, data: Any, *, question: str | None = None) -> Self:
        """Aggregate judgements in any form that `frames.make_table` takes.

        `question` is needed where the judgements answer several.
        """
        raise NotImplementedError

    def predict(self) -> Any:
        """The label of each item that was fitted; without tied items where `ties="drop"`."""
        return self._fitted("labels_")

    def predict_proba(self) -> Any:
        """How probable each label is, for each item that was fitted."""
        return self._fitted("probas_")

    def fit_predict(self, data: Any, *, question: str | None = None) -> Any:
        """The label of each item: a pandas Series for a pandas DataFrame, else a dictionary."""
        return self.fit(data, question=question).predict()

    def fit_predict_proba(self, data: Any, *, question: str | None = None) -> Any:
        """How probable each label is, for each item: a DataFrame for a DataFrame, else dictionaries."""
        return self.fit(data, question=question).predict_proba()

    def _fitted(self, name: str) -> Any:
        if not hasattr(self, name):
            raise BadInput(f"this {type(self).__name__} is not fitted", cure="call fit first")
        return getattr(self, name)

    def _choose_labels(
        self, table: Table, form: OutputForm, weights: Counts | Floats, same: float = 0.0
    ) -> None:
        """Set the labels to the leaders, and list the ties."""
        codes, _, tied = find_leaders(weights, same)
        self.ties_ = [table.items[place] for place in np.flatnonzero(tied).tolist()]
        kept = ~tied if self.ties == "drop" else np.ones_like(tied)
        places = np.flatnonzero(kept).tolist()
        labels = [table.categories[codes[place]] for place in places]
        self.labels_ = form.series([table.items[place] for place in places], labels, "agg_label")


class MajorityVote(Estimator):
    """The label that most workers gave.

    - `ties`: `first` takes the first of the tied labels (numbers by size, labels by name), whatever the order of the
      rows; crowd-kit takes the one that the data names first. `drop` gives the item no label. `ties_` lists the tied
      items either way.
    - `skills_`: the share of a worker's answers that are the label of their item.

    >>> votes = MajorityVote(ties="drop")
    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q1", "eve", "no")]
    >>> votes.fit_predict([*rows, ("q2", "ann", "yes"), ("q2", "ben", "no")])
    {'q1': 'yes'}
    >>> votes.ties_, votes.probas_["q2"]
    (['q2'], {'no': 0.5, 'yes': 0.5})
    """

    def fit(self, data: Any, *, question: str | None = None) -> Self:
        """Count the votes of judgements in any form that `frames.make_table` takes."""
        table = make_table(data, question)
        refuse_free_text(table)
        form = OutputForm(data)
        self._choose_labels(table, form, table.counts())
        self.probas_ = form.matrix(table.items, table.categories, vote_shares(table))
        codes, _, _ = find_leaders(table.counts())
        right = np.bincount(
            table.worker, table.answer == codes[table.item], minlength=len(table.workers)
        )
        self.skills_ = form.workers(table.workers, right / table.per_worker(), "skill")
        return self


class FittedModel(Estimator):
    """An estimator that climbs a likelihood by EM.

    - `n_iter`: the most iterations.
    - `tol`: EM stops when the log-likelihood gains less than this an answer.
    """

    loss_history_: list[float]
    """The log-likelihood after each iteration; it never falls."""
    converged_: bool
    """Whether EM stopped before `n_iter`."""

    def __init__(
        self, n_iter: int = MAX_ITERATIONS, tol: float = TOLERANCE, *, ties: TieRule = "first"
    ) -> None:
        super().__init__(ties=ties)
        if n_iter < 1:
            raise BadInput(f"n_iter is {n_iter}", cure="set at least one iteration")
        self.n_iter = n_iter
        self.tol = tol

    def _take_fit(self, table: Table, form: OutputForm, fit: Fit) -> None:
        self._choose_labels(table, form, fit.posterior, POSTERIOR_TIE)
        self.probas_ = form.matrix(table.items, table.categories, fit.posterior)
        self.skills_ = form.workers(table.workers, fit.skill, "skill")
        self.loss_history_ = list(fit.likelihood)
        self.converged_ = fit.converged


class DawidSkene(FittedModel):
    """Dawid and Skene's model: each worker has a confusion matrix, each item a hidden true label.

    - `priors_`: how probable each label is before any judgement.
    - `errors_`: how probable each answer of a worker is, by true label: `errors_[worker, answer][true]`; for a
      DataFrame one with the index (worker, label), as in crowd-kit.
    - `skills_`: how often a worker is right on the labels as they occur.

    >>> rows = [(item, worker, "yes") for item in "abc" for worker in ("ann", "ben")]
    >>> rows += [("d", "ann", "no"), ("d", "ben", "no")]
    >>> rows += [(item, "eve", "no") for item in "abcd"]
    >>> model = DawidSkene()
    >>> model.fit_predict(rows)
    {'a': 'yes', 'b': 'yes', 'c': 'yes', 'd': 'no'}
    >>> round(model.skills_["ann"], 2), round(model.skills_["eve"], 2)
    (1.0, 0.25)

    Dawid, Skene (1979), Maximum likelihood estimation of observer error-rates. https://doi.org/10.2307/2346806
    """

    priors_: Any
    errors_: Any

    def fit(self, data: Any, *, question: str | None = None) -> Self:
        """Fit the model to judgements in any form that `frames.make_table` takes."""
        table = make_table(data, question)
        refuse_free_text(table)
        form = OutputForm(data)
        fit = dawid_skene(table, tolerance=self.tol, iterations=self.n_iter)
        self._take_fit(table, form, fit)
        self.priors_ = form.labels(table.categories, fit.prior, "prior")
        self.errors_ = form.errors(table, fit.errors)
        return self


class MACE(FittedModel):
    """MACE: a worker either knows the answer, or guesses by their own habits.

    - `skills_`: how probable it is that a worker knows the answer; crowd-kit's spamming is one minus this.
    - `thetas_`: what a worker answers when guessing, by worker and label.

    >>> model = MACE()
    >>> rows = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "no")]
    >>> model.fit_predict([*rows, ("q1", "eve", "no"), ("q2", "eve", "no")])
    {'q1': 'yes', 'q2': 'no'}
    >>> model.skills_["ann"] > model.skills_["eve"]
    True

    Hovy, Berg-Kirkpatrick, Vaswani, Hovy (2013), Learning whom to trust with MACE. https://aclanthology.org/N13-1132
    """

    thetas_: Any

    def fit(self, data: Any, *, question: str | None = None) -> Self:
        """Fit the model to judgements in any form that `frames.make_table` takes."""
        table = make_table(data, question)
        refuse_free_text(table)
        form = OutputForm(data)
        fit = mace(table, tolerance=self.tol, iterations=self.n_iter)
        self._take_fit(table, form, fit)
        self.thetas_ = form.matrix(table.workers, table.categories, fit.errors, "worker")
        return self


class OutputForm:
    """How results are returned: as pandas objects if a pandas DataFrame was passed, else as dictionaries."""

    def __init__(self, data: Any) -> None:
        is_pandas = type(data).__module__.partition(".")[0] == "pandas"
        self._pandas: Any = import_module("pandas") if is_pandas else None
        self.names = read_columns(data).names if is_pandas else CROWD_KIT_NAMES

    def series(self, index: Sequence[Any], values: Sequence[Any], name: str, of: str = "") -> Any:
        """One value for each name."""
        if self._pandas is None:
            return dict(zip(index, values, strict=True))
        labels = self._pandas.Index(index, name=of or self.names[0])
        return self._pandas.Series(values, index=labels, name=name)

    def workers(self, index: Sequence[Any], values: Floats, name: str) -> Any:
        """One number for each worker."""
        return self.series(index, values.tolist(), name, of=self.names[1])

    def labels(self, index: Sequence[Any], values: Floats, name: str) -> Any:
        """One number for each label."""
        return self.series(index, values.tolist(), name, of=self.names[2])

    def matrix(
        self, index: Sequence[Any], columns: Sequence[Any], values: Floats, of: str = ""
    ) -> Any:
        """A number for each name and label."""
        if self._pandas is None:
            rows = (dict(zip(columns, row, strict=True)) for row in values.tolist())
            return dict(zip(index, rows, strict=True))
        names = self._pandas.Index(index, name=of or self.names[0])
        labels = self._pandas.Index(columns, name=self.names[2])
        return self._pandas.DataFrame(values, index=names, columns=labels)

    def errors(self, table: Table, values: Floats) -> Any:
        """Workers and answers by true labels."""
        pairs = [(worker, answer) for worker in table.workers for answer in table.categories]
        flat = values.reshape(len(pairs), len(table.categories))
        if self._pandas is None:
            return self.matrix(pairs, table.categories, flat)
        index = self._pandas.MultiIndex.from_tuples(pairs, names=self.names[1:])
        return self._pandas.DataFrame(flat, index=index, columns=list(table.categories))
