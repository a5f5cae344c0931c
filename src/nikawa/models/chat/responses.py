"""Reads the response of a server into a `Reply`, or into a `RequestProblem` that says what to do.

Every response is either read or refused, never guessed.
"""

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
"""What to do about a problem: try again, wait, skip the item, or stop."""
MAX_SERVER_WORDS_CHARS = 120
"""Characters of a server's own words in a message."""
QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""Codes of status 429 that waiting does not fix."""
TOO_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error", "string_above_max_length")
"""Codes and types of an error that mean that a question is too long for the model."""
_LONG = re.compile(
    r"(?:context|maximum model) (?:length|size|window)|max_model_len|too many tokens"
    r"|(?:prompt|input|request)\b[^.]{0,40} (?:is|are) too (?:long|large)|request too large"
    r"|`inputs` tokens \+|must have less than \d+ tokens|max_tokens must be at least 1, got -"
    r"|token count\b.{0,40}\bexceeds",
    re.IGNORECASE,
)
"""The same, for servers that have no code for it: vLLM, SGLang, TGI, llama.cpp and
hosted services."""
_LONG_STATUS = (400, 413, 422, 429, 500)
_FILTER_CODES = ("content_filter", "content_policy_violation")
MAX_COUNT = 2**40
"""Tokens that a server may count for one request; a larger number is no count."""
MAX_TAIL_TOKENS = 64
"""Tokens kept of an echoed prompt: more than the longest label has."""


class RequestProblem(Exception):
    """A request that was not answered, in one line without secrets."""

    def __init__(
        self,
        what: str,
        action: Action,
        *,
        status: int = 0,
        after: float | None = None,
        is_too_long: bool = False,
        may_be_billed: bool = False,
    ) -> None:
        super().__init__(what)
        self.what, self.action, self.status = what, action, status
        self.after = after
        """The seconds the server asks to wait."""
        self.is_too_long = is_too_long
        """Whether the question is longer than the model reads."""
        self.may_be_billed = may_be_billed
        """Whether the server may have produced an answer that did not arrive."""


def read_reply(key: str, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply in a response; raises the `RequestProblem` it reports."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    # a question refused by a content filter counts as an answer, not as a failure
    if _find_code(value) in _FILTER_CODES:
        return Reply(key=key, finish="content_filter", refusal="content filter")
    if status >= 300:
        raise problem_of_status(status, headers, value, text)
    if not isinstance(value, dict):
        what = "the server's response is not JSON"
        raise RequestProblem(what, "again", status=status, may_be_billed=True)
    if value.get("error"):  # some gateways report errors with status 200
        error = value["error"]
        code = _to_dict(error).get("code")
        if not isinstance(code, int) or not 300 <= code < 600:
            code = 500
        raise problem_of_status(code, headers, value, text)
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise RequestProblem("the server's response has no choices", "again", may_be_billed=True)
    return read_choice(key, choices[0], value)


def read_choice(key: str, choice: dict[str, Any], response: dict[str, Any]) -> Reply:
    """Read the reply in the first choice of a response, with the usage and model of the response."""
    message = choice.get("message")
    if not isinstance(message, dict):
        if "text" not in choice:
            raise RequestProblem(
                "the server's response has no message", "again", may_be_billed=True
            )
        message = {"content": choice["text"]}
    logprobs = _to_dict(choice.get("logprobs"))
    usage = _to_dict(response.get("usage"))
    return Reply(
        key=key,
        text=_to_text(message.get("content")),
        finish=_to_text(choice.get("finish_reason")),
        refusal=_to_text(message.get("refusal")),
        first=_read_first_tokens(logprobs),
        tail=_read_echoed_tail(logprobs, usage.get("completion_tokens")),
        tokens_in=_to_count(usage.get("prompt_tokens")),
        tokens_out=_to_count(usage.get("completion_tokens")),
        served=_to_text(response.get("model")),
    )


def _to_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _to_text(value: Any) -> str:
    """A text, also one in several parts; lone surrogates, which cannot be written to a file, are replaced."""
    if isinstance(value, list):
        value = "".join(_to_text(part.get("text")) for part in value if isinstance(part, dict))
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _to_count(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= MAX_COUNT else 0


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _read_first_tokens(logprobs: dict[str, Any]) -> list[tuple[str, float]] | None:
    """The likeliest tokens where the answer begins: at the first token that is not blank."""
    content = logprobs.get("content")
    for position in content if isinstance(content, list) else ():
        if not isinstance(position, dict) or not _to_text(position.get("token")).strip(" \n\t▁Ġ"):
            continue
        top = position.get("top_logprobs")
        if not isinstance(top, list) or not top:
            return None
        return [
            (_to_text(token.get("token")), float(token["logprob"]))
            for token in top
            if isinstance(token, dict) and _is_finite(token.get("logprob"))
        ]
    return None


def _read_echoed_tail(logprobs: dict[str, Any], generated: Any) -> list[tuple[str, float]] | None:
    """The end of an echoed prompt, without the generated token after it."""
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    end = max(0, len(tokens) - (generated if generated in (0, 1) else 1))
    tail = slice(max(0, end - MAX_TAIL_TOKENS), end)
    pairs = zip(tokens[tail], values[tail], strict=True)
    return [(_to_text(token), float(value)) for token, value in pairs if _is_finite(value)]


def problem_of_status(
    status: int, headers: Mapping[str, str], value: Any, body: str
) -> RequestProblem:
    """The problem that a status other than 2xx reports.

    `value` is the body if it is JSON.
    """
    message = _find_error_message(value, body)
    printable = "".join(c if c.isprintable() else " " for c in message)
    words = clip(" ".join(printable.split()), MAX_SERVER_WORDS_CHARS)
    what = f"the server returned status {status}" + (f": {words}" if words else "")
    if status in (401, 403):  # the message may contain a part of the key
        what = f"the server rejected the key (status {status})"
    elif 300 <= status < 400:
        what = f"the server returned a redirect (status {status})"
    error = _to_dict(_find_error(value))
    codes = {str(error.get("code")), str(error.get("type"))}
    # the question does not fit into the model's context
    is_too_long = status == 413 or not codes.isdisjoint(TOO_LONG_CODES)
    if status in _LONG_STATUS and _LONG.search(message):
        is_too_long = True
    action: Action = "item" if is_too_long else choose_action(status, _find_code(value))
    after = read_retry_after(headers) if action in ("again", "wait") else None
    return RequestProblem(what, action, status=status, after=after, is_too_long=is_too_long)


def choose_action(status: int, code: str) -> Action:
    """Choose what to do about a status: only temporary problems are tried again."""
    if status == 429 and code not in QUOTA_CODES:
        return "wait"
    if status in (401, 402, 403, 404, 405, 429) or 300 <= status < 400:
        return "stop"
    return "again" if status in (408, 409, 425) or (status >= 500 and status != 501) else "item"


def read_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds a `Retry-After` asks for: a number, a date, or milliseconds under its second
    name.
    """
    try:
        if "retry-after-ms" in headers:
            return _bound(float(headers["retry-after-ms"]) / 1000)
        return _bound(float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return _bound((then - (now or datetime.now(UTC))).total_seconds())


def _bound(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds < float("inf") else None


def _find_error(value: Any) -> Any:
    return value.get("error", value) if isinstance(value, dict) else None


def _find_code(value: Any) -> str:
    error = _to_dict(_find_error(value))
    return str(error.get("code") or error.get("type") or "")


def _find_error_message(value: Any, body: str) -> str:
    """The message of an error, the title of a page, or its beginning."""
    error = _find_error(value)
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail") or error.get("code") or ""
    elif error is not None:
        message = error
    else:
        title = re.search(r"<title[^>]*>([^<]*)", body[:4096], re.IGNORECASE)
        message = title[1] if title else re.sub(r"<[^>]*>", " ", body[:4096])
    return str(message)
