"""Names that users give to models: `mine=replay:FILE`. Tables, pages and folders call the model so."""

from __future__ import annotations

from collections.abc import Iterable

from nikawa.errors import BadInput

LONGEST = 80
"""Most characters of a name."""


def name_and_model(given: str) -> tuple[str, str]:
    """`mine=replay:FILE` as the user's name for a model and the model; the name is empty where there is none."""
    name, equals, model = given.partition("=")
    if not equals or ":" in name:  # the sign may stand in a path: replay:a=b.jsonl
        return "", given
    name = name.strip()
    if not name or len(name) > LONGEST or not name.isprintable():
        what = f"{name!r} cannot name a model" if name else "a model is given an empty name"
        raise BadInput(what, cure=f"write NAME={model}, NAME of up to {LONGEST} characters on one line")
    return name, model


def refuse_shared_names(models: Iterable[str]) -> None:
    """A name stands for one model: two under it could not be told apart in a table."""
    known: dict[str, str] = {}
    for name, model in map(name_and_model, dict.fromkeys(models)):
        called = name or model
        if known.setdefault(called, model) != model:
            raise BadInput(
                f"{called!r} names {known[called]} and {model}", cure="give each a name of its own"
            )
