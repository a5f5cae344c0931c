"""Small random encoders with a vocabulary of characters, made on the spot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nikawa.models.encoder import Encoder
from nikawa.records import Kind

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NAMES = {
    "unk_token": "[UNK]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 160,
}


def _letters(value: Any) -> set[str]:
    if isinstance(value, str):
        return {c for c in value if not c.isspace()}
    if isinstance(value, Mapping):
        value = list(value.values())
    return set().union(*(_letters(v) for v in value)) if isinstance(value, Iterable) else set()


def save_tiny(folder: Path, characters: Iterable[str], **changes: Any) -> Path:
    """A BERT of two layers with characters as its pieces, saved as transformers saves it."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    known = sorted(set(characters))
    words = [*SPECIAL, *known, *(f"##{c}" for c in known)]
    raw = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    raw.normalizer = normalizers.NFKC()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **NAMES,
    )
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(vocab_size=len(words), **{**SIZES, **changes})).save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small matrices gain nothing from threads, and sums come out the same. Each time, as other tests set the number too."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, invented: Mapping[Kind, Any]) -> Path:
    """The folder of a small random BERT that knows the characters of the invented tasks."""
    texts = [[e.inputs for e in (*case.learn, *case.ask)] for case in invented.values()]
    return save_tiny(tmp_path_factory.mktemp("tiny"), _letters([texts, "0123456789"]))


@pytest.fixture
def made(tiny: Path) -> Callable[..., Encoder]:
    """An encoder over the small BERT, with settings for small tests."""
    from nikawa.models import model

    def make(
        folder: Path | None = None, checkpoint: Path = tiny, seed: int = 1, **settings: Any
    ) -> Encoder:
        whole = {"epochs": 1, "batch": 8, "device": "cpu", "learning_rate": 1e-3, **settings}
        found = model(f"encoder:{checkpoint}", seed=seed, settings=whole, folder=folder)
        assert isinstance(found, Encoder)
        return found

    return make


@pytest.fixture(scope="session")
def tiny_maker() -> Callable[..., Path]:
    """Save a small random BERT with a vocabulary of these characters."""
    return save_tiny


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The folder of golden files; tests that ask for it are skipped where it is absent."""
    given = os.environ.get("NIKAWA_SHARED")
    folder = (Path(given) if given else Path(__file__).parents[4] / "shared") / "golden"
    if not folder.is_dir():
        pytest.skip("no golden files here: set NIKAWA_SHARED to a folder that holds golden/")
    return folder
