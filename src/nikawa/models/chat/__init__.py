"""A model behind an OpenAI-compatible server: `chat:NAME` with the setting `base_url`.

The prompt of each kind of task is a file in `prompts/`; how an answer is drawn out of the server is in
`_chat/abilities.py`. A request that fails is an error, never an answer; the run goes on from its journal.
"""

from __future__ import annotations

from typing import get_args

from nikawa.models.base import Model, Predictor, Setup
from nikawa.models.chat.settings import ChatSettings
from nikawa.records import Kind

WORK = ("key_env", "auth", "concurrency", "retries", "wait", "patience", "timeout", "cache")
MONEY = ("price_in", "price_out", "budget")
"""Settings that change no answer: a run that stopped at its budget goes on under a higher one."""


def make(setup: Setup) -> Predictor:
    """The model; its parts are loaded only now."""
    from nikawa.models.chat.model import Chat

    return Chat(setup)


MODELS = (
    Model(
        "chat",
        "a model behind an OpenAI-compatible server",
        get_args(Kind),
        make,
        settings=ChatSettings,
        argument="NAME",
        outside=(*WORK, *MONEY),
    ),
)
