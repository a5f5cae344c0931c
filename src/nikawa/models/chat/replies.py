"""From the body of a response to a `Reply`; whatever a server may send, it is read or refused, never guessed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from nikawa.models.chat.journal import Reply
from nikawa.models.chat.problems import Problem, filtered, of_status

TAIL = 64
"""Tokens kept of an echoed prompt: more than the longest label has."""


def read_reply(key: str, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply in a response, or the `Problem` it tells."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if filtered(found):
        return Reply(key=key, finish="content_filter", refusal="content filter")
    if status >= 300:
        raise of_status(status, headers, found, text)
    if not isinstance(found, dict):
        raise Problem("the server's answer is not JSON", "again", status=status)
    if found.get("error"):  # some gateways say so under status 200
        raise of_status(_status_of(found["error"]), headers, found, text)
    return _reply(key, found)


def _status_of(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 300 <= code < 600 else 500


def _reply(key: str, found: dict[str, Any]) -> Reply:
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Problem("the server's answer holds no choices", "again")
    choice, usage = choices[0], found.get("usage")
    message = choice.get("message")
    if not isinstance(message, dict):
        if "text" not in choice:
            raise Problem("the server's answer holds no message", "again")
        message = {"content": choice["text"]}
    logprobs = choice.get("logprobs")
    logprobs = logprobs if isinstance(logprobs, dict) else {}
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        key=key,
        text=_text(message.get("content")),
        finish=_text(choice.get("finish_reason")),
        refusal=_text(message.get("refusal")),
        first=_first(logprobs),
        tail=_tail(logprobs, usage.get("completion_tokens")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        served=_text(found.get("model")),
    )


def _text(value: Any) -> str:
    """A text, also one given in parts; half surrogates, which no file can hold, are replaced."""
    if isinstance(value, list):
        value = "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _pairs(tokens: Any) -> list[tuple[str, float]]:
    """Tokens with the log-probabilities that are numbers."""
    return [
        (_text(token.get("token")), float(token["logprob"]))
        for token in tokens
        if isinstance(token, dict) and _finite(token.get("logprob"))
    ]


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _first(logprobs: dict[str, Any]) -> list[tuple[str, float]] | None:
    """The likeliest tokens where the answer begins: at the first token that is not blank."""
    content = logprobs.get("content")
    for position in content if isinstance(content, list) else ():
        if isinstance(position, dict) and _text(position.get("token")).strip(" \n\t▁Ġ"):
            top = position.get("top_logprobs")
            return _pairs(top) if isinstance(top, list) and top else None
    return None


def _tail(logprobs: dict[str, Any], generated: Any) -> list[tuple[str, float]] | None:
    """The end of an echoed prompt, without the token that was generated after it (one, where nothing is said)."""
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    end = max(0, len(tokens) - (generated if generated in (0, 1) else 1))
    kept = list(zip(tokens, values, strict=True))[max(0, end - TAIL) : end]
    return [(_text(token), float(value)) for token, value in kept if _finite(value)]
