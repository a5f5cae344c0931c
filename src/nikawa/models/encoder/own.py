"""Models of our own over an encoder: the encoder is saved as transformers saves it, what we put on top beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import torch

from nikawa.errors import BadInput
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.settings import EncoderSettings

WEIGHTS, KNOWN = "nikawa_head.safetensors", "nikawa_head.json"
NEEDED = {"dialogue": ("slots",), "tree": ("tags", "labels"), "relation": ("labels",)}
"""What the heads that are here keep beside weights."""


class OwnModel(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    """An encoder and layers over its vectors; `known` is what was learned beside weights (tags, slots, values)."""

    kind: ClassVar[str] = ""

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__()
        self.encoder, self.known = encoder, known

    @property
    def base_model(self) -> Any:
        """The encoder, by the name transformers gives it."""
        return self.encoder

    @property
    def hidden(self) -> int:
        """The size of the encoder's vectors."""
        return int(self.encoder.config.hidden_size)

    def save_pretrained(self, folder: Path) -> None:
        """The encoder as transformers reads it, and the rest in two files beside it."""
        from safetensors.torch import save_file

        self.encoder.save_pretrained(folder)
        weights = {
            n: w.detach().cpu().contiguous()
            for n, w in self.state_dict().items()
            if not n.startswith("encoder.")
        }
        save_file(weights, str(Path(folder) / WEIGHTS))
        told = json.dumps({"kind": self.kind, "known": self.known}, ensure_ascii=False, indent=1)
        (Path(folder) / KNOWN).write_text(told + "\n", encoding="utf-8")

    def take(self, source: str) -> None:
        """Take over the weights that were saved beside an encoder."""
        from safetensors.torch import load_file

        path = Path(source) / WEIGHTS
        try:
            told = self.load_state_dict(load_file(str(path)), strict=False)
        except Exception as problem:  # whatever a damaged file makes a reader raise
            raise BadInput(
                f"the head cannot be read: {type(problem).__name__}",
                file=path,
                cure="save the model again",
            ) from None
        if [name for name in told.missing_keys if not name.startswith("encoder.")]:
            raise BadInput("the head lacks weights", file=path, cure="save the model again")


def saved(kind: str, backbone: Backbone, settings: EncoderSettings) -> dict[str, Any] | None:
    """What a model of this kind had learned when it was saved with this checkpoint; None where none was."""
    path = Path(backbone.source) / KNOWN
    known = None if settings.scratch or not path.is_file() else _read(path, kind)
    if known is None and settings.epochs <= 0:
        what = f"{backbone.source} holds no trained head for a {kind}"
        raise BadInput(what, cure="train it: set epochs above 0")
    return known


def _read(path: Path, kind: str) -> dict[str, Any] | None:
    try:
        told = json.loads(path.read_text("utf-8"))
        if told["kind"] != kind:
            return None
        known: dict[str, Any] = {**told["known"]}
        for part in NEEDED.get(kind, ()):
            _ = known[part]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadInput(
            f"the head cannot be read: {type(problem).__name__}",
            file=path,
            cure="save the model again",
        ) from None
    return known
