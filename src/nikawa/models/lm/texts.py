"""Log-probabilities of whole texts, token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nikawa.models.lm.engine import MAX_LOGITS, Engine, is_out_of_memory
from nikawa.models.lm.tokens import Tokens

PADDING = 0
"""Any token: no other sees it."""
LEAST_LOGPROB = -1e4
"""A token that a model rules out has this log-probability: minus infinity times 0 is no number."""


@dataclass(frozen=True)
class TokenScores:
    """What a model says about the tokens of one text, from the second token on."""

    logprobs: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))
    means: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))
    """The mean log-probability of a token drawn from the model; empty without `moments`."""
    deviations: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))
    """The standard deviation of that."""


def score_texts(
    engine: Engine,
    rows: Sequence[Tokens],
    *,
    moments: bool = False,
    on_done: Callable[[int], None] = lambda _count: None,
) -> list[TokenScores]:
    """The log-probability of every token of whole texts but the first.

    With `moments`, also the mean and the standard deviation of the log-probability over the
    vocabulary at each token. Texts are padded on the right, where no token sees the padding, so this
    works for every causal architecture. `on_done` is called with the number of texts of each batch.
    """
    import torch

    results = [TokenScores() for _ in rows]
    places = [place for place, row in enumerate(rows) if len(row) > 1]
    waiting = sorted(places, key=lambda place: -len(rows[place]))
    with torch.inference_mode():
        while waiting:
            count = max(1, engine.batch_tokens // len(rows[waiting[0]]))
            batch = waiting[: 1 if engine.exact else count]
            try:
                tables = score_batch(engine, [rows[place] for place in batch], moments)
            except RuntimeError as problem:
                if not is_out_of_memory(problem):
                    raise
                engine.halve_batch(len(batch), problem)
                continue
            del waiting[: len(batch)]
            for number, place in enumerate(batch):
                length = len(rows[place]) - 1
                results[place] = TokenScores(*(table[number, :length] for table in tables))
            on_done(len(batch))
    return results


def score_batch(
    engine: Engine, rows: Sequence[Tokens], moments: bool
) -> list[np.ndarray[Any, Any]]:
    """Log-probabilities, and with `moments` means and standard deviations, of texts, longest first.

    Each array has one row per text; the end of a shorter text has no meaning.
    """
    import torch

    length = len(rows[0])
    ids = np.full((len(rows), length), PADDING, np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
    tokens = engine.send(ids)
    logits = engine.model(input_ids=tokens[:, :-1], use_cache=False).logits
    vocabulary = logits.shape[-1]
    flat, gold = logits.reshape(-1, vocabulary), tokens[:, 1:].reshape(-1, 1)
    step = max(1, MAX_LOGITS // vocabulary)
    parts = []
    for start in range(0, len(flat), step):
        part = flat[start : start + step].float()
        norm = part.logsumexp(-1, keepdim=True)
        logprobs = (part.gather(1, gold[start : start + step]) - norm).squeeze(1)
        logprobs = logprobs.clamp(min=LEAST_LOGPROB)
        if not moments:
            parts.append(logprobs[None])
            continue
        every = (part - norm).clamp(min=LEAST_LOGPROB)
        share = every.exp()
        mean = (share * every).sum(-1)
        variance = (share * (every - mean[:, None]).square()).sum(-1)
        parts.append(torch.stack((logprobs, mean, variance.sqrt())))
    joined = torch.cat(parts, dim=1).double().cpu().numpy()
    return list(joined.reshape(len(joined), len(rows), length - 1))
