"""Log-likelihoods of many continuations in few forward passes.

The prompts of a task begin alike (the instruction, the few-shot examples): that part is computed
once. Each item is one row: its own part of the prompt, then the options as branches of a trie that
starts at the end of the prompt. A tree mask lets a token see the shared part, the item's prompt and
its own ancestors, so every option is scored as if it were alone. Leaves need no row at all: the
log-probability of a token comes from the position before it.

    shared part        item (padded on the left)      branches
    [s s s s s s]   +  [. . c c c c c c]              [n n n]

Rows are sorted by length, so little is padded, and cut to a number of tokens. When memory runs out
the number halves. Architectures that cannot use a tree mask (recurrent ones, ALiBi) get one row per
option; `verify_tree` finds out by computing one item both ways. So do items that are longer than the
sliding window of a model.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.lm.attention import NAME, install
from nikawa.models.lm.tokens import Query, Tokens

BATCH_TOKENS = {"cuda": 16_384, "cpu": 2_048}
"""Tokens computed at a time, by kind of device."""
EXACT_ROWS = {"cuda": 16, "cpu": 1}
"""Rows of every batch in exact mode, by kind of device."""
LENGTH_STEP = 8
"""Rows are padded to a multiple of this: kernels want aligned masks."""
EXACT_STEP = 32
"""The same in exact mode on a GPU: fewer shapes, so that fewer are checked."""
MAX_LOGITS = 1 << 28
"""Logits converted to float32 at a time."""
MAX_PREFIXES = 8
"""Shared parts kept in memory."""
TREE_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.1}
"""How far the tree may be from separate rows before it is not used, by type of the weights."""

PADDING = 0
"""The token of padding. It is never seen, so a checkpoint need not have one for it."""
ORIGINAL_ATTENTION = "_nikawa_original_attention"
"""The attribute of a model that names the attention it was loaded with."""

Report = Callable[[list[int], list[list[float]]], None]
"""Called with the places of the queries that are done, and their log-likelihoods."""


@dataclass(frozen=True)
class Trie:
    """The branches of a query: inner nodes, and where the log-probability of each token is found."""

    tokens: tuple[int, ...]
    """The token of each inner node; a node comes after its parent."""
    parents: tuple[int, ...]
    """The node before it; -1: the end of the prompt."""
    lookups: tuple[tuple[tuple[int, int], ...], ...]
    """For each branch, (node, token) of every token: the token's log-probability is at the node."""


@lru_cache(maxsize=1024)
def build_trie(branches: tuple[Tokens, ...]) -> Trie:
    """Merge branches that begin alike. The items of a task often have the same branches.

    >>> build_trie(((5, 6), (5, 7), (8,)))
    Trie(tokens=(5,), parents=(-1,), lookups=(((-1, 5), (0, 6)), ((-1, 5), (0, 7)), ((-1, 8),)))
    """
    nodes: dict[tuple[int, int], int] = {}
    lookups = []
    for branch in branches:
        node, path = -1, []
        for token in branch[:-1]:
            path.append((node, token))
            node = nodes.setdefault((node, token), len(nodes))
        path.append((node, branch[-1]))
        lookups.append(tuple(path))
    return Trie(
        tuple(token for _, token in nodes), tuple(parent for parent, _ in nodes), tuple(lookups)
    )


@dataclass
class Row:
    """One item of a batch."""

    place: int
    """Its place among the queries."""
    prompt: Tokens
    """The item's own part of the context."""
    trie: Trie
    scored: tuple[int, ...]

    @property
    def length(self) -> int:
        """Tokens to compute."""
        return len(self.prompt) + len(self.trie.tokens)


