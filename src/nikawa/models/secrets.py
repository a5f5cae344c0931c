"""Keys and passwords in the settings of models: sent to the server, and kept out of everything that is stored or shown.

A server may need a key in a separate field (`--set 'extra={"api_key": …}'`). The definition of a run has `MASK` in its
place: the run's files, its hash, the journal of replies, reports and messages are the same under any key. The real
values are passed along in memory, and inserted when a model is made.

A value is a secret because of its name (`api_key`, `Authorization`, `token`, `password`, … at any depth), its
form (`Bearer …`, an address with a password), or because the environment variable of the key has the same value. The
names of a model's own special tokens (`stop_token`) and counts of tokens are not secrets: they change answers, so they
must be part of the hash.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from nikawa.errors import BadInput

MASK = "[secret]"
MIN_SECRET_CHARS = 4
"""Minimum characters of a key in the environment: a shorter one would match ordinary words."""
_PASSWORDS = {"secret", "secrets", "password", "passwords", "passwd", "passphrase", "pwd"}
_SECRET_WORDS = _PASSWORDS | {
    "apikey", "apikeys", "auth", "authentication", "authorization", "bearer", "cookie", "cookies", "credential",
    "credentials", "key", "keys", "token",
}  # fmt: skip
"""Last words of the names of secrets."""
_OWN_TOKENS = {
    "begin", "bos", "cls", "decoder", "end", "eos", "eot", "first", "image", "last", "mask", "pad", "sep", "special",
    "start", "stop", "think", "unk",
}  # fmt: skip
"""Words before `token` that mean a token of a vocabulary."""
_TOKENS = {"access", "api", "auth", "bearer", "refresh", "session"}
"""Words before `tokens` that mean keys; otherwise tokens are counted, or belong to a model."""
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_FORM = re.compile(r"(?i)\s*(?:bearer|basic)\s+\S{4,}|\S*://[^/\s:@]*:[^/\s@]+@")
_REFERENCE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


def is_secret_name(name: str) -> bool:
    """Whether the value of a setting with this name is a secret.

    >>> [is_secret_name(name) for name in ("api_key", "X-Api-Key", "accessToken", "stop_token", "max_tokens", "key_env")]
    [True, True, True, False, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "tokens":
        return before in _TOKENS
    return last in _SECRET_WORDS and not (last == "token" and before in _OWN_TOKENS)


def mask_secrets(value: Any, known: Collection[str] = (), name: str = "") -> Any:
    """A copy of plain settings with `MASK` for every secret.

    `known` are further secrets, which may occur anywhere; `name` is the name of the value.

    >>> mask_secrets({"extra": {"api_key": "abc", "top_k": 3, "headers": {"Cookie": "a"}}})
    {'extra': {'api_key': '[secret]', 'top_k': 3, 'headers': {'Cookie': '[secret]'}}}
    """
    if isinstance(value, Mapping):
        if is_secret_name(name):  # {"credentials": {"user": …, "pass": …}}
            return {key: mask_secrets(one, known, name) for key, one in value.items()}
        return {key: mask_secrets(one, known, str(key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(one, known, name) for one in value]
    if isinstance(value, str):
        is_secret = is_secret_name(name) or _FORM.match(value) or any(k in value for k in known)
        return MASK if value and is_secret else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    words = _WORDS.findall(name)
    return MASK if is_number and words and words[-1].lower() in _PASSWORDS else value


def restore_secrets(masked: Any, given: Any, name: str = "a setting") -> Any:
    """The settings of a stored run with the secrets that were passed for it, at the same places.

    Raises BadInput if one is missing.
    """
    if isinstance(masked, Mapping):
        inside = given if isinstance(given, Mapping) else {}
        return {key: restore_secrets(one, inside.get(key), str(key)) for key, one in masked.items()}
    if isinstance(masked, list | tuple):
        others = given if isinstance(given, list | tuple) and len(given) == len(masked) else ()
        pairs = zip(masked, others or [None] * len(masked), strict=True)
        return [restore_secrets(one, other, name) for one, other in pairs]
    if masked != MASK:
        return masked
    if given is None:
        cure = "pass it again as when you started the run: secrets are not stored"
        raise BadInput(f"the secret {name} is missing", cure=cure)
    return given


def find_secrets(value: Any, known: Collection[str] = ()) -> Iterator[str]:
    """The secrets in plain settings as texts, and the parts of them that are secret by themselves."""
    yield from _differences(value, mask_secrets(value, known))


def _differences(value: Any, masked: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _differences(one, masked[key])
    elif isinstance(value, list | tuple):
        for one, other in zip(value, masked, strict=True):
            yield from _differences(one, other)
    elif masked == MASK and value != MASK:
        text = str(value)
        yield text
        yield from (word for word in text.split()[1:] if len(word) >= MIN_SECRET_CHARS)


def environment_secrets(settings: Mapping[str, Any]) -> list[str]:
    """The values of the environment variables that settings name for keys (`key_env`)."""
    names = [value for name, value in settings.items() if name.endswith("_env")]
    values = [os.environ.get(name, "").strip() for name in names if isinstance(name, str)]
    return [value for value in values if len(value) >= MIN_SECRET_CHARS]


def list_secret_variables(value: Any, name: str = "") -> set[str]:
    """The names of the environment variables that settings take a key from: `key_env`, and `$NAME` in place of a secret.

    >>> sorted(list_secret_variables({"key_env": "MY_KEY", "extra": {"api_key": "$OTHER_KEY", "user": "$HOME"}}))
    ['MY_KEY', 'OTHER_KEY']
    """
    if isinstance(value, Mapping):
        return {each for key, one in value.items() for each in list_secret_variables(one, str(key))}
    if isinstance(value, list | tuple):
        return {each for one in value for each in list_secret_variables(one, name)}
    if not isinstance(value, str):
        return set()
    reference = _REFERENCE.fullmatch(value)
    if reference is not None and is_secret_name(name):
        return {reference[1]}
    return {value} if name.endswith("_env") else set()


def fill_in_secrets(value: Any, name: str = "") -> Any:
    """Settings in which a secret written as `$NAME` comes from the environment, so that no command line contains it.

    Raises BadInput where the variable is not set.
    """
    if isinstance(value, Mapping):
        return {key: fill_in_secrets(one, str(key)) for key, one in value.items()}
    if isinstance(value, list):
        return [fill_in_secrets(one, name) for one in value]
    reference = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if reference is None or not is_secret_name(name):
        return value
    variable = reference[1]
    if not os.environ.get(variable):
        raise BadInput(
            f"{name} names the variable {variable}, which is not set", cure="set the variable"
        )
    return os.environ[variable]
