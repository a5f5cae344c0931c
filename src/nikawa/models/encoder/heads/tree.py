"""Dependency trees from each word's first and last sub-word and its tags: biaffine scores, the best
tree.

Dozat & Manning (2017): a word is the vectors of its two sub-words and the embeddings of its first
and last part-of-speech tag; the root is a vector of its own. `arc[i, j] = d_i U h_j + u h_j` gives
how well word i depends on j, `label[i, j, l] = d_i U_l h_j + V_l [d_i; h_j] + b_l` under which
label.

KLUE's reference code takes the best head of every word by itself, which need not make a tree:
`decode=argmax` does that too, for comparison. A word past the longest input is read from the first
position and its tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from nikawa.errors import BadInput
from nikawa.models.encoder.batches import IGNORED, Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    RULED_OUT,
    Batch,
    Head,
    HeadModel,
    RowOutputs,
    Work,
    gather_vectors,
    mean_cross_entropy,
    model_inputs,
    unknown_label_error,
)
from nikawa.models.trees.decoding import best_tree
from nikawa.models.trees.sentences import get_trees, get_words
from nikawa.records import Example, Kind, Prediction, Task

Word = Mapping[str, Any]
ARC_SIZE, LABEL_SIZE, TAG_SIZE = 256, 128, 64
"""Sizes of the vectors arcs and labels are scored from, and of a tag's embedding."""


class TreeModel(HeadModel):
    """An encoder with biaffine scores; `known`: part-of-speech tags and labels."""

    kind: ClassVar[str] = "tree"
    known_parts: ClassVar[tuple[str, ...]] = ("tags", "labels")

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__(encoder, known)
        nn = torch.nn
        size = 2 * self.hidden + 2 * TAG_SIZE
        self.tags = nn.Embedding(len(known["tags"]) + 1, TAG_SIZE)
        self.root = nn.Parameter(torch.randn(size) * 0.02)
        self.dropout = self.make_dropout()
        self.parts = nn.ModuleDict()
        for name in ("arc_word", "arc_head", "label_word", "label_head"):
            to = ARC_SIZE if name.startswith("arc") else LABEL_SIZE
            self.parts[name] = nn.Sequential(nn.Linear(size, to), nn.LeakyReLU(0.1))
        labels = len(known["labels"])
        self.arc = nn.Parameter(torch.empty(ARC_SIZE + 1, ARC_SIZE))
        self.label = nn.Parameter(torch.empty(labels, LABEL_SIZE, LABEL_SIZE))
        self.sides = nn.Linear(2 * LABEL_SIZE, labels)
        nn.init.xavier_uniform_(self.arc)
        nn.init.xavier_uniform_(self.label)

    def word_vectors(self, batch: Batch, inputs: dict[str, Any]) -> dict[str, Any]:
        """The four vectors of every word, the root first for heads."""
        hidden = self.encoder(**inputs).last_hidden_state
        ends = [gather_vectors(hidden, batch[name]) for name in ("first", "last")]
        tags = [self.tags(batch[name].clamp(min=0)) for name in ("first_tag", "last_tag")]
        words = torch.cat([*ends, *tags], dim=-1)
        heads = torch.cat([self.root.expand(words.shape[0], 1, -1), words], dim=1)
        words = self.dropout(words)
        heads = self.dropout(heads)
        return {
            name: self.dropout(part(heads if name.endswith("head") else words))
            for name, part in self.parts.items()
        }

    def score_arcs(self, vectors: dict[str, Any], batch: Batch) -> Any:
        """A score for every word and head.

        A word cannot be its own head, nor depend on a missing word.
        """
        words = vectors["arc_word"]
        ones = torch.cat([words, torch.ones_like(words[..., :1])], dim=-1)
        scores = (ones @ self.arc @ vectors["arc_head"].transpose(1, 2)).float()
        exists = torch.nn.functional.pad(batch["first"] > IGNORED, (1, 0), value=True)
        itself = torch.eye(words.shape[1], dtype=torch.bool, device=words.device)
        barred = ~exists[:, None, :] | torch.nn.functional.pad(itself, (1, 0))[None]
        return scores.masked_fill(barred, RULED_OUT)

    def score_labels(self, vectors: dict[str, Any], heads: Any) -> Any:
        """The scores of the labels of every word under the head given."""
        words = vectors["label_word"]
        chosen = gather_vectors(vectors["label_head"], heads)
        crossed = torch.einsum("bid,lde,bie->bil", words, self.label, chosen)
        return crossed + self.sides(torch.cat([words, chosen], dim=-1))

    def best_labels(self, vectors: dict[str, Any]) -> Any:
        """The best label of every word under every head."""
        words, heads = vectors["label_word"], vectors["label_head"]
        crossed = torch.einsum("bid,lde,bje->bijl", words, self.label, heads)
        left = self.sides.weight[:, :LABEL_SIZE]
        right = self.sides.weight[:, LABEL_SIZE:]
        both = (words @ left.T)[:, :, None] + (heads @ right.T)[:, None] + self.sides.bias
        return (crossed + both).argmax(-1)


