"""Answers that follow a JSON schema, token by token, with the library llguidance.

The JSON is compact, as in few-shot examples: a model cannot lose itself in blanks, and an answer ends
with its last bracket. Without the library, answers are free text, which the reader of answers parses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from nikawa.errors import BadInput, missing_extra

EXTRA = "lm"
COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


class UnusableGrammar(Exception):
    """The library cannot hold a tokenizer or a schema; the message is for the user."""


def make_constrainer(
    tokenizer: Any, schemas: Sequence[dict[str, Any]], *, required: bool
) -> SchemaConstrainer | None:
    """What holds each answer to its schema; None: the library is missing and not required.

    Raises UnusableGrammar if the library cannot do it; BadInput instead if it is required.
    """
    if find_spec("llguidance") is None:
        if required:
            raise missing_extra("the package 'llguidance'", EXTRA)
        return None
    try:
        return SchemaConstrainer(tokenizer, schemas)
    except UnusableGrammar as problem:
        if required:
            raise BadInput(str(problem), cure="set constrained=auto or off") from None
        raise


class SchemaConstrainer:
    """Schemas compiled for one tokenizer; equal schemas are compiled once."""

    def __init__(self, tokenizer: Any, schemas: Sequence[dict[str, Any]]) -> None:
        import llguidance
        import llguidance.hf

        try:
            self._tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        except Exception as problem:  # the library raises several kinds
            raise UnusableGrammar(f"llguidance cannot use the tokenizer: {problem}") from None
        self._schemas = [json.dumps(schema, ensure_ascii=False) for schema in schemas]
        self._matchers: dict[str, Any] = {}
        for text in dict.fromkeys(self._schemas):
            grammar = llguidance.LLMatcher.grammar_from_json_schema(text, defaults=COMPACT)
            matcher = llguidance.LLMatcher(self._tokenizer, grammar)
            if matcher.is_error():
                reason = " ".join(str(matcher.get_error()).split())
                raise UnusableGrammar(f"llguidance cannot use the task's schema: {reason}")
            self._matchers[text] = matcher

    def start(self, place: int) -> SchemaConstraint:
        """The constraint of the answer to one prompt."""
        return SchemaConstraint(self._matchers[self._schemas[place]].deep_copy())

    def make_mask(self, rows: int) -> Any:
        """A bit mask for so many rows that allows everything."""
        # the module of the library for torch would load torch's compiler
        words = -(-self._tokenizer.vocab_size // 32)
        return np.full((rows, words), -1, np.int32)

    def apply(self, logits: Any, mask: Any) -> None:
        """Rule out what the mask does not allow."""
        import torch

        bits = torch.arange(32, device=logits.device, dtype=torch.int32)
        words = torch.from_numpy(mask).to(logits.device)
        allowed = ((words[:, :, None] >> bits) & 1).bool().flatten(1)
        size = min(allowed.shape[1], logits.shape[1])
        logits[:, :size].masked_fill_(~allowed[:, :size], float("-inf"))
        logits[:, size:] = float("-inf")


class SchemaConstraint:
    """The state of one answer."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def fill(self, mask: Any, row: int) -> None:
        """Write the allowed tokens into a row of a bit mask."""
        import llguidance.numpy

        llguidance.numpy.fill_next_token_bitmask(self._matcher, mask, row)

    def accept(self, token: int) -> bool:
        """Take the next token; False: the answer is complete."""
        self._matcher.consume_token(token)
        return not self._matcher.is_stopped()
