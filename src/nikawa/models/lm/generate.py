"""Greedy generation for many prompts at once.

A batch is a fixed number of slots with room for the longest prompt and its answer. All slots share
the keys and values of the common start of their prompts. When an answer ends, its slot takes the
next prompt, so short answers do not wait for long ones. The shape of a step never changes, so on a
GPU one step is recorded and replayed: the time goes into the model, not into launching its kernels.

A model whose layers cannot use that cache, and a prompt that is longer than a model's sliding window,
are continued one prompt at a time with the cache of transformers. When memory runs out, the number of
slots halves; prompts without a complete answer are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from nikawa.models.lm.engine import Engine, Row, build_trie, is_out_of_memory, lay_out, make_mask
from nikawa.models.lm.tokens import Tokens

MAX_SLOTS = {"cuda": 512, "cpu": 8}
"""Prompts answered at a time, by kind of device."""
MEMORY_SHARE = 0.6
"""Share of the free memory of a GPU that the keys and values of the slots may take."""
REFILL_SHARE = 8
"""New prompts are taken in when one slot in so many is free."""


class Constraint(Protocol):
    """Which tokens may come next, for one answer."""

    def fill(self, mask: Any, row: int) -> None:
        """Write the allowed tokens into a row of a bit mask."""
        ...

    def accept(self, token: int) -> bool:
        """Take the next token; False: the answer is complete."""
        ...


class Constrainer(Protocol):
    """Makes constraints, and applies their bit mask to logits."""

    def start(self, place: int) -> Constraint:
        """The constraint of the answer to one prompt."""
        ...

    def make_mask(self, rows: int) -> Any:
        """A bit mask for so many rows that allows everything."""
        ...

    def apply(self, logits: Any, mask: Any) -> None:
        """Rule out what the mask does not allow."""
        ...


@dataclass(frozen=True)
class Request:
    """A prompt to continue."""

    tokens: Tokens
    shared: int
    """Tokens at its start that other prompts have too."""
    max_tokens: int
    temperature: float = 0.0
    """Above 0, tokens are drawn: the same seed draws the same ones."""
    seed: int = 0


@dataclass
class Answer:
    """What was generated."""

    tokens: list[int] = field(default_factory=list)
    text: str = ""
    was_cut: bool = False
    """Whether it reached `max_tokens`."""


@dataclass
class StopFinder:
    """Finds where an answer ends: a special token or a string."""

    tokenizer: Any
    end_tokens: frozenset[int]
    strings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Find the tokens after which a stop string may be complete: only then is text decoded."""
        size = len(self.tokenizer)
        self._may_complete = np.zeros(size, bool)
        if self.strings:
            marks = {string[-1] for string in self.strings} | {"\ufffd"}
            texts = self.tokenizer.batch_decode([[token] for token in range(size)])
            for token, text in enumerate(texts):
                self._may_complete[token] = any(mark in text for mark in marks)

    def may_end(self, token: int) -> bool:
        """Whether a stop string may end with this token."""
        return token < len(self._may_complete) and bool(self._may_complete[token])

    def cut(self, tokens: Sequence[int]) -> tuple[str, bool]:
        """The text before the first stop string, and whether there is one."""
        text = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        body = len(text) - len(text.lstrip())  # an answer may begin with a line break or a blank
        places = [at for string in self.strings if (at := text.find(string, body)) >= 0]
        return (text[: min(places)], True) if places else (text, False)


