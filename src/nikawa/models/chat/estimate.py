"""Estimates the requests, tokens and cost of a run without sending a request.

The same code builds the requests as in the run itself; requests with a reply on disk are not
counted. Two things are unknown before the server is asked.

**The answer method.** If the journal has no reply about the server's abilities, the estimate
assumes the best method for the kind of task: one request per item. A server that can only echo
needs one request per option.

**Its tokens.** The estimate counts the characters of a request, weighted by script
(`TOKENS_PER_CHARACTER`), plus `TOKENS_PER_MESSAGE` for the template around each message. The weights are a
fit of the token counts of five current vocabularies (o200k of OpenAI, Qwen, Llama 3 and 4,
Mistral's Tekken) on texts of JGLUE and KLUE and on English prose, rounded upwards;
docs/chat.md has the table. If replies to some requests are on disk, the server's own counts
correct the estimate. An answer counts with the maximum number of tokens it can take. `cost_at_most`
counts each byte of a request as a token: no vocabulary needs more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from nikawa.models.chat.abilities import Prober
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.session import PROBE, RequestKeys
from nikawa.models.chat.settings import ChatSettings, read_max_tokens

TOKENS_PER_CHARACTER = (
    ("kana", re.compile("[\u3040-\u30ff\uff66-\uff9f]"), 0.75),
    ("kanji", re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"), 0.95),
    ("hangul", re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"), 0.9),
    ("Latin letters", re.compile("[A-Za-z]"), 0.22),
    ("digits", re.compile("[0-9]"), 1.2),
    ("blanks", re.compile(r"\s"), 0.2),
)
"""Script, its characters, and sub-words per character."""
TOKENS_PER_OTHER_CHARACTER = 0.7
"""Punctuation, symbols and other scripts."""
TOKENS_PER_MESSAGE = 4
"""What a chat template puts around each message."""
ANY_ABILITY = Reply(
    key="", text='{"answer": "heron"}', first=[("A", 0.0)], tail=[(" B", 0.0)], tokens_in=1
)
"""The reply of a server that can do everything."""


def estimate_tokens(text: str) -> float:
    """Estimate the number of tokens of a text.

    >>> round(estimate_tokens("猫が眠る。")), round(estimate_tokens("고양이가 잔다."))
    (4, 6)
    """
    tokens, rest = 0.0, len(text)
    for _, characters, weight in TOKENS_PER_CHARACTER:
        count = len(characters.findall(text))
        tokens += count * weight
        rest -= count
    return tokens + rest * TOKENS_PER_OTHER_CHARACTER


def estimate_request(body: Mapping[str, Any]) -> float:
    """Estimate the number of input tokens that a request is billed for."""
    if "prompt" in body:
        return estimate_tokens(body["prompt"])
    messages = body["messages"]
    return sum(estimate_tokens(one["content"]) + TOKENS_PER_MESSAGE for one in messages)


@dataclass
class RequestEstimate:
    """The requests that are still to be sent."""

    requests: int = 0
    kept: int = 0
    """Requests whose replies are on disk, or will be by then."""
    tokens_in: float = 0.0
    tokens_out: int = 0
    """Output tokens, at the maximum that answers can take."""
    cost: float = 0.0
    cost_at_most: float = 0.0
    measured: int = 0
    """Replies on disk whose token counts correct the estimate."""
    assumed: str = ""
    """The assumed answer method, if the server's abilities are not known."""
    is_counted: bool = False
    """Whether the tokens were counted with the model's own tokenizer; then nothing is paid."""
    notes: tuple[str, ...] = ()
    """Further notes on the prompts."""
    estimated_of_kept: float = field(default=0.0, repr=False)
    tokens_of_kept: int = field(default=0, repr=False)
    bytes_in: int = field(default=0, repr=False)

    def correct(self, settings: ChatSettings) -> None:
        """Scale the tokens by those of replies on disk, and compute the cost."""
        if self.estimated_of_kept and self.tokens_of_kept:
            self.tokens_in *= self.tokens_of_kept / self.estimated_of_kept
        self.tokens_in = round(self.tokens_in)
        self.cost = settings.cost_of(round(self.tokens_in), self.tokens_out)
        self.cost_at_most = settings.cost_of(self.bytes_in, self.tokens_out)


class RequestCounter(Prober):
    """Counts requests instead of sending them."""

    def __init__(
        self, settings: ChatSettings, known: Mapping[str, Reply], planned: set[str]
    ) -> None:
        self.settings = settings
        self.estimate = RequestEstimate()
        self._known, self._planned = known, planned
        self._keys = RequestKeys(settings)

    async def probe(self, path: str, body: dict[str, Any], tokens: int) -> Reply:
        """The stored reply about the server's abilities, otherwise the assumption that it has the ability."""
        key = self._keys.compute(path, body, PROBE)
        if key in self._known:
            return self._known[key]
        self._count(key, body, tokens)
        return ANY_ABILITY

    def count(self, path: str, body: dict[str, Any], tokens: int) -> None:
        """Count a request of a task."""
        key = self._keys.compute(path, body)
        reply = self._known.get(key)
        if reply is not None and reply.tokens_in:
            self.estimate.measured += 1
            self.estimate.estimated_of_kept += estimate_request(body)
            self.estimate.tokens_of_kept += reply.tokens_in
        if reply is not None or key in self._planned:
            self.estimate.kept += 1
        else:
            self._count(key, body, tokens)

    def _count(self, key: str, body: dict[str, Any], tokens: int) -> None:
        self._planned.add(key)
        self.estimate.requests += 1
        self.estimate.tokens_in += estimate_request(body)
        self.estimate.tokens_out += read_max_tokens(body, tokens)
        self.estimate.bytes_in += len(msgspec.json.encode(body))
