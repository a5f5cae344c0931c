"""What the tests of perturbations share: analysers, and one text rewritten by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nikawa.perturbation import apply, perturbations
from nikawa.records import Example
from nikawa.text import Analyser, analyser


@pytest.fixture(scope="session")
def ipadic() -> Analyser:
    return analyser("ipadic")


@pytest.fixture(scope="session")
def rewritten(ipadic: Analyser) -> Callable[..., str | None]:
    """`rewritten(name, premise, assume_eligible=False)`: the new premise, or None."""

    def run(name: str, premise: str, *, assume_eligible: bool = False) -> str | None:
        example = Example(id="1", inputs={"premise": premise, "hypothesis": "猫がいる"})
        found = apply(perturbations("ja")[name], [example], ipadic, assume_eligible=assume_eligible)
        return next((str(changed.inputs["premise"]) for changed in found), None)

    return run
