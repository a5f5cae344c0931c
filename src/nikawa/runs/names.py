"""Names that users give to models: `mine=replay:FILE`. Tables, pages and folders call the model so."""

from __future__ import annotations

from collections.abc import Iterable

from nikawa.errors import BadInput
from nikawa.models import models
from nikawa.text.compose import composed

LONGEST = 80
"""Most characters of a name."""


def name_and_model(given: str) -> tuple[str, str]:
    """`mine=replay:FILE` as the user's name for a model and the model; the name is empty where there is none."""
    name, equals, model = given.partition("=")
    kind, colon, _ = name.partition(":")
    if not equals or (colon and kind in models()):  # the path has the sign: replay:a=b.jsonl
        return "", given
    name = composed(name.strip())  # one name, whichever system it was typed on
    if not name or len(name) > LONGEST or ":" in name or not name.isprintable():
        what = f"{name!r} cannot name a model" if name else "a model is given an empty name"
        cure = (
            f"write NAME={model}, NAME of up to {LONGEST} characters that can be seen, and no colon"
        )
        raise BadInput(what, cure=cure)
    return name, model


def refuse_shared_names(given: Iterable[str]) -> None:
    """A name stands for one model: two under it could not be told apart in a table."""
    known: dict[str, str] = {}
    for name, model in map(name_and_model, dict.fromkeys(given)):
        called = name or model
        if known.setdefault(called, model) != model:
            raise BadInput(
                f"{called!r} names {known[called]} and {model}", cure="give each a name of its own"
            )
