"""Prompts as tokens: where the answer begins, and what the prompts of a task have in common.

A context and its continuation are tokenised together and then cut at the length of the context,
as the field's harnesses do: the tokens are those the model saw in training. Tokenising every
prompt once per option would take longer than the GPU does, so only the last line of a prompt is
tokenised again; if that line does not tokenise the same on its own, the whole prompt is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Tokens = tuple[int, ...]

MIN_SHARED = 2
"""Tokens at the end of a context that its last line must reproduce on its own."""
UNSTABLE_TOKENS = 4
"""Tokens at the end of the shared part of prompts that may be tokenised otherwise with what
follows; they are computed for every item."""


@dataclass(frozen=True)
class Query:
    """A context and the continuations whose log-likelihood is asked for."""

    context: Tokens
    """Tokens before the first that differs between the continuations."""
    branches: tuple[Tokens, ...]
    """Tokens after `context`, for each continuation."""
    scored: tuple[int, ...]
    """How many tokens at the end of each branch belong to the continuation."""
    shared: int = 0
    """Tokens at the start of `context` that other items of the task have too."""


class Encoder:
    """Turns prompts and continuations into tokens."""

    def __init__(self, tokenizer: Any, add_special_tokens: bool) -> None:
        self.tokenizer, self.add_special_tokens = tokenizer, add_special_tokens
        self._tails: dict[tuple[str, str], Tokens] = {}
        self._heads: dict[str, Tokens] = {}

    def encode(self, texts: Sequence[str], special: bool | None = None) -> list[Tokens]:
        """Tokenise texts, in parallel where the tokenizer can."""
        if not texts:
            return []
        add = self.add_special_tokens if special is None else special
        rows = self.tokenizer(
            list(texts),
            add_special_tokens=add,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        return [tuple(row) for row in rows]

    def encode_prompts(self, prompts: Sequence[str], heads: Sequence[str]) -> list[Tokens]:
        """Tokenise prompts, their common starts once.

        A few prompts are tokenised as a whole too. If one differs, the tokenizer looks further than
        a line, and all prompts are tokenised as a whole.
        """
        self._remember_heads(heads)
        rests = [prompt[len(head) :] for prompt, head in zip(prompts, heads, strict=True)]
        if not any(heads):
            return self.encode(prompts)
        self._remember_tails(heads, [[rest] for rest in rests])
        rows = [
            self._join(head, self._heads[head], rest)
            for head, rest in zip(heads, rests, strict=True)
        ]
        places = {0, len(rows) // 2, len(rows) - 1}
        checked = dict(zip(places, self.encode([prompts[place] for place in places]), strict=True))
        if any(rows[place] != row for place, row in checked.items()):
            return self.encode(prompts)
        return rows

    def join_queries(
        self,
        contexts: Sequence[str],
        rows: Sequence[Tokens],
        continuations: Sequence[Sequence[str]],
        heads: Sequence[str],
    ) -> list[Query]:
        """Put prompts and their continuations together.

        `rows` are the tokens of `contexts`, which may have lost their beginning; `heads` has the
        start of each prompt that is the same for other items of the task.
        """
        self._remember_heads(heads)
        self._remember_tails(contexts, continuations)
        queries = []
        for context, row, texts, head in zip(contexts, rows, continuations, heads, strict=True):
            wholes = [self._join(context, row, text) for text in texts]
            queries.append(make_query(row, wholes, self._stable_head(head)))
        return queries

    def count_shared(self, row: Tokens, head: str) -> int:
        """How many tokens at the start of a prompt are those of its head."""
        self._remember_heads([head])
        start = self._stable_head(head)
        return len(start) if row[: len(start)] == start and len(row) > len(start) else 0

    def _stable_head(self, head: str) -> Tokens:
        """The tokens of a head that stay as they are whatever follows it."""
        row = self._heads[head]
        return row[: max(0, len(row) - UNSTABLE_TOKENS)]

    def _remember_heads(self, heads: Sequence[str]) -> None:
        new = [head for head in dict.fromkeys(heads) if head not in self._heads]
        for head, row in zip(new, self.encode(new), strict=True):
            self._heads[head] = row

    def _remember_tails(
        self, contexts: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> None:
        """Tokenise each last line once, alone and with each continuation that follows it."""
        new: dict[tuple[str, str], None] = {}
        for context, texts in zip(contexts, continuations, strict=True):
            tail = last_line(context)
            for text in ("", *texts):
                if (tail, text) not in self._tails:
                    new[tail, text] = None
        rows = self.encode([tail + text for tail, text in new], special=False)
        self._tails |= dict(zip(new, rows, strict=True))

    def _join(self, context: str, row: Tokens, text: str) -> Tokens:
        """The tokens of a context with a continuation."""
        tail = last_line(context)
        alone, joined = self._tails[tail, ""], self._tails[tail, text]
        same = count_common_suffix(row, alone)
        odd = (
            len(alone) - same
        )  # a marker that a text gets at its start, and a context has not here
        if same >= MIN_SHARED and odd <= 1 and joined[: odd + 1] == alone[: odd + 1]:
            return row[: len(row) - same] + joined[odd:]
        whole = self.encode([context + text])[0]
        cut = len(self.encode([context])[0]) - len(row)  # what the prompt lost at its beginning
        return whole[cut:]


def last_line(text: str) -> str:
    """The last line of a text with the line break before it.

    >>> last_line("premise\\nanswer:"), last_line("assistant\\n"), last_line("answer:")
    ('\\nanswer:', 'assistant\\n', 'answer:')
    """
    return text[max(0, text.rfind("\n", 0, len(text) - 1)) :]


def make_query(context: Tokens, wholes: Sequence[Tokens], head: Tokens = ()) -> Query:
    """Cut prompts with their continuations where they begin to differ.

    A continuation starts where its context ends, by the number of tokens; one that vanishes into
    the context's last token counts as that token.

    >>> make_query((1, 2, 3), [(1, 2, 3, 7), (1, 2, 3, 8, 9)]).branches
    ((7,), (8, 9))
    """
    common = min(count_common_prefix(context, whole) for whole in wholes)
    # every continuation needs a token of its own, and the model a token to continue from
    common = max(1, min(common, *(len(whole) - 1 for whole in wholes)))
    scored = tuple(max(1, len(whole) - len(context)) for whole in wholes)
    branches = tuple(whole[common:] for whole in wholes)
    start = context[:common]
    shared = len(head) if start[: len(head)] == head else 0
    return Query(start, branches, scored, min(shared, common - 1))


def count_common_prefix(first: Tokens, second: Tokens) -> int:
    """How many tokens two rows have in common at their start."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    return next(i for i in range(limit) if first[i] != second[i])


def count_common_suffix(first: Tokens, second: Tokens) -> int:
    """How many tokens two rows have in common at their end."""
    limit = min(len(first), len(second))
    return next((i for i in range(limit) if first[-1 - i] != second[-1 - i]), limit)
