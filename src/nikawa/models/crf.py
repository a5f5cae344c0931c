"""A linear-chain CRF that tags characters: entities and other spans of a text.

Lafferty, McCallum & Pereira (2001): p(y|x) ∝ exp Σ w·f(y[i-1], y[i], x, i), trained by L-BFGS with
an elastic-net penalty (CRFsuite). Tags are B-X, I-X and O over all characters but spaces; a span
runs from its first tagged character to its last, spaces between them included.

A character is described by its neighbours, their scripts, and its word. Spaces are not positions of
their own: they separate words, and an entity that runs over one needs no tag for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import (
    Model,
    Progress,
    check_kind,
    get_gold,
    get_text,
    ignore_progress,
    not_fitted_error,
    read_settings,
)
from nikawa.models.text_features import script_of, script_shape
from nikawa.records import Example, Kind, Prediction, Span, Task

KINDS: tuple[Kind, ...] = ("tagging",)
MIN_TEXTS_TO_DROP_RARE = 1_000
"""From this number of texts on, rare features are left out."""
_NGRAMS = ((-1, 1), (0, 2), (-2, 1), (-1, 2), (0, 3), (-3, 1), (0, 4))
"""Where the n-grams of characters around a position start and end."""
_EDGE = "▁"
"""Represents a space, and positions outside the text."""
_PADDING = _EDGE * 4


class CrfSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the weights are learned."""

    iterations: Annotated[int, msgspec.Meta(ge=1)] = 50
    """Steps of L-BFGS at most."""
    least: Annotated[int, msgspec.Meta(ge=1)] = 2
    """Minimum count of a feature; with few texts, all features are kept."""
    l1: Annotated[float, msgspec.Meta(ge=0)] = 0.2
    """Penalty on the size of weights; what it makes 0 is left out of the model."""
    l2: Annotated[float, msgspec.Meta(ge=0)] = 0.01
    """Penalty on the squares of weights."""


class Crf:
    """The model; what it learned is CRFsuite's own file, stored as bytes, so that it can be
    pickled.
    """

    name = "crf"

    def __init__(self, settings: CrfSettings, progress: Progress) -> None:
        self._settings, self._progress = settings, progress
        self._learned: bytes | None = None
        self._tagger: Any = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the tags of every character."""
        check_kind(self.name, KINDS, task)
        gold = get_gold(task, examples)
        settings = self._settings
        trainer = _import_crfsuite().Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params(
            {
                "c1": settings.l1,
                "c2": settings.l2,
                "max_iterations": settings.iterations,
                "feature.minfreq": settings.least if len(examples) >= MIN_TEXTS_TO_DROP_RARE else 1,
            }
        )
        for done, (example, spans) in enumerate(zip(examples, gold, strict=True)):
            text = get_text(example, task.inputs[0])
            trainer.append(character_features(text), spans_to_tags(text, spans, example.id))
            self._progress("features", done + 1, len(examples))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            trainer.train(str(path))
            self._learned = path.read_bytes()
        self._tagger = None

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The spans of the likeliest tags of each text."""
        if self._learned is None:
            raise not_fitted_error(self.name, task)
        if self._tagger is None:
            self._tagger = _import_crfsuite().Tagger()
            self._tagger.open_inmemory(self._learned)
        predictions = []
        for example in examples:
            text = get_text(example, task.inputs[0])
            tags = self._tagger.tag(character_features(text))
            places = [(i, i + 1) for i in tagged_positions(text)]
            predictions.append(Prediction(example=example.id, answer=tags_to_spans(tags, places)))
        return predictions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tagger": None, "_progress": ignore_progress}


def _import_crfsuite() -> Any:
    try:
        import pycrfsuite
    except ImportError:
        raise missing_extra("the package 'python-crfsuite'", "models") from None
    return pycrfsuite


def tagged_positions(text: str) -> list[int]:
    """The positions of a text that carry a tag: all but its spaces."""
    return [i for i, character in enumerate(text) if not character.isspace()]


def spans_to_tags(text: str, spans: Sequence[Span], name: str) -> list[str]:
    """B-X, I-X or O for every character but spaces.

    Raises BadInput with the name of the example for a span outside the text.
    """
    tags = ["O"] * len(text)
    for span in spans:
        if not 0 <= span.start < span.end <= len(text):
            what = f"example {name!r}: span {span.start}-{span.end} is outside its text"
            raise BadInput(what, cure="count in characters; end is exclusive")
        inside = [i for i in range(span.start, span.end) if not text[i].isspace()]
        for i in inside:
            tags[i] = f"{'B' if i == inside[0] else 'I'}-{span.label}"
    return [tags[i] for i in tagged_positions(text)]


def tags_to_spans(tags: Sequence[str], places: Sequence[tuple[int, int]]) -> list[Span]:
    """The spans that tags spell; an I-X that continues no X begins one.

    `places` are the start and end of the characters of each tag; a tag of no character is skipped.
    """
    spans: list[Span] = []
    open_label = ""
    for tag, (start, end) in zip(tags, places, strict=True):
        if end <= start:
            continue
        mark, _, label = tag.partition("-")
        if mark == "I" and label == open_label:
            spans[-1] = Span(spans[-1].start, end, label)
        elif mark in {"B", "I"}:
            spans.append(Span(start, end, label))
        open_label = label
    return spans


def character_features(text: str) -> list[list[str]]:
    """The names of the features of every position that carries a tag."""
    words = text.split()
    shapes = [script_shape(word) for word in words]
    scripts_of_words = ["".join(map(script_of, word)) for word in words]
    around = _PADDING + _EDGE.join(words) + _PADDING
    scripts = _PADDING + _EDGE.join(scripts_of_words) + _PADDING
    starts = accumulate((len(word) + 1 for word in words), initial=len(_PADDING))
    rows: list[list[str]] = []
    for number, (word, start) in enumerate(zip(words, starts, strict=False)):
        before = words[number - 1] if number else _EDGE
        after = words[number + 1] if number + 1 < len(words) else _EDGE
        of_word = [
            "bias",
            f"w={word}",
            f"w-={before}",
            f"w+={after}",
            f"s={shapes[number]}",
            f"e1={word[-1]}",
            f"e2={word[-2:]}",
            f"b-={before[-2:]}",
            f"a+={after[:2]}",
            f"ww={before[-1]}|{word[-1]}",
        ]
        for i in range(len(word)):
            in_word = [
                f"l={word[: i + 1]}",
                f"r={word[i:]}",
                f"at={min(i, 5)}|{min(len(word) - i, 6)}",
            ]
            rows.append([*of_word, *in_word, *window_features(around, scripts, start + i)])
    return rows


def window_features(around: str, scripts: str, at: int) -> list[str]:
    """The characters and scripts near a position of the padded text."""
    features = [f"{k}={around[at + k]}" for k in (-3, -2, -1, 0, 1, 2, 3)]
    features += [f"{a}:{b}={around[at + a : at + b]}" for a, b in _NGRAMS]
    features += [f"t{k}={scripts[at + k]}" for k in (-2, -1, 0, 1, 2)]
    features += [
        f"t3={scripts[at - 1 : at + 2]}",
        f"t5={scripts[at - 2 : at + 3]}",
        f"ct={around[at]}{scripts[at + 1]}",
    ]
    return features


MODELS = (
    Model(
        "crf",
        "a linear-chain CRF over characters",
        KINDS,
        lambda setup: Crf(read_settings(CrfSettings, setup), setup.progress),
        CrfSettings,
    ),
)
