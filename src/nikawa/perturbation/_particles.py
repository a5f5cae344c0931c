"""What the operations on case particles share in every language: scramble, swap or delete the
particles of a clause.

A clause is `pre + [S p] + [X q] + post`: a subject with its particle p and, at once after it, an
argument with the particle q of a case. All clauses of a sentence that match are rewritten:

    scramble   pre X q S p post      the meaning stays
    swap       pre S q X p' post     p' is the particle of subjects
    delete     pre S X post

A language says by `ParticleRules` what its clauses are and how one is rewritten.

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity.
TACL 10, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, Protocol

from nikawa.perturbation.base import (
    NO_TEXT,
    Effect,
    Perturbation,
    Stretch,
    Tokens,
    analyse_text,
    changeable_inputs,
    replace_inputs,
    replace_stretches,
)
from nikawa.records import Example
from nikawa.text import Analyser

INPUTS = ("premise", "sentence1", "text")
"""The first of these that an example holds is rewritten."""
NO_CLAUSE = "no subject with the case at once after it"
"""Why a text is not eligible in which no clause matches."""
ONLY_PARTICLES = "only the particles are there"
"""Why a pair of particles with anything between them is not eligible."""
OPERATIONS: dict[str, tuple[Effect, str]] = {
    "scramble": ("keeps", "put the {q} phrase before the subject"),
    "swap": ("neutral", "exchange the particles of subject and {q} phrase"),
    "delete": ("neutral", "drop the particles of subject and {q} phrase"),
}
"""Operation to its effect and its title."""


class Clause(NamedTuple):
    """`pre + [S p] + [X q] + post`: tokens from `start` to p, and from there to q."""

    start: int
    subject: int
    """The token p."""
    argument: int
    """The token q."""
    against: str
    """Why it is not eligible, "" where it is."""


class ParticleRules(Protocol):
    """The rules of one language."""

    language: str
    analyser: str
    """The analyser whose tags the rules read."""
    cases: Mapping[str, str]
    """The name of each case and its particle."""

    def may_hold(self, text: str, case: str) -> bool:
        """Whether a text may have a particle of the case.

        A text that may not is not worth an analysis.
        """

    def find_clauses(self, tokens: Tokens, case: str) -> list[Clause]:
        """The clauses with a subject and then, at once, the case; they do not overlap."""

    def find_pair(self, tokens: Tokens, case: str) -> Clause | None:
        """The first subject and the first argument in the case after it, whatever stands between."""

    def obstacle(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> str:
        """Why the operation cannot be done to a clause at all, "" where it can."""

    def rewrite_clause(self, text: str, tokens: Tokens, clause: Clause, operation: str) -> Stretch:
        """The part of the text that the clause's two phrases take, and what replaces it."""


@dataclass(frozen=True)
class ParticleOperation:
    """One operation on the particles of one case."""

    rules: ParticleRules
    case: str
    operation: str

    def find_reason(self, example: Example, analyser: Analyser) -> str:
        """Why the text is not one to rewrite.

        The reason is "" if a clause has a subject and, right after it, the case.
        """
        for text in changeable_inputs(example, INPUTS).values():
            if not self.rules.may_hold(text, self.case):
                return NO_CLAUSE
            tokens = analyse_text(text, analyser)
            reasons = [
                clause.against or self.rules.obstacle(text, tokens, clause, self.operation)
                for clause in self.rules.find_clauses(tokens, self.case)
            ]
            return "" if "" in reasons else next(iter(reasons), NO_CLAUSE)
        return NO_TEXT

    def is_eligible(self, example: Example, analyser: Analyser) -> bool:
        """Whether there is no reason against it."""
        return not self.find_reason(example, analyser)

    def rewrite(self, example: Example, analyser: Analyser, rng: Random) -> Example | None:
        """The example with its text rewritten; None where no subject is followed by the case.

        Rewritten are the eligible clauses, else those that match, else the first pair of particles.
        """
        rules, operation = self.rules, self.operation
        for name, text in changeable_inputs(example, INPUTS).items():
            tokens = analyse_text(text, analyser)
            clauses = rules.find_clauses(tokens, self.case)
            if not clauses:
                pair = rules.find_pair(tokens, self.case)
                clauses = [] if pair is None else [pair]
            clauses = [one for one in clauses if not rules.obstacle(text, tokens, one, operation)]
            chosen = [clause for clause in clauses if not clause.against] or clauses
            stretches = [rules.rewrite_clause(text, tokens, one, operation) for one in chosen]
            return replace_inputs(example, {name: replace_stretches(text, stretches)})
        return None


def make_perturbations(rules: ParticleRules) -> tuple[Perturbation, ...]:
    """A perturbation for every operation and case of a language."""
    perturbations = []
    for name, (effect, title) in OPERATIONS.items():
        for case, particle in rules.cases.items():
            operation = ParticleOperation(rules, case, name)
            perturbation = Perturbation(
                name=f"{name}-{case}",
                language=rules.language,
                inputs=INPUTS,
                effect=effect,
                title=title.format(q=particle),
                eligible=operation.is_eligible,
                why=operation.find_reason,
                rewrite=operation.rewrite,
                analysers=(rules.analyser,),
            )
            perturbations.append(perturbation)
    return tuple(perturbations)


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written with blanks between them."""
    return frozenset(words.split())
