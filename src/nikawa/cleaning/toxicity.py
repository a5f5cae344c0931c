"""A hook for any scorer of toxicity: a function of many sentences, or a command that reads lines
and writes numbers. `toxicity_models` has the scorers that are models.

KLUE used classifiers trained on Korean hate speech, with 0.5 for gender bias and 0.9 for hate; none
is shipped here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nikawa.cleaning.base import Step
from nikawa.errors import BadInput
from nikawa.io.command import pipe_lines, split_command
from nikawa.io.shards import hash_file

Scorer = Callable[[Sequence[str]], Sequence[float]]
"""From sentences to a number each."""
CALLED = "the toxicity command"
SCORER_BATCH = 20_000
"""Sentences a scorer gets at a time: a command loads its model once for so many."""


def command_scorer(command: str) -> Scorer:
    """A scorer that runs `command` (no shell). It reads one sentence per line and writes one number per line."""
    split_command(command, CALLED)  # a bad command fails before the work, not after it

    return _CommandScorer(command)


@dataclass(frozen=True)
class _CommandScorer:
    """Scores by a command."""

    command: str

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """One number per sentence."""
        scores: list[float] = []
        for number, line in enumerate(pipe_lines(self.command, texts, called=CALLED), start=1):
            try:
                scores.append(float(line))
            except ValueError:
                what = f"the toxicity command wrote {line!r} for sentence {number}"
                raise BadInput(what, cure="make it write one number per line") from None
        return scores


def describe_scorer(scorer: Scorer) -> list[str]:
    """What two scorers differ in: the words of a command, with the hashes of the files that it names, or the name and code of a function."""
    if isinstance(scorer, _CommandScorer):
        words = split_command(scorer.command, CALLED)
        return [*words, *(hash_file(Path(word)) for word in words if Path(word).is_file())]
    if version := getattr(scorer, "version", ""):
        return [str(version)]
    name = getattr(scorer, "__qualname__", type(scorer).__qualname__)
    code = getattr(scorer, "__code__", None) or getattr(type(scorer).__call__, "__code__", None)
    return [name, sha256(code.co_code).hexdigest() if code else ""]


def score_texts(texts: Sequence[str], scorer: Scorer) -> list[float]:
    """The score of each sentence. The scorer must give each a number."""
    scores = list(scorer(texts))
    if len(scores) != len(texts) or any(math.isnan(score) for score in scores):
        what = f"the toxicity scorer gave {len(scores)} scores for {len(texts)} sentences"
        raise BadInput(what, cure="return one number per sentence")
    return scores


STEPS = (Step("toxicity", "scored as toxic (needs a scorer)", 130, late=True),)
