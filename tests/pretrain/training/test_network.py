from __future__ import annotations

import warnings
from typing import Any

import pytest

from nikawa.pretrain.batches import Batch
from nikawa.pretrain.network import (
    Network,
    build_model,
    compute_layer,
    compute_losses,
    matches_transformers,
)
from nikawa.pretrain.settings import Size

SIZE = Size(width=32, layers=3, heads=2, inner=48, rate=1e-3)


@pytest.fixture
def model() -> Any:
    return build_model(SIZE, 100, {"pad": 0, "cls": 2, "sep": 3}, seed=1)


@pytest.fixture
def batch() -> Batch:
    import torch

    ids = torch.arange(60).mul(37).remainder(97).add(3).view(3, 20)
    at = torch.tensor([1, 5, 21, 38, 59])
    return Batch(ids, at, torch.tensor([9, 8, 7, 6, 5]), torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0]))


def _slopes(model: Any, loss: Any) -> list[Any]:
    model.zero_grad()
    loss.backward()
    return [weight.grad.clone() for weight in model.parameters()]


def test_loss_and_slopes_are_those_of_transformers(model: Any, batch: Batch) -> None:
    import torch

    ours = Network(model, torch.float32).loss(batch)
    labels = torch.full((60,), -100)
    labels[batch.at] = torch.where(batch.weight > 0, batch.gold, -100)
    theirs = model(input_ids=batch.ids, labels=labels.view(3, 20)).loss
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    for one, other in zip(_slopes(model, ours), _slopes(model, theirs), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_a_model_that_computes_otherwise_is_noticed(model: Any) -> None:
    import torch

    assert matches_transformers(model)
    with torch.no_grad():
        model.model.rotary_emb.full_attention_inv_freq.mul_(3)
        for part in model.model.layers:
            part.attn.Wqkv.weight.mul_(20)
    assert not matches_transformers(model)


def test_low_precision_stays_near(model: Any, batch: Batch) -> None:
    import torch

    exact = _slopes(model, Network(model, torch.float32).loss(batch))
    low = _slopes(model, Network(model, torch.bfloat16).loss(batch))
    for one, other in zip(exact, low, strict=True):
        assert other.dtype == torch.float32
        assert float((one - other).norm() / one.norm()) < 0.02


def test_a_layer_and_the_output_compile_without_a_break(model: Any, batch: Batch) -> None:
    import torch

    plain = _slopes(model, Network(model, torch.float32).loss(batch))
    made = [
        torch.compile(part, dynamic=False, fullgraph=True, backend="eager")
        for part in (compute_layer, compute_losses)
    ]
    fused = Network(model, torch.float32)
    fused.layer, fused.losses = made
    assert fused.is_fused
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler raises and hides some of its own
        found = _slopes(model, fused.loss(batch))
    for one, other in zip(plain, found, strict=True):
        assert torch.equal(one, other)
    fused.unfuse()
    assert not fused.is_fused


def test_the_seed_alone_makes_the_weights() -> None:
    import torch

    ids = {"pad": 0, "cls": 2, "sep": 3}
    torch.manual_seed(5)
    first = build_model(SIZE, 100, ids, seed=1).state_dict()
    drawn = torch.rand(1)
    again, other = (build_model(SIZE, 100, ids, seed=seed).state_dict() for seed in (1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    name = "model.layers.0.attn.Wqkv.weight"
    assert not torch.equal(first[name], other[name])
    torch.manual_seed(5)
    assert torch.equal(torch.rand(1), drawn)
