"""The input of published checkpoints: full-width text mapped back, the table by name, and the notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.models import find_model
from nikawa.models.encoder.published import (
    PUBLISHED_INPUTS,
    find_input_notes,
    find_published_input,
    resolve_published_input,
)
from nikawa.models.encoder.settings import EncoderSettings, make_word_finder
from nikawa.models.encoder.subwords import SubwordReader
from nikawa.records import Kind

DOC = Path(__file__).parents[3] / "docs" / "encoder.md"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory, tiny_maker: Callable[..., Path]) -> Any:
    """A tokenizer without a normal form of its own, which knows full-width characters."""
    from tokenizers import normalizers
    from transformers import AutoTokenizer

    letters = "東京でＪＲの２０本ガ動いたJR20本ｶﾞ。　[]SEPＳＥＰ［］"
    folder = tiny_maker(tmp_path_factory.mktemp("wide"), letters)
    made = AutoTokenizer.from_pretrained(folder)
    made.backend_tokenizer.normalizer = normalizers.Sequence([])
    return made


def read(reader: SubwordReader, text: str) -> list[tuple[str, str]]:
    """Each sub-word as the vocabulary has it, and the characters of the text that it represents."""
    (subwords,) = reader.read([text])
    names = reader.tokenizer.convert_ids_to_tokens(subwords.ids)
    return [
        (name.removeprefix("##"), text[a:b])
        for name, (a, b) in zip(names, subwords.spans, strict=True)
    ]


@pytest.mark.parametrize("segmentation", ["none", "characters"])
def test_the_tokenizer_sees_full_width_text_and_spans_count_the_original(
    tokenizer: Any, segmentation: str
) -> None:
    text = "JRの20本 ｶﾞ動いた。"
    reader = SubwordReader(tokenizer, make_word_finder(segmentation), None, "fullwidth")
    pairs = read(reader, text)
    assert "".join(name for name, _ in pairs) == "ＪＲの２０本ガ動いた。"
    assert [part for _, part in pairs] == ["J", "R", "の", "2", "0", "本", "ｶﾞ", *"動いた。"]
    assert reader.lost.total() == 0


def test_full_width_is_that_of_the_reference(tokenizer: Any) -> None:
    assert SubwordReader(tokenizer, None, None, "fullwidth").segment("A-1~")[0] == "Ａ−１〜"


def test_without_the_setting_nothing_changes(tokenizer: Any) -> None:
    text = "JRの20本 動いた。"
    assert "".join(name for name, _ in read(SubwordReader(tokenizer), text)) == "JRの20本動いた。"
    assert SubwordReader(tokenizer).segment(text) == (text, None)


@pytest.mark.parametrize("segmentation", ["none", "characters"])
def test_special_tokens_in_a_text_keep_their_form(tokenizer: Any, segmentation: str) -> None:
    """JSQuAD joins the title and the paragraph by `[SEP]`."""
    text = "東京 [SEP] 20本"
    reader = SubwordReader(tokenizer, make_word_finder(segmentation), None, "fullwidth")
    pairs = read(reader, text)
    assert [name for name, _ in pairs] == ["東", "京", "[SEP]", "２", "０", "本"]
    assert [part for _, part in pairs] == ["東", "京", "[SEP]", "2", "0", "本"]


@pytest.mark.parametrize("kind", ["reading", "tagging", "text", "inference"])
def test_an_encoder_answers_in_characters_of_the_original(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented[kind]
    encoder = made(normalise="fullwidth", segmentation="characters")
    encoder.fit(case.task, case.learn[:16])
    for example, answer in zip(case.ask, encoder.predict(case.task, case.ask), strict=True):
        if kind == "reading":
            assert answer.answer in example.inputs["context"]
        if kind == "tagging":
            assert all(0 <= s.start < s.end <= len(example.inputs["text"]) for s in answer.answer)


def test_rows_are_not_shared_with_another_form(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    from nikawa.models.encoder.heads import ROW_SETTINGS

    assert {"segmentation", "normalise"} <= set(ROW_SETTINGS)


def test_an_unknown_form_is_refused(made: Callable[..., Any]) -> None:
    with pytest.raises(
        BadInput, match="a setting is invalid: normalise: invalid enum value 'wide'"
    ):
        made(normalise="wide")


@pytest.mark.parametrize(
    ("source", "segmentation", "normalise"),
    [
        ("nlp-waseda/roberta-base-japanese", "jumanpp", "fullwidth"),
        ("models/nlp-waseda/roberta-large-japanese-seq512", "jumanpp", "fullwidth"),
        ("/x/models--nlp-waseda--roberta-base-japanese/snapshots/ab12", "jumanpp", "fullwidth"),
        ("/models/NICT_BERT-base_JapaneseWikipedia_32K_BPE", "juman", "fullwidth"),
        ("cl-tohoku/bert-base-japanese-whole-word-masking", "none", "none"),
        ("tohoku-nlp/bert-base-japanese-v3", "none", "none"),
        ("xlm-roberta-large", "none", "none"),
        ("klue/roberta-base", "none", "none"),
    ],
)
def test_a_checkpoint_is_found_by_its_name(source: str, segmentation: str, normalise: str) -> None:
    entry = find_published_input(source)
    assert entry is not None
    assert (entry.segmentation, entry.normalise) == (segmentation, normalise)


@pytest.mark.parametrize(
    "source", ["roberta-base", "mine/roberta-base-japanese", "models/mine", ""]
)
def test_other_names_are_not_guessed(source: str) -> None:
    assert find_published_input(source) is None


def test_published_input_becomes_plain_settings() -> None:
    waseda = "nlp-waseda/roberta-base-japanese"
    assert resolve_published_input(waseda, {"input": "published", "epochs": 2}) == {
        "epochs": 2,
        "segmentation": "jumanpp",
        "normalise": "fullwidth",
    }
    given = {"input": "published", "segmentation": "juman"}
    assert resolve_published_input(waseda, given)["segmentation"] == "juman"
    assert resolve_published_input("tohoku-nlp/bert-base-japanese-v3", {"input": "published"}) == {}
    assert resolve_published_input("models/mine", {"input": "as-set", "batch": 8}) == {"batch": 8}
    with pytest.raises(BadInput, match="the input of models/mine is not known; set segmentation"):
        resolve_published_input("models/mine", {"input": "published"})


@pytest.mark.parametrize("name", ["encoder", "bertscore"])
def test_the_model_takes_the_setting(name: str) -> None:
    kind, argument = find_model(f"{name}:nlp-waseda/roberta-base-japanese")
    assert {"normalise", "input"} <= set(kind.default_settings)
    assert kind.resolve_settings(argument, {"input": "published"})["normalise"] == "fullwidth"


def test_a_note_where_a_known_checkpoint_is_run_otherwise() -> None:
    waseda = "nlp-waseda/roberta-base-japanese"
    (note,) = find_input_notes(waseda, EncoderSettings())
    assert note == (
        f"{waseda} was published with segmentation=jumanpp, normalise=fullwidth, but this run uses "
        "segmentation=none, normalise=none; --set input=published sets the published input"
    )
    right = EncoderSettings(segmentation="jumanpp", normalise="fullwidth")
    assert find_input_notes(waseda, right) == []
    long = EncoderSettings(segmentation="jumanpp", normalise="fullwidth", max_length=384)
    assert find_input_notes(waseda, long) == [
        f"{waseda} was trained on at most 128 sub-words, but this run uses max_length=384"
    ]
    tohoku = "cl-tohoku/bert-base-japanese-v2"
    assert find_input_notes(tohoku, EncoderSettings()) == []
    assert find_input_notes(tohoku, EncoderSettings(segmentation="ja-unidic"))
    assert find_input_notes("models/mine", EncoderSettings()) == []
    # the sources do not name a normal form: there is nothing to compare with
    deberta = "ku-nlp/deberta-v2-base-japanese"
    assert find_input_notes(deberta, EncoderSettings(segmentation="jumanpp")) == []


def test_the_note_is_in_the_facts_of_the_run(
    tmp_path: Path, tiny: Path, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    folder = tmp_path / "nlp-waseda" / "roberta-base-japanese"
    folder.parent.mkdir()
    folder.symlink_to(tiny)
    case = invented["text"]
    encoder = made(checkpoint=folder, max_length=64)
    encoder.fit(case.task, case.learn[:16])
    (note,) = encoder.about()["notes"]
    assert "published with segmentation=jumanpp, normalise=fullwidth" in note


def test_the_table_of_the_page_is_the_table_of_the_code() -> None:
    page = DOC.read_text("utf-8")
    section = page.partition("## Input of published checkpoints\n")[2].partition("\n## ")[0]
    rows = [line for line in section.split("\n") if line.startswith("| `")]
    assert len(rows) == len(PUBLISHED_INPUTS)
    for row, entry in zip(rows, PUBLISHED_INPUTS, strict=True):
        names, words, segmentation, form, normalise, longest, source = [
            cell.strip() for cell in row.strip("|").split("|")
        ]
        assert tuple(re.findall(r"`([^`]+)`", names)) == entry.names
        assert words == entry.words
        assert segmentation == f"`{entry.segmentation}`"
        assert form == (entry.form or "not stated")
        assert normalise == (f"`{entry.normalise}`" if entry.normalise else "not stated")
        assert longest == (str(entry.longest) if entry.longest else "not stated")
        assert source == entry.source
