"""Japanese case particles: scramble, swap or delete が and を, に or で of a clause (JSICK stress sets).

A clause is `pre + [S p] + [X q] + post`, p one of が, は, も, and q one of を, に, で. All clauses of a sentence that
match are rewritten:

    scramble   pre X q S p post      the meaning stays
    swap       pre S q X が post     the second particle is always が
    delete     pre S X post

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from nikawa.perturbation.base import (
    NO_TEXT,
    Effect,
    Perturbation,
    analyse_text,
    changeable_inputs,
    replace_inputs,
    unless,
)
from nikawa.perturbation.particles_ja_clauses import Clause, clauses, first_pair
from nikawa.records import Example
from nikawa.text import Analyser, Token

INPUTS = ("premise", "sentence1", "text")
"""The first of these that an example holds is rewritten."""
NO_CLAUSE = "no subject with the case at once after it"
"""Why a text is not eligible in which no clause matches."""
CASES = {"o": "を", "ni": "に", "de": "で"}

_Order = Callable[[str, str, str, str], str]
"""S, p, X and q to the new order."""
OPERATIONS: dict[str, tuple[_Order, Effect, str]] = {
    "scramble": (
        lambda s, p, x, q: x + q + s + p,
        "keeps",
        "put the {q} phrase before the subject",
    ),
    "swap": (
        lambda s, _, x, q: f"{s}{q}{x}が",
        "neutral",
        "exchange the particles of subject and {q} phrase",
    ),
    "delete": (
        lambda s, _, x, __: s + x,
        "neutral",
        "drop the particles of subject and {q} phrase",
    ),
}


def why(example: Example, analyser: Analyser, *, case: str) -> str:
    """Why the text is not one to rewrite; "" where a clause has a subject and, at once after it, an argument in `case`."""
    for text in changeable_inputs(example, INPUTS).values():
        found = clauses(analyse_text(text, analyser), case) if CASES[case] in text else []
        reasons = [clause.against for clause in found]
        return "" if "" in reasons else next(iter(reasons), NO_CLAUSE)
    return NO_TEXT


def rewrite(
    example: Example, analyser: Analyser, random: Random, *, case: str, order: _Order
) -> Example | None:
    """The example with its text rewritten; None where no subject is followed by an argument in `case`."""
    for name, text in changeable_inputs(example, INPUTS).items():
        tokens = analyse_text(text, analyser)
        found = _to_rewrite(tokens, case)
        return replace_inputs(example, {name: _rewritten(text, tokens, found, order)})
    return None


def _to_rewrite(tokens: Sequence[Token], case: str) -> list[Clause]:
    """The eligible clauses, else those that match, else the first pair of particles."""
    found = clauses(tokens, case)
    if found:
        return [clause for clause in found if not clause.against] or found
    pair = first_pair(tokens, case)
    return [] if pair is None else [pair]


def _rewritten(text: str, tokens: Sequence[Token], found: Sequence[Clause], order: _Order) -> str:
    parts: list[str] = []
    done = 0
    for clause in found:
        start = tokens[clause.start].start
        p, q = tokens[clause.subject], tokens[clause.argument]
        parts += (
            text[done:start],
            order(text[start : p.start], p.surface, text[p.end : q.start], q.surface),
        )
        done = q.end
    return "".join(parts) + text[done:]


PERTURBATIONS = tuple(
    Perturbation(
        name=f"{operation}-{case}",
        language="ja",
        inputs=INPUTS,
        effect=effect,
        title=title.format(q=particle),
        eligible=unless(partial(why, case=case)),
        why=partial(why, case=case),
        rewrite=partial(rewrite, case=case, order=order),
        analysers=("ipadic",),
    )
    for operation, (order, effect, title) in OPERATIONS.items()
    for case, particle in CASES.items()
)
