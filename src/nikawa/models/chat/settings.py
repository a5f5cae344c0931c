"""The user's settings, checked before any request; they name the key's variable and never contain a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

FIXED_FIELDS = ("model", "messages", "prompt", "stream", "n")
"""Fields of a request that `extra` may not set."""
TOKENS_PER_PRICE = 1e6
RUNTIME_SETTINGS = (
    "key_env",
    "auth",
    "concurrency",
    "retries",
    "wait",
    "patience",
    "timeout",
    "cache",
    "price_in",
    "price_out",
    "budget",
)
"""Settings that change how requests are sent, never an answer: a run that stopped at its budget
resumes with a higher one."""


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of `chat:NAME`; money is in the unit of the prices, per million tokens."""

    base_url: str = ""
    """Address up to the version: `http://127.0.0.1:8000/v1`."""
    key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key; without it no key is sent."""
    auth: Literal["bearer", "api-key", "basic"] = "bearer"
    """How the key is sent: `Authorization: Bearer`, an `api-key` header, or NAME:PASSWORD."""
    how: Literal["auto", "logprob", "constrained", "parse"] = "auto"
    """How answers are obtained; auto: the best way that the server offers."""
    language: Literal["auto", "ja", "ko", "en"] = "auto"
    """The language of the prompt; auto: that of the texts."""
    prompt: str = ""
    """A prompt file instead of the one that comes with Nikawa."""
    shots: int | Literal["all"] = 0
    """Examples shown before the question, of those to learn from."""
    extract: tuple[str, ...] = ()
    """Regular expressions that extract the answer from a free-text reply, tried in order."""
    temperature: float = 0.0
    max_tokens: int | None = None
    """Tokens an answer may take; None: by kind of task."""
    extra: dict[str, Any] = {}
    """Further fields of every request, such as `reasoning_effort`."""
    concurrency: int = 8
    """Maximum requests in flight; fewer if the server reports too many."""
    retries: int = 6
    """Further tries after an error of the server or the network."""
    wait: float = 1.0
    """Seconds before the first further try; doubled each time, up to a minute."""
    patience: float = 600.0
    """Seconds that a request may wait because the server reports too many requests."""
    timeout: float = 120.0
    """Seconds a try may take in all."""
    cache: str = ""
    """A folder of replies that several runs share; each run also keeps its own."""
    price_in: float = 0.0
    price_out: float = 0.0
    budget: float | None = None
    """Maximum cost of all runs of a command; no request is sent that could exceed it."""

    def __post_init__(self) -> None:
        _check_address(self.base_url)
        if self.extract and self.how not in ("auto", "parse"):
            raise ValueError("extract works on free-text replies: set how=parse")
        for name, least in (("concurrency", 1), ("max_tokens", 1), ("retries", 0), ("shots", 0)):
            value = getattr(self, name)
            if isinstance(value, int) and value < least:
                raise ValueError(f"{name} must be at least {least}")
        for name in ("temperature", "wait", "patience", "price_in", "price_out", "budget"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be 0 or more")
        if not 0 < self.timeout < float("inf"):
            raise ValueError("timeout must be greater than 0")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key_env, re.ASCII):
            raise ValueError("key_env must be the name of an environment variable, not a key")
        for name in FIXED_FIELDS:
            if name in self.extra:
                raise ValueError(f"extra cannot set {name}")
        if self.budget is not None and not self.price_in + self.price_out:
            raise ValueError("a budget needs price_in and price_out")

    def cost_of(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / TOKENS_PER_PRICE


def read_max_tokens(body: Mapping[str, Any], tokens: int) -> int:
    """Most tokens of the answer to a request: `tokens`, or more where an extra field allows it."""
    limits = [body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    return max(tokens, *(limit for limit in limits if isinstance(limit, int)), 0)


def is_loopback(address: str) -> bool:
    """Whether an address is that of this machine.

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("https://api.example.com/v1")
    (True, False)
    """
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_address(address: str) -> None:
    """Refuse addresses that could carry a secret into logs: they are stored with the run."""
    if not address:
        return
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        is_valid = False
    if "@" in address:
        head, _, tail = address.rpartition("@")
        masked = f"{head.partition('://')[0]}://***@{tail}"
        raise ValueError(
            f"base_url {masked} contains a password: put NAME:PASSWORD into an environment variable, "
            "name the variable with key_env, and set auth=basic"
        )
    if not is_valid:
        raise ValueError("base_url must look like http://127.0.0.1:8000/v1")
    if parts.query or parts.fragment or not address.isprintable() or " " in address:
        raise ValueError("base_url must not contain ? or #")
