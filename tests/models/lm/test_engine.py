"""Log-likelihoods by the tree: equal to separate rows, for several architectures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.models.lm.checkpoints import make_model  # noqa: E402

from nikawa.errors import BadInput  # noqa: E402
from nikawa.models.lm.engine import Engine, build_trie  # noqa: E402
from nikawa.models.lm.generate import Answer, Generator, Request, StopFinder  # noqa: E402
from nikawa.models.lm.tokens import Query, make_query  # noqa: E402

ARCHITECTURES = ("llama", "gpt-neox", "qwen", "mistral", "gemma2", "bloom")
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> tuple[Any, bool]:
    """A model, and whether options share a row: ALiBi counts distances by columns."""
    return make_model(request.param), request.param != "bloom"


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


def test_the_tree_equals_each_continuation_alone(architecture: tuple[Any, bool]) -> None:
    model, uses_tree = architecture
    queries = make_queries()
    engine = Engine(model, CPU, batch_tokens=100)
    values = engine.loglikelihoods(queries)
    assert engine.uses_tree == uses_tree
    for query, each in zip(queries, values, strict=True):
        assert each == pytest.approx(score_by_hand(model, query), abs=1e-4)


def test_exact_mode_gives_the_same_bits_in_any_order_and_batch(
    architecture: tuple[Any, bool],
) -> None:
    model, _ = architecture
    queries = make_queries()
    one = Engine(model, CPU, exact=True).loglikelihoods(queries)
    other = Engine(model, CPU, exact=True, batch_tokens=7)
    backwards = other.loglikelihoods(queries[::-1])[::-1]
    alone = [Engine(model, CPU, exact=True).loglikelihoods([q])[0] for q in queries]
    assert one == backwards == alone


class Letters:
    """A tokenizer whose token n is a character, and token 7 a line break."""

    def __len__(self) -> int:
        return 300

    def decode(self, tokens: list[int], skip_special_tokens: bool = True) -> str:
        return "".join("\n" if token == 7 else chr(0x4E00 + token) for token in tokens)

    def batch_decode(self, rows: list[list[int]]) -> list[str]:
        return [self.decode(row) for row in rows]


def test_generated_answers_equal_a_plain_loop(architecture: tuple[Any, bool]) -> None:
    model, is_batched = architecture
    queries = make_queries()
    engine = Engine(model, CPU)
    engine.prepare(queries[0])
    assert engine.joins_parts == is_batched
    answers: dict[int, Answer] = {}
    stops = StopFinder(Letters(), frozenset({2}), ("\n",))
    limits = [3 + place * 5 % 11 for place in range(len(queries))]
    requests = [
        Request(query.context, query.shared, limit)
        for query, limit in zip(queries, limits, strict=True)
    ]
    Generator(engine, stops, max_slots=3).generate(requests, answers.__setitem__)
    for place, query in enumerate(queries):
        assert answers[place].tokens == continue_by_hand(model, query.context, limits[place])


def test_a_finished_answer_uses_no_position_that_the_model_lacks() -> None:
    """A model with learned positions has no vector for a position above its longest text."""
    import transformers

    torch.manual_seed(0)
    shape = {"n_positions": 24, "n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 420}
    config = transformers.GPT2Config(**shape, bos_token_id=1, eos_token_id=2)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(20)  # tokens differ in likelihood
    engine = Engine(model, CPU)
    contexts = [tuple(range(9, 9 + count)) for count in (20, 3, 4, 5)]
    lengths = [4, 14, 14, 14]
    engine.prepare(make_query(contexts[0][:-1], [contexts[0]]))
    assert engine.joins_parts
    answers: dict[int, Answer] = {}
    requests = [Request(each, 0, limit) for each, limit in zip(contexts, lengths, strict=True)]
    stops = StopFinder(Letters(), frozenset({2}))
    Generator(engine, stops, max_slots=4).generate(requests, answers.__setitem__)
    for place, (context, limit) in enumerate(zip(contexts, lengths, strict=True)):
        expected = continue_by_hand(model, context, limit, line_break=None)
        assert answers[place].tokens == expected


def continue_by_hand(
    model: Any, context: tuple[int, ...], limit: int, line_break: int | None = 7
) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < limit:
        ids = torch.tensor([[*context, *tokens]])
        token = int(model(input_ids=ids, use_cache=False).logits[0, -1].argmax())
        if token == 2:
            break
        tokens.append(token)
        if token == line_break and any(each != line_break for each in tokens):
            break
    return tokens


def test_branches_that_begin_alike_share_nodes() -> None:
    trie = build_trie(((5, 6), (5, 7), (5, 6, 8)))
    assert trie.tokens == (5, 6)
    assert trie.parents == (-1, 0)
    assert trie.lookups[2] == ((-1, 5), (0, 6), (1, 8))


@pytest.mark.parametrize("name", ["mistral", "gemma2"])
def test_texts_longer_than_the_window_see_the_window_only(name: str) -> None:
    """Of ten prompts, some fit a window of 28 tokens and some do not."""
    model = make_model(name, sliding_window=28)
    queries = make_queries()
    lengths = [len(query.context) + max(map(len, query.branches)) for query in queries]
    assert min(lengths) < 28 < max(lengths)
    engine = Engine(model, CPU)
    values = engine.loglikelihoods(queries)
    assert engine.uses_tree
    for query, each in zip(queries, values, strict=True):
        assert each == pytest.approx(score_by_hand(model, query), abs=1e-4)
    answers: dict[int, Answer] = {}
    requests = [Request(query.context, query.shared, 4) for query in queries]
    stops = StopFinder(Letters(), frozenset({2}), ("\n",))
    Generator(engine, stops).generate(requests, answers.__setitem__)
    for place, query in enumerate(queries):
        assert answers[place].tokens == continue_by_hand(model, query.context, 4)


class FullMemory:
    """A model whose memory holds only a few rows."""

    def __init__(self, model: Any, rows: int) -> None:
        self._model, self._rows = model, rows
        self.forward = model.forward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, input_ids: Any, **more: Any) -> Any:
        if len(input_ids) > self._rows:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return self._model(input_ids=input_ids, **more)


def test_when_memory_runs_out_the_batch_halves_and_nothing_is_lost() -> None:
    model, queries = make_model("llama"), make_queries()
    notes: list[str] = []
    kept: dict[int, list[float]] = {}
    engine = Engine(FullMemory(model, 2), CPU, batch_tokens=400, warn=notes.append)
    values = engine.loglikelihoods(
        queries, lambda at, each: kept.update(zip(at, each, strict=True))
    )
    assert [kept[place] for place in range(len(queries))] == values
    for query, each in zip(queries, values, strict=True):
        assert each == pytest.approx(score_by_hand(model, query), abs=1e-4)
    assert notes
    assert notes[0] == "memory ran out: computing 200 tokens at a time from now on"
    answers: dict[int, Answer] = {}
    requests = [Request(query.context, query.shared, 9) for query in queries]
    stops = StopFinder(Letters(), frozenset({2}), ("\n",))
    Generator(engine, stops).generate(requests, answers.__setitem__)
    for place, query in enumerate(queries):
        assert answers[place].tokens == continue_by_hand(model, query.context, 9)


def test_memory_for_less_than_one_row_is_one_line() -> None:
    engine = Engine(FullMemory(make_model("llama"), 2), CPU)
    engine.prepare(make_queries()[0])
    engine.model._rows = 0
    with pytest.raises(
        BadInput, match="the machine is out of memory with 1 prompt at a time; use a"
    ):
        engine.loglikelihoods(make_queries())
    requests = [Request(make_queries()[0].context, 0, 9)]
    with pytest.raises(BadInput, match="out of memory"):
        Generator(engine, StopFinder(Letters(), frozenset())).generate(requests, lambda *_: None)
