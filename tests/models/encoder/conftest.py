"""Small random encoders with a vocabulary of characters, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.benchmarks import load
from nikawa.records import Example

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def letters() -> list[str]:
    """Every character of the embedded benchmark."""
    found: set[str] = set()
    for name in ("mini-ja", "mini-ko"):
        for examples in load(name).splits.values():
            for example in examples:
                found |= set(str(example.inputs))
    return sorted(c for c in found if not c.isspace())


def save_tiny(folder: Path, **changes: Any) -> Path:
    """A BERT of two layers with characters as its pieces, saved as transformers saves it."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    characters = letters()
    words = [*SPECIAL, *characters, *(f"##{c}" for c in characters)]
    raw = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    raw.normalizer = normalizers.NFKC()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}  # fmt: skip
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **names)  # fmt: skip
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 160}  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(vocab_size=len(words), **{**sizes, **changes})).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small random BERT."""
    return save_tiny(tmp_path_factory.mktemp("tiny"))


def examples_of(name: str, question: str) -> list[Example]:
    """All examples of an embedded dataset that answer a question."""
    splits = load(name).splits.values()
    return [e for examples in splits for e in examples if question in e.gold]