@dataclass
class Engine:
    """Computes log-likelihoods with one loaded model."""

    model: Any
    device: Any
    exact: bool = False
    batch_tokens: int = 0
    """Tokens at a time; 0: by device."""
    warn: Callable[[str], None] = lambda _text: None
    uses_tree: bool | None = None
    """Whether options share a row; None: not verified yet."""
    _prefixes: OrderedDict[Tokens, Any] = field(default_factory=OrderedDict)
    _stable_shapes: dict[tuple[int, int, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.batch_tokens = self.batch_tokens or BATCH_TOKENS.get(self.device.type, 2_048)
        parameters = inspect.signature(self.model.forward).parameters
        self._keeps_logits = "logits_to_keep" in parameters
        self._takes_positions = "position_ids" in parameters
        self.cache_argument = next(
            (name for name in ("past_key_values", "cache_params", "state") if name in parameters),
            "",
        )
        config = self.model.config
        self._text_config = (
            config.get_text_config() if hasattr(config, "get_text_config") else config
        )
        self._window = find_window(self._text_config)
        # another engine may have switched the attention of the same model
        current = getattr(config, "_attn_implementation", "")
        self._implementation = str(getattr(self.model, ORIGINAL_ATTENTION, current))
        self.joins_parts: bool = self._use_own_attention()

    def loglikelihoods(
        self, queries: Sequence[Query], on_done: Report = lambda _places, _values: None
    ) -> list[list[float]]:
        """The log-likelihood of each continuation of each query."""
        results: list[list[float]] = [[] for _ in queries]
        fitting = [query for query in queries if self._fits_window(query)]
        if fitting:
            self.prepare(max(fitting, key=lambda query: len(query.branches)))
        for prefix, places in self._group_by_prefix(queries):
            rows = [self._make_row(place, queries[place], len(prefix or ())) for place in places]
            for batch, values in self._compute_rows(prefix, rows):
                for row, row_values in zip(batch, values, strict=True):
                    results[row.place] = row_values
                on_done([row.place for row in batch], values)
        return results

    def prepare(self, query: Query) -> None:
        """Find out with one query whether items can share a row, and the shared part be kept apart.

        An architecture may allow both, the first, or neither.
        """
        if self.uses_tree is not None:
            return
        # a few options show it
        few = replace(query, branches=query.branches[:4], scored=query.scored[:4])
        try:
            self.uses_tree = self.verify_tree(few)
            if not self.uses_tree and self.joins_parts:
                self.model.set_attn_implementation(self._implementation)
                self.joins_parts = False
                self.uses_tree = self.verify_tree(few)
        except RuntimeError as problem:
            if not is_out_of_memory(problem):
                raise
            self.halve_batch(1, problem)

    @contextmanager
    def original_attention(self) -> Iterator[None]:
        """Compute with the attention that the model was loaded with."""
        if not self.joins_parts:
            yield
            return
        self.model.set_attn_implementation(self._implementation)
        try:
            yield
        finally:
            self.model.set_attn_implementation(NAME)

    # -- shared parts --

    def _group_by_prefix(
        self, queries: Sequence[Query]
    ) -> Iterator[tuple[Tokens | None, list[int]]]:
        """Queries with the same shared part; None: those that get one row per option."""
        groups: dict[Tokens | None, list[int]] = {}
        for place, query in enumerate(queries):
            in_tree = self.uses_tree and self._fits_window(query)
            groups.setdefault(query.context[: query.shared] if in_tree else None, []).append(place)
        # a group of one has nothing to share, unless results must not depend on the group
        lonely = [] if self.exact else [key for key in groups if key and len(groups[key]) == 1]
        for key in lonely:
            groups.setdefault((), []).extend(groups.pop(key))
        yield from groups.items()

    def _fits_window(self, query: Query) -> bool:
        return self.sees_all(len(query.context) + max(map(len, query.branches)))

    def sees_all(self, length: int) -> bool:
        """Whether no layer has a sliding window shorter than a text."""
        return self._window is None or length <= self._window

    def compute_prefix(self, tokens: Tokens) -> list[tuple[Any, Any]]:
        """Keys and values of each layer for the shared part, computed alone."""
        import torch
        from transformers import DynamicCache

        if tokens in self._prefixes:
            self._prefixes.move_to_end(tokens)
            return self._prefixes[tokens]  # type: ignore[no-any-return]
        cache = DynamicCache()
        ids = torch.tensor([tokens], device=self.device)
        with self.original_attention():
            self.model(input_ids=ids, past_key_values=cache, use_cache=True, **self.keep_logits(1))
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        self._prefixes[tokens] = layers
        if len(self._prefixes) > MAX_PREFIXES:
            self._prefixes.popitem(last=False)
        return layers

    # -- batches --

    def _make_row(self, place: int, query: Query, shared: int) -> Row:
        return Row(place, query.context[shared:], build_trie(query.branches), query.scored)

    def _compute_rows(
        self, prefix: Tokens | None, rows: list[Row]
    ) -> Iterator[tuple[list[Row], list[list[float]]]]:
        """Yield batches with their results; the longest come first, so that memory runs out early
        if it does.
        """
        waiting = sorted(rows, key=lambda row: (-row.length, row.place))
        running: tuple[list[Row], Any] | None = None
        while waiting:
            batch = waiting[: self._count_rows(prefix, waiting)]
            logprobs, problem = None, None
            try:
                if prefix is None:
                    logprobs = self._compute_separately(batch)
                else:
                    logprobs = self._compute_tree(prefix, batch)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                problem = error
            if running is not None:  # the device works on this batch while the last is read
                yield running[0], sum_branches(*running)
                running = None
            if problem is not None:
                together = len(batch) if prefix is not None else self._count_texts(batch)
                self.halve_batch(together, problem)
                continue
            del waiting[: len(batch)]
            running = batch, logprobs
        if running is not None:
            yield running[0], sum_branches(*running)

    def _count_rows(self, prefix: Tokens | None, rows: list[Row]) -> int:
        """Rows of the next batch: the first of `rows` is the longest."""
        if self.exact:
            # batches of exact mode form inside this number; rows without a tree go one by one
            return 1 if prefix is None else EXACT_ROWS.get(self.device.type, 1) ** 2
        per_row = rows[0].length
        if prefix is None:
            branches = rows[0].trie.lookups
            per_row = len(branches) * (len(rows[0].prompt) + max(map(len, branches)))
        return max(1, self.batch_tokens // max(1, per_row))

    def halve_batch(self, rows: int, problem: RuntimeError) -> None:
        """Compute fewer tokens at a time from now on; raise BadInput where that cannot help."""
        if rows <= 1 or self.exact:
            where = "GPU" if self.device.type == "cuda" else "machine"
            raise BadInput(
                f"the {where} is out of memory with {rows} prompt{'s' * (rows > 1)} at a time",
                cure="use a smaller max_length, fewer shots, a quantization or a device_map",
            ) from problem
        import torch

        self.batch_tokens = max(1, self.batch_tokens // 2)
        self.warn(f"memory ran out: computing {self.batch_tokens:,} tokens at a time from now on")
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _compute_tree(self, prefix: Tokens, rows: list[Row]) -> Any:
        """One row per item, the options as branches."""
        if self.exact and self.device.type == "cuda":
            return self._compute_exactly(prefix, rows)
        prompt_length, node_count = measure_rows(rows)
        if not self.exact:
            prompt_length += -(prompt_length + node_count) % LENGTH_STEP
        return self._forward_tree(prefix, rows, prompt_length, node_count)

    def _compute_exactly(self, prefix: Tokens, rows: list[Row]) -> Any:
        """Rows in batches whose shape depends on the row alone.

        A kernel is chosen by the shape of its input. So a row gets the same bits in any company if
        every batch of its shape has the same number of rows, and the row's place in the batch makes
        no difference. The second is checked once per shape; where it fails, rows go one by one.
        """
        import torch

        parts: dict[int, Any] = {}
        shapes: dict[tuple[int, int], list[int]] = {}
        for number, row in enumerate(rows):
            nodes = -(-len(row.trie.tokens) // LENGTH_STEP) * LENGTH_STEP
            length = -(-(len(row.prompt) + nodes) // EXACT_STEP) * EXACT_STEP
            shapes.setdefault((length - nodes, nodes), []).append(number)
        for (prompt_length, nodes), members in shapes.items():
            size = EXACT_ROWS[self.device.type]
            if not self._is_stable(prefix, rows[members[0]], prompt_length, nodes, size):
                size = 1
            for start in range(0, len(members), size):
                batch = members[start : start + size]
                filled = [rows[number] for number in batch] + [rows[batch[0]]] * (size - len(batch))
                logprobs = self._forward_tree(prefix, filled, prompt_length, nodes)
                sizes = [count_lookups(row) for row in filled]
                parts |= dict(zip(batch, logprobs.split(sizes), strict=False))
        return torch.cat([parts[number] for number in range(len(rows))])

    def _is_stable(
        self, prefix: Tokens, row: Row, prompt_length: int, nodes: int, size: int
    ) -> bool:
        """Whether equal rows get equal bits wherever they are in a batch of this shape."""
        key = (len(prefix), prompt_length, nodes)
        if key not in self._stable_shapes:
            logprobs = self._forward_tree(prefix, [row] * size, prompt_length, nodes)
            values = logprobs.reshape(size, -1)
            self._stable_shapes[key] = bool((values == values[:1]).all())
        return self._stable_shapes[key]

    def _forward_tree(
        self, prefix: Tokens, rows: list[Row], prompt_length: int, node_count: int
    ) -> Any:
        """The log-probability of each lookup, still on the device."""
        layout = lay_out(rows, len(prefix), prompt_length, node_count)
        ids, positions, starts, ancestors = (self.send(part) for part in layout)
        arguments: dict[str, Any] = {}
        shared = len(prefix)
        if prefix and self.joins_parts:
            arguments["shared_prefix"] = self.compute_prefix(prefix)
            shared = 0  # the mask covers the rows' own tokens alone
        elif prefix:
            layers = self.compute_prefix(prefix)
            arguments["past_key_values"] = share_prefix(layers, len(rows))
        output = self.model(
            input_ids=ids,
            position_ids=positions,
            attention_mask=make_mask(starts, ancestors, prompt_length, shared, self.dtype),
            use_cache="past_key_values" in arguments,
            **arguments,
            **self.keep_logits(node_count + 1),
        )
        logits = output.logits[:, -(node_count + 1) :]
        return self._gather(logits, list_lookups(rows))

    def send(self, array: np.ndarray[Any, Any]) -> Any:
        """Copy an array to the device without waiting for the work under way there."""
        import torch

        tensor = torch.from_numpy(array)
        if self.device.type != "cuda":
            return tensor.to(self.device)
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def _gather(self, logits: Any, lookups: Sequence[tuple[int, int, int]]) -> Any:
        """The log-probability of each token at its row and column, computed in float32."""
        import torch

        rows, columns, vocabulary = logits.shape
        table = np.array(lookups, np.int64)
        at = table[:, 0] * columns + table[:, 1]
        places, inverse = np.unique(at, return_inverse=True)
        flat = logits.reshape(rows * columns, vocabulary)
        if len(places) < rows * columns:
            flat = flat[self.send(places)]
        step = max(1, MAX_LOGITS // vocabulary)
        norms = [flat[i : i + step].float().logsumexp(-1) for i in range(0, len(places), step)]
        where = self.send(inverse)
        return flat[where, self.send(table[:, 2])].float() - torch.cat(norms)[where]

    def _count_texts(self, rows: Sequence[Row]) -> int:
        """Options that are computed at a time, where each has its own row."""
        if self.exact:
            return 1
        longest = max(len(row.prompt) + max(map(len, row.trie.lookups)) for row in rows)
        texts = sum(len(row.trie.lookups) for row in rows)
        return max(1, min(texts, self.batch_tokens // longest))

    def _compute_separately(self, rows: list[Row]) -> Any:
        """One row per option, padded on the right: for architectures without a tree mask."""
        import torch

        texts = []
        for row in rows:
            for path in row.trie.lookups:
                texts.append((row.prompt, tuple(token for _, token in path)))
        size = self._count_texts(rows)
        parts = [self._forward_texts(texts[i : i + size]) for i in range(0, len(texts), size)]
        return torch.cat(parts)

    def _forward_texts(self, texts: Sequence[tuple[Tokens, Tokens]]) -> Any:
        """The log-probability of each token of each second part, still on the device."""
        length = max(len(prompt) + len(branch) for prompt, branch in texts) - 1
        ids = np.full((len(texts), length), PADDING, np.int64)
        seen = np.zeros((len(texts), length), np.int64)
        lookups = []
        for number, (prompt, branch) in enumerate(texts):
            whole = (prompt + branch)[:-1]
            ids[number, : len(whole)] = whole
            seen[number, : len(whole)] = 1
            lookups += [(number, len(prompt) - 1 + i, token) for i, token in enumerate(branch)]
        with self.original_attention():
            output = self.model(
                input_ids=self.send(ids), attention_mask=self.send(seen), use_cache=False
            )
        return self._gather(output.logits, lookups)

    # -- checks --

    def _use_own_attention(self) -> bool:
        """Switch to attention that keeps the shared part apart, where the architecture allows it."""
        if not getattr(self.model, "_supports_attention_backend", False):
            return False
        if self._implementation not in ("sdpa", "eager"):
            return False
        install()
        setattr(self.model, ORIGINAL_ATTENTION, self._implementation)
        self.model.set_attn_implementation(NAME)
        return True

    def verify_tree(self, query: Query) -> bool:
        """Whether the tree gives an item the log-likelihoods that separate rows give it."""
        if not self._takes_positions or not self._fits_window(query):
            return False
        import torch

        tolerance = TREE_TOLERANCE.get(str(self.dtype).removeprefix("torch."), 0.25)
        alone = [self._make_row(0, query, 0)]
        texts = [(query.context, branch) for branch in query.branches]
        parts = torch.cat([self._forward_texts([text]) for text in texts])
        (separate,) = sum_branches(alone, parts)
        try:
            row = self._make_row(0, query, query.shared)
            prompt_length, nodes = measure_rows([row])
            prefix = query.context[: query.shared]
            padded = prompt_length + LENGTH_STEP - (prompt_length + nodes) % LENGTH_STEP
            logprobs = self._forward_tree(prefix, [row, row], padded, nodes)
            tree = sum_branches([row, row], logprobs)[1]
        except RuntimeError as problem:
            if is_out_of_memory(problem):
                raise
            return False
        except (TypeError, ValueError, AttributeError, NotImplementedError, IndexError):
            return False  # an architecture whose cache or mask is of another kind
        return all(
            abs(one - other) <= tolerance * (1 + len(branch))
            for one, other, branch in zip(tree, separate, query.branches, strict=True)
        )

    @property
    def dtype(self) -> Any:
        """The type that activations are computed in."""
        return getattr(self.model, "dtype", None) or next(self.model.parameters()).dtype

    @property
    def layer_count(self) -> int:
        """Layers with keys and values."""
        return int(self._text_config.num_hidden_layers)

    @property
    def key_shape(self) -> tuple[int, int]:
        """Heads that have keys, and the size of one."""
        config = self._text_config
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        return int(getattr(config, "num_key_value_heads", None) or heads), int(size)

    @property
    def token_bytes(self) -> int:
        """Memory that the keys and values of one token take."""
        heads, size = self.key_shape
        return int(2 * self.layer_count * heads * size * self.dtype.itemsize)

    def keep_logits(self, count: int) -> dict[str, int]:
        """The argument that lets a model compute the last logits only, where it takes one."""
        return {"logits_to_keep": count} if self._keeps_logits else {}


def find_window(config: Any) -> int | None:
    """Tokens that a layer with a sliding window sees; None: every layer sees everything."""
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    uses_window = getattr(config, "use_sliding_window", True)
    if kinds is not None:
        uses_window = any(kind == "sliding_attention" for kind in kinds)
    return window if isinstance(window, int) and uses_window else None


def measure_rows(rows: Sequence[Row]) -> tuple[int, int]:
    """The longest prompt and the most nodes of some rows."""
    return max(len(row.prompt) for row in rows), max(len(row.trie.tokens) for row in rows)


def lay_out(
    rows: Sequence[Row], shared: int, prompt_length: int, node_count: int
) -> tuple[np.ndarray[Any, Any], ...]:
    """Token ids, positions, where each row's prompt starts, and which nodes each node descends from.

    Prompts end at the same column.
    """
    width = prompt_length + node_count
    ids = np.full((len(rows), width), PADDING, np.int64)
    positions = np.full((len(rows), width), shared, np.int64)
    starts = np.empty(len(rows), np.int64)
    ancestors = np.zeros((len(rows), node_count, node_count), bool)
    ancestors[:] = np.eye(node_count, dtype=bool)
    for number, row in enumerate(rows):
        length = len(row.prompt)
        starts[number] = start = prompt_length - length
        ids[number, start:prompt_length] = row.prompt
        positions[number, start:prompt_length] = np.arange(shared, shared + length)
        for node, (token, parent) in enumerate(zip(row.trie.tokens, row.trie.parents, strict=True)):
            before = prompt_length - 1 if parent < 0 else prompt_length + parent
            ids[number, prompt_length + node] = token
            positions[number, prompt_length + node] = positions[number, before] + 1
            if parent >= 0:
                ancestors[number, node] |= ancestors[number, parent]
    return ids, positions, starts, ancestors


def make_mask(starts: Any, ancestors: Any, prompt_length: int, shared: int, dtype: Any) -> Any:
    """The additive mask: 0 where a token sees another, else the lowest number of the type.

    A token always sees itself, padding too: a softmax over nothing would be no number, and spread.
    """
    import torch

    rows, nodes, _ = ancestors.shape
    width = prompt_length + nodes
    at = torch.arange(width, device=starts.device)
    visible = (at[None, None, :] >= starts[:, None, None]) & (
        at[None, None, :] <= at[None, :, None]
    )
    visible[:, prompt_length:, prompt_length:] = ancestors
    visible |= at[None, None, :] == at[None, :, None]
    mask = torch.zeros((rows, 1, width, shared + width), dtype=dtype, device=starts.device)
    mask[:, 0, :, shared:].masked_fill_(~visible, torch.finfo(dtype).min)
    return mask


def share_prefix(layers: list[tuple[Any, Any]], rows: int) -> Any:
    """A cache that gives every row the shared part, and stores nothing."""
    import torch
    from transformers import DynamicCache

    class SharedPrefix(DynamicCache):  # type: ignore[misc]
        def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> Any:
            old_keys, old_values = layers[layer_idx]
            size = (rows, -1, -1, -1)
            return (
                torch.cat((old_keys.expand(size), keys), dim=-2),
                torch.cat((old_values.expand(size), values), dim=-2),
            )

        def get_seq_length(self, *_: Any, **__: Any) -> int:
            return int(layers[0][0].shape[-2])

    return SharedPrefix()


def list_lookups(rows: Sequence[Row]) -> list[tuple[int, int, int]]:
    """Row, column among the kept logits, and token of every token of every branch."""
    return [
        (number, node + 1, token)
        for number, row in enumerate(rows)
        for path in row.trie.lookups
        for node, token in path
    ]


def sum_branches(rows: Sequence[Row], logprobs: Any) -> list[list[float]]:
    """Sum the log-probabilities of the scored tokens of each branch."""
    table = logprobs.double().cpu().numpy()
    results, at = [], 0
    for row in rows:
        values = []
        for path, scored in zip(row.trie.lookups, row.scored, strict=True):
            end = at + len(path)
            values.append(float(table[end - scored : end].sum()))
            at = end
        results.append(values)
    return results


def count_lookups(row: Row) -> int:
    """Tokens of all branches of a row."""
    return sum(map(len, row.trie.lookups))


def is_out_of_memory(problem: RuntimeError) -> bool:
    """Whether an error of torch means that memory ran out."""
    import torch

    words = str(problem)
    return isinstance(problem, torch.cuda.OutOfMemoryError) or "can't allocate memory" in words
