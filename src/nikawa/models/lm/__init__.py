"""A causal language model on this machine: `lm:PATH_OR_NAME`.

Questions are those of `chat:`, with the same prompt files. Closed questions are answered by the
log-likelihood of their options (`engine.py`), others by greedy generation (`generate.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from nikawa.models.base import Model, Predictor, Setup
from nikawa.models.chat import list_shipped_files
from nikawa.models.encoder.checkpoint import locate_checkpoint
from nikawa.models.lm.settings import PATH_SETTINGS, RUNTIME_SETTINGS, LmSettings
from nikawa.records import Kind


def make(setup: Setup) -> Predictor:
    """The model; torch is loaded when it first answers."""
    from nikawa.models.lm.model import LanguageModel

    return LanguageModel(setup)


def check_argument(source: str) -> None:
    """Raise BadInput for a checkpoint that cannot be one."""
    from nikawa.models.lm.checkpoint import check_language_model

    check_language_model(source)


def count_parallel(settings: Mapping[str, Any]) -> int:
    """One run per GPU, unless a model takes several."""
    if settings.get("device_map") or settings.get("device", "auto") != "auto":
        return 1
    import torch

    return max(1, int(torch.cuda.device_count()))


MODELS = (
    Model(
        "lm",
        "a causal language model on this machine",
        get_args(Kind),
        make,
        settings=LmSettings,
        argument="PATH_OR_NAME",
        runtime_settings=RUNTIME_SETTINGS,
        home=locate_checkpoint,
        path_settings=PATH_SETTINGS,
        check_argument=check_argument,
        shipped_files=list_shipped_files,
        count_parallel=count_parallel,
    ),
)
