"""What the options of `nikawa run` mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.models import Model
from nikawa.runs.plan import Request
from nikawa.runs.preset import Preset, read_preset, under

MOST = 1_000
"""Seeds that a number may stand for."""
LARGEST = 2**32 - 1
"""The largest seed that every library takes."""


def asked(models: list[str], tasks: list[str], words: Mapping[str, Any]) -> Request:
    """The request that options spell."""
    names = [name for entry in tasks for name in split(entry)]
    if not models:
        raise BadInput("no model is named", cure="write --model NAME: nikawa run models shows them")
    if not names:
        raise BadInput("no task is named", cure="write --tasks NAME: nikawa tasks shows them")
    settings = dict(pair(entry) for entry in words["settings"] or ())
    if words["base_url"]:
        settings["base_url"] = words["base_url"]
    request = Request(
        tasks=tuple(dict.fromkeys(names)),
        models=tuple(dict.fromkeys(models)),
        seeds=_seeds(words["seeds"]),
        settings={name: value(text) for name, text in settings.items()},
        grid={
            name: tuple(map(value, split(text))) for name, text in map(pair, words["grid"] or ())
        },
        inputs=tuple(split(words["inputs"] or "")),
        shares=tuple(map(_share, split(words["share"]))),
        shots=words["shots"],
        train=tuple(split(words["train"] or "")),
        labels=dict(pair(entry) for entry in words["label"] or ()),
        choose_seeds=words["choose_seeds"],
    )
    return under(read_preset(words["preset"]) if words["preset"] else Preset(), request)


def checked(notation: str | None) -> None:
    """Refuse a notation that does not exist before the work, not after it."""
    from nikawa.reporting.tables import NOTATIONS

    if notation is not None and notation not in NOTATIONS:
        raise unknown("notation", notation, NOTATIONS)


def split(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def pair(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        raise BadInput(f"{text!r} is no setting", cure="write KEY=VALUE")
    return key.strip(), rest.strip()


def value(text: str) -> Any:
    """A number, true, false, null or a list where it reads as one, else a text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(
            f"{text!r} is no share", cure="write numbers up to 1: 0.25,0.5,1.0"
        ) from None


def _seeds(text: str | None) -> tuple[int, ...]:
    """`5`: 0 to 4; `7,8`: those; nothing: the preset's, else one."""
    if text is None:
        return ()
    words = split(text)
    counted = len(words) == 1 and "," not in text
    if not words or not all(word.isdecimal() for word in words) or (counted and int(words[0]) < 1):
        raise BadInput(f"{text!r} tells no seeds", cure="write how many (5) or which (7,8)")
    if counted and int(words[0]) > MOST:
        raise BadInput(
            f"{text} seeds are too many", cure=f"write up to {MOST:,}; {text}, names the one"
        )
    if max(map(int, words)) > LARGEST:
        raise BadInput(f"a seed of {text!r} is too large", cure=f"write numbers up to {LARGEST}")
    return tuple(range(int(words[0]))) if counted else _unique(map(int, words))


def _unique(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


def described(found: Model) -> dict[str, Any]:
    """A model for the list: name, kinds, settings with their defaults."""
    fields = msgspec.structs.fields(found.settings) if found.settings else ()
    defaults = {f.encode_name: _default(f) for f in fields}
    name = f"{found.name}:{found.argument}" if found.argument else found.name
    return {"model": name, "title": found.title, "kinds": list(found.kinds), "settings": defaults}


def _default(field: Any) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    return (
        None
        if field.default_factory is msgspec.NODEFAULT
        else msgspec.to_builtins(field.default_factory())
    )
