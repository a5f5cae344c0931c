"""On a graphics card: captured steps learn what plain ones do, for every head. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest
import torch

from nikawa.models.encoder import train
from nikawa.models.encoder.batches import Batch
from nikawa.models.encoder.steps import GraphSteps, PlainSteps
from nikawa.records import Kind


@pytest.fixture
def card() -> str:
    """The name of a graphics card."""
    if not torch.cuda.is_available():
        pytest.skip("no graphics card here")
    return "cuda"


WAYS: list[tuple[Kind, dict[str, Any]]] = [
    *((kind, {}) for kind in get_args(Kind)),
    ("relation", {"relation_reads": "markers"}),
]


@pytest.mark.parametrize(("kind", "more"), WAYS)
def test_captured_steps_are_plain_ones(
    kind: Kind,
    more: dict[str, Any],
    card: str,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, losses = invented[kind], []
    for kept in (True, False):
        with monkeypatch.context() as patch:
            if not kept:
                patch.setattr(train, "GraphSteps", PlainSteps)
            encoder = made(
                device=card, precision="float32", dropout=0.0, epochs=3, learning_rate=1e-4, **more
            )
            encoder.fit(case.task, case.learn)
            losses.append([h["loss"] for h in encoder.history])
            assert len(encoder.predict(case.task, case.ask)) == len(case.ask)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize(("kind", "more"), WAYS)
def test_it_learns_in_bf16(
    kind: Kind,
    more: dict[str, Any],
    card: str,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
) -> None:
    epochs = 30 if kind == "choice" else 8  # eight leave its loss where chance is
    case, encoder = invented[kind], made(device=card, epochs=epochs, learning_rate=1e-3, **more)
    encoder.fit(case.task, case.learn)
    losses = [h["loss"] for h in encoder.history]
    assert losses[-1] < losses[0]
    assert all(p.dtype == torch.float32 for p in encoder._model.parameters())
    assert all(a.answer is not None for a in encoder.predict(case.task, case.ask))


@pytest.mark.parametrize("packs", [True, False])
def test_a_training_in_bf16_repeats_bit_for_bit(
    packs: bool,
    card: str,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, weights = invented["reading"], []
    tokens: set[int] = set()
    plan = train.TrainingLoop.batches

    def watch(loop: Any, epoch: int) -> Any:
        batches = plan(loop, epoch)
        tokens.update(batch.tokens for batch in batches)
        return batches

    monkeypatch.setattr(train.TrainingLoop, "batches", watch)
    if not packs:
        monkeypatch.setattr(train.TrainingLoop, "_pack_encoder", lambda loop: None)
    for _ in range(2):
        encoder = made(device=card, epochs=6, learning_rate=1e-3, dropout=0.1)
        encoder.fit(case.task, case.learn)
        weights.append([p.detach().cpu().clone() for p in encoder._model.parameters()])
    assert (0 not in tokens) if packs else (tokens == {0})
    assert all(torch.equal(one, two) for one, two in zip(*weights, strict=True))


def test_a_graph_that_is_captured_later_leaves_the_mean_loss_as_it_is(
    card: str,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, seen = invented["reading"], []
    capture = GraphSteps._capture_graphs

    def watch(steps: Any, shapes: Any) -> None:
        before = float(steps._loss_sum)
        capture(steps, shapes)
        seen.append((before, float(steps._loss_sum)))

    plan = train.TrainingLoop.batches

    def grow(loop: Any, epoch: int) -> Any:  # each epoch has a shape of its own
        return [
            Batch(b.rows, b.length + epoch, b.tokens and b.tokens + 16 * epoch)
            for b in plan(loop, epoch)
        ]

    monkeypatch.setattr(GraphSteps, "_capture_graphs", watch)
    monkeypatch.setattr(train.TrainingLoop, "batches", grow)
    made(device=card, epochs=3, learning_rate=1e-3).fit(case.task, case.learn)
    assert len(seen) == 3
    assert all(before == after for before, after in seen)
