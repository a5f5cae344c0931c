"""Low-rank adapters (Hu et al. 2022): small matrices beside the encoder's are trained, and added to them afterwards.

The head is trained whole. What is saved is a plain checkpoint, whatever was trained.
"""

from __future__ import annotations

from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.models.encoder.settings import EncoderSettings


def adapted(model: Any, settings: EncoderSettings) -> Any:
    """The model with adapters beside every linear layer of its encoder, which alone are trained there."""
    if not settings.lora:
        return model
    try:
        import peft
    except ImportError:
        raise missing_extra("the package 'peft'", "lora") from None
    encoder = model.base_model
    layers = sorted(
        {name.split(".")[-1] for name, part in encoder.named_modules() if _linear(part)}
    )
    if not layers:
        raise BadInput(
            "this architecture has no linear layers to put adapters beside", cure="set lora=0"
        )
    config = peft.LoraConfig(
        r=settings.lora, lora_alpha=2 * settings.lora, lora_dropout=0.0, target_modules=layers
    )
    words = encoder.get_input_embeddings().weight
    peft.inject_adapter_in_model(config, encoder)
    words.requires_grad_(getattr(words, "grown", False))
    return model


def merged(model: Any) -> None:
    """Add the adapters to the weights they stand beside, and take them away."""
    for parent in list(model.modules()):
        for name, part in list(parent.named_children()):
            if hasattr(part, "get_base_layer") and hasattr(part, "merge"):
                part.merge()
                setattr(parent, name, part.get_base_layer())


def _linear(part: Any) -> bool:
    import torch

    return isinstance(part, torch.nn.Linear)
