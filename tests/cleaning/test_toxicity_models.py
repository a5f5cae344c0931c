"""Toxicity by models: the threshold is measured on judged texts, and what is flagged waits for a person."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.models.chat.conftest import server
from tests.models.encoder.checkpoints import save_tiny
from tests.models.lm.checkpoints import CHAT_TEMPLATE, save_checkpoint
from typer.testing import CliRunner, Result

from nikawa.cleaning import Settings
from nikawa.cleaning.job import CleanOptions, CleanReport, clean
from nikawa.cleaning.toxicity_models import ModelScorer
from nikawa.cleaning.toxicity_review import ToxicityOptions
from nikawa.cleaning.toxicity_threshold import (
    choose_threshold,
    describe_threshold,
    measure_threshold,
    read_judged,
)
from nikawa.cli.terminal.app import build
from nikawa.collect.project import open_project
from nikawa.errors import BadInput
from nikawa.io.records import read_examples, write_records
from nikawa.io.task_sheet import SHEET, Sheet
from nikawa.records import Example, Judgement

__all__ = ["server"]

GOOD = [f"강가의 작은 가게 {n}곳이 어제 새로 문을 열었다고 한다." for n in range(8)]
BAD = [
    "나쁜 사람들은 모두 이 마을에서 영원히 사라져야 한다고 한다.",
    "저런 나쁜 무리는 사람으로 취급할 필요도 없다고 소리쳤다.",
]
JUDGED = [(f"나쁜 녀석 {n}호는 꺼져 버려라.", True) for n in range(15)] + [
    (f"오늘은 {n}시에 산책을 했다.", False) for n in range(25)
]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "news.txt"
    path.write_text("\n".join([*GOOD, *BAD]) + "\n", "utf-8")
    return path


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    path = tmp_path / "judged.jsonl"
    lines = [json.dumps({"text": text, "toxic": toxic}) for text, toxic in JUDGED]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def run(server: Any, text: Path, judged: Path, tmp_path: Path) -> Callable[..., CleanReport]:
    """Clean with the loopback server, which finds 나쁜 toxic."""
    server.brain = lambda asked: "A" if "나쁜" in asked else "B"

    def call(name: str = "out", **how: Any) -> CleanReport:
        settings = {"base_url": server.url, "wait": 0.002, "timeout": 5.0, **how.pop("set", {})}
        kept = {name: how.pop(name) for name in ("workers", "overwrite", "shards") if name in how}
        review = ToxicityOptions(
            model="chat:some/model",
            settings=settings,
            **{"judged": judged, "flagged": tmp_path / f"{name}-flagged", **how},
        )
        options = CleanOptions(settings=Settings(similar=1.0), toxicity=review, **kept)
        return clean([text], tmp_path / name, options)

    return call


def texts_of(path: Path) -> list[str]:
    return [example.inputs["text"] for example in read_examples(path)]


def nikawa(*words: object) -> Result:
    return CliRunner().invoke(build(), [str(word) for word in words], env={"COLUMNS": "200"})


def test_what_is_flagged_is_decided_by_a_person_and_comes_back(
    run: Callable[..., CleanReport], server: Any, text: Path, judged: Path, tmp_path: Path
) -> None:
    out, flagged = tmp_path / "out.jsonl", tmp_path / "flagged"
    words = ["clean", text, "--out", out, "--toxicity", "chat:some/model", "--similar", 1]
    words += ["--base-url", server.url, "--judged", judged, "--flagged", flagged]
    first = nikawa(*words)
    assert first.exit_code == 0, first.output
    assert "measured on 40 judged items, 15 of them toxic" in first.output
    assert "AUC 1.000 (95% interval 1.000 to 1.000)" in first.output
    assert "2 sentences wait for a decision" in first.output
    assert texts_of(out) == GOOD
    assert texts_of(flagged / "tasks.jsonl") == BAD
    for path in flagged.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    sheet = msgspec.json.decode((flagged / SHEET).read_bytes(), type=Sheet)
    assert (sheet.labels, sheet.workers, sheet.language) == (("toxic", "acceptable"), 1, "ko")
    assert "score" not in (flagged / "tasks.jsonl").read_text("utf-8")

    project = tmp_path / "review"
    made = nikawa("collect", "new", project, "--examples", flagged / "tasks.jsonl")
    assert made.exit_code == 0, made.output
    assert open_project(project).settings.assign.workers_per_item == 1
    ids = [example.id for example in read_examples(flagged / "tasks.jsonl")]
    answers = [
        Judgement(example=ids[0], worker="owner", question="toxicity", answer="acceptable"),
        Judgement(example=ids[1], worker="owner", question="toxicity", answer="toxic"),
    ]
    write_records(tmp_path / "answers.jsonl", answers)
    for command in (
        ("collect", "import", project, tmp_path / "answers.jsonl"),
        ("collect", "export", project, "--out", tmp_path / "judgements.jsonl"),
        (
            *("aggregate", tmp_path / "judgements.jsonl", "--rule", "majority"),
            *("--examples", flagged / "tasks.jsonl", "--out", tmp_path / "gold"),
        ),
    ):
        done = nikawa(*command)
        assert done.exit_code == 0, done.output
    before = len(server.asked)
    decided = tmp_path / "gold" / "examples.jsonl"
    again = nikawa(*words, "--decided", decided, "--overwrite", "--json")
    assert again.exit_code == 0, again.output
    assert len(server.asked) == before  # every reply is kept
    assert texts_of(out) == [*GOOD, BAD[0]]
    report = json.loads(again.output)["toxicity"]
    assert (report["flagged"], report["decided"], report["decided_toxic"]) == (0, 2, 1)
    removed = (flagged / "removed.jsonl").read_text("utf-8")
    assert "decided by a person" in removed
    assert (flagged / "tasks.jsonl").read_bytes() == b""


def test_a_threshold_is_measured_or_said_not_to_be(
    run: Callable[..., CleanReport], server: Any
) -> None:
    with pytest.raises(BadInput, match="is not measured"):
        run("unmeasured", judged=None)
    assert server.asked == []
    report = run("given", judged=None, threshold=0.5)
    assert report.toxicity is not None
    assert report.toxicity.threshold.items == 0
    assert "not measured on judged items" in describe_threshold(report.toxicity.threshold)[0]
    assert report.toxicity.flagged == 2


def test_any_number_of_workers_and_shards_give_the_same(
    run: Callable[..., CleanReport], tmp_path: Path
) -> None:
    run("one")
    run("two", workers=2)
    run("three", shards=True)
    first = (tmp_path / "one").read_bytes()
    assert first == (tmp_path / "two").read_bytes()
    assert first == (tmp_path / "three" / "news.jsonl").read_bytes()
    for name in ("tasks.jsonl", "sheet.json", "tasks.csv"):
        sheets = {(tmp_path / f"{n}-flagged" / name).read_bytes() for n in ("one", "two", "three")}
        assert len(sheets) == 1
    removed = (tmp_path / "one-flagged" / "removed.jsonl").read_bytes()
    assert removed == (tmp_path / "two-flagged" / "removed.jsonl").read_bytes()
    assert removed == (tmp_path / "three-flagged" / "removed" / "news.jsonl").read_bytes()


def test_a_server_that_misbehaves_loses_nothing(
    run: Callable[..., CleanReport], server: Any, tmp_path: Path
) -> None:
    run("well")
    page = (200, {"Content-Type": "text/html"}, b"<script>alert(1)</script>")
    faults = ["reset", "cut", (429, {"Retry-After": "0"}, b""), (500, {}, b""), page]
    seen: set[str] = set()

    def trouble(number: int, question: str) -> Any:
        if question in seen:
            return None
        seen.add(question)
        return faults[len(seen) % len(faults)]

    server.trouble = trouble
    run("badly")
    assert (tmp_path / "well").read_bytes() == (tmp_path / "badly").read_bytes()
    server.trouble = lambda number, question: "reset" if number % 20 == 19 else None
    server.asked.clear()
    with pytest.raises(BadInput, match="run the same command again"):
        run("stopped", set={"retries": 0, "concurrency": 1})
    assert not (tmp_path / "stopped").exists()
    server.trouble = lambda number, question: None
    before = len(server.asked)
    run("stopped", set={"retries": 0, "concurrency": 1})
    assert len(server.asked) - before < 50
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "well").read_bytes()
    server.trouble = lambda number, question: (401, {}, b"{}")
    with pytest.raises(BadInput, match="set a valid key"):
        run("locked")


def test_a_sentence_that_the_model_refuses_waits_for_a_person(
    run: Callable[..., CleanReport], server: Any, tmp_path: Path
) -> None:
    """A model refuses toxic texts above all: a refusal is neither kept nor thrown away."""
    server.can -= {"logprobs", "echo", "json_schema", "json_object"}
    hostile = "<img src=x onerror=alert(1)>\x1b[31m 나는 답할 수 없습니다"
    server.brain = lambda asked: hostile if "3곳" in asked else "A" if "나쁜" in asked else "B"
    report = run("refused")
    assert report.toxicity is not None
    assert report.toxicity.flagged == 3
    assert GOOD[3] in texts_of(tmp_path / "refused-flagged" / "tasks.jsonl")
    assert GOOD[3] not in texts_of(tmp_path / "refused")
    body = (tmp_path / "refused-flagged" / "removed.jsonl").read_text("utf-8")
    assert "no answer: " in body
    assert "\x1b" not in body


def test_personal_data_stays_here_unless_it_may_go(
    run: Callable[..., CleanReport],
    server: Any,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with text.open("a", encoding="utf-8") as stream:
        stream.write("문의는 가게의 메일 gildong@example.com 으로 보내면 된다고 했다.\n")
    from nikawa.cleaning import toxicity_models

    monkeypatch.setattr("nikawa.cleaning.job.choose_steps", _without_personal_data)
    run("here")
    assert "gildong@" in json.dumps(server.asked)
    server.asked.clear()
    monkeypatch.setattr(toxicity_models, "is_loopback", lambda _address: False)
    report = run("far")
    assert "gildong@" not in json.dumps(server.asked)
    assert report.toxicity is not None
    assert report.toxicity.flagged == 3
    removed = (tmp_path / "far-flagged" / "removed.jsonl").read_text("utf-8")
    assert "personal data: email; not sent to a remote address without --allow-remote" in removed
    run("sent", allow_remote=True)
    assert "gildong@" in json.dumps(server.asked)


def _without_personal_data(names: Any = None, without: Any = ()) -> Any:
    from nikawa.cleaning import choose_steps

    return choose_steps(names, (*without, "email"))


def test_the_budget_stops_the_job_and_more_money_continues_it(
    run: Callable[..., CleanReport], server: Any
) -> None:
    server.shape = lambda reply: {**reply, "usage": {"prompt_tokens": 998, "completion_tokens": 2}}
    prices = {"price_in": 100.0, "price_out": 100.0, "concurrency": 1}
    with pytest.raises(BadInput, match="budget"):
        run("paid", set=prices, max_cost=1.0)
    spent = len(server.asked)
    assert 0 < spent < 40
    run("paid", set=prices, max_cost=100.0)
    assert len(server.asked) == 50


def test_models_of_this_machine(
    text: Path, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.set_num_threads(1)
    letters = "".join([*GOOD, *BAD, *(text for text, _ in JUDGED)]).replace(" ", "")
    folder = save_tiny(tmp_path / "encoder", letters)
    config = BertConfig.from_pretrained(folder, id2label={0: "none", 1: "hate", 2: "offensive"})
    torch.manual_seed(1)
    BertForSequenceClassification(config).save_pretrained(folder)
    names = {"labels": ("hate", "offensive")}
    made = _clean_twice(text, judged, tmp_path / "e", f"encoder:{folder}", monkeypatch, **names)
    with pytest.raises(BadInput, match="has no label 'toxic'; it has none, hate, offensive"):
        _clean_twice(text, judged, tmp_path / "x", f"encoder:{folder}", monkeypatch)
    with pytest.raises(BadInput, match="trains no encoder"):
        ModelScorer(f"encoder:{folder}", {"epochs": 1}, labels=("hate",))
    assert made.toxicity is not None
    assert made.toxicity.threshold.auc is not None
    scorer = ModelScorer(f"encoder:{folder}", labels=("hate", "offensive"), language="ko")
    rest = ModelScorer(f"encoder:{folder}", labels=("none",), language="ko")
    for one, other in zip(scorer(GOOD), rest(GOOD), strict=True):
        assert one + other == pytest.approx(1, abs=1e-5)
    model = save_checkpoint(tmp_path / "lm", "qwen", CHAT_TEMPLATE)
    made = _clean_twice(text, judged, tmp_path / "l", f"lm:{model}", monkeypatch)
    assert made.toxicity is not None
    assert made.toxicity.threshold.items == 40


def _clean_twice(
    text: Path,
    judged: Path,
    out: Path,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
    **how: Any,
) -> CleanReport:
    """Clean whole, and in chunks of a line with a stop in between: both give the same bytes."""
    from nikawa.cleaning import toxicity_review

    monkeypatch.setattr("nikawa.cleaning.job.CHUNK_CHARS", 1)
    reports = []
    for number in range(2):
        folder = out / str(number)
        review = ToxicityOptions(model=model, judged=judged, flagged=folder / "flagged", **how)
        options = CleanOptions(settings=Settings(similar=1.0), toxicity=review)
        if number:
            find, calls = toxicity_review.Screen.find_reasons, iter(range(99))

            def stop(*given: Any, find: Any = find, calls: Any = calls) -> list[str]:
                if next(calls) == 5:
                    raise KeyboardInterrupt
                return find(*given)  # type: ignore[no-any-return]

            monkeypatch.setattr(toxicity_review.Screen, "find_reasons", stop)
            with pytest.raises(KeyboardInterrupt):
                clean([text], folder / "out.jsonl", options)
            monkeypatch.setattr(toxicity_review.Screen, "find_reasons", find)
        reports.append(clean([text], folder / "out.jsonl", options))
    for name in ("out.jsonl", "flagged/removed.jsonl", "flagged/tasks.jsonl"):
        assert (out / "0" / name).read_bytes() == (out / "1" / name).read_bytes(), name
    assert reports[0].kept == reports[1].kept
    return reports[0]


def test_the_figures_of_a_threshold() -> None:
    draw = np.random.default_rng(3)
    toxic = draw.random(200) < 0.4
    drawn = np.clip(draw.normal(0.35 + 0.3 * toxic, 0.2), 0, 1)
    scores = np.array(np.round(drawn, 2), dtype=np.float64)
    judged = {f"{n}번째 글": bool(one) for n, one in enumerate(toxic)}
    measured = measure_threshold(judged, scores.tolist())
    pairs = [(a > b) + (a == b) / 2 for a in scores[toxic] for b in scores[~toxic]]
    assert measured.auc is not None
    assert measured.auc.value == pytest.approx(np.mean(pairs), abs=1e-6)
    assert measured.auc.low is not None
    assert measured.auc.high is not None
    assert measured.auc.low < float(np.mean(pairs)) < measured.auc.high

    def f1(limit: float) -> float:
        hits = int((toxic & (scores >= limit)).sum())
        return 2 * hits / (int(toxic.sum()) + int((scores >= limit).sum()))

    assert f1(measured.value) == pytest.approx(max(f1(limit) for limit in scores))
    strict = choose_threshold(scores, toxic, 0.95)
    assert (scores[toxic] >= strict).mean() >= 0.95
    assert (scores[toxic] >= strict + 0.02).mean() < 0.95
    given = measure_threshold(judged, scores.tolist(), given=0.5)
    flagged = scores >= 0.5
    assert given.precision is not None
    assert given.recall is not None
    assert given.precision.value == pytest.approx(toxic[flagged].mean(), abs=1e-6)
    assert given.recall.value == pytest.approx(flagged[toxic].mean(), abs=1e-6)


def test_precision_is_not_that_of_the_items_the_threshold_was_chosen_on() -> None:
    """Scores of pure chance: on its own items the best threshold looks useful, cross-fitted it does not."""
    draw = np.random.default_rng(5)
    toxic = np.arange(60) % 2 == 0
    scores = draw.random(60)
    judged = {f"text {n}": bool(one) for n, one in enumerate(toxic)}
    own = measure_threshold(
        judged, scores.tolist(), given=choose_threshold(scores, toxic)
    ).precision
    fair = measure_threshold(judged, scores.tolist()).precision
    assert own is not None
    assert fair is not None
    assert (fair.value or 1) < (own.value or 0)


def test_few_items_and_items_without_a_score() -> None:
    measured = measure_threshold({"a": True, "b": False, "c": False}, [math.inf, 0.2, 0.4])
    assert measured.without_score == 1
    assert measured.precision is None
    assert measured.auc is not None
    assert (measured.auc.value, measured.auc.low) == (1.0, None)
    assert any("two items of each kind" in note for note in measured.notes)
    assert measure_threshold({"a": True, "b": False}, [math.inf, math.inf]).value == 1.0


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('{"text": "a"}', "does not say whether it is toxic"),
        ('{"text": "a", "toxic": 3}', "says neither toxic nor not"),
        ('{"text": "a", "toxic": null}', "says neither toxic nor not"),
        ('{"text": "a", "toxic": true}\n{"text": "a", "toxic": false}', "in two ways"),
        ('{"id": "1", "inputs": {"text": "a"}}', "has no gold label"),
        ('{"id": "1", "inputs": {"t": "a"}, "gold": {"label": "x"}}', "has no input 'text'"),
        ('{"id": "1", "inputs": {"text": "a"}, "gold": 3}', "expected"),
        ("[1]", "Expected"),
        ("", "empty"),
    ],
)
def test_a_bad_file_of_judged_texts_is_told_with_its_line(
    lines: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(lines, "utf-8")
    with pytest.raises(BadInput, match="(?i)" + why):
        read_judged(path)


def test_judged_texts_in_other_words(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    rows = [("a", "Toxic"), ("b", "acceptable"), ("c", 1), ("d", 0), ("e", "yes"), ("f", "OFF")]
    path.write_text("\n".join(json.dumps({"text": t, "label": v}) for t, v in rows), "utf-8")
    expected = {"a": True, "b": False, "c": True, "d": False, "e": True, "f": False}
    assert read_judged(path) == expected
    assert read_judged(path, ["OFF"]) == {**expected, "f": True}
    table = tmp_path / "judged.tsv"
    gold = [
        Example(id=str(n), inputs={"text": t}, gold={"x": v}) for n, (t, v) in enumerate(rows[:2])
    ]
    write_records(table, gold)
    assert read_judged(table) == {"a": True, "b": False}


def test_options_that_do_nothing_are_refused(
    text: Path, tmp_path: Path, judged: Path, server: Any
) -> None:
    out = tmp_path / "o.jsonl"
    base = ("clean", text, "--out", out)
    chat = ("--toxicity", "chat:m", "--base-url", server.url)
    for words, why in (
        (("--judged", judged), "--judged needs a scorer"),
        (("--flagged", tmp_path / "f"), "--flagged needs a scorer"),
        (("--toxicity", "cat", "--base-url", server.url), "takes no settings of a model"),
        (
            (*chat, "--judged", judged, "--toxic", 0.5, "--min-recall", 0.9),
            "the threshold is given",
        ),
        ((*chat, "--toxic", 0.5, "--min-recall", 0.9), "threshold is given"),
        ((*chat, "--judged", tmp_path / "none.jsonl"), "does not exist"),
        (("--toxicity", "chat:m", "--judged", judged), "address of a server"),
        (("--toxicity", "lm:nowhere", "--judged", judged), "nowhere"),
        ((*chat, "--judged", judged, "--flagged", text), "is not a folder"),
        ((*chat, "--judged", judged, "--flagged", "s3://b/f"), "stay on this machine"),
        ((*chat, "--judged", judged, "--set", "no=1"), "no setting 'no'"),
    ):
        result = nikawa(*base, *words)
        assert isinstance(result.exception, BadInput), (words, result.output)
        assert why in str(result.exception), (words, result.exception)
        assert not out.exists()
