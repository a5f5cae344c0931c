"""What can go wrong with a request, and what to do about each: try again, wait, pass the item over, or stop."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from nikawa.errors import clip
from nikawa.models.chat.journal import Reply

Action = Literal["again", "wait", "item", "stop"]
MAX_SERVER_WORDS_CHARS = 120
"""Characters of a server's own words in a message."""
QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""Codes of status 429 that waiting does not cure."""
TOO_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error", "string_above_max_length")
"""Codes and types of an error that say that a question is longer than the model reads."""
_LONG = re.compile(
    r"(?:context|maximum model) (?:length|size|window)|max_model_len|too many tokens"
    r"|(?:prompt|input|request)\b[^.]{0,40} (?:is|are) too (?:long|large)|request too large"
    r"|`inputs` tokens \+|must have less than \d+ tokens|max_tokens must be at least 1, got -"
    r"|token count\b.{0,40}\bexceeds",
    re.IGNORECASE,
)
"""The same in the words of servers that have no code for it: vLLM, SGLang, TGI, llama.cpp and hosted services."""
_LONG_STATUS = (400, 413, 422, 429, 500)


class RequestProblem(Exception):
    """A request that was not answered, in one line without secrets."""

    def __init__(
        self,
        what: str,
        then: Action,
        *,
        status: int = 0,
        after: float | None = None,
        long: bool = False,
    ) -> None:
        super().__init__(what)
        self.what, self.then, self.status, self.after, self.long = what, then, status, after, long
        """`after`: the seconds the server asks to wait. `long`: the question is longer than the model reads."""


def problem_of_status(
    status: int, headers: Mapping[str, str], found: Any, body: str
) -> RequestProblem:
    """The problem that a status other than 2xx tells; `found` is the body as JSON, where it is that."""
    said, long = _words(found, body), is_too_long(status, found, body)
    told = f"the server answers {status}" + (f": {said}" if said else "")
    if status in (401, 403):  # what it says of the key may hold a part of it
        told = f"the server refuses the key ({status})"
    elif 300 <= status < 400:
        told = f"the server answers {status} and points elsewhere"
    then = "item" if long else _then(status, _code(found))
    after = read_retry_after(headers) if then in ("again", "wait") else None
    return RequestProblem(told, then, status=status, after=after, long=long)


def is_too_long(status: int, found: Any, body: str) -> bool:
    """Whether an error says that the question does not fit into the model's context."""
    error = _error(found)
    codes = (
        {str(error.get(name)) for name in ("code", "type")} if isinstance(error, dict) else set()
    )
    told = status in _LONG_STATUS and _LONG.search(_message(found, body)) is not None
    return status == 413 or told or not codes.isdisjoint(TOO_LONG_CODES)


def _then(status: int, code: str) -> Action:
    if status == 429 and code not in QUOTA_CODES:
        return "wait"
    if status in (401, 402, 403, 404, 405, 429) or 300 <= status < 400:
        return "stop"
    return "again" if status in (408, 409, 425) or (status >= 500 and status != 501) else "item"


def read_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds a `Retry-After` asks for: a number, a date, or milliseconds under its second name."""
    try:
        if "retry-after-ms" in headers:
            return _bounded(float(headers["retry-after-ms"]) / 1000)
        return _bounded(float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return _bounded((then - (now or datetime.now(UTC))).total_seconds())


def _bounded(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds < float("inf") else None


def is_filtered(found: Any) -> bool:
    """Whether an error says that a content filter refused the question: an answer of a kind, not a failure."""
    return _code(found) in ("content_filter", "content_policy_violation")


def _error(found: Any) -> Any:
    return found.get("error", found) if isinstance(found, dict) else None


def _code(found: Any) -> str:
    error = _error(found)
    return str(error.get("code") or error.get("type") or "") if isinstance(error, dict) else ""


def _words(found: Any, body: str) -> str:
    """What the server says, on one line and not too long."""
    text = "".join(c if c.isprintable() else " " for c in _message(found, body))
    return clip(" ".join(text.split()), MAX_SERVER_WORDS_CHARS)


def _message(found: Any, body: str) -> str:
    """The message of an error, the title of a page, or its beginning."""
    error = _error(found)
    if isinstance(error, dict):
        said = error.get("message") or error.get("detail") or error.get("code") or ""
    elif error is not None:
        said = error
    else:
        title = re.search(r"<title[^>]*>([^<]*)", body[:4096], re.IGNORECASE)
        said = title[1] if title else re.sub(r"<[^>]*>", " ", body[:4096])
    return str(said)


MAX_TAIL_TOKENS = 64
"""Tokens kept of an echoed prompt: more than the longest label has."""


def read_reply(key: str, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply in a response, or the `Problem` it tells."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if is_filtered(found):
        return Reply(key=key, finish="content_filter", refusal="content filter")
    if status >= 300:
        raise problem_of_status(status, headers, found, text)
    if not isinstance(found, dict):
        raise RequestProblem("the server's answer is not JSON", "again", status=status)
    if found.get("error"):  # some gateways say so under status 200
        raise problem_of_status(_status_of(found["error"]), headers, found, text)
    return _reply(key, found)


def _status_of(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 300 <= code < 600 else 500


def _reply(key: str, found: dict[str, Any]) -> Reply:
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise RequestProblem("the server's answer holds no choices", "again")
    choice, usage = choices[0], found.get("usage")
    message = choice.get("message")
    if not isinstance(message, dict):
        if "text" not in choice:
            raise RequestProblem("the server's answer holds no message", "again")
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
    kept = list(zip(tokens, values, strict=True))[max(0, end - MAX_TAIL_TOKENS) : end]
    return [(_text(token), float(value)) for token, value in kept if _finite(value)]
