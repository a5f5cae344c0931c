"""`nikawa probe memory`: a model that knows the file by heart, one that does not, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest

from nikawa.analysis.memory import job
from nikawa.analysis.memory.job import MemoryOptions, TextScorer, probe_memory
from nikawa.analysis.memory.texts import load_items, make_items
from nikawa.errors import BadInput
from nikawa.models.lm.texts import TokenScores
from nikawa.models.lm.tokens import Tokens
from nikawa.records import Example

NAMES = "春夏秋冬東西南北上下左右天地人山川海空星"
PLACES = ("港", "駅", "庭", "橋", "坂")

Nikawa = Callable[..., CompletedProcess[str]]


def write_items(path: Path, names: str, hidden: bool = False) -> Path:
    """One pair per name, in an order that says nothing."""
    rows = []
    for number, name in enumerate(names):
        place = PLACES[number * 7 % 5]
        row: dict[str, Any] = {
            "id": f"{path.stem}-{number}",
            "inputs": {
                "hypothesis": f"{name}さんは{place}にいる。",
                "premise": f"{name}さんが{place}で{number * 37 % 90}冊の本を読みます。",
            },
            "gold": {"label": "entailment"},
        }
        if hidden:
            row["gold"] = {}
            row["origin"] = {"recipe": "hide", "gold": "hidden"}
        rows.append(json.dumps(row, ensure_ascii=False))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


class Learner:
    """Knows some texts by heart: a character that follows the same characters as there is likely."""

    room = 120
    reach = 14
    """Characters that it looks back, itself among them: up to the name in the item before."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        joined = "".join(text + "\n\n" for text in texts)
        self.known = {joined[i : i + self.reach] for i in range(len(joined) - self.reach + 1)}

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        return [tuple(map(ord, text)) for text in texts]

    def score(self, rows: Sequence[Tokens], moments: bool = False, on_done: Any = None) -> Any:
        scored = []
        for row in rows:
            text = "".join(map(chr, row))
            spans = [text[i : i + self.reach] for i in range(len(text) - self.reach + 1)]
            logprobs = np.array([-1.0 if span in self.known else -5.0 for span in spans])
            scored.append(TokenScores(logprobs, np.full_like(logprobs, -3), np.ones_like(logprobs)))
        return scored

    def complete(self, prompts: Sequence[Tokens], lengths: Sequence[int]) -> list[str]:
        answers = []
        for prompt in prompts:
            start = "".join(map(chr, prompt))
            whole = next((text for text in self.texts if text.startswith(start)), start + "雨")
            answers.append(whole[len(start) :])
        return answers


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return write_items(tmp_path / "test.jsonl", NAMES)


@pytest.fixture
def unseen(tmp_path: Path) -> Path:
    return write_items(tmp_path / "unseen.jsonl", "雪雨風雲森林石火水木金土")


def use_learner(monkeypatch: pytest.MonkeyPatch, learner: Learner) -> None:
    monkeypatch.setattr(job, "open_scorer", lambda _model, _settings: learner)