class Trees(Head):
    """The head over a `TreeModel`."""

    kinds: tuple[Kind, ...] = ("tree",)

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """Biaffine scores; tags are those of the training examples, labels those of the task or
        else of the examples.
        """

        def read_known() -> dict[str, Any]:
            trees = get_trees(work.task, train)
            labels = {label for tree in trees for label in tree["labels"]}
            tags: set[str] = set()
            for example in train:
                for word in _get_word_mappings(work.task, example):
                    tags.update(_split_tags(word))
            return {"tags": sorted(tags), "labels": list(work.task.labels or sorted(labels))}

        return TreeModel.open(backbone, work.settings, read_known)

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per example; places, tags, heads and labels per word, padded to the number of words of the
        longest.
        """
        sentences = [_get_word_mappings(work.task, example) for example in examples]
        most = max((len(words) for words in sentences), default=1) or 1
        forms = [str(word.get("form") or "") for words in sentences for word in words]
        subwords = iter(work.reader.ids(forms))
        tag_ids = {tag: i for i, tag in enumerate(work.known["tags"], start=1)}
        dense = {
            name: np.full((len(examples), most), IGNORED)
            for name in ("first", "last", "first_tag", "last_tag")
        }
        pairs = []
        for i, words in enumerate(sentences):
            ids, first, last = _place_words(work, [next(subwords) for _ in words])
            pairs.append(work.reader.frame_texts(ids, None, work.settings.max_length))
            tags = [_split_tags(word) for word in words]
            dense["first"][i, : len(words)] = first
            dense["last"][i, : len(words)] = last
            dense["first_tag"][i, : len(words)] = [tag_ids.get(own[0], 0) for own in tags]
            dense["last_tag"][i, : len(words)] = [tag_ids.get(own[-1], 0) for own in tags]
        rows = Rows.one_each(len(examples))
        rows.notes = [len(words) for words in sentences]
        rows.dense |= dense
        if learn:
            rows.dense |= _read_gold_trees(work, examples, most)
        return work.reader.add_tokens(rows, pairs)

    def loss(self, model: Any, batch: Batch) -> Any:
        """Cross-entropy over the heads of each word, and over the labels under its gold head."""
        vectors = model.word_vectors(batch, model_inputs(batch))
        arcs = mean_cross_entropy(model.score_arcs(vectors, batch), batch["heads"])
        labels = model.score_labels(vectors, batch["heads"])
        return arcs + mean_cross_entropy(labels, batch["labels"])

    def outputs(self, model: Any, batch: Batch) -> tuple[Any, ...]:
        """Scores of the arcs, and the best label of each arc."""
        vectors = model.word_vectors(batch, model_inputs(batch))
        return model.score_arcs(vectors, batch).log_softmax(-1), model.best_labels(vectors)

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The best tree, or each word's best head, with the best label of each arc."""
        names, predictions = work.known["labels"], []
        for example, n, (arcs, best) in zip(examples, rows.notes, outputs, strict=True):
            scores = arcs[:n, : n + 1].astype(np.float64)
            if work.settings.decode == "tree":
                heads = best_tree(scores)
            else:
                heads = scores.argmax(axis=1).tolist()
            labels = [names[int(best[i, head])] for i, head in enumerate(heads)]
            answer = {"heads": heads, "labels": labels}
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions


def _place_words(
    work: Work, words: Sequence[Sequence[int]]
) -> tuple[list[int], list[int], list[int]]:
    """The sub-words of the words in a row, and the places of the first and of the last of each
    word.
    """
    before, after = work.reader.frame.one
    room = work.settings.max_length - len(after)
    unknown = work.reader.tokenizer.unk_token_id or 0
    ids: list[int] = []
    first, last = [], []
    for word in words:
        start = len(before) + len(ids)
        ids += word or [unknown]  # a word without tokens still has a place
        end = min(len(before) + len(ids), room) - 1
        first.append(start if start < room else 0)
        last.append(end if start < room else 0)
    return ids, first, last


def _read_gold_trees(work: Work, examples: Sequence[Example], most: int) -> dict[str, np.ndarray]:
    """Heads and numbers of labels, filled up to `most` words."""
    label_ids = {label: i for i, label in enumerate(work.known["labels"])}
    heads, labels = (np.full((len(examples), most), IGNORED) for _ in range(2))
    for i, (example, tree) in enumerate(zip(examples, get_trees(work.task, examples), strict=True)):
        if unknown := sorted(set(tree["labels"]) - set(label_ids)):
            raise unknown_label_error(work, example, unknown[0], list(label_ids))
        heads[i, : len(tree["heads"])] = tree["heads"]
        labels[i, : len(tree["heads"])] = [label_ids[label] for label in tree["labels"]]
    return {"heads": heads, "labels": labels}


def _get_word_mappings(task: Task, example: Example) -> Sequence[Word]:
    words = get_words(task, example)
    if not all(isinstance(word, Mapping) for word in words):
        raise BadInput(
            f"example {example.id!r} has a word without a form", cure="add form, lemma and pos"
        )
    return words


def _split_tags(word: Word) -> list[str]:
    """The part-of-speech tags of a word's morphemes; one empty tag where the task hides them."""
    return str(word.get("pos") or "").split("+")


HEAD = Trees()
