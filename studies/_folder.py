"""Folders of encoders without weights: a configuration and a tokenizer, for training from random weights."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SMALL = {
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
}
TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "added_tokens.json",
)


def characters(folder: Path, texts: Iterable[str], size: Mapping[str, int]) -> Path:
    """Make a BERT of this size whose tokens are the characters of the texts; an existing folder stays."""
    if folder.is_dir():
        return folder
    import unicodedata

    known = sorted(
        {c for text in texts for c in unicodedata.normalize("NFKC", text) if not c.isspace()}
    )
    with atomic_folder(folder) as place:
        _tokenizer([*SPECIAL, *known]).save_pretrained(place)
        config = {
            "model_type": "bert",
            "architectures": ["BertModel"],
            "vocab_size": len(SPECIAL) + len(known),
        }
        (place / "config.json").write_text(
            json.dumps({**config, **size, "max_position_embeddings": 512}, indent=1)
        )
    return folder


def _tokenizer(pieces: list[str]) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(
        models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token=SPECIAL[1])
    )
    raw.normalizer = normalizers.NFKC()
    split = pre_tokenizers.Split(Regex("."), "isolated")
    raw.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), split])
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {f"{token.strip('[]').lower()}_token": token for token in SPECIAL}
    wanted = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=raw, model_input_names=wanted, **names)


def without_weights(model: Path, folder: Path) -> Path:
    """Copy an encoder's folder without its weights: the same architecture, untrained.

    A copy of an earlier state of the encoder is replaced.
    """
    if not (model / "config.json").is_file():
        cure = "train an encoder with nikawa pretrain, and pass its folder"
        raise BadInput("contains no encoder", file=model, cure=cure)
    names = [name for name in ("config.json", *TOKENIZER) if (model / name).is_file()]
    if folder.is_dir() and _same(model, folder, names):
        return folder
    with atomic_folder(folder, overwrite=True) as place:
        for name in names:
            shutil.copyfile(model / name, place / name)
    return folder


def _same(model: Path, folder: Path, names: Sequence[str]) -> bool:
    return {f.name for f in folder.iterdir()} == set(names) and all(
        (model / name).read_bytes() == (folder / name).read_bytes() for name in names
    )
