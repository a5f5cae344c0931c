"""Checkpoints that cannot be used, and odd ones that can: one line each."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import pytest
import transformers
from tests.models.lm.checkpoints import make_config, make_model, make_tokenizer, save_checkpoint

from nikawa.errors import BadInput
from nikawa.models import model
from nikawa.models.lm import check_argument, count_parallel
from nikawa.records import Example, Kind

Cases = Mapping[Kind, Any]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("lm") / "tiny")


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the checkpoint, to be damaged."""
    return Path(copytree(tiny, tmp_path / "copy"))


def answer(source: Path | str, invented: Cases, kind: Kind = "inference", **settings: Any) -> Any:
    check_argument(str(source))
    case = invented[kind]
    asked = model(f"lm:{source}", settings=settings)
    return asked.predict(case.task, case.ask[:2])


def refusal(source: Path | str, invented: Cases, **settings: Any) -> str:
    """The line that a checkpoint is refused with."""
    with pytest.raises(BadInput) as refused:
        answer(source, invented, **settings)
    line = str(refused.value)
    assert "\n" not in line
    return line.replace(str(source), "PATH")


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}), "utf-8")


def test_no_padding_token_is_needed(tiny: Path, invented: Cases) -> None:
    assert make_tokenizer().pad_token_id is None
    assert all(each.answer for each in answer(tiny, invented))
    assert all(each.raw is not None for each in answer(tiny, invented, "reading", max_tokens=4))


def test_a_tied_head_is_a_head(tmp_path: Path, invented: Cases) -> None:
    save_checkpoint(tmp_path / "tied", tie_word_embeddings=True)
    from safetensors import safe_open

    with safe_open(tmp_path / "tied" / "model.safetensors", "pt") as weights:
        assert "lm_head.weight" not in weights.keys()  # noqa: SIM118
    assert all(each.answer for each in answer(tmp_path / "tied", invented))


def test_a_missing_head_is_refused(tmp_path: Path, invented: Cases) -> None:
    make_model("llama").model.save_pretrained(tmp_path)
    make_tokenizer().save_pretrained(tmp_path)
    line = refusal(tmp_path, invented)
    assert line == (
        "PATH has no language-model head: lm_head.weight would be random; "
        "choose a checkpoint that was saved with its head"
    )


