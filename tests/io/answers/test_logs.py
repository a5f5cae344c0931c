"""Logs of lm-eval, flexeval, inspect and lighteval, in small files written after their formats."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from nikawa.errors import BadInput
from nikawa.io.answers import Answers
from nikawa.records import Example

Read = Callable[..., Answers]
Complain = Callable[..., BadInput]
Examples = Callable[[str], list[Example]]


def answers(found: Answers) -> dict[str, object]:
    return {name: prediction.answer for name, prediction in found.predictions.items()}


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def generated(order: int, doc: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    prompt = {"gen_args_0": {"arg_0": "問", "arg_1": {"until": ["\n"]}}}
    return {
        "doc_id": order,
        "doc": doc,
        "target": "x",
        "arguments": prompt,
        "resps": [[text + "\n"]],
        "filtered_resps": [text],
        "filter": "none",
        "doc_hash": "0",
        "exact_match": 0.0,
        **more,
    }


def likely(order: int, doc: dict[str, Any], names: list[str], chances: list[Any]) -> dict[str, Any]:
    return {
        "doc_id": order,
        "doc": doc,
        "target": 0,
        "arguments": [["問", name] for name in names],
        "resps": [[chance] for chance in chances],
        "filtered_resps": chances,
        "acc": float("nan"),
    }


def test_lm_eval_generation_by_id(read: Read) -> None:
    rows = [
        generated(0, {"id": "101", "question": "守は何人？"}, "三人"),
        generated(1, {"id": "100"}, "白"),
    ]
    found = read("samples_jsquad_2026.jsonl", lines(rows), "jsquad")
    assert found.form == "lm-eval"
    assert answers(found) == {"101": "三人", "100": "白"}


def test_lm_eval_likelihoods(read: Read) -> None:
    docs = [{"sentence1": "灯台守が油を運ぶ。", "sentence2": "人が油を運ぶ。", "label": 0}]
    docs += [{"sentence1": "人が油を運ぶ。", "sentence2": "灯台守が油を運ぶ。", "label": 0}]
    names = ["含意", "矛盾", "中立"]
    chances: list[list[Any]] = [[[-3.0, False], [-1.0, True], [-2.0, False]]]
    chances += [[["-1.5", "True"], ["-9.0", "False"], ["-inf", "False"]]]
    found = read("x.jsonl", lines([likely(i, docs[i], names, chances[i]) for i in (0, 1)]))
    assert answers(found) == {"100": "contradiction", "101": "entailment"}
    assert found.predictions["100"].scores == {
        "entailment": -3.0,
        "contradiction": -1.0,
        "neutral": -2.0,
    }
    assert found.predictions["101"].scores is None
    assert found.missing == ["102"]


def test_lm_eval_newer_arguments(read: Read) -> None:
    row = likely(0, {"sentence_pair_id": 102}, [], [["-2", "False"], ["-1", "True"]])
    row["arguments"] = {
        f"gen_args_{i}": {"arg_0": "問", "arg_1": text} for i, text in enumerate(("含意", " 中立"))
    }
    assert answers(read("x.jsonl", lines([row]))) == {"102": "neutral"}


def test_lm_eval_choices_by_place(read: Read) -> None:
    chances = [[-5.0, False], [-1.0, True], [-2.0, False], [-3.0, False], [-4.0, False]]
    found = read(
        "x.jsonl", lines([likely(0, {"q_id": 100}, list("01234"), chances)]), "jcommonsenseqa"
    )
    assert answers(found) == {"100": 1}
    assert found.predictions["100"].scores == {
        "0": -5.0,
        "1": -1.0,
        "2": -2.0,
        "3": -3.0,
        "4": -4.0,
    }


def test_lm_eval_continuations_that_are_no_labels(read: Read) -> None:
    row = likely(0, {"id": "100"}, ["はい", "いいえ"], [[-1.0, False], [-2.0, False]])
    assert read("x.jsonl", lines([row])).unparsed == [("100", "", "the file gives no answer")]


def test_lm_eval_several_outputs_are_no_answer(read: Read) -> None:
    row = generated(0, {"id": "100"}, "白", filtered_resps=[["白", "黒"]])
    assert [name for name, _, _ in read("x.jsonl", lines([row]), "jsquad").unparsed] == ["100"]
    row = generated(0, {"id": "100"}, "白", filtered_resps=[["白", "白"]])
    assert answers(read("x.jsonl", lines([row]), "jsquad")) == {"100": "白"}


def test_lm_eval_by_order(read: Read) -> None:
    rows = [generated(order, {}, text) for order, text in ((1, "矛盾"), (0, "含意"), (2, "中立"))]
    found = read("x.jsonl", lines(rows))
    assert answers(found) == {"101": "contradiction", "100": "entailment", "102": "neutral"}
    assert read("x.jsonl", lines(rows[:2])).unknown == ["line 1", "line 2"]


def test_lm_eval_filters(read: Read, complain: Complain) -> None:
    rows = [
        generated(0, {"id": "100"}, text, filter=name)
        for name, text in (("strict", "含意"), ("flexible", "矛盾"))
    ]
    problem = complain("x.jsonl", lines(rows))
    assert "several filters, 'strict' and 'flexible'" in str(problem)
    assert "--form lm-eval:strict " in problem.cure
    assert answers(read("x.jsonl", lines(rows), form="lm-eval:flexible")) == {
        "100": "contradiction"
    }
    assert "has no filter 'loose'; its filters: strict, flexible" in str(
        complain("x.jsonl", lines(rows), "jnli", "lm-eval:loose")
    )


def test_lm_eval_of_another_split(complain: Complain) -> None:
    doc = {"id": "100", "premise": "別の文。", "hypothesis": "また別の文。"}
    problem = complain("x.jsonl", lines([generated(0, doc, "含意")]))
    assert "id '100' has different texts in the split" in str(problem)
    assert problem.line == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"doc_id": "a"}, "doc_id is 'a'"),
        ({"filtered_resps": []}, "has no responses"),
        ({"filtered_resps": "白"}, "has no responses"),
    ],
)
def test_lm_eval_damaged(complain: Complain, change: dict[str, Any], words: str) -> None:
    rows = [generated(0, {"id": "100"}, "含意"), generated(1, {"id": "101"}, "含意", **change)]
    problem = complain("x.jsonl", lines(rows))
    assert words in str(problem)
    assert problem.line == 2


def output(text: str | None, doc: dict[str, Any], reason: str | None = "stop") -> dict[str, Any]:
    return {
        "lm_prompt": "問",
        "lm_output": text,
        "finish_reason": reason,
        "extra_info": doc,
        "references": ["x"],
    }


def test_flexeval(read: Read, tmp_path: Path) -> None:
    rows = [
        output('"中立"', {"premise": "猫が桟橋で眠る。", "hypothesis": "桟橋は無人だ。"}),
        output("", {"premise": "人が油を運ぶ。", "hypothesis": "灯台守が油を運ぶ。"}, "error"),
        output("含意", {"premise": "海。", "hypothesis": "空。"}),
    ]
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text("{}")
    (run / "metrics.json").write_text('{"exact_match": 0.5}')
    (run / "outputs.jsonl").write_text(lines(rows))
    found = read("run", None)
    assert found.form == "flexeval"
    assert answers(found) == {"102": "neutral", "101": None}
    assert found.unparsed == [("101", "", "the log holds no output (finish reason: error)")]
    assert found.unknown == ["line 3"]


def test_flexeval_empty_by_its_own_will(read: Read) -> None:
    found = read(
        "outputs.jsonl",
        lines([output("", {"id": "100"}), output("", {"id": "101"}, None)]),
        "jsquad",
    )
    assert answers(found) == {"100": "", "101": None}


def test_flexeval_choices(read: Read, examples: Examples) -> None:
    items = examples("jcommonsenseqa")
    rows = [
        {
            "prefix": f"例題\n問題：{item.inputs['question']}\n答え：",
            "choices": item.inputs["choices"],
            "answer_index": 0,
            "log_probs": [-9.0, -8.0, -7.0, -1.0, -5.0],
            "prediction": 3,
            "byte_norm_prediction": 0,
        }
        for item in reversed(items)
    ]
    found = read("outputs.jsonl", lines(rows), "jcommonsenseqa")
    assert answers(found) == {"101": 3, "100": 3}
    assert list(found.predictions) == ["101", "100"]
    assert found.predictions["100"].scores == {
        "0": -9.0,
        "1": -8.0,
        "2": -7.0,
        "3": -1.0,
        "4": -5.0,
    }


def test_flexeval_choices_that_are_labels_by_order(read: Read) -> None:
    row = {"prefix": "問", "choices": ["含意", "矛盾"], "log_probs": [-2.0, -1.0], "prediction": 1}
    found = read("outputs.jsonl", lines([row, row, row]))
    assert set(answers(found).values()) == {"contradiction"}
    assert found.predictions["102"].scores == {"entailment": -2.0, "contradiction": -1.0}


def test_flexeval_damaged(complain: Complain) -> None:
    row = {"prefix": "問", "choices": ["含意", "矛盾"], "log_probs": [-2.0], "prediction": 1}
    assert "lists of the same length" in str(complain("outputs.jsonl", lines([row])))
    assert "two lists" in str(
        complain("outputs.jsonl", lines([{**row, "choices": [], "log_probs": []}]))
    )
    row["log_probs"] = ["a", "b"]
    assert "is not a number" in str(complain("outputs.jsonl", lines([row])))
    assert "has no 'lm_output'" in str(
        complain("outputs.jsonl", lines([output("含意", {"id": "100"}), {"a": 1}]))
    )


def sample(name: str | int, prompt: Any, text: str | None, **more: Any) -> dict[str, Any]:
    said = (
        None
        if text is None
        else {
            "model": "m",
            "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}],
            "completion": text,
        }
    )
    return {
        "id": name,
        "epoch": 1,
        "input": prompt,
        "target": "x",
        "output": said,
        "scores": {},
        **more,
    }


def archive(samples: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}})
        )
        for row in samples:
            packed.writestr(f"samples/{row['id']}_epoch_{row['epoch']}.json", json.dumps(row))
    return stream.getvalue()


def zstd_archive(name: str, content: bytes) -> bytes:
    """A zip of one member, packed with method 93."""
    packed = zstandard.compress(content)
    own = name.encode()
    fields = (20, 0, 93, 0, 0, zlib.crc32(content), len(packed), len(content), len(own), 0)
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields) + own
    central = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, 0) + own
    end = struct.pack(
        "<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(packed), 0
    )
    return local + packed + central + end


SAMPLES = [
    sample("102", "前提：猫が桟橋で眠る。\n仮説：桟橋は無人だ。", "中立"),
    sample("101", "x", "よく考えると矛盾です", scores={"label": {"value": "C", "answer": "矛盾"}}),
    sample("100", "x", None, error={"message": "rate limit"}),
]


def test_inspect(read: Read) -> None:
    found = read("log.eval", archive(SAMPLES))
    assert found.form == "inspect"
    assert answers(found) == {"102": "neutral", "101": "contradiction", "100": None}
    assert found.predictions["101"].raw == "よく考えると矛盾です"
    assert found.unparsed == [("100", "", "the run failed: rate limit")]
    document = {"version": 2, "status": "success", "eval": {}, "samples": SAMPLES}
    assert read("log.json", json.dumps(document)).predictions == found.predictions


def test_inspect_zstandard(read: Read) -> None:
    data = zstd_archive("samples/102_epoch_1.json", json.dumps(SAMPLES[0]).encode())
    assert answers(read("log.eval", data)) == {"102": "neutral"}


def test_inspect_numbers_samples_from_one(read: Read, examples: Examples) -> None:
    """Without ids of its own a sample is counted from 1, and 1 may be the id of another example."""
    split = [Example(id=str(i), inputs=e.inputs) for i, e in enumerate(examples("jnli"))]
    prompts = [f"{e.inputs['premise']} / {e.inputs['hypothesis']}" for e in split]
    chat = [[{"role": "user", "content": [{"type": "text", "text": prompt}]}] for prompt in prompts]
    rows = [sample(1, chat[0], "含意"), sample(3, prompts[2], "中立"), sample(2, "別の話", "矛盾")]
    found = read("log.eval", archive(rows), split=split)
    assert answers(found) == {"0": "entailment", "2": "neutral"}
    assert found.unknown == ["sample 2"]


def test_inspect_choice_and_metadata(read: Read) -> None:
    row = sample(7, "問", "ANSWER: B", metadata={"q_id": 100}, choices=["鐘", "綱"])
    assert answers(read("log.eval", archive([row]), "jcommonsenseqa")) == {"100": 1}


def test_inspect_epochs(read: Read, complain: Complain) -> None:
    rows = [sample("100", "x", "含意"), sample("100", "x", "矛盾", epoch=2)]
    assert "several epochs, '1' and '2'" in str(complain("log.eval", archive(rows)))
    assert answers(read("log.eval", archive(rows), form="inspect:2")) == {"100": "contradiction"}


def test_inspect_damaged(complain: Complain) -> None:
    assert "is a damaged archive" in str(complain("log.eval", archive(SAMPLES)[:-30]))
    assert "holds no samples" in str(complain("log.eval", archive([])))
    broken = zstd_archive("samples/1.json", b"{").replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\x00")
    assert "is a damaged archive" in str(complain("log.eval", broken))
    assert "the JSON is incomplete" in str(
        complain("log.eval", zstd_archive("samples/1.json", b"{"))
    )
    assert "sample 1: is not an object" in str(
        complain("log.eval", zstd_archive("samples/1.json", b"[]"))
    )
    nameless: dict[str, Any] = {"eval": {}, "samples": [{"output": {}}]}
    assert "sample 1: has no id" in str(complain("log.json", json.dumps(nameless)))
    assert "it has no samples" in str(complain("log.json", '{"a": 1}', "jnli", "inspect"))
    without = {"version": 2, "status": "success", "eval": {}, "results": {}}
    assert "--no-log-samples" in str(complain("log.json", json.dumps(without)))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"results": {}, "configs": {}}, "has the scores of lm-eval, not the answers"),
        ({"config_general": {}, "results": {}}, "pass details_*.parquet"),
    ],
)
def test_the_scores_of_a_tool_are_not_its_answers(
    complain: Complain, document: dict[str, Any], words: str
) -> None:
    assert words in str(complain("results.json", json.dumps(document)))


def test_parquet_is_not_compressed_again(complain: Complain) -> None:
    packed = gzip.compress(lighteval_rows([]))
    assert "is Parquet in .gz" in str(complain("x.parquet.gz", packed))


def exported(example: Example) -> dict[str, Any]:
    """The fields of an item of `nikawa data export --to TOOL`, which logs repeat."""
    note = json.dumps({"export": 1, "offer": {"keys": ["A", "B"]}})
    return {"id": example.id, **example.inputs, "nikawa": note}


SAME_TEXTS = [
    Example(id=name, inputs={"text": text})
    for name, text in (("0", ""), ("7/8", "同じ文。"), ("7", "同じ文。"), ("{{x}}", "別の文。"))
]


def test_items_of_an_export_are_matched_by_their_ids(read: Read) -> None:
    """Texts alone cannot tell items of the same texts apart, and an empty text is in every sample."""
    replies = list(zip(SAME_TEXTS[::-1], "ABAB", strict=True))
    rows = [
        {"lm_output": reply, "finish_reason": "stop", "extra_info": exported(example)}
        for example, reply in replies
    ]
    found = read("outputs.jsonl", lines(rows), "jcola", split=SAME_TEXTS)
    labels = {"A": "unacceptable", "B": "acceptable"}
    assert answers(found) == {one.id: labels[reply] for one, reply in replies}
    assert found.confirmed == len(rows)


def test_an_id_of_an_export_with_another_text_is_refused(read: Read) -> None:
    row = {**exported(SAME_TEXTS[3]), "text": "違う文。"}
    sample = {"lm_output": "A", "finish_reason": "stop", "extra_info": row}
    with pytest.raises(BadInput, match="has different texts in the split"):
        read("outputs.jsonl", lines([sample]), "jcola", split=SAME_TEXTS)


def lighteval_rows(replies: list[dict[str, Any]], *, choices: bool = False) -> bytes:
    """A log of lighteval about the first items of `SAME_TEXTS`, with these responses."""
    rows = [
        {
            "doc": {
                "query": f"文章: {example.inputs['text']}\n答え:",
                "choices": [" A", " B"] if choices else ["A"],
                "specific": {"row": json.dumps(exported(example), ensure_ascii=False)},
            },
            "metric": {"judged": "{}"},
            "model_response": {"text": [], "text_post_processed": None, "logprobs": [], **reply},
        }
        for example, reply in zip(SAME_TEXTS, replies, strict=False)
    ]
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return sink.getvalue()


def test_lighteval(read: Read) -> None:
    """A text, the text without its thoughts, no text; in a file of any name."""
    replies: list[dict[str, Any]] = [
        {"text": ["答えはBです。"]},
        {"text": ["<think>A</think>B"], "text_post_processed": ["A"]},
        {"text": [""]},
        {"text": []},
    ]
    found = read("details.parquet", lighteval_rows(replies), "jcola", split=SAME_TEXTS)
    assert found.form == "lighteval"
    assert answers(found) == {"0": "acceptable", "7/8": "unacceptable", "7": None, "{{x}}": None}
    assert {why for _, _, why in found.unparsed} == {"the log holds no output"}


def test_likelihoods_of_lighteval(read: Read) -> None:
    chances = [{"logprobs": [-1.0, -2.0]}, {"logprobs": [-3.0, -0.5]}]
    data = lighteval_rows(chances, choices=True)
    found = read("details.parquet", data, "jcola", split=SAME_TEXTS[:2])
    assert answers(found) == {"0": "unacceptable", "7/8": "acceptable"}
    assert found.predictions["7/8"].scores == {"unacceptable": -3.0, "acceptable": -0.5}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": ["A", "B"]}, "row 1: has 2 replies to one question"),
        ({"logprobs": [-1.0]}, "row 1: has not one log-likelihood for each choice"),
    ],
)
def test_unclear_responses_of_lighteval(read: Read, reply: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        read("details.parquet", lighteval_rows([reply], choices=True), "jcola", split=SAME_TEXTS)
