"""Causal models: the same trainer with another model, mask and loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from nikawa.pretrain.batches import shift_tokens
from nikawa.pretrain.card import CardFacts, write_model
from nikawa.pretrain.network import (
    CausalNetwork,
    build_model,
    mask_documents,
    matches_transformers,
)
from nikawa.pretrain.settings import Size, TrainSettings
from nikawa.pretrain.training import train

SIZE = Size(width=32, layers=3, heads=2, inner=48, rate=1e-3)
SEP = 3


@pytest.fixture
def model() -> Any:
    return build_model(SIZE, 100, {"pad": 0, "cls": 2, "sep": SEP}, seed=1, causal=True)


def test_settings_of_masked_trainings_keep_their_bytes() -> None:
    assert b"objective" not in msgspec.json.encode(TrainSettings())
    causal = TrainSettings(objective="causal")
    assert msgspec.json.decode(msgspec.json.encode(causal), type=TrainSettings).is_causal


def test_every_place_predicts_the_next_token_but_at_the_marks() -> None:
    batch = shift_tokens(torch.tensor([[SEP, 7, 8, SEP, 9, SEP]]))
    assert batch.gold.tolist() == [7, 8, SEP, 9, SEP, SEP]
    assert batch.weight.tolist() == [0, 1, 1, 1, 0, 0]


def test_a_token_sees_the_earlier_tokens_of_its_document() -> None:
    mask = mask_documents(torch.tensor([[SEP, 7, SEP, 9]]), SEP, torch.float32)[0, 0]
    assert (mask == 0).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


def test_loss_and_gradients_are_those_of_transformers(model: Any) -> None:
    ids = torch.arange(60).mul(37).remainder(90).add(5).view(3, 20)
    ids[:, 0] = ids[:, -1] = SEP
    assert matches_transformers(model)
    ours = CausalNetwork(model, torch.float32).loss(shift_tokens(ids))
    labels = ids.clone()
    labels[:, :2] = labels[:, -1] = -100
    # the last mark begins a document of its own, which no other token sees
    theirs = model(input_ids=ids, labels=labels).loss
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    slopes = []
    for loss in (ours, theirs):
        model.zero_grad()
        loss.backward()
        slopes.append([weight.grad.clone() for weight in model.parameters()])
    for one, other in zip(*slopes, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_a_document_is_computed_as_if_it_were_alone(model: Any) -> None:
    network = CausalNetwork(model, torch.float32)
    first, second = [SEP, 11, 12, 13, 14], [SEP, 21, 22, 23]
    together = network.states(torch.tensor([first + second]))[:, len(first) :]
    alone = network.states(torch.tensor([second]))
    assert torch.allclose(together, alone, atol=1e-5)


def test_a_layer_and_the_output_compile_without_a_break(model: Any) -> None:
    torch.compiler.reset()
    batch = shift_tokens(torch.tensor([[SEP, 7, 8, SEP, 9, 10, 11, SEP]]))
    network = CausalNetwork(model, torch.float32)
    plain = network.loss(batch)
    network.layer, network.losses = (
        torch.compile(part, dynamic=False, fullgraph=True, backend="eager")
        for part in network.parts
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler raises and hides some of its own
        assert network.loss(batch).item() == pytest.approx(plain.item(), abs=1e-6)


def test_causal_training_learns_resumes_exactly_and_opens_as_a_language_model(
    course_of: Callable[..., Any], tokenizer: Path, tmp_path: Path
) -> None:
    from nikawa.models.lm.checkpoint import open_language_model
    from nikawa.models.lm.settings import LmSettings

    whole = {"objective": "causal", "steps": 30}
    once = train(course_of(**whole))
    assert once.figures.heldout is not None
    assert once.figures.unigram is not None
    assert once.figures.heldout < 0.8 * once.figures.unigram

    course = course_of(**whole, state=tmp_path / "state", checkpoint_seconds=0.0)

    def stop(_what: str, done: int, _total: int | None) -> None:
        if done > 12:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(replace(course, on_progress=stop))
    again = train(course)
    for one, other in zip(once.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)

    facts = CardFacts(name="small", language="ja", command="nikawa pretrain")
    out = tmp_path / "model"
    write_model(again.model, again.figures, tokenizer, out, facts)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "LlamaForCausalLM" in card
    assert "--model lm:small" in card
    opened = open_language_model(str(out), LmSettings(device="cpu"))
    assert opened.tokenizer("あさ")["input_ids"][0] == SEP
    assert opened.tokenizer("あさ")["input_ids"][-1] != SEP
    assert opened.end_tokens == {SEP}
    assert opened.max_length == 512
