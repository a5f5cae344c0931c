"""The architecture that `nikawa pretrain` trains takes every head: no segments, rotary positions, pooling by the mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any, get_args

import pytest
import torch

from nikawa.io.jsonl import check_record
from nikawa.records import Kind


@pytest.fixture(scope="module")
def modern(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random ModernBERT that reads as the other small encoder does."""
    from transformers import ModernBertConfig, ModernBertModel

    folder = tmp_path_factory.mktemp("modern")
    pieces = len(json.loads((tiny / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    config = ModernBertConfig(
        vocab_size=pieces,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=160,
        pad_token_id=0,
        cls_token_id=2,
        sep_token_id=3,
        bos_token_id=2,
        eos_token_id=3,
        classifier_pooling="mean",
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        ModernBertModel(config).save_pretrained(folder)
    copyfile(tiny / "tokenizer.json", folder / "tokenizer.json")
    told = json.loads((tiny / "tokenizer_config.json").read_text("utf-8"))
    told["model_input_names"] = ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(told), "utf-8")
    return folder


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_head_learns_and_is_read_back(
    kind: Kind, modern: Path, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented[kind], made(checkpoint=modern, epochs=1, dropout=0.1)
    encoder.fit(case.task, case.learn[:24])
    answers = encoder.predict(case.task, case.ask)
    assert [a.example for a in answers] == [e.id for e in case.ask]
    for answer in answers:
        check_record(answer)
    encoder.save(tmp_path)
    again = made(checkpoint=tmp_path, epochs=0).predict(case.task, case.ask)
    assert [a.answer for a in again] == [a.answer for a in answers]


def test_random_weights_of_the_same_architecture(
    modern: Path, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["inference"]
    models = [
        made(checkpoint=modern, scratch=scratch)._prepare(case.task, case.learn)[1]
        for scratch in (False, True)
    ]
    ours, random = (m.get_input_embeddings().weight for m in models)
    assert ours.shape == random.shape
    assert not torch.equal(ours, random)
