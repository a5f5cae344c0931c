"""The tokenizer around a vocabulary: normal form, how text is split, how pieces are joined again. No segmenter.

All three kinds of vocabulary use one model, the unigram model of `tokenizers`: of all ways to cut a stretch into pieces
of the vocabulary, the one of highest probability (Kudo 2018, doi:10.18653/v1/P18-1007, by Viterbi). What no piece can
spell is spelled in bytes, so nothing is unknown. Japanese is brought to NFKC, Korean to NFC (NFKC would take ㅋㅋ apart);
white space becomes one blank; case stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nikawa.errors import missing_extra
from nikawa.io.json import encode_json
from nikawa.pretrain.personal import PLACEHOLDERS, RESERVED, SPECIALS

BLANK = "▁"
"""What stands for a blank in a piece."""
CUT = "\x1f"
"""A boundary that no piece may cross while a vocabulary is learned."""
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIRST = len(RESERVED) + len(BYTES)
"""The first number of a piece that text was cut into."""
NEVER = -100.0
"""Score of what only the fallback may choose."""
LONGEST = 512
_ALONE = rf"{BLANK}?(?:\p{{N}}|\p{{P}}|(?!{BLANK})\p{{S}})"
"""Digits, marks and signs stand alone."""
_LOOSE_BLANK = rf"{BLANK}(?!\p{{Latin}})"
"""In Japanese a blank belongs to a Latin word behind it, and else to nothing."""


def library() -> Any:
    """The package `tokenizers`, or the error that says how to install it."""
    try:
        import tokenizers
    except ImportError:
        raise missing_extra("tokenizers", "encoder") from None
    return tokenizers


def normaliser(language: str) -> Any:
    """The normal form of a language; offsets of the original are kept by the library."""
    t = library()
    form = t.normalizers.NFKC() if language == "ja" else t.normalizers.NFC()
    return t.normalizers.Sequence([form, t.normalizers.Replace(t.Regex(r"\s+"), " ")])


def splitter(language: str, *, learning: bool = False) -> Any:
    """How a normalised text is split before pieces are looked for; while learning, at `CUT` too."""
    t = library()
    scheme = "first" if language == "ko" else "never"
    steps = [t.pre_tokenizers.Metaspace(BLANK, prepend_scheme=scheme, split=True)]
    if learning:
        steps.append(t.pre_tokenizers.Split(CUT, "removed"))
    if language == "ja":
        steps.append(t.pre_tokenizers.Split(t.Regex(_LOOSE_BLANK), "isolated"))
    return t.pre_tokenizers.Sequence([*steps, t.pre_tokenizers.Split(t.Regex(_ALONE), "isolated")])


def bare(language: str, pieces: Sequence[tuple[str, float]]) -> Any:
    """A tokenizer of scored pieces as it is used while learning: no special pieces, cut boundaries kept."""
    t = library()
    table = [("[UNK]", NEVER), *pieces]
    made = t.Tokenizer(t.models.Unigram(table, unk_id=0))
    made.pre_tokenizer = splitter(language, learning=True)
    return made


def build(language: str, pieces: Sequence[tuple[str, float]]) -> Any:
    """The tokenizer that is released."""
    t = library()
    table = [(name, NEVER) for name in (*RESERVED, *BYTES)] + list(pieces)
    made = t.Tokenizer(t.models.Unigram(table, unk_id=RESERVED.index("[UNK]"), byte_fallback=True))
    made.normalizer, made.pre_tokenizer = normaliser(language), splitter(language)
    scheme = "first" if language == "ko" else "never"
    made.decoder = t.decoders.Sequence(
        [t.decoders.ByteFallback(), t.decoders.Metaspace(BLANK, prepend_scheme=scheme, split=True)]
    )
    made.add_special_tokens(
        [t.AddedToken(name, special=True, normalized=False) for name in SPECIALS]
    )
    made.add_tokens([t.AddedToken(name, special=False, normalized=False) for name in PLACEHOLDERS])
    made.post_processor = t.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(name, RESERVED.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return made


def save(tokenizer: Any, folder: Path) -> None:
    """Write what `AutoTokenizer.from_pretrained(folder)` reads, with no code of ours."""
    names = dict(
        zip(
            ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"),
            SPECIALS,
            strict=True,
        )
    )
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": LONGEST,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **names,
    }
    # not by its own method, which does not say in a way of Python's that the disk is full
    (folder / "tokenizer.json").write_bytes(tokenizer.to_str(pretty=True).encode())
    (folder / "tokenizer_config.json").write_bytes(encode_json(config) + b"\n")
    (folder / "special_tokens_map.json").write_bytes(encode_json(names) + b"\n")


def load(folder: Path) -> Any:
    """The tokenizer of a folder."""
    return library().Tokenizer.from_file(str(folder / "tokenizer.json"))
