"""Models that score toxicity: `chat:NAME`, `lm:PATH`, and an `encoder:PATH` that was trained for it.

A score is the probability of the toxic label, or of several together. A model that only chooses a label gives 1 or 0. A
sentence without an answer (a refusal, a reply that cannot be read, personal data that may not leave this machine) scores
infinity, so that it is flagged and a person looks at it: models refuse toxic texts above all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from nikawa.cleaning.personal import find_personal_data
from nikawa.errors import BadInput, list_names
from nikawa.io.atomic import private_files
from nikawa.io.shards import hash_file
from nikawa.io.task_sheet import digest_values
from nikawa.models import find_model
from nikawa.models import model as make_model
from nikawa.models.base import Predictor, SpendingScope
from nikawa.models.chat.ledger import LEDGER_FILE
from nikawa.models.chat.settings import is_loopback
from nikawa.models.secrets import environment_secrets, mask_secrets
from nikawa.records import Example, Prediction, Task

KINDS = ("chat", "lm", "encoder")
PROMPTS = Path(__file__).parent / "prompts"
QUESTION, TOXIC, ACCEPTABLE = "toxicity", "toxic", "acceptable"
NOT_SENT = "not sent to a remote address without --allow-remote"
BUDGETED = ("chat",)
MAX_FILE_HASHED = 1 << 20
"""Bytes up to which a file of a checkpoint is hashed; of a larger one the size and the time are compared."""


def names_model(text: str) -> bool:
    """Whether a scorer is named by a model, not by a command.

    >>> names_model("chat:gemma"), names_model("python score.py")
    (True, False)
    """
    kind, colon, argument = text.partition(":")
    return kind in KINDS and bool(colon) and not argument.startswith(" ")


@dataclass
class ModelScorer:
    """Scores sentences by a model; its replies are kept in `folder`, so that none is asked for twice."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    labels: tuple[str, ...] = (TOXIC,)
    """The labels of an encoder that mean toxic."""
    language: str = ""
    allow_remote: bool = False
    max_cost: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    """Why sentences without an answer have none."""

    by_chunk: ClassVar[bool] = True
    """Sentences are scored chunk by chunk: in the last digits a score may depend on the others of its batch."""

    def __post_init__(self) -> None:
        kind, argument = find_model(self.name)
        self.kind = kind.name
        if self.kind not in KINDS:
            kinds = ", ".join(f"{name}:" for name in KINDS)
            raise BadInput(f"{self.name} does not score toxicity", cure=f"use one of: {kinds}")
        kind.check_argument(argument)
        given = dict(self.settings)
        if self.max_cost is not None:
            if self.kind not in BUDGETED:
                raise BadInput(f"{self.name} costs nothing", cure="leave out --max-cost")
            given["budget"] = self.max_cost
        if self.kind == "encoder":
            if given.setdefault("epochs", 0):
                what = "clean trains no encoder"
                raise BadInput(what, cure="train it with `nikawa run`, and pass its folder")
            labels = _read_labels(argument, self.labels)
        else:
            labels = (TOXIC, ACCEPTABLE)
            if self.language:
                given.setdefault("language", self.language)
                prompt = PROMPTS / f"{QUESTION}.{self.language}.txt"
                if not given.get("prompt") and prompt.is_file():
                    given["prompt"] = str(prompt)
        self._toxic = tuple(name for name in labels if name in {*self.labels, TOXIC})
        self.task = Task(
            name=QUESTION,
            dataset=QUESTION,
            kind="text",
            question=QUESTION,
            inputs=("text",),
            labels=labels,
            metrics=(),
        )
        self.version = self._digest(kind.runtime_settings, kind.home(argument), given)
        cache = None if self.folder is None else self.folder / self.version[:16]
        scope = None if cache is None else SpendingScope(cache / LEDGER_FILE, QUESTION)
        if cache is not None:
            with private_files():
                cache.mkdir(parents=True, exist_ok=True)
        self.model: Predictor = make_model(self.name, settings=given, folder=cache, spending=scope)
        address = getattr(getattr(self.model, "settings", None), "base_url", "")
        self.is_remote = self.kind == "chat" and not is_loopback(address)

    def _digest(self, runtime: Sequence[str], home: str, settings: Mapping[str, Any]) -> str:
        """Of what decides the answers."""
        masked = mask_secrets(dict(settings), environment_secrets(dict(settings)))
        plain = {name: value for name, value in masked.items() if name not in runtime}
        if prompt := plain.pop("prompt", ""):
            plain["prompt"] = hash_file(Path(prompt)) if Path(prompt).is_file() else prompt
        plain.pop("budget", None)
        parts = (self.name, self._toxic, plain, _identify_checkpoint(home), self.allow_remote)
        return digest_values(*parts)

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """A number from 0 to 1 per sentence, rounded to 6 digits; infinity without an answer."""
        held: dict[str, str] = {}
        if self.is_remote and not self.allow_remote:
            for text in dict.fromkeys(texts):
                if kinds := find_personal_data([text], self.language):
                    held[text] = f"personal data: {', '.join(kinds)}; {NOT_SENT}"
        sent = [text for text in dict.fromkeys(texts) if text not in held]
        examples = [
            Example(id=f"sentence {number}", inputs={"text": text})
            for number, text in enumerate(sent, start=1)
        ]
        with private_files():
            answers = self.model.predict(self.task, examples) if examples else []
        self.reasons |= held
        scores = dict.fromkeys(held, math.inf)
        for text, answer in zip(sent, answers, strict=True):
            scores[text] = self._score(answer)
            if math.isinf(scores[text]):
                self.reasons[text] = f"no answer: {answer.why or 'no scores'}"
        return [scores[text] for text in texts]

    def _score(self, answer: Prediction) -> float:
        if answer.answer is None:
            return math.inf
        if answer.scores:
            total = sum(answer.scores.get(name, 0.0) for name in self._toxic)
            return math.inf if math.isnan(total) else round(min(1.0, total), 6)
        return float(answer.answer in self._toxic)

    def about(self) -> dict[str, Any]:
        """How it was asked, and what that used."""
        about = getattr(self.model, "about", None)
        return {} if about is None else dict(about())


