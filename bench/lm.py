"""Local language models: requests per second, here and with lm-eval's Hugging Face backend.

    python -m bench.lm --data DATA --text TEXT --lm-eval FOLDER --out FOLDER

Builds a Llama of 1.1 billion parameters with random weights and a tokenizer trained on TEXT, then
asks JCommonsenseQA, JNLI and JSQuAD with three few-shot examples (the first three rows of dev, which
are not asked). Both tools get the same prompts. `--lm-eval` is an unpacked lm_eval package; without
it only Nikawa is measured. `--layers` and `--hidden` make a model small enough for a CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nikawa.datasets.load import load
from nikawa.datasets.names import tasks
from nikawa.models import model
from nikawa.models.lm.model import LanguageModel
from nikawa.records import Example, Task

SHOTS = 3
CLOSED = ("jcommonsenseqa", "jnli")
READING = "jsquad"
VOCABULARY = 32_000


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lm-eval", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--items", type=int, default=0, help="first items of each set; 0: all")
    parser.add_argument("--reading-items", type=int, default=512)
    parser.add_argument("--answer-tokens", type=int, default=32)
    parser.add_argument("--layers", type=int, default=22)
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", default="32,64,128,256")
    parser.add_argument("--parts", default="closed,exact,float32,reading")
    parser.add_argument("--batch-tokens", type=int, default=0)
    options = parser.parse_args()
    checkpoint = make_checkpoint(options.out / "llama", options)
    parts = options.parts.split(",")
    batches = [int(size) for size in options.batches.split(",")]
    if "closed" in parts:
        for name in CLOSED:
            measure_closed(name, checkpoint, options, batches)
    if "exact" in parts:
        measure_exact(CLOSED[0], checkpoint, options)
    if "float32" in parts and options.lm_eval:
        compare_float32(CLOSED[1], checkpoint, options)
    if "reading" in parts:
        measure_reading(checkpoint, options, batches)


def make_checkpoint(folder: Path, options: argparse.Namespace) -> Path:
    """A Llama with random weights, and a byte-level BPE vocabulary of the text."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    if (folder / "config.json").exists():
        return folder
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train([str(options.text)], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    heads = max(1, options.hidden // 64)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=options.hidden,
        intermediate_size=options.hidden * 11 // 4,
        num_hidden_layers=options.layers,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 8),
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
    )
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16 if device == "cuda" else torch.float32)
        llama = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    size = sum(weight.numel() for weight in llama.parameters())
    print(f"Llama with {size / 1e9:.2f} billion parameters, {VOCABULARY:,} tokens")
    llama.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def read_items(name: str, options: argparse.Namespace) -> tuple[Task, list[Example], list[Example]]:
    """The task, the few-shot examples and the items."""
    task = tasks()[name]
    rows = list(load(f"{name}:dev", data=options.data)["dev"])
    count = options.items if name in CLOSED else options.reading_items
    shots, rest = rows[:SHOTS], rows[SHOTS:]
    return task, shots, rest[: count or None]


def make_model(checkpoint: Path, task: Task, shots: Sequence[Example], **settings: Any) -> Any:
    """The model with its checkpoint open."""
    answerer = model(f"lm:{checkpoint}", settings={"shots": "all", "bos": "off", **settings})
    assert isinstance(answerer, LanguageModel)
    answerer.fit(task, shots)
    return answerer


