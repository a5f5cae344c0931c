"""What the surface operations share: a change of the text alone that no reader would take for
another statement.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from nikawa.perturbation.base import (
    NO_TEXT,
    Perturbation,
    changeable_inputs,
    replace_inputs,
)
from nikawa.records import Example
from nikawa.text import Analyser

INPUTS = ("premise", "sentence1", "text", "question")
"""The first of these that an example holds is rewritten."""
UNCHANGED = "nothing to change without doubt"
"""Why a text that a change leaves as it is is not eligible."""
Change = Callable[[str, Analyser], str]
"""The text in its new form; the text itself where there is nothing to change. Never raises."""


def surface_perturbation(
    name: str, language: str, title: str, change: Change, analysers: tuple[str, ...] = ()
) -> Perturbation:
    """The operation that applies `change`; a text that it leaves as it is is not eligible."""

    def rewrite(example: Example, analyser: Analyser, rng: Random) -> Example | None:
        for input_name, text in changeable_inputs(example, INPUTS).items():
            return replace_inputs(example, {input_name: change(text, analyser)})
        return None

    def why(example: Example, analyser: Analyser) -> str:
        for text in changeable_inputs(example, INPUTS).values():
            changed = change(text, analyser)
            return "" if changed != text and changed.strip() else UNCHANGED
        return NO_TEXT

    return Perturbation(
        name=name,
        language=language,
        inputs=INPUTS,
        effect="keeps",
        title=title,
        eligible=lambda example, analyser: not why(example, analyser),
        why=why,
        rewrite=rewrite,
        analysers=analysers,
    )