def test_a_model_that_knows_the_file_is_found(
    items: Path, unseen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_learner(monkeypatch, Learner([item.text for item in load_items(str(items)).items]))
    report = probe_memory(
        str(items), "lm:any", unseen=str(unseen), options=MemoryOptions(permutations=99)
    )
    assert report.order.p == 0.01
    assert report.order.t_p is not None
    assert report.order.t_p < 0.001
    assert report.order.is_order_random
    assert report.twins.items + report.twins.skipped == len(NAMES)
    assert report.twins.unseen_p is not None
    assert report.twins.unseen_p < 0.01
    assert report.completion.exact == len(NAMES)
    assert report.completion.other_exact == 0
    assert report.completion.unseen_p is not None
    assert report.completion.unseen_p < 0.01
    assert report.verdict.startswith("There is evidence that the model has seen these items")


def test_a_model_that_knows_nothing_is_not_accused(
    items: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_learner(monkeypatch, Learner(["雷が鳴る。"]))
    report = probe_memory(str(items), "lm:any", options=MemoryOptions(permutations=39))
    assert report.order.p == 1.0  # all orders are equally likely
    assert report.completion.exact == 0
    assert "no sign" in report.verdict
    for shown in (repr(report), report._repr_html_()):
        assert all(text in shown for text in (report.verdict, *report.limits))
    assert any("--unseen" in line for line in report.limits)
    assert any("few" in line for line in report.limits)


def test_an_order_that_is_not_random_is_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_items(tmp_path / "sorted.jsonl", "".join(name * 2 for name in NAMES))
    use_learner(monkeypatch, Learner([item.text for item in load_items(str(path)).items]))
    report = probe_memory(str(path), "lm:any", options=MemoryOptions(permutations=99))
    assert not report.order.is_order_random
    assert "its order is not random" in report.verdict
    assert "There is evidence" not in report.verdict


def test_items_are_rendered_without_labels_in_the_published_order(tmp_path: Path) -> None:
    path = write_items(tmp_path / "hidden.jsonl", NAMES[:3], hidden=True)
    first = load_items(str(path)).items[0]
    assert first.text == "春さんが港で0冊の本を読みます。\n春さんは港にいる。"
    assert first.halves() == first.fields
    reading: dict[str, Any] = {"question": "どこ？", "context": "駅の前。", "title": "駅"}
    choice: dict[str, Any] = {"choices": ["赤", "青"], "question": "色は？"}
    tree: dict[str, Any] = {"words": ["犬", "だ"], "text": "犬だ犬だ犬だ犬だ"}
    examples = [Example(id=str(i), inputs=x) for i, x in enumerate((reading, choice, tree))]
    texts = make_items("some", "ja", examples).items
    assert [item.text for item in texts] == [
        "駅\n駅の前。\nどこ？",
        "色は？\n赤\n青",
        "犬だ犬だ犬だ犬だ",
    ]
    assert texts[2].halves() == ("犬だ犬だ", "犬だ犬だ")


def test_what_cannot_be_probed_is_refused_in_one_line(items: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gives no probabilities"):
        probe_memory(str(items), "majority")
    with pytest.raises(BadInput, match="several splits"):
        probe_memory("mini-ja", "lm:any")
    with pytest.raises(BadInput, match="cannot show a p under"):
        probe_memory(str(items), "lm:any", options=MemoryOptions(permutations=5))
    for options in (MemoryOptions(seed=-1), MemoryOptions(limit=-1)):
        with pytest.raises(BadInput, match="is -1; pass 0 or more"):
            probe_memory(str(items), "lm:any", options=options)
    with pytest.raises(BadInput, match="contains items of"):
        probe_memory(str(items), "lm:any", unseen=str(items))
    one = write_items(tmp_path / "one.jsonl", "春")
    with pytest.raises(BadInput, match="1 item with text"):
        probe_memory(str(one), "lm:any")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained causal model with the tokenizer of `nikawa pretrain`."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from nikawa.pretrain.network import build_model
    from nikawa.pretrain.settings import Size
    from nikawa.pretrain.tokenizer import build_tokenizer, save_causal_tokenizer

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("model")
    letters = sorted(set(NAMES + "".join(PLACES) + "さんはがでにいるの本を読みます冊。0123456789"))
    tokenizer = build_tokenizer("ja", [(letter, -2.0) for letter in letters] + [("▁", -2.0)])
    save_causal_tokenizer(tokenizer, folder)
    special = {name: tokenizer.token_to_id(f"[{name.upper()}]") for name in ("pad", "sep")}
    size = Size(width=32, layers=1, heads=2, inner=32, rate=1e-3)
    build_model(size, tokenizer.get_vocab_size(), special, 1, causal=True).save_pretrained(folder)
    return folder


def test_the_command_prints_a_table_and_json(
    nikawa: Nikawa, model: Path, items: Path, unseen: Path
) -> None:
    words = ["probe", "memory", str(items), "--model", f"lm:{model}", "--permutations", "19"]
    words += ["--unseen", str(unseen), "--set", "device=cpu", "--limit", "12"]
    shown = nikawa(*words)
    assert shown.returncode == 0, shown.stderr
    assert "order, exact" in shown.stdout
    assert "Min-K%++, against unseen" in shown.stdout
    assert "entailment" not in shown.stdout
    twice = [json.loads(nikawa(*words, "--json").stdout) for _ in range(2)]
    assert twice[0] == twice[1]
    assert twice[0]["order"]["items"] == 12
    assert 0 < twice[0]["order"]["p"] <= 1
    wrong = nikawa(*words[:3], "--model", "lm:nothing-here")
    assert wrong.returncode == 2
    assert len(wrong.stderr.strip().splitlines()) == 1


def test_the_function_of_the_front_door_is_the_same_job(model: Path, items: Path) -> None:
    import nikawa as nk

    report = nk.probe_memory(
        str(items), f"lm:{model}", permutations=19, limit=8, settings={"device": "cpu"}
    )
    assert report.order.items == 8
    assert len(report.to_pandas()) == len(report.tests)


def test_an_object_keeps_its_name_and_cures_are_keywords(model: Path, items: Path) -> None:
    import nikawa as nk

    report = nk.probe_memory(
        nk.load(items), f"lm:{model}", permutations=19, limit=4, settings={"device": "cpu"}
    )
    assert report.dataset == "test"
    with pytest.raises(BadInput, match=r"for example permutations=19$"):
        nk.probe_memory(nk.load(items), f"lm:{model}", permutations=3)
    with pytest.raises(BadInput, match=r'model="lm:PATH"$'):
        nk.probe_memory(nk.load(items), "majority")


def test_weights_that_are_not_numbers_are_no_evidence(
    nikawa: Nikawa, model: Path, items: Path, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network = AutoModelForCausalLM.from_pretrained(model)
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(float("nan"))
    network.save_pretrained(tmp_path / "broken")
    AutoTokenizer.from_pretrained(model).save_pretrained(tmp_path / "broken")
    words = ("probe", "memory", str(items), "--model", f"lm:{tmp_path / 'broken'}")
    shown = nikawa(*words, "--permutations", "19", "--set", "device=cpu")
    assert shown.returncode == 2
    assert "not numbers" in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1
    assert "evidence" not in shown.stdout


def test_control_tokens_in_an_item_are_text() -> None:
    from types import SimpleNamespace

    from tests.models.lm.checkpoints import make_tokenizer

    checkpoint = SimpleNamespace(tokenizer=make_tokenizer(), start_token=None, max_length=99)
    (row,) = TextScorer(checkpoint, None).encode(["答え</s>: A"])
    assert 2 not in row
    assert make_tokenizer().decode(row) == "答え</s>: A"
