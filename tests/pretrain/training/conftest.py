"""A language of eight words, its tokenizer, and packs of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ("あさ", "ひる", "よる", "うみかぜ", "やまみち", "そら", "とり", "さかな")


def write_text(path: Path, lines: int, seed: int) -> Path:
    """Documents of five lines that say one word again and again: any word tells all the others."""
    draw, out = Random(seed), []
    chosen = [draw.choice(WORDS) for _ in range(0, lines, 5)]
    for number in range(lines):
        word = chosen[number // 5]
        out.append(" ".join([word] * 12))
        out += [""] if number % 5 == 4 else []
    path.write_text("\n".join(out) + "\n", encoding="utf-8")
    return path


def save_tokenizer(folder: Path) -> Path:
    """One piece a character, blanks with the piece behind them, bytes for what is unknown."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = sorted({c for word in WORDS for c in word})
    pieces = [*letters, *(f"▁{c}" for c in letters), "▁"]
    vocabulary = [(name, 0.0) for name in SPECIAL] + [(f"<0x{i:02X}>", -20.0) for i in range(256)]
    vocabulary += [(piece, -2.0) for piece in pieces]
    raw = Tokenizer(models.Unigram(vocabulary, unk_id=1, byte_fallback=True))
    raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    raw.decoder = decoders.Metaspace(prepend_scheme="never")
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=512,
        **names,
    )
    made.save_pretrained(folder)
    (folder / "vocabulary.json").write_text('{"first_piece": 261}', encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _single_thread() -> None:
    """Small matrices gain nothing from threads, and sums come out the same. Each time, as other tests set the number too."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def _speck() -> Iterator[None]:
    """A size for tests, smaller than any that is of use."""
    from nikawa.pretrain.settings import SIZES, Size

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "speck", Size(width=64, layers=2, heads=2, inner=48, rate=1e-2))
        yield


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tokenizer."""
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def text_of() -> Callable[[Path, int, int], Path]:
    """Write that many lines by that seed."""
    return write_text


@pytest.fixture(scope="session")
def course_of(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A training on a small text, with settings for small tests."""
    from nikawa.pretrain.packing import pack_text
    from nikawa.pretrain.settings import TrainSettings
    from nikawa.pretrain.training import TrainOptions

    folder = tmp_path_factory.mktemp("packs")
    for name, lines in (("train", 120), ("heldout", 20)):
        pack_text(tokenizer, write_text(folder / f"{name}.txt", lines, len(name)), folder / name)

    def make(state: Path | None = None, **changes: Any) -> TrainOptions:
        whole = {
            "size": "speck",
            "batch": 256,
            "lengths": ((32, 0.8), (64, 0.2)),
            "steps": 10,
            "looks": 2,
            "device": "cpu",
            **changes,
        }
        if whole.get("minutes"):
            whole["steps"] = 0
        return TrainOptions(
            tokenizer, folder / "train", folder / "heldout", TrainSettings(**whole), state
        )

    return make
