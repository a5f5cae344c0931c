"""On a processor, in float32: the same losses and weights as a plain loop over transformers, for every head it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from nikawa.models.encoder.batches import RowStore, plan_epoch
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.train import TrainingJob, train
from nikawa.records import Example, Kind

BATCH, EACH, STEPS, SEED = 8, 6, 20, 1


def _padded(
    tokenizer: Any, firsts: Sequence[str], seconds: Sequence[str] | None, length: int
) -> dict[str, Any]:
    return dict(
        tokenizer(
            list(firsts),
            None if seconds is None else list(seconds),
            padding="max_length",
            max_length=length,
            truncation=True,
            return_tensors="pt",
        )
    )


def _texts(tokenizer: Any, case: Any, examples: Sequence[Example], length: int) -> dict[str, Any]:
    first, *rest = case.task.inputs
    batch = _padded(
        tokenizer,
        [e.inputs[first] for e in examples],
        [e.inputs[rest[0]] for e in examples] if rest else None,
        length,
    )
    gold = [e.gold[case.task.question] for e in examples]
    similar = case.task.kind == "similarity"
    labels = (
        torch.tensor(gold) if similar else torch.tensor([case.task.labels.index(g) for g in gold])
    )
    return {**batch, "labels": labels}


def _choices(tokenizer: Any, case: Any, examples: Sequence[Example], length: int) -> dict[str, Any]:
    questions = [e.inputs["question"] for e in examples for _ in e.inputs["choices"]]
    batch = _padded(
        tokenizer, questions, [c for e in examples for c in e.inputs["choices"]], length
    )
    shaped = {name: value.view(len(examples), -1, length) for name, value in batch.items()}
    return {**shaped, "labels": torch.tensor([e.gold["choice"] for e in examples])}


def _reading(tokenizer: Any, case: Any, examples: Sequence[Example], length: int) -> dict[str, Any]:
    batch = _padded(
        tokenizer,
        [e.inputs["question"] for e in examples],
        [e.inputs["context"] for e in examples],
        length,
    )
    starts, ends = [], []
    for i, example in enumerate(examples):
        answers = example.gold["answers"]
        found = tokenizer(example.inputs["question"], example.inputs["context"])
        a, b = (
            (answers[0]["start"], answers[0]["start"] + len(answers[0]["text"]) - 1)
            if answers
            else (0, 0)
        )
        starts.append(found.char_to_token(a, sequence_index=1) if answers else 0)
        ends.append(found.char_to_token(b, sequence_index=1) if answers else 0)
        assert batch["input_ids"][i, : len(found["input_ids"])].tolist() == found["input_ids"]
    return {**batch, "start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}


def _tagging(tokenizer: Any, case: Any, examples: Sequence[Example], length: int) -> dict[str, Any]:
    batch = _padded(tokenizer, [e.inputs["text"] for e in examples], None, length)
    names = ["O", *(f"{mark}-{label}" for label in case.task.labels for mark in "BI")]
    labels = torch.full(batch["input_ids"].shape, -100)
    for row, example in enumerate(examples):
        found = tokenizer(example.inputs["text"], return_offsets_mapping=True)
        for at, (a, b) in enumerate(found["offset_mapping"]):
            if b > a:
                inside = [s for s in example.gold["spans"] if s.start <= a < s.end]
                name = (
                    f"{'B' if inside[0].start == a else 'I'}-{inside[0].label}" if inside else "O"
                )
                labels[row, at] = names.index(name)
    return {**batch, "labels": labels}


HEADS: dict[Kind, tuple[str, Callable[..., dict[str, Any]]]] = {
    "text": ("AutoModelForSequenceClassification", _texts),
    "inference": ("AutoModelForSequenceClassification", _texts),
    "similarity": ("AutoModelForSequenceClassification", _texts),
    "choice": ("AutoModelForMultipleChoice", _choices),
    "reading": ("AutoModelForQuestionAnswering", _reading),
    "tagging": ("AutoModelForTokenClassification", _tagging),
}

NOISE: dict[Kind, tuple[str, ...]] = {
    "choice": ("classifier.bias",),
    "reading": ("qa_outputs.bias", "bert.encoder.layer.1.output.LayerNorm.bias"),
}
"""Weights that add the same to everything a softmax is over: their gradient is rounding, and AdamW makes it large."""


def _course(encoder: Any, case: Any) -> TrainingJob:
    """What `fit` trains, before it is trained."""
    work, model = encoder._prepare(case.task, case.learn)
    rows = encoder._head.rows(work, case.learn, learn=True)
    return TrainingJob(model, rows, encoder._head.loss, encoder.settings, SEED, torch.device("cpu"))


def _plain(model: Any, tokenizer: Any, case: Any, make: Any, course: TrainingJob) -> list[float]:
    """The training loop as anybody writes it."""
    free = ("bias", "LayerNorm.weight")
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not n.endswith(free)], "weight_decay": 0.01},
        {"params": [p for n, p in named if n.endswith(free)], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=course.settings.learning_rate)
    rate = transformers.get_linear_schedule_with_warmup(optimiser, 2, STEPS)
    store = RowStore(course.rows, course.device)
    longest = int(store.row_lengths().max())
    batches = [b for epoch in range(4) for b in plan_epoch(store, BATCH, longest, (SEED, epoch))][
        :STEPS
    ]
    losses = []
    model.train()
    torch.manual_seed(SEED)
    for batch in batches:
        loss = model(
            **make(tokenizer, case, [case.learn[i] for i in batch.rows], batch.length)
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rate.step()
        optimiser.zero_grad()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("kind", HEADS)
def test_losses_and_weights_after_twenty_steps_are_those_of_a_plain_loop(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, (auto, make) = invented[kind], HEADS[kind]
    assert len(case.learn) == BATCH * EACH
    course = _course(made(epochs=STEPS / EACH, warmup=0.1), case)
    course.model.save_pretrained(tmp_path)
    other = getattr(transformers, auto).from_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(made()._setup.argument)
    with torch.random.fork_rng():
        losses = _plain(other, tokenizer, case, make, course)
    train(course)
    theirs = dict(other.named_parameters())
    for name, ours in course.model.named_parameters():
        if name in NOISE.get(kind, ()):
            continue
        torch.testing.assert_close(
            ours, theirs[name], atol=1e-5, rtol=0, msg=lambda m, n=name: f"{n}: {m}"
        )
    said = [h["loss"] for h in course.history if "loss" in h]
    means = [sum(losses[i : i + EACH]) / EACH for i in range(0, STEPS - EACH + 1, EACH)]
    assert said == pytest.approx(means, abs=1e-5)
    assert any(abs(a - b) > 1e-4 for a, b in pairwise(means))


def test_the_rate_rises_and_falls_as_transformers_has_it() -> None:
    from nikawa.models.encoder.steps import learning_rates

    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2e-5)
    theirs = transformers.get_linear_schedule_with_warmup(optimiser, 2, 17)
    expected = []
    for _ in range(17):
        expected.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        theirs.step()
    assert learning_rates(EncoderSettings(learning_rate=2e-5, warmup=0.1), 17) == pytest.approx(
        expected, abs=1e-12
    )
