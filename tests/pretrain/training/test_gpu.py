"""On a graphics card: captured and compiled steps learn what plain ones do, twice the same. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nikawa.pretrain.training import train

# The compiler of torch 2.11 looks at gradients of tensors that have none, and warns of it.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


@pytest.fixture
def card() -> str:
    """The name of a graphics card."""
    if not torch.cuda.is_available():
        pytest.skip("no graphics card here")
    return "cuda"


@pytest.fixture(params=["masked", "causal"])
def objective(request: pytest.FixtureRequest) -> dict[str, str]:
    """What the settings say about the objective."""
    return {"objective": "causal"} if request.param == "causal" else {}


def _weights(learned: Any) -> list[Any]:
    return list(learned.model.state_dict().values())


def test_captured_steps_learn_what_the_processor_learns(
    card: str, objective: dict[str, str], course_of: Callable[..., Any]
) -> None:
    whole = {"steps": 20, "precision": "float32", "compile": "no", "learning_rate": 1e-3}
    whole |= objective
    there, here = train(course_of(**whole, device=card)), train(course_of(**whole, device="cpu"))
    assert not there.figures.notes
    assert there.figures.heldout == pytest.approx(here.figures.heldout, rel=1e-3)
    for one, other in zip(_weights(there), _weights(here), strict=True):
        assert torch.allclose(one, other, atol=2e-3)


def test_compiled_low_precision_learns_and_repeats_itself(
    card: str, objective: dict[str, str], course_of: Callable[..., Any], tmp_path: Path
) -> None:
    whole = {"steps": 60, "device": card, "size": "tiny", "learning_rate": 3e-3, **objective}
    first = train(course_of(**whole))
    assert not first.figures.notes
    assert first.figures.unigram is not None
    assert first.figures.heldout is not None
    assert first.figures.heldout < 0.8 * first.figures.unigram
    course = course_of(**whole, state=tmp_path, checkpoint_seconds=0.0)

    def stop(_what: str, done: int, _total: int | None) -> None:
        if done > 30:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(replace(course, on_progress=stop))
    again = train(course)
    assert all(torch.equal(a, b) for a, b in zip(_weights(first), _weights(again), strict=True))
