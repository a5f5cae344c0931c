"""A model behind an OpenAI-compatible server: `chat:NAME` with the setting `base_url`.

The prompt of each kind of task is a file in `models/prompts/`, its questions are in `questions.py`,
and how an answer is drawn out of a server is in `abilities.py`. A request that fails is an error,
never an answer; the run goes on from its journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from nikawa.models.base import Model, Predictor, Setup
from nikawa.models.chat.settings import RUNTIME_SETTINGS, ChatSettings
from nikawa.records import Kind, Task


def make(setup: Setup) -> Predictor:
    """The model; its parts are loaded only now."""
    from nikawa.models.chat.model import Chat

    return Chat(setup)


def list_shipped_files(task: Task, settings: Mapping[str, Any]) -> Mapping[str, str]:
    """The prompt, where that is not one of 0.1.0."""
    from nikawa.models.chat.prompts import find_prompt_version

    return find_prompt_version(task, settings)


MODELS = (
    Model(
        "chat",
        "a model served by an OpenAI-compatible API",
        get_args(Kind),
        make,
        settings=ChatSettings,
        argument="NAME",
        runtime_settings=RUNTIME_SETTINGS,
        shipped_files=list_shipped_files,
    ),
)
