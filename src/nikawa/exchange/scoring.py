"""Read the replies of a model and score them inside another tool, with Nikawa's reader and the official metrics.

An exported task calls `load_scorer` if Nikawa is installed in the tool's environment. For other environments it contains a copy
of this code, of the reader of its kind of task and of its metrics (`copy_code.py`), so this file uses only plain data.

A judged reply is a JSON object, so that every tool can log it, pass it between processes and score it later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.answers.reader import (
    make_label_answer_reader,
    read_choice,
    read_structure,
)
from nikawa.io.answers.readings import Offer, Reader, make_offer
from nikawa.io.answers.scores import read_number
from nikawa.io.answers.structures import read_state, read_tags, read_tree
from nikawa.io.answers.words import read_words
from nikawa.metrics import metrics
from nikawa.metrics.base import Evaluation, Items, Mode
from nikawa.records import Example, Span, Tagged, Task

About = Mapping[str, Any]
"""The description of an exported task, as JSON holds it: see `describe_for_scorer` in `describe.py`."""
Evaluate = Callable[[Items, Mode], Evaluation]
UNREAD = "unread"
"""The share of replies without a readable answer, reported with the metrics."""


def read_labels(task: Task, offer: Offer) -> Reader:
    """The reader of tasks whose answer is a label."""
    return make_label_answer_reader(task, False, offer)


def read_choices(task: Task, offer: Offer) -> Reader:
    """The reader of tasks with choices."""
    return lambda raw, example: read_choice(raw, example, offer)


def read_numbers(task: Task, offer: Offer) -> Reader:
    """The reader of similarity tasks."""
    scale = task.scale or (0.0, 5.0)
    return lambda raw, _: read_number(raw, scale, offer)


def read_texts(task: Task, offer: Offer) -> Reader:
    """The reader of tasks whose answer is a part of the text."""
    return lambda raw, example: read_words(raw, example, offer)


def read_entities(task: Task, offer: Offer) -> Reader:
    """The reader of tagging tasks."""
    return lambda raw, example: read_structure(
        raw, example, lambda value, own: read_tags(value, task, own, offer.words)
    )


def read_trees(task: Task, offer: Offer) -> Reader:
    """The reader of dependency trees."""
    return lambda raw, example: read_structure(
        raw, example, lambda value, own: read_tree(value, task, own, offer.words)
    )


def read_states(task: Task, offer: Offer) -> Reader:
    """The reader of dialogue states."""
    return lambda raw, example: read_structure(
        raw, example, lambda value, _: read_state(value, offer.slots)
    )


READERS: dict[str, Callable[[Task, Offer], Reader]] = {
    "text": read_labels,
    "inference": read_labels,
    "relation": read_labels,
    "choice": read_choices,
    "similarity": read_numbers,
    "reading": read_texts,
    "tagging": read_entities,
    "tree": read_trees,
    "dialogue": read_states,
}
"""The reader of each kind of task, given the options of the prompt; each equals `make_reader` of `io/answers/reader.py`."""


class ReplyScorer:
    """Reads replies to one exported task and scores them."""

    def __init__(
        self,
        about: About,
        make_reader: Callable[[Task, Offer], Reader],
        evaluate: Mapping[str, Evaluate],
    ) -> None:
        own = about["task"]
        scale = own["scale"]
        self.task = Task(
            name=own["name"],
            dataset=own["dataset"],
            kind=own["kind"],
            question=own["question"],
            inputs=tuple(own["inputs"]),
            labels=tuple(own["labels"]),
            metrics=tuple(own["metrics"]),
            scale=(scale[0], scale[1]) if scale else None,
            unit=own["unit"],
        )
        self.about, self.evaluate = about, evaluate
        self.read = make_reader(self.task, make_offer(about["offer"]))

    def judge(self, row: Mapping[str, Any], reply: str | None) -> dict[str, Any]:
        """The answer in a reply to the question of a row, with its gold; the answer is None if the reply cannot be read."""
        example = Example(id=str(row["id"]), inputs=dict(row))
        item = self._start_item(row)
        if reply is None:
            return {**item, "answer": None, "why": "there is no reply"}
        reading = self.read(reply, example)
        if isinstance(reading.answer, Tagged):
            item["tags"] = list(reading.answer.tags)
        return {**item, "answer": to_plain(reading.answer), "why": reading.why}

    def judge_likelihoods(
        self, row: Mapping[str, Any], likelihoods: Sequence[float]
    ) -> dict[str, Any]:
        """The answer with the highest log-likelihood, the first of several, with the scores of all."""
        is_choice = self.task.kind == "choice"
        names = [str(i) for i in range(len(likelihoods))] if is_choice else list(self.task.labels)
        scores = dict(zip(names, map(float, likelihoods), strict=True))
        top = max(scores, key=scores.__getitem__)
        answer = int(top) if is_choice else top
        return {**self._start_item(row), "answer": answer, "why": None, "scores": scores}

    def _start_item(self, row: Mapping[str, Any]) -> dict[str, Any]:
        gold = row.get("gold")
        item: dict[str, Any] = {"id": row["id"], "gold": json.loads(gold) if gold else None}
        kept = {name: row[name] for name in self.about["kept_inputs"]}
        return {**item, "inputs": kept} if kept else item

    def summarise(self, items: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The official metrics in the unit of the official scorer, and the share of unread replies.

        Items without gold count only among the unread. NaN: the answers do not define the metric.
        """
        unread = sum(item["answer"] is None for item in items)
        summary = {UNREAD: unread / len(items) if items else float("nan")}
        known = [item for item in items if item["gold"] is not None]
        if known:
            scored = self._pair(known)
            for name in self._find_metrics(scored):
                try:
                    value = self.evaluate[name](scored, "official").value
                except BadInput:
                    value = float("nan")
                summary[name] = value * self.about["metrics"][name]["scale"]
        return summary

    def mark(self, item: Mapping[str, Any]) -> float:
        """The score of one item, from 0 to 1, under the first metric that is a mean over items; else 1 if the reply was read.

        Tools show it with a sample. The result of a run comes from `summarise`.
        """
        if item["gold"] is not None:
            scored = self._pair([item])
            for name in self._find_metrics(scored):
                try:
                    evaluation = self.evaluate[name](scored, "official")
                except BadInput:
                    continue
                if evaluation.itemwise:
                    return float(evaluation.value)
        return float(item["answer"] is not None)

    def _find_metrics(self, items: Items) -> list[str]:
        """The metrics that the answers support."""
        has_scores = all(scores is not None for scores in items.scores)
        own = self.about["metrics"]
        return [name for name in own if has_scores or not own[name]["needs_scores"]]

    def _pair(self, items: Sequence[Mapping[str, Any]]) -> Items:
        """Gold and answers side by side."""
        return Items(
            gold=[self._to_record(item["gold"], None) for item in items],
            answers=[self._to_record(item["answer"], item.get("tags")) for item in items],
            inputs=[item.get("inputs", {}) for item in items],
            labels=self.task.labels,
            scores=[item.get("scores") for item in items],
        )

    def _to_record(self, value: Any, tags: Sequence[str] | None) -> Any:
        if self.task.kind != "tagging" or value is None:
            return value
        spans = [Span(one["start"], one["end"], one["label"]) for one in value]
        return spans if tags is None else Tagged(spans, tags)


def to_plain(answer: Any) -> Any:
    """An answer as JSON holds it: spans as objects."""
    if isinstance(answer, list):
        return [
            {"start": one.start, "end": one.end, "label": one.label}
            if isinstance(one, Span)
            else one
            for one in answer
        ]
    return answer


def load_scorer(about: About) -> ReplyScorer:
    """The scorer of an exported task with the reader and the metrics of this installation."""
    evaluate = {name: metrics()[name].evaluate for name in about["metrics"]}
    return ReplyScorer(about, READERS[about["task"]["kind"]], evaluate)