def test_other_kinds_of_model_are_refused(tmp_path: Path, invented: Cases) -> None:
    size = {"vocab_size": 420, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    transformers.BertForMaskedLM(transformers.BertConfig(**size)).save_pretrained(tmp_path)
    make_tokenizer().save_pretrained(tmp_path)
    assert refusal(tmp_path, invented) == (
        "PATH is a bert model, not a causal language model; "
        "fine-tune it with --model encoder:PATH, or choose a causal checkpoint"
    )
    change_config(tmp_path, architectures=None)  # then its kind decides, when it is opened
    assert "is a bert model, not a causal language model" in refusal(tmp_path, invented)
    change_config(tmp_path, model_type="t5", architectures=None, is_encoder_decoder=True)
    assert refusal(tmp_path, invented).startswith(
        "PATH is an encoder-decoder model (t5), not a causal language model; choose a causal"
    )


CUSTOM_CODE = """
from transformers import LlamaConfig, LlamaForCausalLM
class OwnConfig(LlamaConfig):
    model_type = "own"
class OwnModel(LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_custom_code_runs_only_if_the_checkpoint_is_named(
    folder: Path, invented: Cases, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = str(folder.parent / "modules")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", cache)
    monkeypatch.syspath_prepend(cache)
    mark = folder.parent / "mark"
    code = f"open({str(mark)!r}, 'w').close()\n" + CUSTOM_CODE
    (folder / "own.py").write_text(code, "utf-8")
    classes = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    change_config(folder, model_type="own", auto_map=classes)
    assert refusal(folder, invented) == (
        "PATH contains custom code, which Nikawa does not run unless you ask for it; "
        "read that code, then pass --set trust_remote_code=PATH"
    )
    assert refusal(folder, invented, trust_remote_code="other").startswith(
        "trust_remote_code names 'other', not '"
    )
    assert not mark.exists()
    assert all(each.answer for each in answer(folder, invented, trust_remote_code=str(folder)))
    assert mark.exists()


def test_a_broken_tokenizer_is_one_line(folder: Path, invented: Cases) -> None:
    (folder / "tokenizer.json").write_text('{"version": "1.0"', "utf-8")
    assert refusal(folder, invented).startswith("PATH: the language model cannot be read: ")
    broken = make_tokenizer("wordpiece").backend_tokenizer.to_str()
    values = json.loads(broken)
    values["model"]["vocab"] = {token: i for i, token in enumerate(("<unk>", "<s>", "</s>"))}
    values["added_tokens"] = values["added_tokens"][:3]
    (folder / "tokenizer.json").write_text(json.dumps(values), "utf-8")
    assert "does not know any part of a text" in refusal(folder, invented)


def test_tokens_that_the_model_lacks(tmp_path: Path, invented: Cases) -> None:
    save_checkpoint(tmp_path, vocab_size=100)
    assert refusal(tmp_path, invented) == (
        "the tokenizer of PATH has tokens above the model's 100; "
        "use the tokenizer that the model was trained with"
    )


def test_weights_of_another_size_are_named(folder: Path, invented: Cases) -> None:
    change_config(folder, vocab_size=500)
    assert refusal(folder, invented) == (
        "the weights of PATH do not fit its configuration: lm_head.weight, "
        "model.embed_tokens.weight; pass the folder that the checkpoint was saved to"
    )


def test_weights_without_a_place_are_a_note(folder: Path, invented: Cases) -> None:
    change_config(folder, num_hidden_layers=1)
    case = invented["inference"]
    asked: Any = model(f"lm:{folder}")
    assert asked.predict(case.task, case.ask[:1])[0].answer
    (note,) = asked.about()["notes"]
    assert note.startswith(
        "weights that the configuration has no place for were not used: model.layers.1.input"
    )


def test_a_template_without_the_question_is_a_note(folder: Path, invented: Cases) -> None:
    path = folder / "tokenizer_config.json"
    values = {**json.loads(path.read_bytes()), "chat_template": "<s>hello"}
    path.write_text(json.dumps(values), "utf-8")
    case = invented["inference"]
    asked: Any = model(f"lm:{folder}")
    asked.predict(case.task, case.ask[:2])
    assert asked.about()["notes"] == [
        "the chat template changes or leaves out the question of 2 items"
    ]


def test_damaged_weights_and_missing_folders(folder: Path, invented: Cases) -> None:
    (folder / "model.safetensors").write_bytes(b"\0" * 64)
    assert refusal(folder, invented).startswith("PATH: the language model cannot be read: ")
    (folder / "config.json").unlink()
    assert "PATH: the language model cannot be read: it has no config.json" in refusal(
        folder, invented
    )
    assert "is neither a folder nor in the local cache" in refusal("no-such-model", invented)


@pytest.mark.filterwarnings(
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)  # peft asks for it
def test_an_adapter_is_merged_and_a_wrong_one_refused(
    tiny: Path, tmp_path: Path, invented: Cases
) -> None:
    peft = pytest.importorskip("peft")
    torch = pytest.importorskip("torch")
    paths = {}
    for name, size in (("right", 32), ("wrong", 16)):
        base = make_model("llama", hidden_size=size)
        lora = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PEFT reads names that transformers is about to drop
            adapted = peft.get_peft_model(base, lora)
        with torch.no_grad():
            for weight in adapted.parameters():
                weight.add_(0.3)
        paths[name] = tmp_path / name
        adapted.save_pretrained(paths[name])
    plain, adapted = answer(tiny, invented), answer(tiny, invented, adapter=str(paths["right"]))
    assert [each.raw for each in plain] != [each.raw for each in adapted]
    line = refusal(tiny, invented, adapter=str(paths["wrong"]))
    assert line.startswith(f"{paths['wrong']}: the adapter cannot be loaded: ")
    assert line.endswith("; pass an adapter that was trained on this checkpoint")
    settings = paths["right"] / "adapter_config.json"
    odd = {**json.loads(settings.read_bytes()), "target_modules": ["k_proj"]}
    settings.write_text(json.dumps(odd), "utf-8")
    assert "does not fit the checkpoint" in refusal(tiny, invented, adapter=str(paths["right"]))
    assert "is not the folder of an adapter" in refusal(tiny, invented, adapter=str(tmp_path))


def test_a_bad_quantisation_is_one_line(tiny: Path, invented: Cases) -> None:
    for odd in ({"quant_method": "none-such"}, {"load_in_8bit": "maybe"}, {}):
        if odd:
            line = refusal(tiny, invented, quantization=odd)
            assert line.startswith("the setting quantization cannot be used: ")


def test_a_device_map_places_the_model(tiny: Path, invented: Cases) -> None:
    pytest.importorskip("accelerate")
    plain, mapped = answer(tiny, invented), answer(tiny, invented, device_map="auto")
    assert [each.answer for each in plain] == [each.answer for each in mapped]
    with pytest.raises(BadInput, match="set either device or device_map"):
        answer(tiny, invented, device_map="auto", device="cpu")
    assert count_parallel({"device_map": "auto"}) == 1


def test_a_longer_prompt_than_the_model_reads_is_refused(tiny: Path, invented: Cases) -> None:
    line = refusal(tiny, invented, max_length=5000)
    assert line == (
        "max_length is 5,000, but PATH reads at most 2,048 tokens; set max_length=2048 or less"
    )


def test_an_option_longer_than_the_model_reads_is_refused(tiny: Path, invented: Cases) -> None:
    case = invented["text"]
    task = msgspec.structs.replace(case.task, labels=("長" * 60, "短"))
    asked = model(f"lm:{tiny}", settings={"answer": "word", "max_length": 32})
    with pytest.raises(BadInput, match=r"^the option '長+…長+' has \d+ tokens, .* set answer=key$"):
        asked.predict(task, case.ask[:2])


@pytest.mark.parametrize("choices", [["赤", "赤", "青"], ["赤", "", "青"]])
def test_choices_without_words_of_their_own_are_a_note(
    choices: list[str], tiny: Path, invented: Cases
) -> None:
    case = invented["choice"]
    example = Example(id="1", inputs={"question": "どれ", "choices": choices})
    asked: Any = model(f"lm:{tiny}", settings={"answer": "word", "delimiter": ""})
    (by_word,) = asked.predict(case.task, [example])
    (by_key,) = model(f"lm:{tiny}", settings={"delimiter": ""}).predict(case.task, [example])
    assert by_word.scores == by_key.scores
    (note,) = asked.about()["notes"]
    assert note == "1 item with equal or empty choices: keys were scored instead of words"


def test_weights_that_are_not_numbers_give_no_answer(folder: Path, invented: Cases) -> None:
    torch = pytest.importorskip("torch")
    broken = make_model("llama")
    with torch.no_grad():
        broken.lm_head.weight.fill_(float("nan"))
    broken.save_pretrained(folder)
    answers = answer(folder, invented)
    assert {each.answer for each in answers} == {None}
    assert answers[0].why.startswith("not finite: ")


def test_pmi_needs_a_token_for_an_empty_context(folder: Path, invented: Cases) -> None:
    path = folder / "tokenizer_config.json"
    values = json.loads(path.read_bytes())
    path.write_text(
        json.dumps({**values, "bos_token": None, "eos_token": None, "added_tokens_decoder": {}}),
        "utf-8",
    )
    assert answer(folder, invented)[0].answer
    assert "which PMI needs; set normalise=sum" in refusal(folder, invented, normalise="pmi")


def test_a_config_of_each_architecture_is_causal() -> None:
    for name in ("llama", "gpt-neox", "qwen", "mistral", "gemma2", "bloom"):
        from nikawa.models.lm.checkpoint import refuse_masked

        refuse_masked("x", make_config(name))
