"""What a perturbation is, and how it is applied to a stream of examples.

A perturbation answers two questions that are kept apart: is this example eligible, and how does it
read when rewritten. `rewrite` is called on eligible examples, or on any when eligibility is known
from elsewhere: it gives None only where it can do nothing at all. It changes inputs; linking the
result to its parent is done here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, Protocol

import msgspec

from nikawa.errors import BadInput
from nikawa.records import Example, Origin, Span
from nikawa.text import Analyser, Token

Effect = Literal["keeps", "neutral"]
"""What a reader would say of the label: it stays, or entailment and contradiction become neutral.
"""
Eligible = Callable[[Example, Analyser], bool]
"""Whether an example is one to change."""
Why = Callable[[Example, Analyser], str]
"""Why an example is not one to change; "" where it is."""
Rewrite = Callable[[Example, Analyser, Random], Example | None]
Tokens = Sequence[Token]
"""The analysis of a text, or a part of it."""
Stretch = tuple[int, int, str]
"""Start and end of a part of a text, and what replaces it."""

RECIPE = "perturb"
"""The recipe that `Origin` names."""
CONFIDENCE = "confidence"
"""The name under which the `meta` of a rewritten example has the confidence of the rewrite."""
NO_TEXT = "no text that nothing points into"
"""Why an example without a changeable text is not eligible."""
_POINTERS = {"spans": "text", "answers": "context", "tree": "text"}
"""Gold that points into an input by position, and the input: such a text cannot change under it."""


class Tune(Protocol):
    """Makes the same operation with other settings."""

    def __call__(
        self, *, min_confidence: float | None = None, parser: str | None = None
    ) -> Perturbation:
        """The operation that refuses texts below `min_confidence`, and texts whose clauses the named
        parser reads otherwise.
        """


class Perturbation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation under one name, such as `swap-ni`."""

    name: str
    language: str
    """`ja`, `ko`, or "" for any. A name is unique within a language."""
    inputs: tuple[str, ...]
    """The inputs it may change, the one it looks at first in front."""
    effect: Effect
    title: str
    """One line for a list: what it does."""
    eligible: Eligible
    """Whether this example is one to change. Never raises."""
    rewrite: Rewrite
    """The example with changed inputs, or None. Never raises, never leaves an input empty or as it
    was."""
    analysers: tuple[str, ...] = ()
    """The analysers whose tags it reads, the best in front; empty: it reads none."""
    min_confidence: float | None = None
    """The confidence below which a text is refused; None: the operation is always sure."""
    tune: Tune | None = None
    """The same operation with another threshold or with a parser; None: it has neither."""
    why: Why | None = None
    """Why this example is not one to change, "" where it is; None: `eligible` is all there is.
    Never raises."""

    @property
    def full_name(self) -> str:
        """The name with its language: `ja/swap-o`."""
        return f"{self.language}/{self.name}" if self.language else self.name


def apply(
    perturbation: Perturbation,
    examples: Iterable[Example],
    analyser: Analyser,
    *,
    seed: int = 0,
    source: str = "",
    assume_eligible: bool = False,
) -> Iterator[Example]:
    """The changed examples, in order, each with its parent's id and a link to it.

    Examples that are not eligible, or cannot be rewritten, are left out.

    `source` is the parents' dataset and split (`jsick:test`). With `assume_eligible` everything
    that can be rewritten is. What is drawn depends on seed, operation and id, never on position.
    """
    if perturbation.analysers and analyser.name not in perturbation.analysers:
        what = f"{perturbation.name} does not read the tags of {analyser.name}"
        raise BadInput(what, cure=f"take {' or '.join(perturbation.analysers)}")
    for example in examples:
        if assume_eligible or perturbation.eligible(example, analyser):
            rng = Random(f"{seed}/{perturbation.full_name}/{example.id}")  # noqa: S311  # not for secrets
            changed = perturbation.rewrite(example, analyser, rng)
            if changed is not None:
                yield _link_to_parent(changed, example, perturbation, source)


def _link_to_parent(
    changed: Example, parent: Example, perturbation: Perturbation, source: str
) -> Example:
    """The changed example with its parent's id, an `Origin` that names the parent, and the original
    texts in its meta.
    """
    old = parent.inputs
    names = [name for name, value in changed.inputs.items() if value != old.get(name)]
    meta: dict[str, Any] = {"effect": perturbation.effect, "changed_inputs": "+".join(names)}
    meta |= {f"original_{name}": old[name] for name in names if name in old}
    return msgspec.structs.replace(
        changed,
        id=parent.id,
        meta=changed.meta | meta,
        origin=Origin(
            recipe=RECIPE,
            parents=(f"{source}/{parent.id}" if source else parent.id,),
            step=perturbation.name,
            gold="hidden" if parent.hidden or not parent.gold else "inherited",
        ),
    )


def changeable_inputs(example: Example, names: Iterable[str]) -> dict[str, str]:
    """The inputs among `names` that are texts nothing points into by position, in the order of
    `names`.
    """
    inputs = example.inputs
    pointed_into = {input for key, input in _POINTERS.items() if key in example.gold}
    if "words" in inputs or any(isinstance(value, Span) for value in inputs.values()):
        pointed_into.add("text")
    return {
        name: inputs[name]
        for name in names
        if name not in pointed_into and isinstance(inputs.get(name), str)
    }


def replace_inputs(example: Example, changed: Mapping[str, str]) -> Example | None:
    """The example with those inputs; None where one would be blank or nothing differs."""
    if any(not text.strip() for text in changed.values()):
        return None
    if all(example.inputs.get(name) == text for name, text in changed.items()):
        return None
    return msgspec.structs.replace(example, inputs={**example.inputs, **changed})


def replace_stretches(text: str, stretches: Iterable[Stretch]) -> str:
    """The text with these stretches replaced, which are in order and do not overlap.

    >>> replace_stretches("猫が魚を食べる", [(0, 1, "犬"), (2, 3, "肉")])
    '犬が肉を食べる'
    """
    parts: list[str] = []
    done = 0
    for start, end, new in stretches:
        parts += text[done:start], new
        done = end
    return "".join(parts) + text[done:]


def analyse_text(text: str, analyser: Analyser) -> tuple[Token, ...]:
    """The analysis of a text; of one that no analyser takes (NUL, lone surrogates), nothing."""
    try:
        return analyser.analyse(text)
    except BadInput:
        return ()
