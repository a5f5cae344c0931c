"""Log-probabilities of whole texts, against the plain softmax of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from nikawa.models.lm.engine import Engine  # noqa: E402
from nikawa.models.lm.texts import score_texts  # noqa: E402

ROWS = [(0, 9, 8, 7), (0, 5), (3,), (0, 11, 12, 13, 14, 15, 16)]


@pytest.fixture(scope="module", params=["llama", "bloom"])
def model(request: pytest.FixtureRequest) -> Any:
    shape = {"vocab_size": 40, "hidden_size": 32, "bos_token_id": 0, "eos_token_id": 1}
    if request.param == "llama":
        config = transformers.LlamaConfig(
            num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, **shape
        )
    else:
        config = transformers.BloomConfig(n_layer=2, n_head=4, **shape)
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 1:
                weight.mul_(5)  # so that tokens differ in likelihood
    return made


@pytest.mark.parametrize("exact", [False, True])
def test_log_probabilities_and_moments_are_those_of_the_softmax(model: Any, exact: bool) -> None:
    engine = Engine(model, torch.device("cpu"), exact=exact, batch_tokens=14)
    counts: list[int] = []
    scored = score_texts(engine, ROWS, moments=True, on_done=counts.append)
    assert sum(counts) == 3
    assert len(scored[2].logprobs) == 0
    for row, scores in zip(ROWS, scored, strict=True):
        if len(row) < 2:
            continue
        with torch.no_grad():
            logits = model(torch.tensor([row])).logits[0, :-1]
        logprobs = logits.double().log_softmax(-1).numpy()
        share = np.exp(logprobs)
        mean = (share * logprobs).sum(-1)
        gold = logprobs[np.arange(len(row) - 1), list(row[1:])]
        assert scores.logprobs == pytest.approx(gold, abs=1e-4)
        assert scores.means == pytest.approx(mean, abs=1e-4)
        variance = (share * (logprobs - mean[:, None]) ** 2).sum(-1)
        assert scores.deviations == pytest.approx(np.sqrt(variance), abs=1e-4)


def test_memory_that_runs_out_halves_the_batch(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(model, torch.device("cpu"), batch_tokens=64)
    forward = model.forward

    def run_out(*args: Any, **keywords: Any) -> Any:
        if len(keywords["input_ids"]) > 1:
            raise RuntimeError("can't allocate memory")
        return forward(*args, **keywords)

    whole = [scores.logprobs.sum() for scores in score_texts(engine, ROWS)]
    monkeypatch.setattr(model, "forward", run_out)
    again = [scores.logprobs.sum() for scores in score_texts(engine, ROWS)]
    assert again == pytest.approx(whole, abs=1e-4)
    assert engine.batch_tokens < 64
