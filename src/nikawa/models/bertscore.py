"""`bertscore:PATH`: how alike two texts are, by the vectors an encoder gives their sub-words, without training.

Zhang et al. (2020): each sub-word of one text is held against the most similar one of the other (cosine); precision and
recall are the means over the sub-words of the two texts, weighted by rarity (`log((N + 1) / (n + 1))` for a sub-word in n of
N texts), and the score is their harmonic mean. The answer is that score, 0 to 1, laid on the task's scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from nikawa.errors import BadInput, missing_extra
from nikawa.models.base import Model, Setup, get_text, not_fitted_error, read_settings
from nikawa.models.encoder.backbone import ready
from nikawa.models.encoder.where import located
from nikawa.records import Example, Prediction, Task

if TYPE_CHECKING:
    import numpy as np


class BertScoreSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `bertscore:PATH`."""

    layer: int = -1
    """The layer whose vectors are compared: 0 is the embeddings, -1 the last."""
    idf: bool = True
    """Weigh sub-words by how rare they are in the training texts; gold is not looked at."""
    max_length: int = 128
    segmentation: str = "none"
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 rounds scores to two or three figures."""
    device: str = "auto"


class BertScore:
    """Compares texts; learns nothing but how rare sub-words are."""

    name = "bertscore"

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.settings = read_settings(BertScoreSettings, setup)
        self._model: Any = None
        self._reader: Any = None
        self._weights: np.ndarray | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Count in how many texts each sub-word stands."""
        if not examples:
            raise BadInput(
                f"there is nothing to learn {task.name} from", cure="name a split with examples"
            )
        self._open()
        texts = [get_text(e, name) for e in examples for name in _sides(task)]
        found = Counter(piece for ids in self._reader.ids(texts) for piece in set(ids))
        self._weights = _weights(self._reader.tokenizer, found, len(texts))

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeness of each pair, on the task's scale."""
        if not examples:
            return []
        if self.settings.idf and self._weights is None:
            raise not_fitted_error(self.name, task)
        self._open()
        found = self._compared(self._rows(task, examples))
        low, high = task.scale or (0.0, 1.0)
        made = []
        for example, values in zip(examples, found, strict=True):
            shares = dict(zip(("precision", "recall", "f1"), values.tolist(), strict=True))
            answer = low + (high - low) * min(max(shares["f1"], 0.0), 1.0)
            made.append(Prediction(example=example.id, answer=answer, scores=shares))
        return made

    def _rows(self, task: Task, examples: Sequence[Example]) -> Any:
        from nikawa.models.encoder.store import Rows

        reader, length = self._reader, self.settings.max_length
        ids = reader.ids([get_text(e, name) for e in examples for name in _sides(task)])
        rows = Rows(width=2, owner=list(range(len(examples))))
        pairs = [reader.pair(one, None, length) for one in ids]
        rows.tokens["input_ids"] = [one for one, _ in pairs]
        if reader.frame.typed:
            rows.tokens["token_type_ids"] = [segments for _, segments in pairs]
        rows.pads["input_ids"] = reader.tokenizer.pad_token_id or 0
        return rows

    def _compared(self, rows: Any) -> list[np.ndarray]:
        import torch

        from nikawa.models.encoder.infer import infer
        from nikawa.models.encoder.learn import device_of, one_line

        device = device_of(self.settings)
        plain = _weights(self._reader.tokenizer, None, 0)
        table = self._weights if self.settings.idf and self._weights is not None else plain
        weights, layer = (
            torch.tensor(table, dtype=torch.float32, device=device),
            self.settings.layer,
        )

        def outputs(model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
            flat = {name: value.flatten(0, 1) for name, value in batch.items()}
            vectors = model(**flat, output_hidden_states=True).hidden_states[layer]
            return (compare(vectors, flat["attention_mask"], weights[flat["input_ids"]]),)

        with one_line(self.settings):
            found = infer(self._model, rows, outputs, device, self.settings.precision == "bf16")
        return [row[0] for row in found]

    def _open(self) -> None:
        if self._model is not None:
            return
        try:
            import torch  # noqa: F401
        except ImportError:
            raise missing_extra("the package 'torch'", "encoder") from None
        from nikawa.models.encoder.backbone import open_backbone
        from nikawa.models.encoder.pieces import Reader
        from nikawa.models.encoder.settings import EncoderSettings, words_by

        backbone = open_backbone(self._setup.argument)
        layers = int(backbone.config.num_hidden_layers)
        if not -layers - 1 <= self.settings.layer <= layers:
            what = f"{self._setup.argument} has {layers} layers, none of them {self.settings.layer}"
            raise BadInput(
                what, cure=f"set layer to 0 (embeddings) to {layers}, or -1 for the last"
            )
        backbone.reads(self.settings.max_length)
        self._reader = Reader(
            backbone.tokenizer, words_by(self.settings.segmentation), backbone.segments
        )
        self._model = backbone.model("AutoModel", EncoderSettings()).float().eval()


def compare(vectors: Any, mask: Any, weights: Any) -> Any:
    """Precision, recall and F1 of pairs of texts that lie one after the other: the second against the first."""
    import torch

    vectors = torch.nn.functional.normalize(vectors.float(), dim=-1)
    first, second = vectors[0::2], vectors[1::2]
    alike = second @ first.transpose(1, 2)
    alike = alike.masked_fill((mask[1::2, :, None] * mask[0::2, None, :]) == 0, -1.0)
    share = weights * mask
    precision, recall = (_mean(alike.amax(dim=d), share[at::2]) for d, at in ((2, 1), (1, 0)))
    both = precision + recall
    f1 = torch.where(
        both > 0, 2 * precision * recall / both.clamp(min=1e-9), torch.zeros_like(both)
    )
    return torch.stack([precision, recall, f1], dim=-1)


def _mean(values: Any, weights: Any) -> Any:
    return (values * weights).sum(-1) / weights.sum(-1).clamp(min=1e-9)


def _weights(tokenizer: Any, found: Counter[int] | None, texts: int) -> np.ndarray:
    """A weight a sub-word, 1 without counts; the special ones weigh nothing."""
    import numpy as np

    made = np.full(len(tokenizer), log(texts + 1) if found is not None else 1.0)
    for piece, count in (found or {}).items():
        made[piece] = log((texts + 1) / (count + 1))
    made[[i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id]] = 0.0
    return made


def _sides(task: Task) -> tuple[str, ...]:
    if len(task.inputs) < 2:
        raise BadInput(
            f"{task.name} shows one text, and likeness is one of two", cure="keep both inputs"
        )
    return task.inputs[:2]


MODELS = (
    Model(
        "bertscore",
        "how alike the vectors of two texts are (BERTScore)",
        ("similarity",),
        BertScore,
        BertScoreSettings,
        "PATH",
        ("device",),
        located,
        ready,
    ),
)
