"""A training that is killed, saved, stopped early, watched, accumulated: what comes out of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from nikawa.errors import BadInput
from nikawa.models import model
from nikawa.models.encoder.batches import LENGTHS, choose_lengths, plan_batches, shuffle_rows
from nikawa.records import Kind

SETTINGS = {
    "epochs": 25,
    "batch": 8,
    "device": "cpu",
    "learning_rate": 1e-3,
    "checkpoint_steps": 7,
}
CHILD = """
    import json, sys, time, pickle, torch
    from pathlib import Path
    from nikawa.models import model
    torch.set_num_threads(1)
    case = pickle.loads(Path(sys.argv[2]).read_bytes())
    settings = json.loads(sys.argv[4])
    wait = lambda what, done, total: time.sleep(600) if done > 100 else None  # it is never done before it is killed
    model("encoder:" + sys.argv[1], seed=3, settings=settings, folder=Path(sys.argv[3]), progress=wait).fit(*case)
"""


def _child(arguments: list[str]) -> subprocess.Popen[bytes]:
    code = textwrap.dedent(CHILD)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_a_training_killed_at_any_point_ends_with_the_same_weights(
    tiny: Path, invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    import pickle

    case = invented["inference"]
    (tmp_path / "case").write_bytes(pickle.dumps((case.task, case.learn)))
    killed = _child(
        [str(tiny), str(tmp_path / "case"), str(tmp_path / "state"), json.dumps(SETTINGS)]
    )
    state, until = tmp_path / "state" / "training.pt", time.monotonic() + 120
    while not state.exists() and killed.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    done = torch.load(state, weights_only=True)["marks"]["done"]
    assert 0 < done < 150
    for name in ("state", "other"):  # a process of its own for each would only import torch again
        found: Any = model(f"encoder:{tiny}", seed=3, settings=SETTINGS, folder=tmp_path / name)
        found.fit(case.task, case.learn)
        found.save(tmp_path / f"{name}-saved")
    first, second = (
        (tmp_path / f"{name}-saved" / "model.safetensors").read_bytes()
        for name in ("state", "other")
    )
    assert first == second


def test_a_state_of_another_training_is_not_taken_up(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case = invented["text"]
    made(tmp_path).fit(case.task, case.learn[:16])
    again, fresh = made(tmp_path), made()
    again.fit(case.task, case.learn[16:40])
    fresh.fit(case.task, case.learn[16:40])
    assert again.predict(case.task, case.ask) == fresh.predict(case.task, case.ask)


def test_a_damaged_state_is_told_in_one_line(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    (tmp_path / "training.pt").write_bytes(b"no state")
    case = invented["text"]
    with pytest.raises(BadInput, match=r"training\.pt: the training state cannot be read"):
        made(tmp_path).fit(case.task, case.learn)


AUTO: dict[Kind, str] = {
    "inference": "AutoModelForSequenceClassification",
    "choice": "AutoModelForMultipleChoice",
    "reading": "AutoModelForQuestionAnswering",
    "tagging": "AutoModelForTokenClassification",
    "relation": "AutoModelForSequenceClassification",
}


@pytest.mark.parametrize("kind", AUTO)
def test_what_is_saved_is_read_by_plain_transformers(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented[kind], made()
    encoder.fit(case.task, case.learn[:16])
    encoder.save(tmp_path)
    assert (tmp_path / "model.safetensors").is_file()
    plain = getattr(transformers, AUTO[kind]).from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(tokenizer) == plain.get_input_embeddings().num_embeddings
    ids = (
        torch.arange(5, 25).reshape(1, 2, 10)
        if kind == "choice"
        else torch.arange(5, 25).reshape(2, 10)
    )
    with torch.inference_mode():
        ours, theirs = encoder._model(input_ids=ids), plain(input_ids=ids)
    for name, values in theirs.items():
        torch.testing.assert_close(ours[name], values, atol=1e-7, rtol=0)


@pytest.mark.parametrize(
    "kind", ["inference", "similarity", "tagging", "relation", "tree", "dialogue"]
)
def test_a_saved_folder_answers_again_without_training(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented[kind], made(epochs=2)
    encoder.fit(case.task, case.learn)
    encoder.save(tmp_path)
    again = made(checkpoint=tmp_path, epochs=0, seed=99)
    again.fit(case.task, case.learn[:1])
    expected = encoder.predict(case.task, case.ask)
    assert again.predict(case.task, case.ask) == expected
    assert made(checkpoint=tmp_path, epochs=0).predict(case.task, case.ask) == expected


def test_labels_in_another_order_are_those_of_the_checkpoint(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case, encoder = invented["inference"], made(epochs=3)
    encoder.fit(case.task, case.learn)
    encoder.save(tmp_path)
    turned = msgspec.structs.replace(case.task, labels=case.task.labels[::-1])
    again = made(checkpoint=tmp_path, epochs=0)
    again.fit(turned, case.learn)
    assert again.predict(turned, case.ask) == encoder.predict(case.task, case.ask)
    other = msgspec.structs.replace(case.task, labels=("yes", "no"))
    with pytest.raises(BadInput, match="those of the task are yes, no"):
        made(checkpoint=tmp_path, epochs=0).fit(other, case.learn)


def test_gathered_gradients_are_those_of_the_whole_batch(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    whole, parts = (
        made(dropout=0.0, epochs=2, **s) for s in ({"batch": 48}, {"batch": 8, "accumulate": 6})
    )
    whole.fit(case.task, case.learn)
    parts.fit(case.task, case.learn)
    for a, b in zip(whole._model.parameters(), parts._model.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=0)


def test_steps_are_counted_with_what_is_left_over() -> None:
    from nikawa.models.encoder.train import count_updates

    assert count_updates(total=20, epoch_size=10, accumulate=4) == 6
    assert count_updates(total=25, epoch_size=10, accumulate=4) == 8
    assert count_updates(total=7, epoch_size=10, accumulate=1) == 7


def _scorer(values: list[float]) -> Callable[..., float]:
    left = iter(values)
    return lambda *_: next(left)


def test_it_stops_early_and_keeps_its_best_state(tiny: Path, invented: Mapping[Kind, Any]) -> None:
    case = invented["text"]

    def fitted(epochs: float, keep: str, values: list[float], stop: int = 0) -> Any:
        settings = {
            "epochs": epochs,
            "batch": 48,
            "device": "cpu",
            "learning_rate": 1e-3,
            "warmup": 0.0,
            "keep": keep,
            "early_stop": stop,
        }
        found: Any = model(f"encoder:{tiny}", seed=1, settings=settings, score=_scorer(values))
        found.fit(case.task, case.learn, case.ask)
        return found

    best = fitted(6, "best", [0.1, 0.7, 0.6, 0.7, 0.9, 0.9], stop=2)
    assert [h["dev"] for h in best.history if "dev" in h] == [0.1, 0.7, 0.6, 0.7]
    last = fitted(6, "last", [])
    assert "dev" not in last.history[-1]
    kept = [h["loss"] for h in best.history if "loss" in h]
    assert len(kept) == 4
    assert best.predict(case.task, case.ask) != last.predict(case.task, case.ask)


@given(
    st.lists(st.integers(1, 200), min_size=1, max_size=120), st.integers(1, 17), st.integers(0, 9)
)
def test_every_row_once_an_epoch_in_as_many_batches_as_without_buckets(
    sizes: list[int], batch: int, seed: int
) -> None:
    longest = max(sizes)
    made = plan_batches(np.array(sizes), batch, longest, shuffle_rows(len(sizes), seed, 0))
    rows = [row for b in made for row in b.rows if row < len(sizes)]
    assert sorted(rows) == list(range(len(sizes)))
    assert len(made) == -(-len(sizes) // batch)
    assert all(len(b.rows) == batch for b in made)
    assert all(
        sizes[row] <= b.length <= longest for b in made for row in b.rows if row < len(sizes)
    )
    assert {b.length for b in made} <= {*LENGTHS, longest}


def test_progress_tells_loss_speed_and_time_left(tiny: Path, invented: Mapping[Kind, Any]) -> None:
    case, said = invented["text"], []
    settings = {"epochs": 2, "batch": 8, "device": "cpu"}
    found: Any = model(f"encoder:{tiny}", settings=settings, progress=lambda *now: said.append(now))
    found.fit(case.task, case.learn)
    assert [(done, total) for _, done, total in said] == [(6, 12), (12, 12)]
    assert said[0][0].startswith("loss ")
    assert "rows/s, 0:0" in said[0][0]
    assert said[1][0].endswith("0:00 left")


@pytest.mark.parametrize("lora", [0, 2])
def test_bf16_rounds_no_weight_that_is_kept(
    lora: int, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["tagging"]
    before = made()._prepare(case.task, case.learn)[1].state_dict()
    low, full = (
        made(precision=p, epochs=2, learning_rate=1e-5, lora=lora) for p in ("bf16", "float32")
    )
    low.fit(case.task, case.learn)
    full.fit(case.task, case.learn)
    for name, weights in low._model.state_dict().items():
        assert weights.dtype == torch.float32
        torch.testing.assert_close(weights, before[name], atol=2.5e-4, rtol=0)
        torch.testing.assert_close(weights, full._model.state_dict()[name], atol=2.5e-4, rtol=0)
    kept = (
        "bert.embeddings.position_embeddings.weight"
        if lora
        else "bert.embeddings.word_embeddings.weight"
    )
    never = low._model.state_dict()[kept][-1], before[kept][-1]
    torch.testing.assert_close(*never, atol=1e-6, rtol=0)


def test_lengths_are_finer_where_many_batches_gain() -> None:
    sizes = np.repeat([20, 39, 75, 150, 600], [400, 3200, 399, 400, 5])
    assert choose_lengths(sizes, 32, 1) == (*LENGTHS[:3], 40, *LENGTHS[3:])
    more = choose_lengths(sizes, 4, 1)
    assert set(more) - set(LENGTHS) == {40, 160}
    assert choose_lengths(sizes, 4, 2) == tuple(sorted({*LENGTHS, 40, 80, 160}))
    assert choose_lengths(np.array([5]), 32, 3) == LENGTHS
