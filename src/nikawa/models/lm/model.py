"""The language model as a `Model`: prompts, log-likelihoods or generated text, predictions.

Every finished item goes into a journal at once, so a killed run resumes where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from nikawa.errors import BadInput, list_names
from nikawa.models.base import Setup, not_fitted_error, read_settings
from nikawa.models.chat.conversation import begin_conversation
from nikawa.models.chat.estimate import RequestEstimate
from nikawa.models.chat.journal import RecordJournal
from nikawa.models.chat.prompts import draw_shots
from nikawa.models.chat.questions import Questions
from nikawa.models.lm.prompts import Item, PromptMaker
from nikawa.models.lm.records import ItemRecord, read_record
from nikawa.models.lm.settings import LmSettings
from nikawa.models.lm.tokens import ControlTokens, Encoder, Tokens, make_query
from nikawa.printable import cut_middle
from nikawa.records import Example, Prediction, Task

if TYPE_CHECKING:
    from nikawa.models.lm.checkpoint import Checkpoint, Vocabulary
    from nikawa.models.lm.engine import Engine

JOURNAL_FILE = "items.jsonl"
EMPTY_BRANCHES = 32
"""Options that are scored after one empty context at a time."""
EXTRA_TOKENS = 4
"""Tokens that an option may take in addition to those it has on its own."""
MAX_OPTION_CHARS = 40
"""Characters of an option that a message shows."""

Keep = Callable[[int, ItemRecord], None]
"""Called with the place of an item and what was computed for it."""


@dataclass
class Prompts:
    """The prompts of a task as tokens, each short enough for its answer to fit."""

    maker: PromptMaker
    encoder: Encoder
    items: list[Item]
    rows: list[Tokens]
    keys: list[str]
    answer_tokens: int
    """Longest generated answer."""

    @property
    def questions(self) -> Questions:
        """The questions that the prompts ask."""
        return self.maker.questions


class LanguageModel:
    """The model; the checkpoint is opened when it first answers."""

    def __init__(self, setup: Setup) -> None:
        self.name = f"lm:{setup.argument}"
        self.setup = setup
        self.settings = read_settings(LmSettings, setup)
        self._pool: Sequence[Example] | None = None
        self._vocabulary: Vocabulary | None = None
        self._checkpoint: Checkpoint | None = None
        self._engine: Engine | None = None
        self._warnings: dict[str, None] = {}
        self._about: dict[str, Any] = {}
        self._usage: Counter[str] = Counter()
        self._none: Counter[str] = Counter()

    def about(self) -> dict[str, Any]:
        """How the questions were asked, what that took, and what the reader should know."""
        names = ("requests", "tokens_in", "tokens_out", "lost_shots", "truncated")
        usage = {**{name: self._usage[name] for name in names}, "none": dict(self._none)}
        about = {"model": self.name, **self._about, "usage": usage}
        notes = [*self._warnings, *describe_losses(self._usage)]
        return {**about, "notes": notes} if notes else about

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Keep the examples that few-shot examples are drawn from; nothing is learned."""
        draw_shots(task, examples, self.settings.shots, self.setup.seed)
        self._pool = examples

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """One answer per example; those in the journal are not computed again."""
        if self.settings.shots and self._pool is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        prompts = self._make_prompts(task, examples)
        records = self._answer(prompts)
        predictions = [
            read_record(item, record, prompts.questions, self.settings)
            for item, record in zip(prompts.items, records, strict=True)
        ]
        self._none.update(each.why.partition(":")[0] for each in predictions if each.why)
        return predictions

    def estimate(
        self, task: Task, examples: Sequence[Example], planned: set[str]
    ) -> RequestEstimate:
        """Count the prompts and tokens of `predict` with the tokenizer; no weights are read."""
        estimate, counts = RequestEstimate(is_counted=True), Counter[str]()
        if not examples:
            return estimate
        prompts = self._make_prompts(task, examples)
        journal = RecordJournal(self.setup.folder, ItemRecord, JOURNAL_FILE).read_only()
        lengths = self._count_options(prompts)
        for item, row, key in zip(prompts.items, prompts.rows, prompts.keys, strict=True):
            if key in journal or key in planned:
                estimate.kept += 1
                continue
            planned.add(key)
            estimate.requests += 1
            estimate.tokens_in += len(row)
            options = sum(lengths[text] for text in item.answers)
            estimate.tokens_out += options or prompts.answer_tokens
            counts.update(requests=1, lost_shots=bool(item.dropped), truncated=bool(item.truncated))
        estimate.notes = tuple(describe_losses(counts))
        return estimate

    def open(self) -> tuple[Checkpoint, Engine]:
        """The checkpoint and its engine, read when they are first needed."""
        if self._checkpoint is None or self._engine is None:
            from nikawa.models.lm.checkpoint import open_language_model
            from nikawa.models.lm.engine import Engine

            self.setup.progress(f"loading {self.name}", 0, None)
            vocabulary = self.open_vocabulary()
            self._checkpoint = open_language_model(self.setup.argument, self.settings, vocabulary)
            self._engine = Engine(
                self._checkpoint.model,
                self._checkpoint.device,
                exact=self.settings.exact,
                batch_tokens=self.settings.batch_tokens or 0,
                warn=lambda text: self._warnings.setdefault(text, None),
            )
            if names := self._checkpoint.unused:
                note = f"weights that the configuration has no place for were not used: {list_names(names)}"
                self._warnings.setdefault(note, None)
            dtype = str(self._engine.dtype).removeprefix("torch.")
            self._about |= {"dtype": dtype, "device": str(self._checkpoint.device)}
        return self._checkpoint, self._engine

    def open_vocabulary(self) -> Vocabulary:
        """The tokenizer and the length of the texts that the checkpoint reads; no weights."""
        if self._vocabulary is None:
            from nikawa.models.lm.checkpoint import open_vocabulary

            self._vocabulary = open_vocabulary(self.setup.argument, self.settings)
            if self.settings.normalise == "pmi" and self._vocabulary.start_token is None:
                raise BadInput(
                    "the tokenizer has no token for an empty context, which PMI needs",
                    cure="set normalise=sum, token or character",
                )
        return self._vocabulary

    # -- prompts that fit --

    def _make_prompts(self, task: Task, examples: Sequence[Example]) -> Prompts:
        vocabulary, settings = self.open_vocabulary(), self.settings
        pool, seed = self._pool or (), self.setup.seed
        control = ControlTokens(vocabulary.tokenizer)
        conversation = begin_conversation(task, examples, pool, settings, seed, control.break_up)
        maker = PromptMaker(conversation, settings, vocabulary.tokenizer, control)
        encoder = Encoder(vocabulary.tokenizer, maker.choose_start())
        items = [maker.make(example) for example in examples]
        rows = encoder.encode_prompts([i.prompt for i in items], [i.head for i in items])
        limit = settings.max_tokens or conversation.questions.tokens
        prompts = Prompts(maker, encoder, items, rows, [], min(limit, vocabulary.max_length // 2))
        lengths = self._count_options(prompts)
        for place, item in enumerate(items):
            options = [lengths[text] + EXTRA_TOKENS for text in item.answers]
            room = vocabulary.max_length - max(options, default=prompts.answer_tokens)
            least = len(encoder.start) + 1
            if item.answers and (room < least or not all(map(lengths.get, item.answers))):
                raise self._unscorable_error(item, lengths, vocabulary.max_length)
            self._shorten(prompts, place, max(least, room))
        if control.met:
            note = "a blank was put into control tokens that the texts contain"
            self._warnings.setdefault(f"{note}: {list_names(list(control.met))}", None)
        if keyed := len(maker.keyed):
            note = "with equal or empty choices: keys were scored instead of words"
            self._warnings.setdefault(f"{keyed:,} item{'s' * (keyed != 1)} {note}", None)
        if unasked := len(maker.unasked):
            note = "the chat template changes or leaves out the question of"
            self._warnings.setdefault(f"{note} {unasked:,} item{'s' * (unasked != 1)}", None)
        self._about |= {
            **conversation.about(),
            "chat_template": maker.uses_chat,
            "max_length": vocabulary.max_length,
        }
        prompts.keys = self._make_keys(prompts)
        return prompts

    def _unscorable_error(self, item: Item, lengths: dict[str, int], longest: int) -> BadInput:
        """The error for an option that has no tokens, or more than the model reads."""
        option = min(item.answers, key=lambda text: (lengths[text] > 0, -lengths[text]))
        what = f"the option {cut_middle(option.strip(), MAX_OPTION_CHARS)!r}"
        if lengths[option]:
            what += f" has {lengths[option]:,} tokens, and {self.name} reads {longest:,}"
        else:
            what += f" has no token in the vocabulary of {self.name}"
        cure = "shorten the option, or choose another checkpoint"
        return BadInput(what, cure=cure if self.settings.answer == "key" else "set answer=key")

    def _count_options(self, prompts: Prompts) -> dict[str, int]:
        """The tokens of each option on its own."""
        texts = list(dict.fromkeys(text for item in prompts.items for text in item.answers))
        rows = prompts.encoder.encode_parts(texts)
        return {text: len(row) for text, row in zip(texts, rows, strict=True)}

    def _shorten(self, prompts: Prompts, place: int, room: int) -> None:
        """Drop few-shot examples until a prompt fits, then its beginning."""
        maker, encoder = prompts.maker, prompts.encoder
        item, row = prompts.items[place], prompts.rows[place]
        while len(row) > room and item.dropped < maker.conversation.shot_count:
            item = maker.make(item.example, item.dropped + 1)
            (row,) = encoder.encode([item.prompt])
        if len(row) > room:
            item = replace(item, truncated=len(row) - room, head="")
            row = encoder.shorten(row, room)
        prompts.items[place], prompts.rows[place] = item, row

    def _make_keys(self, prompts: Prompts) -> list[str]:
        """What the results of items are looked up by: whatever defines the computation."""
        from nikawa.models.encoder.device import choose_device
        from nikawa.models.lm.checkpoint import choose_dtype

        settings = self.settings
        dtype = str(choose_dtype(settings, choose_device(settings)))
        common = (prompts.encoder.start, dtype, settings.exact)
        generation = (
            prompts.questions.task.name,
            settings.stop,
            prompts.answer_tokens,
            settings.constrained,
        )
        return [item.key(*common, *(() if item.answers else generation)) for item in prompts.items]

    # -- results --

    def _answer(self, prompts: Prompts) -> list[ItemRecord]:
        """A record for each item: from the journal, or computed now."""
        import torch

        keys, total = prompts.keys, len(prompts.items)
        with RecordJournal(self.setup.folder, ItemRecord, JOURNAL_FILE) as journal:
            # equal prompts have equal results
            missing = {key: at for at, key in enumerate(keys) if key not in journal.replies}
            done = total - len(missing)

            def keep(_place: int, record: ItemRecord) -> None:
                nonlocal done
                done += 1
                journal.add(record)
                self.setup.progress(f"asking {self.name}", done, total)

            closed = [at for at in missing.values() if prompts.items[at].answers]
            generated = [at for at in missing.values() if not prompts.items[at].answers]
            try:
                with torch.inference_mode():
                    if closed:
                        self._score(closed, prompts, keep)
                    if generated:
                        self._generate(generated, prompts, keep)
            finally:
                stored = journal.replies.values()
                self._count(stored, is_whole=self.setup.folder is not None)
            return [journal.replies[key] for key in keys]

    def _score(self, places: Sequence[int], prompts: Prompts, keep: Keep) -> None:
        """Compute the log-likelihoods of the options."""
        _, engine = self.open()
        items = [prompts.items[place] for place in places]
        queries = prompts.encoder.join_queries(
            [item.prompt for item in items],
            [prompts.rows[place] for place in places],
            [item.answers for item in items],
            [item.head for item in items],
        )
        empty = self._score_alone(prompts.encoder, [item.answers for item in items])

        def on_done(batch: list[int], values: list[list[float]]) -> None:
            for number, logprobs in zip(batch, values, strict=True):
                item, query = items[number], queries[number]
                record = ItemRecord(
                    key=prompts.keys[places[number]],
                    logprobs=list(logprobs),
                    counts=list(query.scored),
                    empty=[empty[text] for text in item.answers] if empty else None,
                    tokens_in=len(query.context),
                    tokens_out=sum(query.scored),
                    dropped=item.dropped,
                    truncated=item.truncated,
                )
                keep(places[number], record)

        engine.loglikelihoods(queries, on_done)

    def _score_alone(
        self, encoder: Encoder, answers: Sequence[Sequence[str]]
    ) -> dict[str, float | None]:
        """The log-likelihood of each option after an empty context, for PMI."""
        checkpoint, engine = self.open()
        start = checkpoint.start_token
        if start is None:
            return {}
        texts = list(dict.fromkeys(text for row in answers for text in row))
        rows = [(start, *row) for row in encoder.encode_parts(texts)]
        # in exact mode no result may depend on the others
        size = 1 if self.settings.exact else EMPTY_BRANCHES
        queries = [make_query((start,), rows[i : i + size]) for i in range(0, len(rows), size)]
        values = [value for each in engine.loglikelihoods(queries) for value in each]
        return dict(zip(texts, values, strict=True))

    def _generate(self, places: Sequence[int], prompts: Prompts, keep: Keep) -> None:
        """Generate the answers."""
        from nikawa.models.lm.generate import Answer, Generator, Request, StopFinder

        checkpoint, engine = self.open()
        questions = prompts.questions
        requests = []
        for place in places:
            row = prompts.rows[place]
            shared = prompts.encoder.count_shared(row, prompts.items[place].head)
            limit = min(prompts.answer_tokens, checkpoint.max_length - len(row))
            requests.append(Request(row, shared, limit))
        # a model without a chat template goes on with another question
        is_open = questions.is_structured or prompts.maker.uses_chat
        stops = self.settings.stop or (() if is_open else ("\n",))
        finder = StopFinder(checkpoint.tokenizer, checkpoint.end_tokens, stops)
        examples = [prompts.items[place].example for place in places]
        constrainer = self._make_constrainer(questions, examples)
        row = requests[0].tokens
        engine.prepare(make_query(row[:-1], [row], row[: requests[0].shared]))

        def on_done(number: int, answer: Answer) -> None:
            place = places[number]
            item = prompts.items[place]
            record = ItemRecord(
                key=prompts.keys[place],
                text=answer.text,
                was_cut=answer.was_cut,
                tokens_in=len(prompts.rows[place]),
                tokens_out=len(answer.tokens),
                dropped=item.dropped,
                truncated=item.truncated,
            )
            keep(place, record)

        Generator(engine, finder, constrainer).generate(requests, on_done)

    def _make_constrainer(self, questions: Questions, examples: Sequence[Example]) -> Any:
        """What holds a structured answer to its schema; None: answers are free text."""
        setting = self.settings.constrained
        if setting == "off" or self.settings.extract:
            return None
        if not questions.is_structured and setting != "on":
            return None
        from nikawa.models.lm.grammar import UnusableGrammar, make_constrainer

        schemas = [questions.schema(example) for example in examples]
        tokenizer = self.open_vocabulary().tokenizer
        try:
            constrainer = make_constrainer(tokenizer, schemas, required=setting == "on")
        except UnusableGrammar as problem:
            self._warnings.setdefault(f"answers are not constrained: {problem}", None)
            return None
        if constrainer is not None:
            self._about["grammar"] = f"llguidance {version('llguidance')}"
        return constrainer

    def _count(self, records: Iterable[ItemRecord], *, is_whole: bool) -> None:
        """Count prompts and tokens; `is_whole`: the journal has those of earlier calls too."""
        if is_whole:
            self._usage.clear()
        for record in records:
            self._usage["requests"] += 1
            self._usage["tokens_in"] += record.tokens_in
            self._usage["tokens_out"] += record.tokens_out
            self._usage["lost_shots"] += bool(record.dropped)
            self._usage["truncated"] += bool(record.truncated)


def describe_losses(counts: Counter[str]) -> Iterable[str]:
    """What a table of results must say about prompts that did not fit."""
    total = f"{counts['requests']:,} prompt{'s' * (counts['requests'] != 1)}"
    if count := counts["lost_shots"]:
        yield f"{count:,} of {total} did not fit and lost few-shot examples"
    if count := counts["truncated"]:
        yield f"{count:,} of {total} did not fit and lost their beginning"