def _read_labels(source: str, toxic: Sequence[str]) -> tuple[str, ...]:
    """The labels of a classifier; raises `BadInput` for one that does not have the toxic ones, or one label a text."""
    from nikawa.models.encoder import import_torch
    from nikawa.models.encoder.checkpoint import open_backbone

    import_torch()
    config = open_backbone(source).config
    names = getattr(config, "id2label", None) or {}
    labels = tuple(str(names[i]) for i in sorted(names))
    if getattr(config, "problem_type", None) == "multi_label_classification" or len(labels) < 2:
        what = f"{source} does not choose one of several labels"
        raise BadInput(what, cure="pass a classifier with a toxic label and another one")
    if missing := [name for name in toxic if name not in labels]:
        what = f"{source} has no label {missing[0]!r}; it has {list_names(labels)}"
        raise BadInput(what, cure="name the labels that mean toxic with --toxic-label")
    if set(labels) <= set(toxic):
        raise BadInput(f"all labels of {source} mean toxic", cure="name fewer with --toxic-label")
    return labels


def _identify_checkpoint(home: str) -> list[Any]:
    """What tells whether a folder of weights is as it was."""
    folder = Path(home)
    if not home or not folder.is_dir():
        return []
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return [
        (
            path.name,
            path.stat().st_size,
            hash_file(path)
            if path.stat().st_size <= MAX_FILE_HASHED
            else str(path.stat().st_mtime_ns),
        )
        for path in files
    ]


def encode_about(about: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values of how a model was asked."""
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(about))
    return decoded
