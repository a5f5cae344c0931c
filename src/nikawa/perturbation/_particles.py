"""The part of the particle operations that all languages share: scramble, swap or delete the particles
of a clause.

A clause is `pre + [S p] + [X q] + post`: a subject with its particle p and, directly after it, an
argument with the particle q of a case. All clauses of a sentence that match and are sure enough are
rewritten:

    scramble   pre X q S p post      the meaning stays
    swap       pre S q X p' post     p' is the particle of subjects
    delete     pre S X post

`ParticleRules` holds the rules of one language: how clauses are found and how one is rewritten. Each
clause carries its doubts, and with them its confidence.

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity.
TACL 10, section 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from random import Random
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.perturbation.base import (
    CONFIDENCE,
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
from nikawa.text import Analyser, Token
from nikawa.text import analyser as load_analyser

INPUTS = ("premise", "sentence1", "text")
"""The first of these that an example holds is rewritten."""
NO_CLAUSE = "no subject with the case at once after it"
"""Why a text is not eligible in which no clause matches."""
NOT_ANALYSED = "the text cannot be analysed (a NUL character or half of a surrogate pair)"
"""Why a text is not eligible that the analyser does not take."""
ONLY_PARTICLES = "only the particles are there"
"""Why a pair of particles with anything between them is not eligible."""
CERTAIN = 0.98
"""The confidence of a clause that nothing speaks against."""
BELOW_THRESHOLD = "the confidence is below the threshold"
"""Why a clause without doubts is refused."""
OTHER_PARSE = "the parser gives the two phrases different predicates"
"""Why a clause is not sure that a dependency parser reads otherwise."""
PARTICLE_RELATIONS = ("case", "mark", "cop", "fixed", "dep")
"""Relations of a particle to its noun in Universal Dependencies."""
MIN_CONFIDENCE = 0.5
"""The confidence below which a clause is not rewritten by default."""
OPERATIONS: dict[str, tuple[Effect, str]] = {
    "scramble": ("keeps", "put the {q} phrase before the subject"),
    "swap": ("neutral", "exchange the particles of subject and {q} phrase"),
    "delete": ("neutral", "drop the particles of subject and {q} phrase"),
}
"""Operation to its effect and its title."""


class Doubt(NamedTuple):
    """A reason why the two phrases may not be subject and argument of one predicate."""

    reason: str
    factor: float
    """What the confidence is multiplied by; 0 where a rewrite would be wrong."""


class Clause(NamedTuple):
    """`pre + [S p] + [X q] + post`: tokens from `start` to p, and from there to q."""

    start: int
    subject: int
    """The token p."""
    argument: int
    """The token q."""
    doubts: tuple[Doubt, ...] = ()
    """Reasons against it; none where nothing speaks against it."""

    @property
    def confidence(self) -> float:
        """How sure it is that both phrases belong to one predicate, from 0 to 1."""
        return round(CERTAIN * prod(doubt.factor for doubt in self.doubts), 3)

    @property
    def reason(self) -> str:
        """The strongest reason against it, "" where there is no reason."""
        doubt = min(self.doubts, key=lambda doubt: doubt.factor, default=None)
        return "" if doubt is None else doubt.reason


class ParticleRules(Protocol):
    """The rules of one language."""

    language: str
    analyser: str
    """The analyser whose tags the rules read."""
    cases: Mapping[str, str]
    """The name of each case and its particle."""
    parsers: tuple[str, ...]
    """Analysers with dependency heads that can check the clauses."""

    def may_hold(self, text: str, case: str) -> bool:
        """Whether a text may have a particle of the case.

        A text that may not is not worth an analysis.
        """

    def repair(self, tokens: Tokens) -> Tokens:
        """The analysis with known slips of the analyser corrected."""

    def find_clauses(self, tokens: Tokens, case: str) -> list[Clause]:
        """The clauses with a subject and then, at once, the case; they do not overlap."""

    def find_pair(self, tokens: Tokens, case: str) -> Clause | None:
        """The first subject and the first argument in the case after it, with anything between them."""

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
    min_confidence: float = MIN_CONFIDENCE
    parser: str = ""
    """The analyser with dependency heads that must agree; "" for the rules alone."""

    def find_reason(self, example: Example, analyser: Analyser) -> str:
        """Why the text is not rewritten.

        The reason is "" if one clause has a subject and, directly after it, the case, and is sure
        enough.
        """
        for text in changeable_inputs(example, INPUTS).values():
            if not self.rules.may_hold(text, self.case):
                return NO_CLAUSE
            tokens = self.rules.repair(analyse_text(text, analyser))
            if not tokens and text.strip():
                return NOT_ANALYSED
            clauses = self.find_clauses(text, tokens)
            reasons = [
                self.rules.obstacle(text, tokens, clause, self.operation)
                if clause.confidence >= self.min_confidence
                else clause.reason or BELOW_THRESHOLD
                for clause in clauses
            ]
            return "" if "" in reasons else next(iter(reasons), NO_CLAUSE)
        return NO_TEXT

    def is_eligible(self, example: Example, analyser: Analyser) -> bool:
        """Whether there is no reason against it."""
        return not self.find_reason(example, analyser)

    def rewrite(self, example: Example, analyser: Analyser, rng: Random) -> Example | None:
        """The example with its text rewritten and the confidence in its meta; None where no subject
        is followed by the case.

        The operation rewrites the clauses that are sure enough. Without one, it rewrites
        all clauses that match, else the first pair of particles.
        """
        rules, operation = self.rules, self.operation
        for name, text in changeable_inputs(example, INPUTS).items():
            tokens = rules.repair(analyse_text(text, analyser))
            clauses = self.find_clauses(text, tokens)
            if not clauses:
                pair = rules.find_pair(tokens, self.case)
                clauses = [] if pair is None else [pair]
            clauses = [one for one in clauses if not rules.obstacle(text, tokens, one, operation)]
            sure = [one for one in clauses if one.confidence >= self.min_confidence]
            chosen = sure or clauses
            stretches = [rules.rewrite_clause(text, tokens, one, operation) for one in chosen]
            changed = replace_inputs(example, {name: replace_stretches(text, stretches)})
            if changed is None:
                return None
            confidence = min(clause.confidence for clause in chosen)
            return replace(changed, meta={**changed.meta, CONFIDENCE: confidence})
        return None

    def find_clauses(self, text: str, tokens: Tokens) -> list[Clause]:
        """The clauses that the rules find, with the doubts of the parser if there is one."""
        clauses = self.rules.find_clauses(tokens, self.case)
        if not self.parser or not any(one.confidence >= self.min_confidence for one in clauses):
            return clauses
        parse = analyse_text(text, load_analyser(self.parser))
        return [
            clause
            if share_predicate(parse, tokens[clause.subject], tokens[clause.argument])
            else clause._replace(doubts=(*clause.doubts, Doubt(OTHER_PARSE, 0.45)))
            for clause in clauses
        ]

    def tune(
        self, *, min_confidence: float | None = None, parser: str | None = None
    ) -> Perturbation:
        """The perturbation of this operation with other settings; None keeps a setting."""
        if parser is not None and parser not in self.rules.parsers:
            known = ", ".join(self.rules.parsers) or "none"
            what = f"{parser!r} is not a parser for {self.rules.language}; known: {known}"
            raise BadInput(what, cure="leave --parser out")
        operation = dataclasses.replace(
            self,
            min_confidence=self.min_confidence if min_confidence is None else min_confidence,
            parser=parser or self.parser,
        )
        return operation.make_perturbation()

    def make_perturbation(self) -> Perturbation:
        """The perturbation of this operation."""
        effect, title = OPERATIONS[self.operation]
        return Perturbation(
            name=f"{self.operation}-{self.case}",
            language=self.rules.language,
            inputs=INPUTS,
            effect=effect,
            title=title.format(q=self.rules.cases[self.case]),
            eligible=self.is_eligible,
            why=self.find_reason,
            rewrite=self.rewrite,
            analysers=(self.rules.analyser,),
            min_confidence=self.min_confidence,
            tune=self.tune,
        )


def share_predicate(parse: Tokens, subject: Token, argument: Token) -> bool:
    """Whether a dependency parse gives the nouns before two particles the same governor."""
    governors = []
    for particle in (subject, argument):
        i = next((i for i, one in enumerate(parse) if one.start <= particle.start < one.end), None)
        if i is None:
            return False
        noun = parse[i].head if parse[i].deprel in PARTICLE_RELATIONS else i
        governors.append(parse[noun].head if noun is not None else None)
    return governors[0] == governors[1] and governors[0] is not None


def make_perturbations(rules: ParticleRules) -> tuple[Perturbation, ...]:
    """A perturbation for every operation and case of a language."""
    return tuple(
        ParticleOperation(rules, case, name).make_perturbation()
        for name in OPERATIONS
        for case in rules.cases
    )


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written with blanks between them."""
    return frozenset(words.split())
