"""`bertscore:PATH`: the similarity of two texts by the vectors of their sub-words,
without training.

Zhang et al. (2020): each sub-word of one text is compared with the most similar one of the other
(cosine); precision and recall are the means over the sub-words of the two texts, weighted by rarity
(`log((N + 1) / (n + 1))` for a sub-word in n of N texts), and the score is their harmonic mean. The
answer is that score, 0 to 1, mapped to the task's scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import Model, Setup, get_text, not_fitted_error, read_settings
from nikawa.models.encoder import import_torch
from nikawa.models.encoder.checkpoint import check_checkpoint, locate_checkpoint, open_backbone
from nikawa.models.encoder.published import find_input_notes, resolve_published_input
from nikawa.models.encoder.settings import (
    EncoderSettings,
    InputChoice,
    Normalise,
    make_word_finder,
)
from nikawa.records import Example, Prediction, Task

if TYPE_CHECKING:
    import numpy as np


class BertScoreSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `bertscore:PATH`."""

    layer: int = -1
    """The layer whose vectors are compared: 0 is the embeddings, -1 the last."""
    idf: bool = True
    """Weigh sub-words by how rare they are in the training texts; gold is not used."""
    max_length: int = 128
    """Longest text in sub-words; the rest of it is cut."""
    segmentation: str = "none"
    """The analyser whose words the tokenizer was trained on, as in the settings of `encoder`."""
    normalise: Normalise = "none"
    """The normal form of the texts, as in the settings of `encoder`."""
    input: InputChoice = "as-set"
    """`published`: the input that the checkpoint was published with, as in the settings of
    `encoder`."""
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 rounds scores to two or three figures."""
    device: str = "auto"
    """`auto`: the GPU where there is one."""


class BertScore:
    """Compares texts; learns only how rare sub-words are."""

    name = "bertscore"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        read_settings(BertScoreSettings, setup)  # refuses invalid settings before they are resolved
        settings = resolve_published_input(setup.argument, setup.settings)
        self.settings = read_settings(BertScoreSettings, replace(setup, settings=settings))
        self._model: Any = None
        self._reader: Any = None
        self._weights: np.ndarray | None = None
        """By sub-word, how much it counts."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Count in how many texts each sub-word occurs."""
        if not examples:
            raise BadInput(
                f"there are no examples to train {task.name} on", cure="name a split with examples"
            )
        self._load()
        texts = _get_texts(task, examples)
        counts: Counter[int] = Counter()
        for ids in self._reader.ids(texts):
            counts.update(set(ids))
        self._weights = self._weigh_subwords(counts, len(texts))

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The similarity of each pair, on the task's scale."""
        if not examples:
            return []
        if self.settings.idf and self._weights is None:
            raise not_fitted_error(self.name, task)
        self._load()
        low, high = task.scale or (0.0, 1.0)
        predictions = []
        for example, values in zip(examples, self._compare(task, examples), strict=True):
            scores = dict(zip(("precision", "recall", "f1"), values.tolist(), strict=True))
            answer = low + (high - low) * min(max(scores["f1"], 0.0), 1.0)
            predictions.append(Prediction(example=example.id, answer=answer, scores=scores))
        return predictions

    def about(self) -> dict[str, Any]:
        """Facts about the run that its settings do not contain."""
        notes = find_input_notes(self._setup.argument, self.settings)
        return {"notes": notes} if notes else {}

    def _compare(self, task: Task, examples: Sequence[Example]) -> list[np.ndarray]:
        """Precision, recall and F1 of each pair."""
        import torch

        from nikawa.models.encoder.device import choose_device, report_device_errors
        from nikawa.models.encoder.predict import compute_outputs

        device = choose_device(self.settings)
        rows = self._make_rows(task, examples)
        table = self._weights if self.settings.idf else self._weigh_subwords(None, 0)
        weights = torch.tensor(table, dtype=torch.float32, device=device)
        layer = self.settings.layer

        def outputs(model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
            flat = {name: value.flatten(0, 1) for name, value in batch.items()}
            vectors = model(**flat, output_hidden_states=True).hidden_states[layer]
            return (compare(vectors, flat["attention_mask"], weights[flat["input_ids"]]),)

        with report_device_errors(self.settings):
            bf16 = self.settings.precision == "bf16"
            results, _ = compute_outputs(self._model, rows, outputs, device, bf16)
        return [row[0] for row in results]

    def _make_rows(self, task: Task, examples: Sequence[Example]) -> Any:
        """One row per example, one sequence per text."""
        from nikawa.models.encoder.batches import Rows

        reader, length = self._reader, self.settings.max_length
        texts = reader.ids(_get_texts(task, examples))
        framed = [reader.frame_texts(ids, None, length) for ids in texts]
        return reader.add_tokens(Rows.one_each(len(examples), width=2), framed)

    def _load(self) -> None:
        """Load the checkpoint, once; raises BadInput for a layer that it does not have."""
        if self._model is not None:
            return
        import_torch()
        from nikawa.models.encoder.subwords import SubwordReader

        settings, source = self.settings, self._setup.argument
        backbone = open_backbone(source)
        layers = int(backbone.config.num_hidden_layers)
        if not -layers - 1 <= settings.layer <= layers:
            what = f"{source} has {layers} layers; there is no layer {settings.layer}"
            raise BadInput(
                what, cure=f"set layer to 0 (embeddings) to {layers}, or -1 for the last"
            )
        backbone.check_length(settings.max_length)
        find_words = make_word_finder(settings.segmentation)
        self._reader = SubwordReader(
            backbone.tokenizer, find_words, backbone.segments, settings.normalise
        )
        self._model = backbone.model("AutoModel", EncoderSettings()).float().eval()

    def _weigh_subwords(self, counts: Counter[int] | None, texts: int) -> np.ndarray:
        """One weight per sub-word by the number of texts it is in, 1 without counts.

        Special tokens weigh nothing.
        """
        import numpy as np

        tokenizer = self._reader.tokenizer
        weights = np.full(len(tokenizer), 1.0 if counts is None else log(texts + 1))
        for subword, count in (counts or {}).items():
            weights[subword] = log((texts + 1) / (count + 1))
        weights[[i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id]] = 0.0
        return weights


def compare(vectors: Any, mask: Any, weights: Any) -> Any:
    """Precision, recall and F1 of pairs of adjacent texts: the second against
    the first.
    """
    import torch

    vectors = torch.nn.functional.normalize(vectors.float(), dim=-1)
    first = vectors[0::2]
    second = vectors[1::2]
    cosine = second @ first.transpose(1, 2)
    cosine = cosine.masked_fill((mask[1::2, :, None] * mask[0::2, None, :]) == 0, -1.0)
    share = weights * mask
    precision = _mean(cosine.amax(dim=2), share[1::2])
    recall = _mean(cosine.amax(dim=1), share[0::2])
    both = precision + recall
    f1 = torch.where(
        both > 0, 2 * precision * recall / both.clamp(min=1e-9), torch.zeros_like(both)
    )
    return torch.stack([precision, recall, f1], dim=-1)


def _mean(values: Any, weights: Any) -> Any:
    return (values * weights).sum(-1) / weights.sum(-1).clamp(min=1e-9)


def _get_texts(task: Task, examples: Sequence[Example]) -> list[str]:
    """The first two texts of every example, one after the other."""
    if len(task.inputs) < 2:
        raise BadInput(
            f"{task.name} has one input text, and BERTScore compares two", cure="keep both inputs"
        )
    return [get_text(example, name) for example in examples for name in task.inputs[:2]]


MODELS = (
    Model(
        "bertscore",
        "similarity of the token vectors of two texts (BERTScore)",
        ("similarity",),
        BertScore,
        BertScoreSettings,
        "PATH",
        ("device",),
        locate_checkpoint,
        check_checkpoint,
        resolve_settings=resolve_published_input,
    ),
)
