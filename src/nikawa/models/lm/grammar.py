"""Answers that follow a JSON schema, token by token, with the library llguidance.

Without the library answers are free text, which the reader of answers parses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from nikawa.errors import missing_extra

EXTRA = "lm"


def make_constrainer(
    tokenizer: Any, schemas: Sequence[dict[str, Any]], required: bool
) -> SchemaConstrainer | None:
    """What holds each answer to its schema; None: the library is missing and not required."""
    if find_spec("llguidance") is None:
        if required:
            raise missing_extra("the package 'llguidance'", EXTRA)
        return None
    return SchemaConstrainer(tokenizer, schemas)


class SchemaConstrainer:
    """Schemas compiled for one tokenizer; equal schemas are compiled once."""

    def __init__(self, tokenizer: Any, schemas: Sequence[dict[str, Any]]) -> None:
        import llguidance
        import llguidance.hf

        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self._schemas = [json.dumps(schema, ensure_ascii=False) for schema in schemas]
        grammars = {
            text: llguidance.LLMatcher.grammar_from_json_schema(text)
            for text in dict.fromkeys(self._schemas)
        }
        self._grammars = grammars

    def start(self, place: int) -> SchemaConstraint:
        """The constraint of the answer to one prompt."""
        import llguidance

        grammar = self._grammars[self._schemas[place]]
        return SchemaConstraint(llguidance.LLMatcher(self._tokenizer, grammar))

    def make_mask(self, rows: int) -> Any:
        """A bit mask for so many rows that allows everything."""
        import llguidance.torch

        mask = llguidance.torch.allocate_token_bitmask(rows, self._tokenizer.vocab_size)
        mask.fill_(-1)
        return mask

    def apply(self, logits: Any, mask: Any) -> None:
        """Rule out what the mask does not allow."""
        import torch

        bits = torch.arange(32, device=logits.device, dtype=torch.int32)
        words = mask.to(logits.device)
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
        import llguidance.torch

        llguidance.torch.fill_next_token_bitmask(self._matcher, mask, row)

    def accept(self, token: int) -> bool:
        """Take the next token; False: the answer is complete."""
        self._matcher.consume_token(token)
        return not self._matcher.is_stopped()
