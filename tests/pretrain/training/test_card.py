from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.card import CardFacts, Figures, read_figures, render_card, write_model
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.training import TrainedModel, train

SOURCES = """# Text

What it is.

## Sources: Japanese

| a | CC0 |

## Sources: Korean

| b | CC BY |

## Cleaning

Rules.

## Attribution

- The people of a and b.
"""
STORY = CardFacts(
    "nikawa-speck-ja",
    "ja",
    "nikawa pretrain a.txt --language ja --steps 10",
    licence="cc-by-sa-4.0",
    corpus={
        "language": "ja",
        "lines_kept": 1234,
        "removed": {"odd": 1, "long": 2000},
        "ids": ["a7"],
    },
    notes=("Knows eight words.",),
)
FIGURES = Figures(
    settings=TrainSettings(steps=10),
    parameters=13_228_160,
    vocabulary=16_000,
    text_pieces=1000,
    steps=10,
    pieces=2500,
    seconds=2.0,
    pieces_a_second=1250,
    share_of_peak=0.125,
    device="NVIDIA H200",
    unigram=7.0,
    heldout=3.21,
    accuracy=0.456,
)


@pytest.fixture(scope="module")
def learned(course_of: Callable[..., Any]) -> TrainedModel:
    return train(course_of(steps=2))


def test_plain_transformers_loads_what_was_trained(
    learned: TrainedModel, tokenizer: Path, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    write_model(learned.model, learned.figures, tokenizer, tmp_path / "model", STORY)
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "model").eval()
    words = AutoTokenizer.from_pretrained(tmp_path / "model")
    found = words("うみかぜ", "そら", return_tensors="pt")
    assert sorted(found) == ["attention_mask", "input_ids"]
    with torch.no_grad():
        assert torch.equal(model(**found).logits, learned.model(**found).logits)
        width = AutoModel.from_pretrained(tmp_path / "model")(**found).last_hidden_state.shape[-1]
    assert width == 64
    modes = {path.stat().st_mode for path in (tmp_path / "model").iterdir()}
    assert len(modes) == 1
    assert words.model_max_length == model.config.max_position_embeddings == 512
    assert read_figures(tmp_path / "model") == learned.figures
    assert msgspec.json.decode((tmp_path / "model" / "config.json").read_bytes())[
        "architectures"
    ] == ["ModernBertForMaskedLM"]


def test_what_is_there_is_replaced_only_when_asked_and_the_rest_stays(
    learned: TrainedModel, tokenizer: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    write_model(learned.model, learned.figures, tokenizer, tmp_path, STORY)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert {"work", "model.safetensors", "README.md", "tokenizer.json"} <= set(before)
    with pytest.raises(BadInput, match=r"config\.json: already exists"):
        write_model(learned.model, learned.figures, tokenizer, tmp_path, STORY)
    write_model(
        learned.model,
        learned.figures,
        tokenizer,
        tmp_path,
        CardFacts("other", "ja", "x"),
        overwrite=True,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert "# other" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_a_story_that_cannot_be_told_leaves_the_old_model(
    learned: TrainedModel, tokenizer: Path, tmp_path: Path
) -> None:
    write_model(learned.model, learned.figures, tokenizer, tmp_path / "model", STORY)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    lost = CardFacts("other", "ja", "x", sources=tmp_path / "nowhere.md")
    with pytest.raises(BadInput, match=r"nowhere\.md: no such file"):
        write_model(
            learned.model, learned.figures, tokenizer, tmp_path / "model", lost, overwrite=True
        )
    assert (tmp_path / "model" / "README.md").read_text(encoding="utf-8") == card
    with pytest.raises(BadInput, match="contains no encoder made by nikawa pretrain"):
        read_figures(tmp_path)


def test_a_card_says_what_was_measured_and_whom_to_credit(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(SOURCES, encoding="utf-8")
    told = CardFacts(
        "nikawa-mini-ja", "ja", STORY.command, path, STORY.licence, STORY.corpus, {}, STORY.notes
    )
    card = render_card(told, FIGURES)
    assert card.startswith("---\nlanguage: ja\nlicense: cc-by-sa-4.0\n")
    for part in (
        "13.2 million parameters",
        "(2.5 times the text)",
        "12.5%",
        "3.210 nats (7.000 by frequency alone)",
        "45.6%",
        STORY.command,
        "| text: lines kept | 1,234 |",
        "| text: removed | odd 1, long 2,000 |",
        "- Knows eight words.",
        "encoder:nikawa-mini-ja",
        "| a | CC0 |",
        "The people of a and b.",
    ):
        assert part in card
    for part in ("CC BY |", "Rules.", "a7", "text: language"):
        assert part not in card


def test_sources_without_sections_are_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "sources.txt"
    path.write_text("Written by me, 2026.\n", encoding="utf-8")
    card = render_card(CardFacts("a", "ko", "x", sources=path), FIGURES)
    assert "## Sources and attribution\n\nWritten by me, 2026." in card
    assert "Sources" not in render_card(CardFacts("a", "ko", "x"), FIGURES)
