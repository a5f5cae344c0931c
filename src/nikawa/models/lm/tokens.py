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

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Anchor:
    """How to continue a text without tokenising it again: its last line is tokenised instead."""

    line: str
    cut: int
    """Tokens at the end of the text that the line has too."""
    odd: int
    """Tokens at the start of the line that the text does not have: a marker may begin a text."""
    begin: Tokens
    """The first tokens of the line. A continuation that changes them cannot be joined here."""

    def join(self, row: Tokens, continued: Tokens) -> Tokens:
        """The tokens of the text with a continuation; empty: the whole text must be tokenised.

        `continued` has the tokens of the line with the continuation.
        """
        if continued[: len(self.begin)] != self.begin:
            return ()
        return row[: len(row) - self.cut] + continued[self.odd :]


class ControlTokens:
    """The control tokens of a tokenizer, such as `</s>`: in the text of an item, they are text.

    A tokenizer reads such a name as the token wherever it is, so an item could end a turn of the
    conversation or begin another one. A blank after the first character makes them text again.
    """

    def __init__(self, tokenizer: Any) -> None:
        added = getattr(tokenizer, "added_tokens_decoder", {}).values()
        names = {str(each) for each in added if getattr(each, "special", False)}
        names |= set(map(str, getattr(tokenizer, "all_special_tokens", ())))
        longest_first = sorted((n for n in names if len(n.strip()) > 1), key=lambda n: (-len(n), n))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self.met: dict[str, None] = {}
        """Those that were in the texts."""

    def break_up(self, text: str) -> str:
        """The text with a blank inside each name of a control token."""
        return self._pattern.sub(self._split, text)

    def _split(self, match: re.Match[str]) -> str:
        name = match[0]
        self.met.setdefault(name, None)
        return f"{name[0]} {name[1:]}"


class Encoder:
    """Turns prompts and continuations into tokens."""

    def __init__(self, tokenizer: Any, start: Tokens = ()) -> None:
        self.tokenizer, self.start = tokenizer, start
        """Tokens that every prompt starts with, such as the beginning-of-text token."""
        self._is_local = ends_tokens_at_lines(tokenizer)
        self._parts: dict[str, Tokens] = {}
        self._heads: dict[str, Tokens] = {}
        self._anchors: dict[tuple[str, Tokens], Anchor | None] = {}
        self._endings: dict[tuple[Anchor, Sequence[str]], Query] = {}

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
            verbose=False,  # texts that are too long are cut and counted later
        )["input_ids"]
        return [tuple(row) for row in rows]

    def encode_prompts(self, prompts: Sequence[str], heads: Sequence[str]) -> list[Tokens]:
        """Tokenise prompts, their common starts once."""
        if not any(heads):
            return self.encode(prompts)
        self._remember_heads(heads)
        anchors = {head: self._find_anchor(head, self._heads[head]) for head in set(heads)}
        texts = []
        for prompt, head in zip(prompts, heads, strict=True):
            anchor = anchors[head]
            texts.append(anchor.line + prompt[len(head) :] if anchor else "")
        rows = []
        for head, part in zip(heads, self.encode_parts(texts), strict=True):
            anchor = anchors[head]
            rows.append(anchor.join(self._heads[head], part) if anchor else ())
        missing = [place for place, row in enumerate(rows) if not row]
        wholes = self.encode([prompts[place] for place in missing])
        for place, whole in zip(missing, wholes, strict=True):
            rows[place] = whole
        return rows

    def join_queries(
        self,
        contexts: Sequence[str],
        rows: Sequence[Tokens],
        continuations: Sequence[Sequence[str]],
        heads: Sequence[str],
    ) -> list[Query]:
        """Put prompts and their continuations together.

        `rows` are the tokens of `contexts`, which may have lost some after `start`; `heads` has the
        start of each prompt that is the same for other items of the task. Items of a task usually
        end alike, and differ in what is before: such an end is put together once.
        """
        self._remember_heads(heads)
        self._remember_parts(map(last_line, contexts))
        anchors = [self._find_anchor(*each) for each in zip(contexts, rows, strict=True)]
        pairs = dict.fromkeys(zip(anchors, map(tuple, continuations), strict=True))
        self._remember_parts(
            anchor.line + text for anchor, texts in pairs if anchor for text in texts
        )
        queries: list[Query | None] = []
        for anchor, row, texts, head in zip(anchors, rows, continuations, heads, strict=True):
            start = self._stable_head(head)
            queries.append(self._join(anchor, row, tuple(texts), start) if anchor else None)
        missing = [place for place, query in enumerate(queries) if query is None]
        alone = self.encode([contexts[place] for place in missing])
        wholes = iter(
            self.encode([contexts[i] + text for i in missing for text in continuations[i]])
        )
        for place, whole_context in zip(missing, alone, strict=True):
            lost = len(self.start) + len(whole_context) - len(rows[place])
            joined = [self.start + next(wholes)[lost:] for _ in continuations[place]]
            queries[place] = make_query(rows[place], joined, self._stable_head(heads[place]))
        return [query for query in queries if query is not None]

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

    def _remember_parts(self, texts: Iterable[str]) -> None:
        """Tokenise texts that were not tokenised before."""
        new = [text for text in dict.fromkeys(texts) if text not in self._parts]
        self._parts |= dict(zip(new, self.encode_parts(new), strict=True))

    def _find_anchor(self, text: str, row: Tokens) -> Anchor | None:
        """Where a text can be continued; None: it must be tokenised with each continuation."""
        if not self._is_local:
            return None
        line = last_line(text)
        if line not in self._parts:
            self._remember_parts([line])
        alone = self._parts[line]
        end = row[max(len(self.start), len(row) - len(alone) - 1) :]
        if (line, end) not in self._anchors:
            same = count_common_suffix(end, alone)
            odd = len(alone) - same
            fits = same >= MIN_SHARED and odd <= 1
            anchor = Anchor(line, same, odd, alone[: odd + 1]) if fits else None
            self._anchors[line, end] = anchor
        return self._anchors[line, end]

    def _join(
        self, anchor: Anchor, row: Tokens, texts: tuple[str, ...], head: Tokens
    ) -> Query | None:
        """A context with its continuations; None: the whole texts must be tokenised."""
        known = self._endings.get((anchor, texts))
        if known is None or len(row) <= anchor.cut + 1:
            wholes = [anchor.join(row, self._parts[anchor.line + text]) for text in texts]
            if not all(wholes):
                return None
            query = make_query(row, wholes, head)
            if len(row) > anchor.cut + 1:
                # what differs between the continuations begins so many tokens before the end
                lost = row[len(query.context) :]
                self._endings[anchor, texts] = replace(query, context=lost)
            return query
        context = row[: len(row) - len(known.context)]
        return Query(context, known.branches, known.scored, count_head(context, head))


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
    return Query(start, branches, scored, count_head(start, head))


def count_head(context: Tokens, head: Tokens) -> int:
    """How many tokens of a head a context starts with: all or none. One token is left to continue
    from.
    """
    return min(len(head), len(context) - 1) if context[: len(head)] == head else 0


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
