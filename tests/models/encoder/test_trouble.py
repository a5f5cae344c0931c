"""What can go wrong is told in one line, and nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models.encoder import heads
from nikawa.models.encoder.device import report_device_errors
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.steps import PlainSteps
from nikawa.records import Kind


def _changed(tiny: Path, folder: Path, **changes: Any) -> Path:
    copytree(tiny, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    return folder


def test_a_name_that_is_nowhere(made: Callable[..., Any], invented: Mapping[Kind, Any]) -> None:
    case = invented["text"]
    with pytest.raises(
        BadInput, match="encoder nobody/nothing is neither a folder nor in the local cache"
    ):
        made(checkpoint=Path("nobody/nothing")).fit(case.task, case.learn)


def test_weights_that_are_cut_short(
    tiny: Path, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    folder, case = _changed(tiny, tmp_path / "cut"), invented["text"]
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="cut: the encoder cannot be read"):
        made(checkpoint=folder).fit(case.task, case.learn)


def test_weights_of_another_model(
    tiny: Path, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case = invented["text"]
    for number, changes in enumerate(({"num_hidden_layers": 3}, {"vocab_size": 9999})):
        folder = _changed(tiny, tmp_path / str(number), **changes)
        with pytest.raises(BadInput, match="do not fit its configuration"):
            made(checkpoint=folder).fit(case.task, case.learn)


def test_a_tokenizer_of_another_model(
    tiny: Path,
    tiny_maker: Callable[..., Path],
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
) -> None:
    case, folder = invented["text"], tiny_maker(tmp_path / "small", "一二三1")
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    with pytest.raises(
        BadInput, match="tokens, the model only 13; use the tokenizer the model was trained with"
    ):
        made(checkpoint=folder).fit(case.task, case.learn)


def test_a_vocabulary_of_another_language(
    tiny_maker: Callable[..., Path],
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
) -> None:
    case, folder = invented["text"], tiny_maker(tmp_path / "other", "abc1")
    unknown = [replace(e, inputs={"text": "とても よい 宿 でした " * 3}) for e in case.learn]
    with pytest.raises(
        BadInput,
        match=r"knows only .*% of the tokens of invented-text; choose a checkpoint for this",
    ):
        made(checkpoint=folder).fit(case.task, unknown)


def test_a_tokenizer_that_loses_characters(
    tiny: Path, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, folder = invented["tagging"], tmp_path / "lossy"
    copytree(tiny, folder)
    whole = json.loads((folder / "tokenizer.json").read_text())
    whole["normalizer"] = {"type": "Replace", "pattern": {"Regex": "[은에다]"}, "content": ""}
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    with pytest.raises(
        BadInput, match=r"drops [0-9]+ characters of invented-tagging, such as '[은에다]'"
    ):
        made(checkpoint=folder).fit(case.task, case.learn)
    whole["normalizer"]["pattern"]["Regex"] = "비"
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    kept = made(checkpoint=folder)
    kept.fit(case.task, case.learn)
    assert kept.about()["characters without a piece"] == {"비": 10}


def test_more_than_the_checkpoint_reads(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    with pytest.raises(BadInput, match="reads at most 160 sub-words; set max_length=160"):
        made(max_length=512).fit(case.task, case.learn)


def test_a_folder_without_a_trained_head(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    pairs: tuple[tuple[Kind, str], ...] = (
        ("inference", "the labels of"),
        ("tree", "has no trained head"),
    )
    for kind, told in pairs:
        case = invented[kind]
        with pytest.raises(BadInput, match=told):
            made(epochs=0).fit(case.task, case.learn)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("batch", 0, "batch"),
        ("epochs", -1, "epochs"),
        ("lora", -2, "lora"),
        ("speed", 3, "no setting 'speed'"),
    ],
)
def test_settings_that_cannot_be(
    name: str, value: int, told: str, made: Callable[..., Any]
) -> None:
    with pytest.raises(BadInput, match=told):
        made(**{name: value})


def test_a_device_that_is_not_here(made: Callable[..., Any], invented: Mapping[Kind, Any]) -> None:
    case = invented["text"]
    with pytest.raises(BadInput, match=r"the device cuda:77 cannot be used: .*; set device=auto"):
        made(device="cuda:77").fit(case.task, case.learn)


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (
            torch.cuda.OutOfMemoryError("CUDA out of memory"),
            "GPU is out of memory; set a smaller batch .now 8.",
        ),
        (
            RuntimeError("CUDA error: device-side assert"),
            "GPU failed: CUDA error: .*resumes where it stopped",
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
            "the machine is out of memory; set a",
        ),
        (MemoryError(), "the machine is out of memory; set a smaller batch"),
    ],
)
def test_a_card_that_is_full_or_gone(problem: Exception, told: str) -> None:
    with pytest.raises(BadInput, match=told), report_device_errors(EncoderSettings(batch=8)):
        raise problem
    with pytest.raises(RuntimeError, match="a bug"), report_device_errors(EncoderSettings()):
        raise RuntimeError("a bug")


def test_what_was_learned_before_the_card_was_gone_is_kept(
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, plain = invented["text"], PlainSteps.step
    whole = made(epochs=3)
    whole.fit(case.task, case.learn)
    with monkeypatch.context() as patch:

        def gone(self: Any, number: int) -> None:
            if self.optimiser.at >= 11:
                raise RuntimeError("CUDA error: the device fell off the bus")
            plain(self, number)

        patch.setattr(PlainSteps, "step", gone)
        with pytest.raises(BadInput, match="the GPU failed"):
            made(tmp_path, epochs=3, checkpoint_steps=5).fit(case.task, case.learn)
    again = made(tmp_path, epochs=3, checkpoint_steps=5)
    again.fit(case.task, case.learn)
    for ours, theirs in zip(again._model.parameters(), whole._model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", ["inference", "relation", "tree"])
def test_adapters_train_little_and_leave_a_plain_checkpoint(
    kind: Kind, tiny: Path, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented[kind], made(lora=2, epochs=2, learning_rate=5e-3)
    _, model = encoder._prepare(case.task, case.learn)
    trained = {name for name, p in model.base_model.named_parameters() if p.requires_grad}
    grown = {name for name in trained if "word_embeddings" in name}
    assert bool(grown) == (kind == "relation")
    assert trained - grown
    assert all("lora_" in name for name in trained - grown)
    encoder.fit(case.task, case.learn)
    assert not any("lora" in name for name in encoder._model.state_dict())
    before = made()._prepare(case.task, case.learn)[1].base_model.state_dict()
    after = encoder._model.base_model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(name.endswith("weight") and "LayerNorm" not in name for name in changed)
    encoder.save(tmp_path)
    again = made(checkpoint=tmp_path, epochs=0)
    again.fit(case.task, case.learn)
    expected = [a.answer for a in encoder.predict(case.task, case.ask)]
    assert [a.answer for a in again.predict(case.task, case.ask)] == expected


def test_runs_of_a_grid_read_their_texts_once(
    made: Callable[..., Any], invented: Mapping[Kind, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.models.encoder.subwords import SubwordReader

    read: list[int] = []
    raw = SubwordReader.tokenize

    def counted(self: SubwordReader, texts: Sequence[str]) -> list[list[int]]:
        read.append(len(texts))
        return raw(self, texts)

    monkeypatch.setattr(SubwordReader, "tokenize", counted)
    heads.row_cache.clear()
    case = invented["inference"]
    for rate, seed in ((1e-3, 0), (1e-3, 1), (1e-4, 0)):
        encoder = made(epochs=0.1, learning_rate=rate, seed=seed)
        encoder.fit(case.task, case.learn)
        encoder.predict(case.task, case.ask)
    once = [48, 48, read[2]]  # two inputs, and what shows how well the vocabulary fits them
    assert read == [*once, 12, 12]
    made(epochs=0.1, max_length=64).fit(case.task, case.learn)
    assert read == [*once, 12, 12, *once]
    other = [
        replace(case.learn[0], inputs={**case.learn[0].inputs, "premise": "ねこ"}),
        *case.learn[1:],
    ]
    made(epochs=0.1).fit(case.task, other)
    assert len(read) == 11
    assert len(heads.row_cache) <= heads.MAX_CACHED_ROWS


def test_dropout_is_set_by_whatever_name_the_architecture_has() -> None:
    from transformers import BertConfig, DistilBertConfig

    from nikawa.models.encoder.checkpoint import change_config as changed

    settings = EncoderSettings(dropout=0.3)
    bert, small = changed(BertConfig(), settings, {}), changed(DistilBertConfig(), settings, {})
    assert (
        bert.hidden_dropout_prob,
        bert.attention_probs_dropout_prob,
        bert.classifier_dropout,
    ) == (
        0.3,
        0.3,
        None,
    )
    assert (
        small.dropout,
        small.attention_dropout,
        small.qa_dropout,
        small.seq_classif_dropout,
    ) == (0.3,) * 4
    assert changed(BertConfig(), EncoderSettings(), {"num_labels": 7}).num_labels == 7


def test_a_run_out_of_memory_is_one_line_and_goes_on_later(
    tiny_maker: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.datasets import load
    from nikawa.runs.job import RunOptions, RunRequest, run

    texts = [
        str(v) for part in load("mini-ja").splits.values() for e in part for v in e.inputs.values()
    ]
    folder, plain = (
        tiny_maker(tmp_path / "small", {c for text in texts for c in text if not c.isspace()}),
        PlainSteps.step,
    )
    settings = {"epochs": 6, "batch": 8, "device": "cpu", "checkpoint_steps": 1}
    request = RunRequest(("mini-ja-nli",), (f"encoder:{folder}",), settings=settings)
    with monkeypatch.context() as patch:

        def full(self: Any, number: int) -> None:
            if self.optimiser.at >= 4:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            plain(self, number)

        patch.setattr(PlainSteps, "step", full)
        (problem,) = run(request, RunOptions(tmp_path / "runs")).problems
    wanted = "the GPU is out of memory; set a smaller batch (now 8) with a larger accumulate, or a smaller max_length"
    assert (problem.problem, problem.bad_input) == (wanted, True)
    seen: list[int] = []

    def counted(self: Any, number: int) -> None:
        seen.append(int(self.optimiser.at))
        plain(self, number)

    monkeypatch.setattr(PlainSteps, "step", counted)
    assert run(request, RunOptions(tmp_path / "runs")).done == 1
    assert seen[0] > 0