class SlotCache:
    """Keys and values of all slots; `columns` says where each slot's next token goes."""

    def __init__(
        self, layers: int, shape: tuple[int, int, int, int], dtype: Any, device: Any
    ) -> None:
        import torch

        empty = torch.zeros((layers, 2, *shape), dtype=dtype, device=device)
        self.layers = [(keys, values) for keys, values in empty]
        self.slots = torch.arange(shape[0], device=device)
        self.columns = torch.zeros(shape[0], dtype=torch.long, device=device)
        self.filling: Any = None
        """The slots that a prompt is written into; None: one token is added to each slot."""

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Store new keys and values, and return those a query may see."""
        old_keys, old_values = self.layers[layer_idx]
        if self.filling is not None:
            length = keys.shape[-2]
            old_keys[self.filling, :, :length] = keys
            old_values[self.filling, :, :length] = values
            return keys, values
        old_keys[self.slots, :, self.columns] = keys[:, :, 0]
        old_values[self.slots, :, self.columns] = values[:, :, 0]
        return old_keys, old_values

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Positions are always passed, so the length is never used."""
        return 0


@dataclass
class Generator:
    """Answers prompts with one engine."""

    engine: Engine
    stops: StopFinder
    constrainer: Constrainer | None = None
    max_slots: int = 0

    def generate(self, requests: Sequence[Request], on_done: Callable[[int, Answer], None]) -> None:
        """Answer every prompt; `on_done` gets the place of each and its answer."""
        groups: dict[Tokens | None, list[int]] = {}
        for place, request in enumerate(requests):
            in_slot = self.engine.joins_parts and self.engine.sees_all(_room(request))
            prefix = request.tokens[: request.shared] if in_slot else None
            groups.setdefault(prefix, []).append(place)
        for prefix, places in groups.items():
            if prefix is None:
                for place in places:
                    on_done(place, self._generate_alone(place, requests[place]))
                continue
            order = sorted(places, key=lambda place: -_room(requests[place]))
            while order:
                # in exact mode the size of a slot may not depend on the other prompts
                batch = _Batch(self, prefix, requests, order[:1] if self.engine.exact else order)
                count, problem = batch.count, None
                try:
                    for place, answer in batch.run():
                        order.remove(place)
                        on_done(place, answer)
                except RuntimeError as error:
                    if not is_out_of_memory(error):
                        raise
                    problem = error.with_traceback(None)  # whose frames hold the slots
                if problem is not None:
                    del batch
                    self.engine.halve_batch(count, problem)
                    self.max_slots = max(1, count // 2)

    def add_token(
        self, answer: Answer, token: int, max_tokens: int, constraint: Constraint | None
    ) -> bool:
        """Add a token to an answer; True: the answer is complete."""
        is_complete = constraint is not None and not constraint.accept(token)
        if token in self.stops.end_tokens:
            is_complete = True
        else:
            answer.tokens.append(token)
        is_full = len(answer.tokens) >= max_tokens
        if is_complete or is_full or self.stops.may_end(token):
            answer.text, has_stop = self.stops.cut(answer.tokens)
            answer.was_cut = not (is_complete or has_stop)
            return is_complete or is_full or has_stop
        return False

    def _generate_alone(self, place: int, request: Request) -> Answer:
        """Continue one prompt with the cache of transformers: for any architecture."""
        import torch

        engine, answer = self.engine, Answer()
        constraint = self.constrainer.start(place) if self.constrainer else None
        fresh, cache = list(request.tokens), None
        is_complete = False
        with engine.original_attention():
            while not is_complete:
                output = engine.model(
                    input_ids=torch.tensor([fresh], device=engine.device),
                    use_cache=True,
                    **({} if cache is None else {engine.cache_argument: cache}),
                )
                cache = getattr(output, engine.cache_argument, None)
                logits = output.logits[:, -1].float()
                (token,) = self._choose(logits, [constraint], [(request, len(answer.tokens))])
                fresh = [token] if cache is not None else [*fresh, token]
                is_complete = self.add_token(answer, token, request.max_tokens, constraint)
        return answer

    def _choose(
        self,
        logits: Any,
        constraints: Sequence[Constraint | None],
        draws: Sequence[tuple[Request, int] | None],
    ) -> list[int]:
        """The likeliest token of each row that its constraint allows, or one drawn at the temperature of its request.

        `draws` has the request of each row and the number of tokens of its answer. A draw adds Gumbel noise to
        the logits: it depends on the seed of the request and the number of the token, on nothing else.
        """
        if self.constrainer is not None:
            mask = self.constrainer.make_mask(len(constraints))
            for row, constraint in enumerate(constraints):
                if constraint is not None:
                    constraint.fill(mask, row)
            self.constrainer.apply(logits, mask)
        for row, drawn in enumerate(draws):
            if drawn is not None and drawn[0].temperature > 0:
                logits[row] = add_noise(logits[row], drawn[0], drawn[1])
        chosen: list[int] = logits.argmax(-1).tolist()
        return chosen


def add_noise(logits: Any, request: Request, step: int) -> Any:
    """Logits whose largest one is a draw from their softmax at the temperature of the request."""
    import torch

    draw = np.random.default_rng((request.seed, step)).gumbel(size=logits.shape[0])
    noise = torch.from_numpy(draw).to(device=logits.device, dtype=torch.float32)
    return (logits.float() / request.temperature + noise).to(logits.dtype)


def _room(request: Request) -> int:
    """Tokens of a prompt and its answer."""
    return len(request.tokens) + request.max_tokens


class _Batch:
    """Slots of one size that are filled until no prompt is left, or memory runs out."""

    def __init__(
        self, generator: Generator, prefix: Tokens, requests: Sequence[Request], order: list[int]
    ) -> None:
        self.generator, self.prefix, self.requests = generator, prefix, requests
        self.engine = generator.engine
        self.waiting = list(order)
        # prompts are padded to the longest one, and every answer begins behind the padded prompt
        prompt = max(len(requests[place].tokens) for place in order) - len(prefix)
        room = prompt + -prompt % 8 + max(requests[place].max_tokens for place in order)
        self.room = room + -room % 8
        self.count = self._count_slots()

    def _count_slots(self) -> int:
        import torch

        engine = self.engine
        limit = self.generator.max_slots or MAX_SLOTS.get(engine.device.type, 8)
        if engine.exact:
            limit = 1
        if engine.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(engine.device)
            free += torch.cuda.memory_reserved(engine.device)
            free -= torch.cuda.memory_allocated(engine.device)
            limit = min(limit, int(free * MEMORY_SHARE / engine.token_bytes / self.room))
        return max(1, min(limit, len(self.waiting)))

    def run(self) -> Iterator[tuple[int, Answer]]:
        """Yield the place and the answer of each prompt that is done."""
        import torch

        engine = self.engine
        shared = engine.compute_prefix(self.prefix) if self.prefix else None
        heads, size = engine.key_shape
        shape = (self.count, heads, self.room, size)
        self.cache = SlotCache(engine.layer_count, shape, engine.dtype, engine.device)
        self.arguments: dict[str, Any] = {"shared_prefix": shared} if shared else {}
        self.places: list[int | None] = [None] * self.count
        self.answers: list[Answer] = [Answer() for _ in range(self.count)]
        self.constraints: list[Constraint | None] = [None] * self.count
        self.starts = torch.zeros(self.count, dtype=torch.long, device=engine.device)
        self.ids = torch.zeros((self.count, 1), dtype=torch.long, device=engine.device)
        self.positions = torch.zeros((self.count, 1), dtype=torch.long, device=engine.device)
        self.at = torch.arange(self.room, device=engine.device)
        step = self._record_step()
        while True:
            free = [slot for slot, place in enumerate(self.places) if place is None]
            is_worth = len(free) * REFILL_SHARE >= self.count or len(free) == self.count
            if self.waiting and is_worth:
                yield from self._fill(free)
                continue
            if len(free) == self.count:
                return
            logits = step()
            yield from self._advance(logits, range(self.count))

    def _fill(self, free: list[int]) -> Iterator[tuple[int, Answer]]:
        """Compute new prompts into free slots, and their first tokens."""
        import torch

        engine, generator = self.engine, self.generator
        longest = len(self.requests[self.waiting[0]].tokens) - len(self.prefix)
        count = min(len(free), len(self.waiting), max(1, engine.batch_tokens // max(1, longest)))
        slots, places = free[:count], self.waiting[:count]
        rows = []
        for place in places:
            rows.append(
                Row(place, self.requests[place].tokens[len(self.prefix) :], NO_BRANCHES, ())
            )
        length = max(len(row.prompt) for row in rows)
        length = min(length + -length % 8, self.room)
        ids, positions, starts, ancestors = (
            engine.send(part) for part in lay_out(rows, len(self.prefix), length, 0)
        )
        self.cache.filling = engine.send(np.array(slots, np.int64))
        try:
            output = engine.model(
                input_ids=ids,
                position_ids=positions,
                attention_mask=make_mask(starts, ancestors, length, 0, engine.dtype),
                past_key_values=self.cache,
                use_cache=True,
                **self.arguments,
                **engine.keep_logits(1),
            )
        finally:
            self.cache.filling = None
        del self.waiting[:count]
        index = torch.tensor(slots, device=engine.device)
        self.starts[index] = starts
        self.cache.columns[index] = length - 1
        self.positions[index] = positions[:, -1:]
        for slot, place in zip(slots, places, strict=True):
            self.places[slot], self.answers[slot] = place, Answer()
            if generator.constrainer is not None:
                self.constraints[slot] = generator.constrainer.start(place)
        yield from self._advance(output.logits[:, -1], slots)

    def _advance(self, logits: Any, slots: Sequence[int]) -> Iterator[tuple[int, Answer]]:
        """Choose the next token of some slots, and yield the answers that end with it."""
        import torch

        generator = self.generator
        draws = [
            None if place is None else (self.requests[place], len(self.answers[slot].tokens))
            for slot in slots
            for place in (self.places[slot],)
        ]
        tokens = generator._choose(logits, [self.constraints[slot] for slot in slots], draws)
        for slot, token in zip(slots, tokens, strict=True):
            place = self.places[slot]
            if place is None:
                continue
            answer, limit = self.answers[slot], self.requests[place].max_tokens
            if generator.add_token(answer, token, limit, self.constraints[slot]):
                self.places[slot], self.constraints[slot] = None, None
                yield place, answer
        index = torch.tensor(list(slots), device=self.engine.device)
        self.ids[index, 0] = torch.tensor(tokens, device=self.engine.device)
        # a slot that is done writes to its last column until a prompt takes it
        columns = (self.cache.columns[index] + 1).clamp_(max=self.room - 1)
        self.cache.columns[index] = columns
        # and stays at position 0: a model with learned positions has none above its longest text
        is_open = [[self.places[slot] is not None] for slot in slots]
        open_slots = torch.tensor(is_open, device=self.engine.device)
        self.positions[index] = (self.positions[index] + 1) * open_slots

    def _forward(self) -> Any:
        """One step: the logits that follow the last token of every slot."""
        import torch

        columns = self.cache.columns[:, None]
        visible = (self.at >= self.starts[:, None]) & (self.at <= columns)
        mask = torch.zeros(visible.shape, dtype=self.engine.dtype, device=self.engine.device)
        mask = mask.masked_fill(~visible, torch.finfo(self.engine.dtype).min)[:, None, None]
        output = self.engine.model(
            input_ids=self.ids,
            position_ids=self.positions,
            attention_mask=mask,
            past_key_values=self.cache,
            use_cache=True,
            **self.arguments,
        )
        return output.logits[:, -1]

    def _record_step(self) -> Callable[[], Any]:
        """A step as a function; on a GPU it is recorded once and replayed."""
        import torch

        if self.engine.device.type != "cuda":
            return self._forward
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(stream):
                for _ in range(2):
                    self._forward()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                logits = self._forward()
        except RuntimeError as problem:
            if is_out_of_memory(problem):
                raise
            self.engine.warn("the model's step cannot be recorded: generating step by step")
            torch.cuda.synchronize()
            return self._forward

        def replay() -> Any:
            graph.replay()
            return logits

        return replay


NO_BRANCHES = build_trie(())
