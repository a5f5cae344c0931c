"""Training without padding: the batches, and the packed way of an encoder against the padded one.

The kernels run on a GPU, or by Triton's interpreter where Triton is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.encoder.interpreted import (
    DEVICE,
    IS_INTERPRETED,
    direct,
    in_a_process,
    run_interpreted,
)

from nikawa.models.encoder.batches import Rows, RowStore, packing_step, plan_packed_epoch

DTYPE = torch.float32 if IS_INTERPRETED else torch.bfloat16
"""The interpreter multiplies no matrices in bf16."""


@in_a_process
def test_packing_computes_what_padding_does_in_tritons_interpreter() -> None:
    run_interpreted(__file__)


# The first product of torch's own way back is in a thread that has not used the GPU before.
pytestmark = pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")


# Batches


def _store(sizes: list[int], width: int = 1) -> RowStore:
    rows = Rows(width=width, owner=list(range(len(sizes) // width)))
    rows.tokens = {"input_ids": [np.ones(size, dtype=np.int64) for size in sizes]}
    return RowStore(rows, torch.device("cpu"))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=200), st.integers(1, 33), st.integers())
def test_every_row_is_in_one_batch_that_has_room_for_it(
    sizes: list[int], batch: int, seed: int
) -> None:
    store, key = _store(sizes), (abs(seed), 0)
    made = plan_packed_epoch(store, batch, max(sizes), key)
    assert made == plan_packed_epoch(store, batch, max(sizes), key)
    rows = [row for b in made for row in b.rows]
    assert sorted(row for row in rows if row < len(sizes)) == list(range(len(sizes)))
    assert len(made) == -(-len(sizes) // batch)
    assert {len(b.rows) for b in made} == {batch}
    assert sum(len(sizes) in b.rows for b in made) <= 1
    tokens = store.row_tokens()
    step = packing_step(float(np.mean(sizes)) * batch)
    for b in made:
        assert b.tokens >= tokens[list(b.rows)].sum()
        assert b.tokens % step == 0
        if len(sizes) not in b.rows:
            own = tokens[list(b.rows)].sum()
            apart = abs(own - float(np.mean(sizes)) * batch) + step
            assert b.tokens - own < max(step, apart / 4)


def test_batches_have_rows_of_all_lengths_and_about_as_many_tokens() -> None:
    draw = np.random.default_rng(0)
    sizes = np.clip(draw.gamma(4, 28, 4446), 20, 384).astype(int).tolist()
    store = _store(sizes)
    first, second = (plan_packed_epoch(store, 32, 384, (7, epoch)) for epoch in (0, 1))
    assert len({b.tokens for b in first}) <= 6
    assert sum(b.tokens for b in first) < 1.02 * sum(sizes)
    assert {b.rows for b in first}.isdisjoint(b.rows for b in second)
    shortest, longest = np.quantile(sizes, [0.1, 0.9])
    whole = [b for b in first if len(sizes) not in b.rows]
    assert all(min(sizes[r] for r in b.rows) < shortest for b in whole)
    assert all(max(sizes[r] for r in b.rows) > longest for b in whole)


def test_long_rows_do_not_make_hundreds_of_graphs() -> None:
    draw = np.random.default_rng(0)
    heavy = np.clip(draw.pareto(1, 20_000) * 20 + 5, 5, 4096).astype(int).tolist()
    for sizes, width, batch in ((heavy, 1, 8), (draw.integers(1, 513, 25_000).tolist(), 5, 1)):
        store, tokens = _store(sizes, width), set()
        for epoch in range(3):
            batches = plan_packed_epoch(store, batch, 4096, (0, epoch))
            tokens |= {b.tokens for b in batches}
        assert len(tokens) < 50
        assert sum(b.tokens for b in batches) < 1.06 * sum(sizes)


def test_choices_count_with_all_their_sequences() -> None:
    store = _store([3, 4, 5, 6, 7, 8], width=3)
    assert store.row_tokens().tolist() == [12, 21, 3]
    (batch,) = plan_packed_epoch(store, 2, 8, (0, 0))
    assert batch.tokens == 48  # 33, in steps of 16


# Kernels


def _mask(sizes: list[int], longest: int) -> Any:
    places = torch.arange(longest, device=DEVICE)
    return (places < torch.tensor(sizes, device=DEVICE)[:, None]).long()


@direct
def test_a_layout_knows_each_token_and_the_way_back() -> None:
    from nikawa.models.encoder.packed_kernels import make_layout

    mask = _mask([3, 1, 5], 6)
    layout = make_layout(mask, 32)
    assert layout.starts.tolist() == [0, 3, 4, 9, 15, 21, 27, 32, 32, 32]
    assert layout.place.tolist() == [0, 1, 2, 6, 12, 13, 14, 15, 16] + [0] * 23
    assert layout.source.tolist() == [0, 1, 2, 6, 12, 13, 14, 15, 16] + [-1] * 23
    assert layout.position.tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 4] + [0] * 23
    rows = [[0, 1, 2, -1, -1, -1], [3, -1, -1, -1, -1, -1], [4, 5, 6, 7, 8, -1]]
    assert layout.back.view(3, 6).tolist() == rows


@direct
def test_rows_are_picked_and_missing_ones_are_zero() -> None:
    from nikawa.models.encoder.packed_kernels import pick_rows

    values = torch.randn(5, 33, device=DEVICE).to(DTYPE)
    index = torch.tensor([3, -1, 0, 3], dtype=torch.int32, device=DEVICE)
    expected = torch.stack([values[3], torch.zeros_like(values[0]), values[0], values[3]])
    assert torch.equal(pick_rows(values, index), expected)


@direct
@pytest.mark.parametrize(("entries", "tokens", "width"), [(2, 500, 48), (130, 300, 80), (5, 3, 16)])
def test_gradients_of_a_table_are_summed_by_its_entries(
    entries: int, tokens: int, width: int
) -> None:
    from nikawa.models.encoder.packed_kernels import sum_by_index

    torch.manual_seed(0)
    index = torch.randint(0, entries, (tokens,), device=DEVICE)
    gradient = torch.randn(tokens, width, device=DEVICE).to(DTYPE)
    expected = torch.zeros(entries, width, device=DEVICE, dtype=torch.double)
    expected.index_add_(0, index, gradient.double())
    found = sum_by_index(gradient, index.int(), entries).double()
    assert float((found - expected).norm() / expected.norm()) < 5e-3


def _attention(share: float, dim: int = 16) -> Any:
    from nikawa.models.encoder.packed_kernels import AttentionShape

    return AttentionShape(heads=2, dim=dim, scale=dim**-0.5, share=share)


def _by_torch(joint: Any, gradient: Any, sizes: list[int], factors: list[Any]) -> tuple[Any, Any]:
    """Attention within each sequence and its gradient in float64, with the weights times these factors."""
    exact = joint.double().requires_grad_()
    dim = joint.shape[1] // 6
    start, parts = 0, []
    for size, factor in zip(sizes, factors, strict=True):
        q, k, v = exact[start : start + size].view(size, 3, 2, dim).permute(1, 2, 0, 3)
        weights = (q @ k.transpose(1, 2) * dim**-0.5).softmax(-1) * factor
        parts.append((weights @ v).transpose(0, 1).reshape(size, 2 * dim))
        start += size
    whole = torch.cat(parts)
    whole.backward(gradient.double())
    return whole.detach(), exact.grad


SIZES = [3, 1, 150, 64, 70, 17]


@direct
@pytest.mark.parametrize(("sizes", "dim"), [(SIZES, 16), ([3, 16, 9], 32), ([65, 128, 40], 16)])
def test_attention_and_its_gradients_are_those_of_torch(sizes: list[int], dim: int) -> None:
    from nikawa.models.encoder.packed_kernels import attend, attend_backward, make_layout

    torch.manual_seed(0)
    total, attention = sum(sizes), _attention(0.0, dim)
    layout = make_layout(_mask(sizes, max(sizes)), total + 7)
    joint = torch.randn(total + 7, 6 * dim, device=DEVICE).to(DTYPE)
    gradient = torch.randn(total + 7, 2 * dim, device=DEVICE).to(DTYPE)
    seed = torch.zeros(1, dtype=torch.long, device=DEVICE)
    out, norms = attend(joint, layout, attention, seed)
    of_joint = attend_backward(joint, out, norms, gradient, layout, attention, seed)
    everything = [torch.ones(1, device=DEVICE)] * (len(sizes) + 1)
    expected, exact = _by_torch(joint, gradient, [*sizes, 7], everything)
    assert float((out - expected).norm() / expected.norm()) < 5e-3
    assert float((of_joint - exact).norm() / exact.norm()) < 1e-2
    for part, other in zip(of_joint.chunk(3, 1), exact.chunk(3, 1), strict=True):
        assert float((part - other).norm() / other.norm()) < 1e-2
    again = attend_backward(joint, out, norms, gradient, layout, attention, seed)
    assert torch.equal(of_joint, again)


@direct
def test_gradients_are_those_of_the_weights_that_dropout_keeps() -> None:
    from nikawa.models.encoder.packed_kernels import attend, attend_backward, make_layout

    torch.manual_seed(0)
    sizes, dim, share = [130, 3, 40], 16, 0.25
    total, attention = sum(sizes), _attention(share)
    layout = make_layout(_mask(sizes, 130), total)
    seed = torch.tensor([1234567890123], device=DEVICE)
    joint = torch.randn(total, 6 * dim, device=DEVICE).to(DTYPE)
    gradient = torch.randn(total, 2 * dim, device=DEVICE).to(DTYPE)
    out, norms = attend(joint, layout, attention, seed)
    of_joint = attend_backward(joint, out, norms, gradient, layout, attention, seed)
    kept = _kept(layout, attention, seed, sizes)
    shares = torch.cat([k.flatten() for k in kept]).double()
    assert abs(float(shares.mean()) - (1 - share)) < 0.01
    scaled = [keep.double() / (1 - share) for keep in kept]
    expected, exact = _by_torch(joint, gradient, sizes, scaled)
    assert float((out - expected).norm() / expected.norm()) < 5e-3
    assert float((of_joint - exact).norm() / exact.norm()) < 1e-2


def _kept(layout: Any, attention: Any, seed: Any, sizes: list[int]) -> list[Any]:
    """Which weights are kept, by sequence, as (heads, queries, keys): values of one key at a time."""
    from nikawa.models.encoder.packed_kernels import attend

    total, dim = sum(sizes), attention.dim
    kept = [torch.zeros(2, size, size, dtype=torch.bool, device=DEVICE) for size in sizes]
    for first in range(0, max(sizes), dim):
        values = torch.zeros(total, 3, 2, dim, device=DEVICE)
        start = 0
        for size in sizes:
            for place in range(first, min(first + dim, size)):
                values[start + place, 2, :, place - first] = 1.0
            start += size
        out, _ = attend(values.view(total, -1).to(DTYPE), layout, attention, seed)
        start = 0
        for number, size in enumerate(sizes):
            last = min(first + dim, size)
            if first < last:
                part = out[start : start + size].view(size, 2, dim)[:, :, : last - first]
                kept[number][:, :, first:last] = part.transpose(0, 1) > 0
            start += size
    return kept


@direct
def test_dropout_of_attention_follows_the_seed_and_differs_between_heads() -> None:
    from nikawa.models.encoder.packed_kernels import make_layout

    sizes = [100]
    layout, attention = make_layout(_mask(sizes, 100), 100), _attention(0.5)
    seeds = [torch.tensor([s], device=DEVICE) for s in (5, 5, 6)]
    first, again, other = (_kept(layout, attention, seed, sizes)[0] for seed in seeds)
    assert torch.equal(first, again)
    for one, two in ((first, other), (first[:1], first[1:]), (first, first.transpose(1, 2))):
        assert abs(float((one == two).double().mean()) - 0.5) < 0.02
    neighbours = (first[:, :, 1:] == first[:, :, :-1], first[:, 1:] == first[:, :-1])
    assert all(abs(float(same.double().mean()) - 0.5) < 0.02 for same in neighbours)


# Encoders

SMALL = {
    "vocab_size": 40,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 40,
}


def _model(name: str, kind: str = "ForSequenceClassification", **changes: Any) -> Any:
    import transformers

    torch.manual_seed(1)
    config = getattr(transformers, f"{name}Config")(**{**SMALL, **changes})
    model = getattr(transformers, f"{name}{kind}")(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.3)
    return model.to(DEVICE).to(DTYPE)


def _batch(kind: str) -> tuple[dict[str, Any], int]:
    torch.manual_seed(2)
    sizes = [7, 3, 12, 1, 9, 4]
    mask = _mask(sizes, 12)
    ids = torch.where(mask > 0, torch.randint(4, 40, (6, 12), device=DEVICE), 1)
    batch = {"input_ids": ids, "attention_mask": mask}
    if kind == "ForMultipleChoice":
        batch = {name: value.view(2, 3, 12) for name, value in batch.items()}
    return batch, sum(sizes)


def _loss(model: Any, batch: dict[str, Any]) -> Any:
    logits = model(**batch).logits.float()
    weights = torch.linspace(-1, 1, logits.numel(), device=DEVICE).view(logits.shape).sin()
    if logits.ndim == 3:  # per token: padding counts for nothing
        weights = weights * batch["attention_mask"][..., None]
    return (logits * weights).sum()


WAYS = [
    ("Bert", "ForSequenceClassification"),
    ("Bert", "ForTokenClassification"),
    ("Bert", "ForMultipleChoice"),
    ("Roberta", "ForSequenceClassification"),
    ("Electra", "ForSequenceClassification"),
    ("XLMRoberta", "ForTokenClassification"),
]


@direct
@pytest.mark.parametrize(("name", "kind"), WAYS)
def test_an_encoder_learns_the_same_from_packed_batches(name: str, kind: str) -> None:
    from nikawa.models.encoder.kernels import FastLayers
    from nikawa.models.encoder.packed import pack_encoder

    batch, tokens = _batch(kind)
    model = _model(name, kind).train()
    layers = FastLayers(model)
    packed = pack_encoder(model, layers)
    assert packed is not None
    assert packed.agrees(model, lambda: _loss(model, batch), tokens)
    assert not packed.agrees(model, lambda: _loss(model, batch), tokens + 1)
    gradients: list[dict[str, Any]] = []
    for size in (0, 48):
        model.zero_grad()
        with packed.use(size):
            loss = _loss(model, batch)
        loss.backward()
        gradients.append(
            {n: p.grad.float() for n, p in model.named_parameters() if p.grad is not None}
        )
    padded, found = gradients
    assert set(padded) == set(found)
    largest = max(g.norm() for g in padded.values())
    for place, gradient in padded.items():
        if gradient.norm() > 1e-2 * largest:
            assert float((found[place] - gradient).norm() / gradient.norm()) < 0.1, place
    packed.restore()
    layers.restore()
    assert not [m for m in model.modules() if "forward" in vars(m)]


@direct
def test_a_wrong_way_is_found_out() -> None:
    from nikawa.models.encoder.kernels import FastLayers
    from nikawa.models.encoder.packed import pack_encoder

    batch, tokens = _batch("")
    model = _model("Roberta")
    packed = pack_encoder(model, FastLayers(model))
    assert packed is not None
    packed._offset += 3
    assert not packed.agrees(model, lambda: _loss(model, batch), tokens)
    packed._offset -= 3
    assert packed.agrees(model, lambda: _loss(model, batch), tokens)
    twice = lambda: _loss(model, batch) + _loss(model, batch)  # noqa: E731
    assert not packed.agrees(model, twice, tokens)


@direct
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("ModernBert", {"pad_token_id": 1, "cls_token_id": 2, "sep_token_id": 3}),
        ("Albert", {"embedding_size": 16}),
        ("DebertaV2", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    ],
)
def test_encoders_of_another_build_are_padded(name: str, changes: dict[str, Any]) -> None:
    from nikawa.models.encoder.kernels import FastLayers
    from nikawa.models.encoder.packed import pack_encoder

    model = _model(name, **changes)
    assert pack_encoder(model, FastLayers(model)) is None


@direct
def test_an_encoder_that_fails_on_a_trial_is_padded() -> None:
    from nikawa.models.encoder.kernels import FastLayers
    from nikawa.models.encoder.packed import pack_encoder

    model = _model("Bert")
    layers = FastLayers(model)
    for part in (model.bert.encoder.layer[0].attention.self, model.bert.embeddings):

        def fail(*inputs: Any, **more: Any) -> Any:
            raise AttributeError("'NoneType' object has no attribute 'ndim'")  # as MRA's does

        part.forward = fail
        assert pack_encoder(model, layers) is None
        del part.forward
    assert pack_encoder(model, layers) is not None


@direct
def test_bert_with_other_attention_is_padded() -> None:
    from nikawa.models.encoder.kernels import FastLayers
    from nikawa.models.encoder.packed import pack_encoder

    model = _model("Bert")
    attention = model.bert.encoder.layer[0].attention.self
    attention.scaling *= 2
    assert pack_encoder(model, FastLayers(model)) is None
    decoder = _model("Bert", is_decoder=True)
    assert pack_encoder(decoder, FastLayers(decoder)) is None
