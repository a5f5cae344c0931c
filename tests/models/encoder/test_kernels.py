"""The kernels of fine-tuning against what torch computes: on a GPU, or by Triton's interpreter where
Triton is installed.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.models.encoder.interpreted import DEVICE, direct, in_a_process, run_interpreted


@in_a_process
def test_kernels_compute_what_torch_does_in_tritons_interpreter() -> None:
    run_interpreted(__file__)


def _bert(**changes: Any) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {
        "vocab_size": 40,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    torch.manual_seed(1)
    model = BertForSequenceClassification(BertConfig(**{**sizes, **changes}))
    for parameter in model.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, 0.5, 0.3)  # no bias at zero, no scale at one
    return model.to(DEVICE)


def _gradients(model: Any) -> tuple[float, dict[str, Any]]:
    ids = torch.arange(60, device=DEVICE).view(4, 15) % 40
    model.zero_grad()
    loss = model(input_ids=ids, labels=torch.tensor([0, 1, 1, 0], device=DEVICE)).loss
    loss.backward()
    return float(loss.detach()), {n: p.grad.float() for n, p in model.named_parameters()}


def _distance(values: Any, expected: Any) -> float:
    return float((values - expected).norm() / expected.norm())


@direct
def test_the_step_is_that_of_torchs_adamw_after_clipping() -> None:
    from nikawa.models.encoder.kernels import FusedAdamW

    torch.manual_seed(0)
    shapes, decays, rates = [(70, 64), (9,), (5000,)], [0.1, 0.0, 0.1], [0.0, 1e-2, 2e-2, 1e-2]
    weights = [torch.nn.Parameter(torch.randn(s, device=DEVICE).bfloat16()) for s in shapes]
    expected = [w.detach().float().clone().requires_grad_() for w in weights]
    torchs = torch.optim.AdamW(
        [{"params": [w], "weight_decay": d} for w, d in zip(expected, decays, strict=True)]
    )
    at = torch.zeros(1, dtype=torch.long, device=DEVICE)
    ours = FusedAdamW(weights, decays, rates, at, 1.0)
    for rate in rates:
        for one, other in zip(weights, expected, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.float()
        torch.nn.utils.clip_grad_norm_(expected, 1.0)
        for group in torchs.param_groups:
            group["lr"] = rate
        torchs.step()
        ours.step()
    assert int(at) == len(rates)
    for weight, master, other in zip(weights, ours.masters, expected, strict=True):
        assert torch.allclose(master, other, rtol=1e-6, atol=1e-6)
        assert _distance(weight.detach().float(), other.detach()) < 4e-3  # what bf16 rounds


@direct
def test_a_gradient_that_is_not_where_kernels_read_is_moved() -> None:
    from nikawa.models.encoder.kernels import FusedAdamW

    weight = torch.nn.Parameter(torch.zeros(33, device=DEVICE, dtype=torch.bfloat16))
    at = torch.zeros(1, dtype=torch.long, device=DEVICE)
    optimiser = FusedAdamW([weight], [0.0], [1.0], at, 0.0)
    weight.grad = torch.arange(34.0, device=DEVICE).bfloat16()[1:]
    optimiser.step()
    assert torch.allclose(optimiser.masters[0], -torch.ones(33, device=DEVICE), atol=1e-5)


@direct
@pytest.mark.parametrize("shape", [(1, 1), (7, 130), (300, 24), (2000, 5)])
def test_columns_are_summed_in_float32(shape: tuple[int, int]) -> None:
    from nikawa.models.encoder.kernels import sum_columns

    torch.manual_seed(0)
    values = torch.randn(shape, device=DEVICE).bfloat16()
    expected = values.double().sum(0)
    assert torch.allclose(sum_columns(values).double(), expected, rtol=8e-3, atol=1e-2)
    assert torch.equal(sum_columns(values), sum_columns(values))


@direct
def test_fast_layers_give_torchs_gradients_up_to_rounding_and_can_be_undone() -> None:
    from nikawa.models.encoder.kernels import FastLayers

    sizes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    exact_loss, exact = _gradients(_bert(**sizes).float())
    model = _bert(**sizes).bfloat16()
    plain_loss, plain = _gradients(model)
    layers = FastLayers(model)
    fast_loss, fast = _gradients(model)
    assert abs(fast_loss - exact_loss) < 0.02
    assert abs(plain_loss - exact_loss) < 0.02
    for name, gradient in exact.items():
        if gradient.norm() > 1e-3 * max(g.norm() for g in exact.values()):
            assert _distance(fast[name], gradient) < 2 * _distance(plain[name], gradient) + 0.01, (
                name
            )
    replaced = [m for m in model.modules() if "forward" in vars(m)]
    assert len(replaced) == 2 * (2 + 1 + 3) + 2  # of each layer; pooler and classifier
    layers.restore()
    assert not [m for m in model.modules() if "forward" in vars(m)]
    again_loss, again = _gradients(model)
    assert again_loss == plain_loss
    assert all(torch.equal(again[name], plain[name]) for name in plain)


@direct
def test_layers_of_another_build_stay_as_they_are() -> None:
    from nikawa.models.encoder.kernels import FastLayers

    class Output(torch.nn.Module):  # type: ignore[misc] # no residual: only the parts have the names
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(8, 8)
            self.LayerNorm = torch.nn.LayerNorm(8)
            self.dropout = torch.nn.Dropout(0.1)

        def forward(self, x: Any, y: Any) -> Any:
            return self.LayerNorm(self.dense(x)) + y

    output = Output().to(DEVICE)
    relu = _bert(hidden_act="relu")
    FastLayers(output)
    FastLayers(relu)
    assert "forward" not in vars(output)
    assert "forward" in vars(output.dense)
    assert "forward" not in vars(relu.bert.encoder.layer[0].intermediate)
    frozen = _bert()
    frozen.bert.requires_grad_(requires_grad=False)
    FastLayers(frozen)
    loss, _ = _gradients_of_head(frozen)
    assert loss > 0


def _gradients_of_head(model: Any) -> tuple[float, Any]:
    ids = torch.arange(30, device=DEVICE).view(2, 15)
    loss = model(input_ids=ids, labels=torch.tensor([0, 1], device=DEVICE)).loss
    loss.backward()
    return float(loss.detach()), model.classifier.weight.grad


@direct
def test_dropout_drops_its_share_anew_in_each_pass_and_repeats_with_the_seed() -> None:
    from nikawa.models.encoder.kernels import FastLayers

    model = _bert(hidden_dropout_prob=0.25, hidden_size=64).train()
    FastLayers(model)
    output = model.bert.encoder.layer[0].output
    with torch.no_grad():
        output.dense.weight.zero_()
        output.dense.bias.fill_(1.0)
    x = torch.ones((60, 64), device=DEVICE)
    tilt = torch.linspace(0, 1e-3, 64, device=DEVICE).expand(60, 64)

    def kept(seed: int) -> Any:
        torch.manual_seed(seed)
        model.bert.encoder.layer[0].attention.output(x, tilt)  # the first layer of a pass draws
        out = output(x[:, :1].expand(60, 64).contiguous(), tilt)
        return (out - output.LayerNorm.bias) * output.LayerNorm.weight.sign() > 0

    first, second = kept(1), kept(2)
    assert torch.equal(first, kept(1))
    assert abs(float(first.float().mean()) - 0.75) < 0.03
    assert abs(float((first == second).float().mean()) - (0.75**2 + 0.25**2)) < 0.05
    model.eval()
    assert torch.equal(output(x, tilt), output(x, tilt))
