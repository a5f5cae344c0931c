"""From what a user names to perturbations: families and cases, short names, and the inputs they
look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from msgspec.structs import replace

from nikawa.errors import BadInput, unknown
from nikawa.perturbation.base import (
    CONFIDENCE,
    NO_TEXT,
    Perturbation,
    changeable_inputs,
    replace_inputs,
)
from nikawa.records import Example
from nikawa.text import Analyser

FAMILIES = ("scramble", "swap", "delete")
"""Operations on case particles; each has one perturbation a case."""
GROUPS = ("particles", "surface")
"""Names for all operations on particles, and for all others."""
CASES = {"o": "eul", "ni": "e", "de": "eseo"}
"""A Japanese case and the nearest Korean one: either name serves both languages."""
ALIASES = {**CASES, "wo": "o"}
ALIASES |= {korean: japanese for japanese, korean in CASES.items()}


def choose_perturbations(
    names: Iterable[str], cases: Sequence[str], known: Sequence[Perturbation]
) -> list[Perturbation]:
    """The perturbations that names such as `scramble`, `swap-o`, `width-full`, `particles` stand
    for, each once.

    `cases` narrows the families; without it they mean every case. `known` are those of the
    language.
    """
    table = {perturbation.name: perturbation for perturbation in known}
    chosen: dict[str, Perturbation] = {}
    for name in names:
        family, _, case = name.partition("-")
        if name == "particles":
            full_names = [one for each in FAMILIES for one in _expand_family(each, cases, table)]
        elif name in FAMILIES:
            full_names = _expand_family(name, cases, table)
        elif family in FAMILIES:
            full_names = _expand_family(family, [case], table)
        elif cases:
            raise BadInput(f"{name!r} has no case", cure=f"--case goes with {', '.join(FAMILIES)}")
        elif name == "surface":
            full_names = [one for one in table if family_of(one) == one]
        elif name in table:
            full_names = [name]
        else:
            raise unknown("perturbation", name, [*table, *FAMILIES, *GROUPS])
        chosen |= {one: table[one] for one in full_names}
    return list(chosen.values())


def _expand_family(family: str, cases: Sequence[str], table: dict[str, Perturbation]) -> list[str]:
    """The names of a family's operations in these cases, in all of them without any."""
    own = [case_of(name) for name in table if family_of(name) == family]
    if not own:
        raise BadInput(f"{family} is for Japanese and Korean", cure="check the dataset's language")
    names = []
    for case in cases or own:
        own_case = case if case in own else ALIASES.get(case, case)
        if own_case not in own:
            raise unknown(f"case of {family}", own_case, own)
        names.append(f"{family}-{own_case}")
    return names


def family_of(name: str) -> str:
    """`swap` of `swap-o`; an operation without cases is its own family.

    >>> family_of("swap-o"), family_of("width-full")
    ('swap', 'width-full')
    """
    family = name.partition("-")[0]
    return family if family in FAMILIES else name


def case_of(name: str) -> str:
    """`o` of `swap-o`; "" for an operation without cases."""
    return name.partition("-")[2] if family_of(name) != name else ""


def tune_perturbation(
    perturbation: Perturbation, min_confidence: float | None, parser: str | None
) -> Perturbation:
    """The same operation with another threshold or a parser; as it is where it has neither."""
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        what = f"the confidence {min_confidence} is not between 0 and 1"
        raise BadInput(what, cure="pass a value such as 0.5")
    if perturbation.tune is None or (min_confidence is None and parser is None):
        return perturbation
    return perturbation.tune(min_confidence=min_confidence, parser=parser)


def restrict_inputs(perturbation: Perturbation, inputs: Sequence[str]) -> Perturbation:
    """The same operation on these inputs alone, every one of them that can be changed; as it is
    without any.
    """
    if not inputs:
        return perturbation
    first, own_why = perturbation.inputs[0], perturbation.why

    def parts(example: Example) -> dict[str, Example]:
        """Each input as an example of its own, whose text the operation looks at."""
        examples = {}
        for name, text in changeable_inputs(example, inputs).items():
            examples[name] = Example(id=example.id, inputs={first: text})
        return examples

    def eligible(example: Example, analyser: Analyser) -> bool:
        return any(perturbation.eligible(part, analyser) for part in parts(example).values())

    def why(example: Example, analyser: Analyser) -> str:
        assert own_why is not None
        reasons = [own_why(part, analyser) for part in parts(example).values()]
        return "" if "" in reasons else next(iter(reasons), NO_TEXT)

    def rewrite(example: Example, analyser: Analyser, rng: Random) -> Example | None:
        all_parts = parts(example)
        chosen = {
            name: part for name, part in all_parts.items() if perturbation.eligible(part, analyser)
        }
        texts, confidences = {}, []
        for name, part in (chosen or all_parts).items():
            changed = perturbation.rewrite(part, analyser, rng)
            if changed is not None:
                texts[name] = str(changed.inputs[first])
                confidences += [changed.meta[CONFIDENCE]] if CONFIDENCE in changed.meta else []
        result = replace_inputs(example, texts) if texts else None
        if result is None or not confidences:
            return result
        return replace(result, meta={**result.meta, CONFIDENCE: min(confidences)})

    return replace(
        perturbation,
        inputs=tuple(inputs),
        eligible=eligible,
        rewrite=rewrite,
        why=why if own_why else None,
    )
