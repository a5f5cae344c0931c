"""The relation of two entities by their context: a linear model on hashed features, one against all
others.

Features are the types and letters of the two marked entities, the text between and around them, and
their order. The seed and the ids make the order of the gradient steps. Scores are the probabilities
of each relation, made to sum to 1; a relation that no example has gets 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import (
    Model,
    check_kind,
    get_gold,
    get_inputs,
    not_fitted_error,
    read_settings,
    shuffle_indexes,
)
from nikawa.models.hashed import HashedClassifier, hash_features
from nikawa.models.text_features import char_ngrams, script_shape
from nikawa.records import Example, Kind, Prediction, Span, Task

KINDS: tuple[Kind, ...] = ("relation",)
BLOCK_SIZE = 4096
"""Examples turned into features at once: memory stays small for a large file."""
WINDOW = 14
"""Characters before the first entity and behind the second whose n-grams are features."""
MAX_CHARS_BETWEEN = 80
"""Characters between the two after which only the ends count."""
_DISTANCE_STEPS = (0, 1, 2, 4, 8, 12, 20, 30, 50, 80)


class RelationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the weights are learned."""

    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1e-6
    """Penalty on the size of weights."""
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 10
    """Passes over the training examples."""


class RelationContext:
    """The model; it can be pickled once it has learned."""

    name = "relation-context"

    def __init__(self, settings: RelationSettings, seed: int) -> None:
        self._seed = seed
        self._classifier = HashedClassifier(penalty=settings.penalty, epochs=settings.epochs)

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the weights of every relation that has an example."""
        check_kind(self.name, KINDS, task)
        gold = get_gold(task, examples)
        order = shuffle_indexes(examples, self._seed)
        rows = hash_features(_describe(task, examples[i]) for i in order)
        self._classifier.fit(rows, [gold[i] for i in order])

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest relation, with the probability of each."""
        names = self._classifier.names
        if not names:
            raise not_fitted_error(self.name, task)
        predictions = []
        for start in range(0, len(examples), BLOCK_SIZE):
            block = examples[start : start + BLOCK_SIZE]
            rows = hash_features(_describe(task, example) for example in block)
            shares = self._classifier.predict_shares(rows).tolist()
            for example, row in zip(block, shares, strict=True):
                scores = dict.fromkeys(task.labels, 0.0)
                scores |= dict(zip(names, row, strict=True))
                answer = names[row.index(max(row))]
                predictions.append(Prediction(example=example.id, answer=answer, scores=scores))
        return predictions


def _describe(task: Task, example: Example) -> list[str]:
    """The features of an example.

    Raises BadInput if an entity that the task shows is not inside the text.
    """
    inputs = get_inputs(task, example)
    text = inputs.get("text")
    for role in ("subject", "object"):
        if role not in task.inputs:
            continue
        span: Any = inputs.get(role)
        size = len(text) if isinstance(text, str) else float("inf")
        if not isinstance(span, Span) or not 0 <= span.start < span.end <= size:
            what = f"example {example.id!r} has no {role} within its text"
            raise BadInput(what, cure="write the entity as start, end (exclusive) and label")
    return relation_features(inputs)


def relation_features(inputs: Mapping[str, Any]) -> list[str]:
    """The names of the features of an example, from the inputs that the task shows."""
    text = str(inputs.get("text", ""))
    entities: dict[str, Span] = {}
    for role in ("subject", "object"):
        if isinstance(inputs.get(role), Span):
            entities[role] = inputs[role]
    pair = "|".join(span.label for span in entities.values())
    features = ["bias", f"pair={pair}"]
    for role, span in entities.items():
        features += [f"{role}:{name}" for name in entity_features(text, span)]
    if len(entities) == 2:
        features += pair_features(text, entities["subject"], entities["object"], pair)
    masked = text  # without the letters of the entities, so that n-grams describe their context
    for span in sorted(entities.values(), key=lambda span: -span.start):
        masked = f"{masked[: span.start]}\N{WHITE SQUARE}{masked[span.end :]}"
    features += [f"all={gram}" for gram in char_ngrams(masked, 2, 3)]
    return list(dict.fromkeys(features))


def entity_features(text: str, span: Span) -> Iterator[str]:
    """The entity itself, and the text directly next to it: particles and titles follow, modifiers
    precede.
    """
    surface = text[span.start : span.end]
    yield f"type={span.label}"
    yield f"is={surface}"
    yield f"shape={script_shape(surface)}"
    yield f"long={min(len(surface), 8)}"
    yield f"first={surface[:1]}"
    for size in (1, 2, 3):
        yield f"end={surface[-size:]}"
    for gram in char_ngrams(surface, 2, 3):
        yield f"has={gram}"
    before = text[: span.start]
    after = text[span.end :]
    for size in (1, 2, 3):
        yield f"after={after[:size]}"
        yield f"before={before[-size:]}"
    for word in after.split()[:2]:
        yield f"next={word}"
    for word in before.split()[-2:]:
        yield f"last={word}"


def pair_features(text: str, subject: Span, other: Span, pair: str) -> Iterator[str]:
    """The order and distance of the two entities, the text between them, and that around both."""
    first, second = sorted((subject, other), key=lambda span: (span.start, span.end))
    order = "<" if first == subject else ">"
    between = text[first.end : second.start]
    far = next((step for step in _DISTANCE_STEPS if len(between) <= step), "far")
    yield f"order={order}|{pair}"
    yield f"far={far}|{order}"
    yield f"far={far}|{pair}"
    if len(between) > MAX_CHARS_BETWEEN:
        half = MAX_CHARS_BETWEEN // 2
        between = between[:half] + "…" + between[-half:]
    if len(between) <= WINDOW:
        yield f"mid={order}{between}"
        yield f"mid={between}|{pair}"
    for word in between.split():
        yield f"midword={word}"
        yield f"midword={word}|{pair}"
    left = text[: first.start][-WINDOW:]
    right = text[second.end :][:WINDOW]
    for name, part, longest in (("mid", between, 4), ("left", left, 3), ("right", right, 3)):
        for gram in char_ngrams(part, 2, longest):
            yield f"{name}={order}{gram}"
            yield f"{name}={gram}|{pair}"


MODELS = (
    Model(
        "relation-context",
        "linear model on two entities and the text around them",
        KINDS,
        lambda setup: RelationContext(read_settings(RelationSettings, setup), setup.seed),
        RelationSettings,
    ),
)
