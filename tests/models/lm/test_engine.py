"""Log-likelihoods by the tree: equal to separate rows, for several architectures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from nikawa.models.lm.engine import Engine, build_trie  # noqa: E402
from nikawa.models.lm.generate import Answer, Generator, Request, StopFinder  # noqa: E402
from nikawa.models.lm.tokens import Query, make_query  # noqa: E402

SHAPE = {
    "vocab_size": 300,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
GROUPED = {**SHAPE, "num_key_value_heads": 2}
MODELS: dict[str, tuple[Callable[[], Any], bool]] = {
    "llama": (lambda: transformers.LlamaConfig(**GROUPED), True),
    "gpt-neox": (lambda: transformers.GPTNeoXConfig(**SHAPE), True),
    "qwen2": (lambda: transformers.Qwen2Config(**GROUPED), True),
    "mistral": (lambda: transformers.MistralConfig(**GROUPED), True),
    "bloom": (
        lambda: transformers.BloomConfig(
            vocab_size=300, hidden_size=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1
        ),
        False,
    ),
}
"""Configurations, and whether options share a row: ALiBi counts distances by columns."""


@pytest.fixture(scope="module", params=MODELS)
def architecture(request: pytest.FixtureRequest) -> tuple[Any, bool]:
    make, uses_tree = MODELS[request.param]
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(make()).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(3)  # so that tokens differ in likelihood
    return model, uses_tree


def make_queries(count: int = 10) -> list[Query]:
    numbers = np.random.default_rng(0)
    head = tuple(numbers.integers(3, 300, 20).tolist())
    queries = []
    for _ in range(count):
        context = head + tuple(numbers.integers(3, 300, numbers.integers(3, 15)).tolist())
        wholes = []
        for _ in range(4):
            wholes.append(context + tuple(numbers.integers(3, 8, numbers.integers(1, 5)).tolist()))
        queries.append(make_query(context, wholes, head[:16]))
    return queries


def score_by_hand(model: Any, query: Query) -> list[float]:
    """Each continuation alone, without a cache, a mask or padding."""
    values = []
    for branch, scored in zip(query.branches, query.scored, strict=True):
        ids = torch.tensor([query.context + branch])
        logprobs = model(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
        places = range(ids.shape[1] - scored, ids.shape[1])
        values.append(sum(float(logprobs[at - 1, ids[0, at]]) for at in places))
    return values


@torch.inference_mode()
def test_the_tree_equals_each_continuation_alone(architecture: tuple[Any, bool]) -> None:
    model, uses_tree = architecture
    queries = make_queries()
    engine = Engine(model, torch.device("cpu"), pad_token=0, batch_tokens=100)
    values = engine.loglikelihoods(queries)
    assert engine.uses_tree == uses_tree
    for query, found in zip(queries, values, strict=True):
        assert found == pytest.approx(score_by_hand(model, query), abs=1e-4)


@torch.inference_mode()
def test_exact_mode_gives_the_same_bits_in_any_order_and_batch(
    architecture: tuple[Any, bool],
) -> None:
    model, _ = architecture
    queries = make_queries()
    device = torch.device("cpu")
    one = Engine(model, device, pad_token=0, exact=True).loglikelihoods(queries)
    other = Engine(model, device, pad_token=0, exact=True, batch_tokens=7)
    backwards = other.loglikelihoods(queries[::-1])[::-1]
    alone = [Engine(model, device, 0, exact=True).loglikelihoods([q])[0] for q in queries]
    assert one == backwards == alone


class Letters:
    """A tokenizer whose token n is a character, and token 7 a line break."""

    def __len__(self) -> int:
        return 300

    def decode(self, tokens: list[int], skip_special_tokens: bool = True) -> str:
        return "".join("\n" if token == 7 else chr(0x4E00 + token) for token in tokens)

    def batch_decode(self, rows: list[list[int]]) -> list[str]:
        return [self.decode(row) for row in rows]


@torch.inference_mode()
def test_generated_answers_equal_a_plain_loop(architecture: tuple[Any, bool]) -> None:
    model, _ = architecture
    queries = make_queries()
    engine = Engine(model, torch.device("cpu"), pad_token=0)
    engine.prepare(queries[0])
    answers: dict[int, Answer] = {}
    stops = StopFinder(Letters(), frozenset({1}), ("\n",))
    requests = [Request(query.context, query.shared, 9) for query in queries]
    Generator(engine, stops, max_slots=3).generate(requests, answers.__setitem__)
    for place, query in enumerate(queries):
        assert answers[place].tokens == continue_by_hand(model, query.context, 9)


def continue_by_hand(model: Any, context: tuple[int, ...], limit: int) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < limit:
        ids = torch.tensor([[*context, *tokens]])
        token = int(model(input_ids=ids, use_cache=False).logits[0, -1].argmax())
        if token == 1:
            break
        tokens.append(token)
        if token == 7 and any(each != 7 for each in tokens):
            break
    return tokens


def test_branches_that_begin_alike_share_nodes() -> None:
    trie = build_trie([(5, 6), (5, 7), (5, 6, 8)])
    assert trie.tokens == (5, 6)
    assert trie.parents == (-1, 0)
    assert trie.lookups[2] == ((-1, 5), (0, 6), (1, 8))