def time_best(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Seconds of the fastest round, and its result."""
    best, result = float("inf"), None
    for _ in range(rounds):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


def predict_fresh(answerer: Any, task: Task, items: Sequence[Example]) -> Any:
    """Answer everything, the shared part included, as a first call does."""
    answerer._engine._prefixes.clear()
    return answerer.predict(task, items)


def collect_requests(answerer: Any, task: Task, items: Sequence[Example]) -> list[tuple[str, str]]:
    """The prompts and continuations as Nikawa asks them."""
    made = answerer._make_prompts(task, items).items
    return [(item.prompt, text) for item in made for text in item.answers or ("",)]


def ask_lm_eval(
    answerer: Any,
    requests: Sequence[tuple[str, Any]],
    options: argparse.Namespace,
    batch: int,
    kind: str,
) -> list[Any]:
    """The answers of lm-eval's Hugging Face backend around the same weights."""
    sys.path.insert(0, str(options.lm_eval))
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    vocabulary = answerer._vocabulary
    instances = [
        Instance(request_type=kind, doc={}, arguments=request, idx=0) for request in requests
    ]
    with answerer._engine.original_attention():
        backend = HFLM(
            pretrained=answerer._checkpoint.model,
            tokenizer=vocabulary.tokenizer,
            batch_size=batch,
            max_length=vocabulary.max_length,
            add_bos_token=False,
        )
        return list(getattr(backend, kind)(instances, disable_tqdm=True))


def measure_closed(
    name: str, checkpoint: Path, options: argparse.Namespace, batches: Sequence[int]
) -> None:
    """Requests per second on a closed task."""
    task, shots, items = read_items(name, options)
    settings = {"batch_tokens": options.batch_tokens} if options.batch_tokens else {}
    answerer = make_model(checkpoint, task, shots, **settings)
    answerer.predict(task, items[:64])
    requests = collect_requests(answerer, task, items)
    seconds, predictions = time_best(lambda: predict_fresh(answerer, task, items), options.rounds)
    ours = [value for p in predictions for value in parse_sums(p)]
    print(f"\n{name}: {len(items):,} items, {len(requests):,} requests")
    print(f"  nikawa               {len(requests) / seconds:10,.0f} requests/s  ({seconds:.2f} s)")
    words = make_model(checkpoint, task, shots, answer="word", **settings)
    for part in ("_vocabulary", "_checkpoint", "_engine"):
        setattr(words, part, getattr(answerer, part))
    words_seconds, _ = time_best(lambda: predict_fresh(words, task, items), options.rounds)
    print(f"  nikawa, answer=word  {len(requests) / words_seconds:10,.0f} requests/s")
    if options.lm_eval is None:
        return
    best, theirs = float("inf"), []
    by_batch = []
    for batch in batches:
        begin = time.perf_counter()
        answers = ask_lm_eval(answerer, requests, options, batch, "loglikelihood")
        spent = time.perf_counter() - begin
        print(f"  lm-eval, batch {batch:4}  {len(requests) / spent:10,.0f} requests/s")
        by_batch.append([value for value, _ in answers])
        if spent < best:
            best, theirs = spent, by_batch[-1]
    width = len(requests) // len(items)
    print(f"  ratio {best / seconds:.1f}")
    print(f"  nikawa and lm-eval: {compare_choices(ours, theirs, width)}")
    if len(by_batch) > 1:
        agreement = compare_choices(by_batch[0], by_batch[-1], width)
        print(f"  lm-eval with two batch sizes: {agreement}")
    # the noise of the type: how far each tool is from the same weights in float32
    precise = make_model(checkpoint, task, shots, dtype="float32").predict(task, items)
    reference = [value for p in precise for value in parse_sums(p)]
    print(f"  nikawa and float32: {compare_choices(ours, reference, width)}")
    print(f"  lm-eval and float32: {compare_choices(theirs, reference, width)}")


def compare_choices(ones: Sequence[float], others: Sequence[float], width: int) -> str:
    """How far two lists of log-probabilities differ, and how many choices of `width` are the same."""
    differences = [abs(one - other) for one, other in zip(ones, others, strict=True)]
    places = range(0, len(ones), width)
    same = sum(pick_best(ones[i : i + width]) == pick_best(others[i : i + width]) for i in places)
    mean = sum(differences) / len(differences)
    spread = f"log-probabilities differ by {mean:.4f}, at most {max(differences):.3f}"
    return f"{spread}; same choice {same:,} of {len(places):,}"


def parse_sums(prediction: Any) -> list[float]:
    """The log-likelihoods of a prediction's options."""
    import json

    values: list[float] = json.loads(prediction.raw)["sum"]
    return values


def pick_best(values: Sequence[float]) -> int:
    """The place of the largest value."""
    return max(range(len(values)), key=lambda place: values[place])


def measure_exact(name: str, checkpoint: Path, options: argparse.Namespace) -> None:
    """Whether exact mode gives the same bits in any order and batch, and what it costs."""
    task, shots, items = read_items(name, options)
    answerer = make_model(checkpoint, task, shots, exact=True)
    answerer.predict(task, items[:64])
    width = len(collect_requests(answerer, task, items[:1]))
    seconds, first = time_best(lambda: predict_fresh(answerer, task, items), 2)
    answerer._engine.batch_tokens = 4096
    second = predict_fresh(answerer, task, items[::-1])[::-1]
    alone = [predict_fresh(answerer, task, [item])[0] for item in items[:20]]
    same = sum(one.raw == other.raw for one, other in zip(first, second, strict=True))
    same_alone = sum(one.raw == other.raw for one, other in zip(first, alone, strict=False))
    stable = answerer._engine._stable_shapes
    print(f"\n{name}, exact: {len(items) * width / seconds:,.0f} requests/s;")
    print(
        f"  reversed: {same:,} of {len(items):,} items have the same bits; alone: {same_alone} of 20"
    )
    print(f"  shapes in batches: {sum(stable.values())} of {len(stable)}")


def compare_float32(name: str, checkpoint: Path, options: argparse.Namespace) -> None:
    """Log-probabilities in float32, compared with those of lm-eval."""
    task, shots, items = read_items(name, options)
    items = items[:200]
    answerer = make_model(checkpoint, task, shots, dtype="float32")
    predictions = answerer.predict(task, items)
    ours = [value for p in predictions for value in parse_sums(p)]
    requests = collect_requests(answerer, task, items)
    answers = ask_lm_eval(answerer, requests, options, 16, "loglikelihood")
    theirs = [value for value, _ in answers]
    worst = max(abs(one - other) for one, other in zip(ours, theirs, strict=True))
    width = len(requests) // len(items)
    print(f"\n{name}, float32: log-probabilities differ by at most {worst:.1e};")
    print(f"  {compare_choices(ours, theirs, width)}")
    task, shots, items = read_items(READING, options)
    reader = make_model(checkpoint, task, shots, dtype="float32", max_tokens=options.answer_tokens)
    predictions = reader.predict(task, items[:64])
    texts = generate_by_lm_eval(reader, task, items[:64], options, 16)
    print(f"{READING}, float32: {count_same(predictions, texts)}")


def generate_by_lm_eval(
    answerer: Any, task: Task, items: Sequence[Example], options: argparse.Namespace, batch: int
) -> list[str]:
    """The texts that lm-eval generates."""
    until = {"until": ["\n"], "max_gen_toks": options.answer_tokens, "do_sample": False}
    prompts = [prompt for prompt, _ in collect_requests(answerer, task, items)]
    requests = [(prompt, dict(until)) for prompt in prompts]
    return ask_lm_eval(answerer, requests, options, batch, "generate_until")


def count_same(predictions: Sequence[Any], texts: Sequence[str]) -> str:
    """How many generated texts are the same."""
    pairs = zip(predictions, texts, strict=True)
    same = sum((one.raw or "").strip() == other.strip() for one, other in pairs)
    return f"{same:,} of {len(texts):,} texts are the same"


def measure_reading(checkpoint: Path, options: argparse.Namespace, batches: Sequence[int]) -> None:
    """Generated answers per second on reading comprehension."""
    task, shots, items = read_items(READING, options)
    answerer = make_model(checkpoint, task, shots, max_tokens=options.answer_tokens)
    answerer.predict(task, items[:8])
    seconds, predictions = time_best(lambda: predict_fresh(answerer, task, items), 2)
    print(f"\n{READING}: {len(items):,} items, up to {options.answer_tokens} tokens each")
    print(f"  nikawa               {len(items) / seconds:10,.1f} items/s  ({seconds:.2f} s)")
    if options.lm_eval is None:
        return
    best, by_batch = float("inf"), []
    for batch in batches:
        begin = time.perf_counter()
        by_batch.append(generate_by_lm_eval(answerer, task, items, options, batch))
        spent = time.perf_counter() - begin
        print(f"  lm-eval, batch {batch:4}  {len(items) / spent:10,.1f} items/s")
        best = min(best, spent)
    print(f"  ratio {best / seconds:.1f}; {count_same(predictions, by_batch[-1])}")
    same = sum(one == other for one, other in zip(by_batch[0], by_batch[-1], strict=True))
    if len(by_batch) > 1:
        print(f"  lm-eval with two batch sizes: {same:,} of {len(items):,}")


if __name__ == "__main__":
    main()
