"""Checkpoints whose parts do not belong together are told in one line, under every head."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models import model
from nikawa.models.encoder import heads
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.checkpoint import Backbone, open_backbone
from nikawa.models.encoder.checks import check_vectors
from nikawa.records import Kind

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 160,
}


@pytest.fixture
def altered(tiny: Path, tmp_path: Path) -> Callable[..., Path]:
    """The small checkpoint with other files: text replaces one, a mapping changes its entries, None removes it."""

    def make(**files: Any) -> Path:
        folder = tmp_path / "altered"
        copytree(tiny, folder)
        for name, value in files.items():
            path = folder / f"{name}.json"
            if value is None:
                path.unlink()
            else:
                told = (
                    value
                    if isinstance(value, str)
                    else json.dumps({**json.loads(path.read_text("utf-8")), **value})
                )
                path.write_text(told, "utf-8")
        return folder

    return make


@pytest.fixture
def of_kind(tiny: Path, tmp_path: Path) -> Callable[..., Path]:
    """A small random model of another architecture that reads as the small BERT does."""

    def make(name: str, part: str = "Model", **sizes: Any) -> Path:
        folder = tmp_path / name
        pieces = len(json.loads((tiny / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
        special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        config = getattr(transformers, f"{name}Config")(
            vocab_size=pieces, **special, **(sizes or SMALL)
        )
        with torch.random.fork_rng():
            getattr(transformers, name + part)(config).save_pretrained(folder)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            (folder / file).write_bytes((tiny / file).read_bytes())
        return folder

    return make


@pytest.mark.parametrize(
    ("kind", "more"),
    [("tree", {}), ("dialogue", {}), ("relation", {"relation_reads": "markers"}), ("choice", {})],
)
def test_weights_that_are_not_there_are_told_under_every_head(
    kind: Kind,
    more: dict[str, Any],
    altered: Callable[..., Path],
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
) -> None:
    case, folder = invented[kind], altered(config={"num_hidden_layers": 3})
    with pytest.raises(BadInput, match=r"the weights of .* do not fit its configuration"):
        made(checkpoint=folder, **more).fit(case.task, case.learn)


def test_likeness_is_not_told_by_weights_that_are_not_there(
    altered: Callable[..., Path], invented: Mapping[Kind, Any]
) -> None:
    case, folder = invented["similarity"], altered(config={"num_hidden_layers": 3})
    with pytest.raises(BadInput, match="do not fit its configuration"):
        model(f"bertscore:{folder}", settings={"idf": False}).predict(case.task, case.ask)
    with pytest.raises(BadInput, match="reads at most 160 sub-words; set max_length=160"):
        model(f"bertscore:{folder}", settings={"idf": False, "max_length": 161}).predict(
            case.task, case.ask
        )


@pytest.mark.parametrize("kind", ["similarity", "choice", "reading"])
def test_a_head_drawn_at_random_does_not_answer(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented[kind]
    with pytest.raises(
        BadInput, match=r"has no trained head for this task: .* would be random; set epochs"
    ):
        made(epochs=0).predict(case.task, case.ask)


def test_a_head_of_other_size_does_not_answer(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    learned, asked = invented["inference"], invented["similarity"]
    encoder = made()
    encoder.fit(learned.task, learned.learn[:8])
    encoder.save(tmp_path)
    with pytest.raises(
        BadInput, match=r"has no trained head for this task: classifier\.bias, classifier\.weight"
    ):
        made(checkpoint=tmp_path, epochs=0).predict(asked.task, asked.ask)


@pytest.mark.parametrize("kind", ["inference", "choice", "reading"])
def test_a_model_of_one_segment_takes_pairs(
    kind: Kind, of_kind: Callable[..., Path], made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, folder = invented[kind], of_kind("Roberta", type_vocab_size=1, **SMALL)
    assert "token_type_ids" in open_backbone(str(folder)).tokenizer.model_input_names
    encoder = made(checkpoint=folder)
    encoder.fit(case.task, case.learn[:16])
    assert not encoder._work.reader.frame.typed
    assert len(encoder.predict(case.task, case.ask)) == len(case.ask)


@pytest.mark.parametrize(("name", "most"), [("Bert", 160), ("Roberta", 159), ("Luke", 159)])
def test_the_longest_input_is_read_and_no_longer_one(
    name: str,
    most: int,
    of_kind: Callable[..., Path],
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
) -> None:
    more = {"entity_vocab_size": 9, "entity_emb_size": 8} if name == "Luke" else {}
    case, folder = invented["text"], of_kind(name, **SMALL, **more)
    long = [replace(e, inputs={"text": e.inputs["text"] * 40}) for e in case.learn[:8]]
    with pytest.raises(BadInput, match=f"set max_length={most}"):
        made(checkpoint=folder, max_length=most + 1).fit(case.task, long)
    made(checkpoint=folder, max_length=most).fit(case.task, long)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"config": "null"}, "altered: the encoder cannot be read: TypeError"),
        (
            {"config": {"hidden_size": "x"}},
            "the encoder cannot be read: .*'hidden_size'.* expected int, got str",
        ),
        ({"config": {"id2label": ["a"]}}, "the encoder cannot be read"),
        ({"tokenizer": "[]"}, "the encoder cannot be read"),
        ({"tokenizer_config": "[]"}, "the encoder cannot be read"),
        (
            {"tokenizer": None, "tokenizer_config": None},
            "knows only 0% of the tokens of invented-text",
        ),
        (
            {"config": {"model_type": "nobodys", "auto_map": {"AutoConfig": "own.Config"}}},
            "contains custom code, which Nikawa does not run",
        ),
    ],
)
def test_damaged_or_foreign_files(
    files: dict[str, Any],
    told: str,
    altered: Callable[..., Path],
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(*_: object) -> str:
        raise AssertionError("nobody is to be asked")

    monkeypatch.setattr("builtins.input", asked)
    case = invented["text"]
    with pytest.raises(BadInput, match=told) as said:
        made(checkpoint=altered(**files)).fit(case.task, case.learn)
    assert "\n" not in str(said.value)


def test_a_file_and_a_missing_package_are_told_by_name(
    tiny: Path, altered: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rhoknp", None)
    with pytest.raises(
        BadInput, match=r"config\.json: is a file, not a folder; pass the folder that contains it"
    ):
        open_backbone(str(tiny / "config.json"))
    folder = altered(
        tokenizer=None,
        tokenizer_config=json.dumps(
            {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "jumanpp"}
        ),
    )
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n1\n", "utf-8")
    with pytest.raises(
        BadInput, match=r"needs a package that is not installed: .*rhoknp.*; install it"
    ):
        open_backbone(str(folder))


def test_a_home_folder_that_the_shell_did_not_write_out() -> None:
    with pytest.raises(
        BadInput,
        match=r"there is no folder ~/mine; write the full path: the shell does not expand ~",
    ):
        open_backbone("~/mine")


@pytest.mark.parametrize("kind", ["similarity", "dialogue"])
def test_a_folder_of_half_precision_answers_in_full(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented[kind], made()
    encoder.fit(case.task, case.learn[:16])
    encoder._model.base_model.to(torch.bfloat16)
    encoder.save(tmp_path)
    answers = [made(checkpoint=tmp_path, epochs=0) for _ in range(2)]
    answers[0].fit(case.task, case.learn[:1])
    first, second = (a.predict(case.task, case.ask) for a in answers)
    assert first == second
    assert answers[1]._model.base_model.dtype == torch.float32


def test_a_damaged_checkpoint_of_the_cache_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    monkeypatch.setattr(
        huggingface_hub, "try_to_load_from_cache", lambda *_: str(tmp_path / "config.json")
    )
    with pytest.raises(
        BadInput, match=r"in the local cache cannot be read: .* hf download nobody/nothing --force"
    ):
        open_backbone("nobody/nothing")


def test_architectures_without_what_a_head_needs(
    of_kind: Callable[..., Path], made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    gpt = of_kind("GPT2", n_embd=32, n_layer=1, n_head=2, n_positions=160)
    t5 = of_kind(
        "T5", d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    wanted: tuple[tuple[Kind, Path, dict[str, Any], str], ...] = (
        ("choice", gpt, {}, r"is a decoder-only language model \(gpt2\), not an encoder"),
        ("text", gpt, {"lora": 2}, "decoder-only .* run it as it is with --model lm:"),
        ("reading", t5, {}, r"has a decoder \(t5\)"),
        ("tree", t5, {}, r"has a decoder \(t5\)"),
    )
    for kind, folder, more, told in wanted:
        case = invented[kind]
        with pytest.raises(BadInput, match=told):
            made(checkpoint=folder, **more).fit(case.task, case.learn[:8])


def test_random_weights_have_a_vector_for_every_piece(
    altered: Callable[..., Path], made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, folder = invented["text"], altered(config={"vocab_size": 50})
    with pytest.raises(BadInput, match="tokens, the model only 50; use the tokenizer"):
        made(checkpoint=folder, scratch=True).fit(case.task, case.learn)


def test_a_piece_beyond_the_last_vector_is_told(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    _, found = made()._prepare(case.task, case.learn)
    size = found.get_input_embeddings().num_embeddings
    rows = Rows(tokens={"input_ids": [np.array([2, size - 1, 3])]})
    check_vectors(found, rows, "x")
    rows.tokens["input_ids"].append(np.array([2, size, 3]))
    with pytest.raises(
        BadInput,
        match=f"the tokenizer of x produces the token id {size}, but the model has {size:,}",
    ):
        check_vectors(found, rows, "x")


LOSSY = {"type": "Replace", "pattern": {"Regex": "[^0-9]"}, "content": ""}


@pytest.mark.parametrize("kind", ["text", "inference", "choice", "relation", "dialogue", "tagging"])
def test_lost_characters_are_refused_in_every_kind_and_for_every_seed(
    kind: Kind, altered: Callable[..., Path], made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, folder = invented[kind], altered(tokenizer={"normalizer": LOSSY})
    heads.row_cache.clear()
    for seed in (1, 2):  # the second takes the rows of the first
        with pytest.raises(BadInput, match=rf"drops [\d,]+ characters of invented-{kind}, such as"):
            made(checkpoint=folder, seed=seed).fit(case.task, case.learn)


def test_every_run_of_a_grid_tells_what_was_lost(
    altered: Callable[..., Path], made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, told = invented["tagging"], []
    folder = altered(tokenizer={"normalizer": {**LOSSY, "pattern": {"Regex": "비"}}})
    heads.row_cache.clear()
    for seed in (1, 2):
        encoder = made(checkpoint=folder, seed=seed)
        encoder.fit(case.task, case.learn)
        for _ in range(2):  # answers that are asked twice count once
            encoder.predict(case.task, case.ask)
        told.append(encoder.about()["characters without a piece"])
    assert (
        told[0]
        == told[1]
        == {"비": sum(e.inputs["text"].count("비") for e in (*case.learn, *case.ask))}
    )


def test_unknown_pieces_are_counted_without_their_frame(
    tiny_maker: Callable[..., Path],
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
) -> None:
    case, folder = invented["text"], tiny_maker(tmp_path / "other", "abc1")
    short = [replace(e, inputs={"text": "よい宿"}) for e in case.learn]
    with pytest.raises(BadInput, match="knows only 0% of the tokens of invented-text"):
        made(checkpoint=folder).fit(case.task, short)


def test_rows_are_not_shared_by_models_that_differ_in_segments(tiny: Path) -> None:
    from nikawa.models.encoder.subwords import SubwordReader

    found: Backbone = open_backbone(str(tiny))
    two, one = (SubwordReader(found.tokenizer, None, n) for n in (2, 1))
    assert (two.frame.typed, one.frame.typed) == (True, False)
    assert two.digest != one.digest
