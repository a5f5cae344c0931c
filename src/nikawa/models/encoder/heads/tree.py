"""Dependency trees: each word by its first and last sub-word and its tags, biaffine scores, the best tree.

KLUE's reference code takes the best head of every word by itself, which need not make a tree: `decode=argmax` does that too,
for comparison. A word past the longest input is read from the first position and its tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput, listed
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import Work, add_tokens, inputs_only, mean_cross_entropy
from nikawa.models.encoder.store import IGNORED, Rows
from nikawa.models.trees.decoding import best_tree
from nikawa.models.trees.sentences import get_trees, get_words
from nikawa.records import Example, Kind, Prediction, Task

Word = Mapping[str, Any]


class Trees:
    """A model of our own over the encoder."""

    kinds: tuple[Kind, ...] = ("tree",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """None in the encoder's configuration: the labels are kept beside it."""
        return ()

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """Biaffine scores; tags are those of the training examples, labels those of the task or else of the examples."""
        from nikawa.models.encoder.biaffine import TreeModel
        from nikawa.models.encoder.own import saved

        known = saved(TreeModel.kind, backbone, work.settings)
        if known is None or (
            work.settings.epochs > 0 and not _holds(known, self._known(work, train))
        ):
            return TreeModel(backbone.model("AutoModel", work.settings), self._known(work, train))
        model = TreeModel(backbone.model("AutoModel", work.settings), known)
        model.take(backbone.source)
        return model

    def _known(self, work: Work, train: Sequence[Example]) -> dict[str, Any]:
        trees = get_trees(work.task, train)
        labels = work.task.labels or sorted({label for tree in trees for label in tree["labels"]})
        tags = sorted({tag for e in train for word in _words(work.task, e) for tag in _tags(word)})
        return {"tags": tags, "labels": list(labels)}

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example; places, tags, heads and labels a word, to the number of words of the longest."""
        sentences = [_words(work.task, example) for example in examples]
        most = max((len(words) for words in sentences), default=1) or 1
        made = Rows(owner=list(range(len(examples))), notes=[len(words) for words in sentences])
        pieces = iter(work.reader.ids([_form(word) for words in sentences for word in words]))
        tags = {tag: i for i, tag in enumerate(work.known["tags"], start=1)}
        dense = {
            name: np.full((len(examples), most), IGNORED)
            for name in ("first", "last", "first_tag", "last_tag")
        }
        pairs = []
        for i, words in enumerate(sentences):
            ids, places = self._laid(work, [next(pieces) for _ in words])
            pairs.append(work.reader.pair(ids, None, work.settings.max_length))
            found = [_tags(word) for word in words]
            columns = (
                places[0],
                places[1],
                [tags.get(t[0], 0) for t in found],
                [tags.get(t[-1], 0) for t in found],
            )
            for values, column in zip(dense.values(), columns, strict=True):
                values[i, : len(words)] = column
        made.dense |= dense
        if learn:
            made.dense |= self._gold(work, examples, most)
        return add_tokens(work, made, pairs)

    def _laid(
        self, work: Work, words: Sequence[Sequence[int]]
    ) -> tuple[list[int], tuple[list[int], list[int]]]:
        """The pieces of the words in a row, and the places of the first and last of each."""
        before, after = work.reader.frame.one
        room = work.settings.max_length - len(after)
        unknown = work.reader.tokenizer.unk_token_id or 0
        ids: list[int] = []
        first, last = [], []
        for word in words:
            start = len(before) + len(ids)
            ids += word or [unknown]  # a word the tokenizer makes nothing of still has a place
            end = min(len(before) + len(ids), room) - 1
            first.append(start if start < room else 0)
            last.append(end if start < room else 0)
        return ids, (first, last)

    def _gold(self, work: Work, examples: Sequence[Example], most: int) -> dict[str, np.ndarray]:
        place = {label: i for i, label in enumerate(work.known["labels"])}
        heads, labels = (np.full((len(examples), most), IGNORED) for _ in range(2))
        for i, (example, tree) in enumerate(
            zip(examples, get_trees(work.task, examples), strict=True)
        ):
            if strange := sorted(set(tree["labels"]) - set(place)):
                what = f"example {example.id!r} has the label {strange[0]!r}, which {work.task.name} does not know"
                raise BadInput(what, cure=f"labels: {listed(place)}")
            heads[i, : len(tree["heads"])] = tree["heads"]
            labels[i, : len(tree["heads"])] = [place[label] for label in tree["labels"]]
        return {"heads": heads, "labels": labels}

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy over the heads of each word, and over the labels under its gold head."""
        found = model.vectors(batch, inputs_only(batch))
        arcs = mean_cross_entropy(model.arcs(found, batch), batch["heads"])
        return arcs + mean_cross_entropy(model.labels_at(found, batch["heads"]), batch["labels"])

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """Scores of the arcs, and the best label of each arc."""
        found = model.vectors(batch, inputs_only(batch))
        return model.arcs(found, batch).log_softmax(-1), model.best_labels(found)

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The best tree, or each word's best head, with the best label of each arc."""
        names, made = work.known["labels"], []
        for example, n, (arcs, best) in zip(examples, rows.notes, found, strict=True):
            scores = arcs[:n, : n + 1].astype(np.float64)
            heads = (
                best_tree(scores)
                if work.settings.decode == "tree"
                else scores.argmax(axis=1).tolist()
            )
            labels = [names[int(best[i, head])] for i, head in enumerate(heads)]
            made.append(Prediction(example=example.id, answer={"heads": heads, "labels": labels}))
        return made


def _words(task: Task, example: Example) -> Sequence[Word]:
    words = get_words(task, example)
    if not all(isinstance(word, Mapping) for word in words):
        raise BadInput(
            f"example {example.id!r} has a word without a form", cure="give form, lemma and pos"
        )
    return words


def _holds(known: Mapping[str, Sequence[str]], wanted: Mapping[str, Sequence[str]]) -> bool:
    """Whether a head that was trained before has every tag and label of these."""
    return all(set(names) <= set(known[part]) for part, names in wanted.items())


def _form(word: Word) -> str:
    return str(word.get("form") or "")


def _tags(word: Word) -> list[str]:
    """The part-of-speech tags of a word's morphemes; one empty tag where the task hides them."""
    return str(word.get("pos") or "").split("+")


HEAD = Trees()
