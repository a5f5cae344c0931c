"""A vocabulary of another language is told, whether or not it falls back on bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models.encoder.checks import detect_language, read_languages
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.train import training_key
from nikawa.records import Kind

HANGUL = "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허고노도로모보소오조초코토포호구누두루무부수우주추쿠투푸후"


@pytest.fixture(scope="session")
def bytewise(tmp_path_factory: pytest.TempPathFactory, tiny_maker: Callable[..., Path]) -> Path:
    """A small BERT with Hangul syllables for pieces, and bytes for everything else."""
    from tokenizers import Tokenizer, decoders, models, processors
    from transformers import PreTrainedTokenizerFast

    folder = tiny_maker(
        tmp_path_factory.mktemp("bytes") / "korean", map(chr, range(0x4E00, 0x4E00 + 300))
    )
    bytes_ = [f"<0x{n:02X}>" for n in range(256)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *bytes_, *HANGUL, *"0123456789. "]
    words += [f"{a}{b}" for a in HANGUL for b in HANGUL][: 600 - len(words)]
    raw = Tokenizer(
        models.Unigram([(word, -float(i)) for i, word in enumerate(words)], 1, byte_fallback=True)
    )
    raw.decoder = decoders.ByteFallback()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    PreTrainedTokenizerFast(tokenizer_object=raw, **names).save_pretrained(folder)
    return folder


def _said(case: Any, text: str) -> list[Any]:
    return [replace(e, inputs={"text": text}) for e in case.learn]


JAPANESE, KOREAN = "とてもよい宿でした。また泊まりたい。", "나도 가고 너도 가자 우리도 가자"


def test_text_that_is_spelled_in_bytes_is_refused_unless_it_is_meant(
    bytewise: Path, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    with pytest.raises(
        BadInput,
        match=r"needs 3\.0 tokens per character of invented-text: it spells this language in bytes; choose an encoder for Japanese, or continue with --set any_language=true",
    ):
        made(checkpoint=bytewise).fit(case.task, _said(case, JAPANESE))
    for settings in ({"any_language": True}, {"scratch": True}):
        encoder = made(checkpoint=bytewise, epochs=0.1, **settings)
        encoder.fit(case.task, _said(case, JAPANESE))
        (note,) = encoder.about()["notes"]
        assert note.endswith(
            "needs 3.0 tokens per character of invented-text: it spells much of this text in bytes"
        )


def test_its_own_language_passes_without_a_word(
    bytewise: Path, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    encoder = made(checkpoint=bytewise, epochs=0.1)
    encoder.fit(case.task, _said(case, KOREAN))
    assert "notes" not in encoder.about()


def test_what_a_card_says_is_held_against_the_text(
    bytewise: Path,
    tiny: Path,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
) -> None:
    case = invented["text"]
    own, other = copytree(bytewise, tmp_path / "own"), copytree(tiny, tmp_path / "other")
    (own / "vocabulary.json").write_text(json.dumps({"language": "ja"}))
    poor = made(checkpoint=own, epochs=0.1)
    poor.fit(
        case.task, _said(case, JAPANESE)
    )  # a small vocabulary of the same language is poor, not wrong
    assert len(poor.about()["notes"]) == 1
    (other / "README.md").write_text("---\nlanguage: ko\nlicense: mit\n---\n# other\n")
    told = made(checkpoint=other, epochs=0.1)
    told.fit(case.task, _said(case, "とても よい 宿 です。"))
    assert told.about()["notes"] == [
        f"{other} was made for Korean, but the text of invented-text is Japanese"
    ]


@pytest.mark.parametrize(
    ("card", "found"),
    [
        ("---\nlanguage: ja\n---\n", {"ja"}),
        ("---\nlicense: mit\nlanguage:\n- ja\n- en\ntags:\n- bert\n---\n", {"ja", "en"}),
        ("---\nlanguage: [ko, jpn]\n---\n", {"ko", "ja"}),
        ("---\nlanguage: multilingual\n---\n", set()),
        ("# none\n", set()),
    ],
)
def test_cards_name_languages(tmp_path: Path, card: str, found: set[str]) -> None:
    (tmp_path / "README.md").write_text(card)
    assert read_languages(str(tmp_path)) == found
    assert read_languages(str(tmp_path / "nowhere")) == set()


def test_a_language_is_known_by_its_script() -> None:
    assert [
        detect_language([text])
        for text in (JAPANESE, KOREAN, JAPANESE + KOREAN, "a plain text", "")
    ] == ["ja", "ko", "", "", ""]


def test_it_defines_neither_a_run_nor_a_state(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    from nikawa.models import models
    from nikawa.models.encoder.heads import make_rows
    from nikawa.models.encoder.train import TrainingJob

    assert "any_language" in models()["encoder"].runtime_settings
    case, encoder = invented["text"], made()
    work, model = encoder._prepare(case.task, case.learn)
    rows = make_rows(encoder._head, work, case.learn, learn=True)
    keys = {
        training_key(
            TrainingJob(model, rows, lambda *_: None, EncoderSettings(any_language=on), 0, "cpu")
        )
        for on in (True, False)
    }
    assert len(keys) == 1
