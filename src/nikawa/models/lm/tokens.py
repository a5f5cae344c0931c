"""Prompts as tokens: where the answer begins, and what the prompts of a task have in common.

A context and its continuation are tokenised together and then cut at the length of the context,
as the field's harnesses do: the tokens are those the model saw in training. Tokenising every
prompt once per option would take longer than the GPU does, so only the last line of a context is
tokenised again. That gives the tokens of the whole text if the line alone gives the last tokens of
the context, and keeps its first one when the continuation follows: the text before the line and the
line then meet at a boundary that both have. For BPE this is exact, because a row of tokens is the
encoding of its text if each two neighbours are the encoding of theirs. WordPiece splits at the line
break anyway. A unigram vocabulary is used this way only if no token of it reaches across a line
break or a blank. Everything else is tokenised as a whole.
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

    def __init__(self, tokenizer: Any, start: Tokens = ()) -> None:
        self.tokenizer, self.start = tokenizer, start
        """Tokens that every prompt starts with, such as the beginning-of-text token."""
        self._is_local = ends_tokens_at_lines(tokenizer)
        self._tails: dict[tuple[str, str], Tokens] = {}
        self._heads: dict[str, Tokens] = {}

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise prompts, in parallel where the tokenizer can."""
        return [self.start + row for row in self.encode_parts(texts)]

    def encode_parts(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise texts that do not begin a prompt."""
        if not texts:
            return []
        rows = self.tokenizer(
            list(texts),
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        return [tuple(row) for row in rows]

    def encode_prompts(self, prompts: Sequence[str], heads: Sequence[str]) -> list[Tokens]:
        """Tokenise prompts, their common starts once."""
        if not any(heads):
            return self.encode(prompts)
        self._remember_heads(heads)
        rests = [[prompt[len(head) :]] for prompt, head in zip(prompts, heads, strict=True)]
        joined = self._join_all(heads, [self._heads[head] for head in heads], rests)
        return [row for (row,) in joined]

    def join_queries(
        self,
        contexts: Sequence[str],
        rows: Sequence[Tokens],
        continuations: Sequence[Sequence[str]],
        heads: Sequence[str],
    ) -> list[Query]:
        """Put prompts and their continuations together.

        `rows` are the tokens of `contexts`, which may have lost some after `start`; `heads` has the
        start of each prompt that is the same for other items of the task.
        """
        self._remember_heads(heads)
        joined = self._join_all(contexts, rows, continuations)
        return [
            make_query(row, wholes, self._stable_head(head))
            for row, wholes, head in zip(rows, joined, heads, strict=True)
        ]

    def shorten(self, row: Tokens, length: int) -> Tokens:
        """A prompt without its beginning, but with the tokens that every prompt starts with."""
        kept = max(1, length - len(self.start))
        return self.start + row[max(len(self.start), len(row) - kept) :]

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

    def _join_all(
        self,
        contexts: Sequence[str],
        rows: Sequence[Tokens],
        continuations: Sequence[Sequence[str]],
    ) -> list[list[Tokens]]:
        """The tokens of each context with each of its continuations."""
        if self._is_local:
            self._remember_tails(contexts, continuations)
        joined = [
            [self._join(context, row, text) for text in texts]
            for context, row, texts in zip(contexts, rows, continuations, strict=True)
        ]
        missing = [(i, j) for i, each in enumerate(joined) for j, row in enumerate(each) if not row]
        places = list(dict.fromkeys(i for i, _ in missing))
        alone = dict(zip(places, self.encode([contexts[i] for i in places]), strict=True))
        wholes = self.encode([contexts[i] + continuations[i][j] for i, j in missing])
        for (i, j), whole in zip(missing, wholes, strict=True):
            lost = len(alone[i]) - len(rows[i])
            joined[i][j] = self.start + whole[len(self.start) + lost :]
        return joined

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
        rows = self.encode_parts([tail + text for tail, text in new])
        self._tails |= dict(zip(new, rows, strict=True))

    def _join(self, context: str, row: Tokens, text: str) -> Tokens:
        """The tokens of a context with a continuation; empty: the whole text must be tokenised."""
        if not self._is_local:
            return ()
        tail = last_line(context)
        alone, joined = self._tails[tail, ""], self._tails[tail, text]
        same = count_common_suffix(row[len(self.start) :], alone)
        # a text may get a marker at its start, which the line does not have inside the context
        odd = len(alone) - same
        if same >= MIN_SHARED and odd <= 1 and joined[: odd + 1] == alone[: odd + 1]:
            return row[: len(row) - same] + joined[odd:]
        return ()


def find_start_tokens(tokenizer: Any) -> Tokens:
    """The tokens that a tokenizer puts before a text, usually the beginning-of-text token."""
    plain = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    full = list(tokenizer("a")["input_ids"])
    for at in range(len(full) - len(plain) + 1):
        if plain and full[at : at + len(plain)] == plain:
            return tuple(full[:at])
    return ()


def ends_tokens_at_lines(tokenizer: Any) -> bool:
    """Whether a line can be tokenised alone, as far as the kind of vocabulary tells."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    kind = type(getattr(backend, "model", None)).__name__
    if kind == "Unigram":
        words = backend.get_vocab(with_added_tokens=False)  # type: ignore[union-attr]
        return not any("\n" in word[1:] or "\u2581" in word[1:] for word in words)
    return kind in ("BPE", "WordPiece", "WordLevel")


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
