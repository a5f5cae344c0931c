"""From what a user names to perturbations: families and cases, short names, and the inputs they look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from msgspec.structs import replace

from nikawa.errors import BadInput, unknown
from nikawa.perturbation.base import NO_TEXT, Perturbation, changeable_inputs, replace_inputs
from nikawa.records import Example
from nikawa.text import Analyser

FAMILIES = ("scramble", "swap", "delete")
"""Operations on case particles; each has one perturbation a case."""
GROUPS = ("particles", "surface")
"""Names for all operations on particles, and for all others."""
CASES = {"o": "eul", "ni": "e", "de": "eseo"}
"""A Japanese case and the nearest Korean one: either name serves both languages."""
ALIASES = {**CASES, **{korean: japanese for japanese, korean in CASES.items()}, "wo": "o"}


def choose_perturbations(
    names: Iterable[str], cases: Sequence[str], known: Sequence[Perturbation]
) -> list[Perturbation]:
    """The perturbations that names such as `scramble`, `swap-o`, `width-full`, `particles` stand for, each once.

    `cases` narrows the families; without it they mean every case. `known` are those of the language.
    """
    table = {perturbation.name: perturbation for perturbation in known}
    chosen: dict[str, Perturbation] = {}
    for name in names:
        found = _named(name, cases, table)
        chosen |= {one: table[one] for one in found}
    return list(chosen.values())


def _named(name: str, cases: Sequence[str], table: dict[str, Perturbation]) -> list[str]:
    if name in FAMILIES or name == "particles":
        families = FAMILIES if name == "particles" else (name,)
        return [one for family in families for one in _of_family(family, cases, table)]
    family, _, case = name.partition("-")
    if family in FAMILIES:
        return _of_family(family, [case], table)
    if cases:
        raise BadInput(f"{name!r} has no case", cure=f"--case goes with {', '.join(FAMILIES)}")
    if name == "surface":
        return [one for one in table if family_of(one) == one]
    if name not in table:
        raise unknown("perturbation", name, [*table, *FAMILIES, *GROUPS])
    return [name]


def _of_family(family: str, cases: Sequence[str], table: dict[str, Perturbation]) -> list[str]:
    have = [one.removeprefix(f"{family}-") for one in table if one.startswith(f"{family}-")]
    if not have:
        raise BadInput(f"{family} is for Japanese and Korean", cure="check the dataset's language")
    wanted = [case if case in have else ALIASES.get(case, case) for case in cases] or have
    for case in wanted:
        if case not in have:
            raise unknown(f"case of {family}", case, have)
    return [f"{family}-{case}" for case in wanted]


def family_of(name: str) -> str:
    """`swap` of `swap-o`; an operation without cases is its own family."""
    family = name.partition("-")[0]
    return family if family in FAMILIES else name


def case_of(name: str) -> str:
    """`o` of `swap-o`; "" for an operation without cases."""
    return name.partition("-")[2] if family_of(name) != name else ""


def restrict_inputs(perturbation: Perturbation, inputs: Sequence[str]) -> Perturbation:
    """The same operation on these inputs alone, every one of them that can be changed; as it is without any."""
    if not inputs:
        return perturbation
    seen, inner = perturbation.inputs[0], perturbation.why

    def parts(example: Example) -> dict[str, Example]:
        texts = changeable_inputs(example, inputs)
        return {name: Example(id=example.id, inputs={seen: text}) for name, text in texts.items()}

    def eligible(example: Example, analyser: Analyser) -> bool:
        return any(perturbation.eligible(part, analyser) for part in parts(example).values())

    def why(example: Example, analyser: Analyser) -> str:
        reasons = [inner(part, analyser) for part in parts(example).values()] if inner else []
        return "" if "" in reasons else next(iter(reasons), NO_TEXT)

    def rewrite(example: Example, analyser: Analyser, random: Random) -> Example | None:
        chosen = {
            n: part for n, part in parts(example).items() if perturbation.eligible(part, analyser)
        }
        changed = {}
        for name, part in (chosen or parts(example)).items():
            found = perturbation.rewrite(part, analyser, random)
            if found is not None:
                changed[name] = str(found.inputs[seen])
        return replace_inputs(example, changed) if changed else None

    new = replace(perturbation, inputs=tuple(inputs), eligible=eligible, rewrite=rewrite)
    return replace(new, why=why if inner else None)
