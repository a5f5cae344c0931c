"""A linear-chain CRF that tags characters: entities and other spans of a text.

Lafferty, McCallum & Pereira (2001): p(y|x) ∝ exp Σ w·f(y[i-1], y[i], x, i), trained by L-BFGS with an elastic-net
penalty (CRFsuite). Tags are B-X, I-X and O over all characters but spaces; a span runs from its first tagged character
to its last, spaces between them included.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput, missing_extra
from nikawa.models._crf_features import features, places
from nikawa.models._structured import check_kind
from nikawa.models.base import (
    Model,
    Progress,
    Setup,
    _silent,
    gold_of,
    not_fitted,
    settings_of,
    text_of,
)
from nikawa.records import Example, Kind, Prediction, Span, Task

KINDS: tuple[Kind, ...] = ("tagging",)
MANY = 1_000
"""Texts from which features that are met too rarely are left out."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the weights are learned."""

    iterations: Annotated[int, msgspec.Meta(ge=1)] = 50
    least: Annotated[int, msgspec.Meta(ge=1)] = 2
    """How often a feature is met at least; where there are few texts, all are kept."""
    l1: Annotated[float, msgspec.Meta(ge=0)] = 0.2
    """Penalty on the size of weights; what it makes 0 is left out of the model."""
    l2: Annotated[float, msgspec.Meta(ge=0)] = 0.01


class Crf:
    """The model; what it learned is CRFsuite's own file, held as bytes, so that it can be pickled."""

    name = "crf"

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self._settings, self._progress = settings, progress
        self._learned: bytes | None = None
        self._tagger: Any = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the tags of every character."""
        check_kind(self.name, KINDS, task)
        gold = gold_of(task, examples)
        trainer = _crfsuite().Trainer(algorithm="lbfgs", verbose=False)
        s = self._settings
        least = s.least if len(examples) >= MANY else 1
        trainer.set_params(
            {"c1": s.l1, "c2": s.l2, "max_iterations": s.iterations, "feature.minfreq": least}
        )
        for done, (example, spans) in enumerate(zip(examples, gold, strict=True)):
            text = text_of(example, task.inputs[0])
            trainer.append(features(text), tags_of(text, spans, example.id))
            self._progress("features", done + 1, len(examples))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            trainer.train(str(path))
            self._learned = path.read_bytes()
        self._tagger = None

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The spans of the likeliest tags of each text."""
        if self._learned is None:
            raise not_fitted(self.name, task)
        if self._tagger is None:
            self._tagger = _crfsuite().Tagger()
            self._tagger.open_inmemory(self._learned)
        return [self._answer(example, text_of(example, task.inputs[0])) for example in examples]

    def _answer(self, example: Example, text: str) -> Prediction:
        tags = self._tagger.tag(features(text))
        return Prediction(example=example.id, answer=spans_of(text, tags))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tagger": None, "_progress": _silent}


def tags_of(text: str, spans: Sequence[Span], name: str) -> list[str]:
    """B-X, I-X or O for every character but spaces."""
    tags = ["O"] * len(text)
    for span in spans:
        if not 0 <= span.start < span.end <= len(text):
            what = f"example {name!r}: span {span.start}-{span.end} is outside its text"
            raise BadInput(what, cure="count characters, end exclusive")
        inside = [i for i in range(span.start, span.end) if not text[i].isspace()]
        for i in inside:
            tags[i] = f"{'B' if i == inside[0] else 'I'}-{span.label}"
    return [tags[i] for i in places(text)]


def spans_of(text: str, tags: Sequence[str]) -> list[Span]:
    """The spans that tags of all characters but spaces spell; an I-X that continues no X begins one."""
    found: list[Span] = []
    open_label = ""
    for place, tag in zip(places(text), tags, strict=True):
        label = tag[2:]
        if label and tag[0] == "I" and label == open_label:
            found[-1] = Span(found[-1].start, place + 1, label)
        elif label:
            found.append(Span(place, place + 1, label))
        open_label = label
    return found


def _crfsuite() -> Any:
    try:
        import pycrfsuite
    except ImportError:
        raise missing_extra("the package 'python-crfsuite'", "models") from None
    return pycrfsuite


def _make(setup: Setup) -> Crf:
    return Crf(settings_of(Settings, setup), setup.progress)


MODELS = (Model("crf", "a linear-chain CRF over characters", KINDS, _make, Settings),)
