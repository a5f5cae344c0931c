"""The tokenizer around a vocabulary: normal form, how text is split, how tokens are joined again.

No segmenter. All three kinds of vocabulary use one model, the unigram model of `tokenizers`: of all
ways to cut a stretch into tokens of the vocabulary, the one of highest probability (Kudo 2018,
doi:10.18653/v1/P18-1007, by Viterbi). What no token can spell is spelled in bytes, so nothing is
unknown. Japanese is brought to NFKC, Korean to NFC (NFKC would take ㅋㅋ apart); white space becomes
one blank; case stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.io.json import encode_json
from nikawa.pretrain.personal_data import PLACEHOLDERS, RESERVED, SPECIALS
from nikawa.pretrain.settings import MAX_INPUT_TOKENS

BLANK = "▁"
"""What stands for a blank in a token."""
CUT = "\x1f"
"""A boundary that no token may cross while a vocabulary is learned."""
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIRST_TEXT_ID = len(RESERVED) + len(BYTES)
"""The first number of a token that text was cut into."""
FALLBACK_SCORE = -100.0
"""Score of what only the fallback may choose."""
_ALONE = rf"{BLANK}?(?:\p{{N}}|\p{{P}}|(?!{BLANK})\p{{S}})"
"""Digits, marks and signs are separate tokens."""
_LOOSE_BLANK = rf"{BLANK}(?!\p{{Latin}})"
"""In Japanese a blank belongs to a Latin word behind it, and else to nothing."""


def import_tokenizers() -> Any:
    """Return the package `tokenizers`, or raise the error that says how to install it."""
    try:
        import tokenizers
    except ImportError:
        raise missing_extra("tokenizers", "encoder") from None
    return tokenizers


def make_normaliser(language: str) -> Any:
    """The normal form of a language; offsets of the original are kept by the library."""
    normalizers, regex = import_tokenizers().normalizers, import_tokenizers().Regex
    form = normalizers.NFKC() if language == "ja" else normalizers.NFC()
    return normalizers.Sequence([form, normalizers.Replace(regex(r"\s+"), " ")])


def make_splitter(language: str, *, learning: bool = False) -> Any:
    """How a normalised text is split before tokens are looked for; while learning, at `CUT` too."""
    splitters, regex = import_tokenizers().pre_tokenizers, import_tokenizers().Regex
    steps = [splitters.Metaspace(BLANK, prepend_scheme=_blank_scheme(language), split=True)]
    if learning:
        steps.append(splitters.Split(CUT, "removed"))
    if language == "ja":
        steps.append(splitters.Split(regex(_LOOSE_BLANK), "isolated"))
    return splitters.Sequence([*steps, splitters.Split(regex(_ALONE), "isolated")])


def _blank_scheme(language: str) -> str:
    """Where blanks part words, the first word of a text gets one too."""
    return "first" if language == "ko" else "never"


def build_learner(language: str, tokens: Sequence[tuple[str, float]]) -> Any:
    """A tokenizer of scored tokens as it is used while learning: no special tokens, cut boundaries
    kept.
    """
    tokenizers = import_tokenizers()
    table = [("[UNK]", FALLBACK_SCORE), *tokens]
    learner = tokenizers.Tokenizer(tokenizers.models.Unigram(table, unk_id=0))
    learner.pre_tokenizer = make_splitter(language, learning=True)
    return learner


def build_tokenizer(language: str, tokens: Sequence[tuple[str, float]]) -> Any:
    """The tokenizer that is released."""
    tokenizers = import_tokenizers()
    table = [(name, FALLBACK_SCORE) for name in (*RESERVED, *BYTES)] + list(tokens)
    unknown = RESERVED.index("[UNK]")
    model = tokenizers.models.Unigram(table, unk_id=unknown, byte_fallback=True)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = make_normaliser(language)
    tokenizer.pre_tokenizer = make_splitter(language)
    decoders = tokenizers.decoders
    blanks = decoders.Metaspace(BLANK, prepend_scheme=_blank_scheme(language), split=True)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), blanks])
    added = tokenizers.AddedToken
    tokenizer.add_special_tokens([added(name, special=True, normalized=False) for name in SPECIALS])
    tokenizer.add_tokens([added(name, special=False, normalized=False) for name in PLACEHOLDERS])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(name, RESERVED.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def save_causal_tokenizer(tokenizer: Any, folder: Path) -> None:
    """The same for a causal model: a text begins with [SEP], and nothing is added at its end."""
    separator = ("[SEP]", tokenizer.token_to_id("[SEP]"))
    tokenizer.post_processor = import_tokenizers().processors.TemplateProcessing(
        single="[SEP]:0 $A:0", pair="[SEP]:0 $A:0 $B:1", special_tokens=[separator]
    )
    names = {"bos_token": "[SEP]", "eos_token": "[SEP]", "pad_token": "[PAD]"}
    save_tokenizer(tokenizer, folder, {**names, "unk_token": "[UNK]"})


def save_tokenizer(tokenizer: Any, folder: Path, names: dict[str, str] | None = None) -> None:
    """Write what `AutoTokenizer.from_pretrained(folder)` reads, with no code of ours.

    `names` are the special tokens by their roles; those of an encoder by default.
    """
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    names = names or dict(zip(roles, SPECIALS, strict=True))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": MAX_INPUT_TOKENS,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **names,
    }
    # not by its own method, which does not raise OSError if the disk is full
    (folder / "tokenizer.json").write_bytes(tokenizer.to_str(pretty=True).encode())
    (folder / "tokenizer_config.json").write_bytes(encode_json(config) + b"\n")
    (folder / "special_tokens_map.json").write_bytes(encode_json(names) + b"\n")


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder."""
    tokenizers = import_tokenizers()
    path = folder / "tokenizer.json"
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as problem:  # the library raises plain Exception
        what = f"cannot be read: {str(problem).splitlines()[0]}"
        cure = "make a tokenizer first: nikawa pretrain --only vocabulary"
        raise BadInput(what, file=path, cure=cure) from None
