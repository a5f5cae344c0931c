"""The language model as a `Model`: prompts, log-likelihoods or generated text, predictions.

Every finished item goes into a journal at once, so a killed run resumes where it stopped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.answers.extract import read_extracts
from nikawa.io.answers.replies import blank_thoughts, find_json
from nikawa.models.base import Setup, not_fitted_error, read_settings
from nikawa.models.chat.journal import RecordJournal, compute_digest
from nikawa.models.chat.logprobs import softmax
from nikawa.models.chat.model import detect_language
from nikawa.models.chat.prompts import draw_shots, drop_same_question, find_template
from nikawa.models.chat.questions import QUESTIONS, Questions, SimilarityQuestions
from nikawa.models.lm.settings import LmSettings
from nikawa.models.lm.tokens import Encoder, Tokens, make_query
from nikawa.records import Example, Prediction, Task

JOURNAL_FILE = "items.jsonl"
SCALE_STEP = 0.1
"""Distance between the values of a scale that are scored: prompts ask for one decimal."""
MAX_SCALE_VALUES = 1001
EMPTY_BRANCHES = 32
"""Options that are scored after one empty context at a time."""


class ItemRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was computed for one item."""

    key: str
    """Digest of the prompt, the options and what defines the computation."""
    logprobs: list[float] | None = None
    """Log-likelihood of each option."""
    counts: list[int] | None = None
    """Tokens of each option."""
    empty: list[float] | None = None
    """Log-likelihood of each option after an empty context."""
    text: str | None = None
    """Generated text."""
    was_cut: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    dropped: int = 0
    """Few-shot examples that did not fit into the prompt."""
    truncated: int = 0
    """Tokens cut off at the start of a prompt that does not fit even without few-shot examples."""


@dataclass(frozen=True)
class Item:
    """One example as the model is asked about it."""

    example: Example
    prompt: str
    head: str
    """The start of the prompt that other items share."""
    answers: tuple[str, ...] = ()
    """Texts of the options as continuations of the prompt; empty: an answer is generated."""
    values: tuple[Any, ...] = ()
    dropped: int = 0
    truncated: int = 0

    def key(self, *setting: Any) -> str:
        """What its result is looked up by."""
        return compute_digest(self.prompt, self.answers, *setting)


class PromptMaker:
    """Builds the prompts of one task: with the tokenizer's chat template, or as plain text."""

    def __init__(
        self,
        questions: Questions,
        settings: LmSettings,
        shots: Sequence[Example],
        tokenizer: Any,
    ) -> None:
        self.questions, self.settings, self.shots = questions, settings, shots
        self.tokenizer = tokenizer
        self.shot_count = len(shots) if settings.shots == "all" else settings.shots
        self.uses_chat = choose_chat(settings, tokenizer)
        self._system = questions.template.fill("system", questions.common_slots())
        self._turns: dict[int, tuple[str, str]] = {}
        for shot in shots:
            question = questions.template.fill("user", questions.slots(shot))
            self._turns[id(shot)] = question, self._format_gold(shot)
        self._has_system = settings.system

    def _format_gold(self, shot: Example) -> str:
        """The answer of a few-shot example, in the form that is asked for."""
        gold = shot.gold[self.questions.task.question]
        options = self.questions.options(shot)
        if options is not None and self.settings.answer == "word" and gold in options.values:
            return options.words[options.values.index(gold)]
        return self.questions.format_gold(shot, gold, as_json=False)

    def make(self, example: Example, drop: int = 0) -> Item:
        """The prompt of an example, without the first `drop` few-shot examples."""
        questions = self.questions
        shots = drop_same_question(questions.task, self.shots, example, self.shot_count)[drop:]
        turns = [self._turns[id(shot)] for shot in shots]
        question = questions.template.fill("user", questions.slots(example))
        prompt = (
            self._format_chat(turns, question) if self.uses_chat else self._join(turns, question)
        )
        at = prompt.rfind(question.strip())
        head = prompt[: max(0, at)]
        lead = "" if self.uses_chat else self.settings.delimiter
        texts, values = self._list_answers(example)
        return Item(
            example, prompt, head, tuple(lead + text for text in texts), tuple(values), dropped=drop
        )

    def _list_answers(self, example: Example) -> tuple[Sequence[str], Sequence[Any]]:
        """The texts that are scored, and the values they mean; none: the answer is generated."""
        options = self.questions.options(example)
        if options is not None:
            texts = options.words if self.settings.answer == "word" else options.keys
            if len(set(texts)) < len(texts):  # two choices with the same words
                texts = options.keys
            return texts, options.values
        if isinstance(self.questions, SimilarityQuestions):
            values = list_scale_values(*self.questions.scale)
            return [f"{value:.1f}" for value in values], values
        return (), ()

    def _join(self, turns: Sequence[tuple[str, str]], question: str) -> str:
        parts = [self._system] if self._system else []
        parts += [f"{asked}{self.settings.delimiter}{answer}" for asked, answer in turns]
        return self.settings.separator.join([*parts, question])

    def _format_chat(self, turns: Sequence[tuple[str, str]], question: str) -> str:
        """The prompt by the chat template; a template that knows no system message gets its text
        before the first question.
        """
        messages = []
        for asked, answer in (*turns, (question, None)):
            messages.append({"role": "user", "content": asked})
            if answer is not None:
                messages.append({"role": "assistant", "content": answer})
        system = [{"role": "system", "content": self._system}] if self._system else []
        if system and self._has_system:
            try:
                return self._apply_template([*system, *messages])
            except Exception:  # a template raises what it likes
                self._has_system = False
        if system:
            first = f"{self._system}\n\n{messages[0]['content']}"
            messages[0] = {"role": "user", "content": first}
        try:
            return self._apply_template(messages)
        except Exception as problem:
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise BadInput(
                f"the chat template of the tokenizer fails: {reason}", cure="set chat=off"
            ) from None

    def _apply_template(self, messages: list[dict[str, str]]) -> str:
        text: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return text


def choose_chat(settings: LmSettings, tokenizer: Any) -> bool:
    """Whether prompts use the chat template."""
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if settings.chat == "on" and not has_template:
        raise BadInput("the tokenizer has no chat template", cure="set chat=off or chat=auto")
    return settings.chat == "on" or (settings.chat == "auto" and has_template)


def list_scale_values(low: float, high: float) -> list[float]:
    """The values of a scale that are scored, one decimal apart.

    >>> list_scale_values(0.0, 0.3)
    [0.0, 0.1, 0.2, 0.3]
    """
    count = round((high - low) / SCALE_STEP) + 1
    if not 2 <= count <= MAX_SCALE_VALUES:
        raise BadInput(f"the scale from {low:g} to {high:g} cannot be scored value by value")
    return [round(low + i * SCALE_STEP, 1) for i in range(count)]


class LanguageModel:
    """The model; the checkpoint is opened when it first answers."""

    def __init__(self, setup: Setup) -> None:
        self.name = f"lm:{setup.argument}"
        self.setup = setup
        self.settings = read_settings(LmSettings, setup)
        self._pool: Sequence[Example] | None = None
        self._checkpoint: Any = None
        self._engine: Any = None
        self._warnings: dict[str, None] = {}
        self._about: dict[str, Any] = {}
        self._usage: Counter[str] = Counter()
        self._none: Counter[str] = Counter()

    def about(self) -> dict[str, Any]:
        """How the questions were asked, what that took, and what the reader should know."""
        about = {"model": self.name, **self._about}
        usage = {name: self._usage[name] for name in ("requests", "tokens_in", "tokens_out")}
        about["usage"] = {**usage, "none": dict(self._none)}
        about["dropped_shots"] = self._usage["dropped"]
        about["truncated_prompts"] = self._usage["truncated"]
        if notes := self.list_notes():
            about["notes"] = notes
        return about

    def list_notes(self) -> list[str]:
        """What a table of results must say about the prompts."""
        notes, total = list(self._warnings), self._usage["requests"]
        if count := self._usage["dropped"]:
            notes.append(f"{count:,} of {total:,} prompts did not fit and lost few-shot examples")
        if count := self._usage["truncated"]:
            notes.append(f"{count:,} of {total:,} prompts did not fit and lost their beginning")
        return notes

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
        import torch

        with torch.inference_mode():
            return self._predict(task, examples)

    def _predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        checkpoint = self._open()
        questions = self._make_questions(task, examples)
        shots = draw_shots(task, self._pool or (), self.settings.shots, self.setup.seed)
        maker = PromptMaker(questions, self.settings, shots, checkpoint.tokenizer)
        items = self._make_items(maker, examples)
        self._describe(maker)
        records = self._compute(questions, items, maker)
        self._count(records)
        predictions = [
            read_record(item, record, questions, self.settings)
            for item, record in zip(items, records, strict=True)
        ]
        for prediction in predictions:
            if prediction.why:
                self._none[prediction.why.partition(":")[0]] += 1
        return predictions

    def _open(self) -> Any:
        if self._checkpoint is None:
            from nikawa.models.lm.checkpoint import open_language_model
            from nikawa.models.lm.engine import Engine

            self.setup.progress(f"loading {self.name}", 0, None)
            self._checkpoint = checkpoint = open_language_model(self.setup.argument, self.settings)
            self._engine = Engine(
                checkpoint.model,
                checkpoint.device,
                checkpoint.pad_token,
                exact=self.settings.exact,
                batch_tokens=self.settings.batch_tokens or 0,
                warn=lambda text: self._warnings.setdefault(text, None),
            )
        return self._checkpoint

    def _make_questions(self, task: Task, examples: Sequence[Example]) -> Questions:
        setting = self.settings.language
        language = detect_language(task, examples) if setting == "auto" else setting
        template = find_template(task, language, self.settings.prompt)
        return QUESTIONS[task.kind](task, template, language, self._pool or ())

    def _describe(self, maker: PromptMaker) -> None:
        template = maker.questions.template
        self._about = {
            "task": maker.questions.task.name,
            "language": maker.questions.language,
            "prompt": template.name,
            "prompt_version": template.version,
            "chat_template": maker.uses_chat,
            "shots": [shot.id for shot in maker.shots[: maker.shot_count]],
            "dtype": str(self._engine.dtype).removeprefix("torch."),
            "device": str(self._checkpoint.device),
        }

    # -- prompts that fit --

    def _make_encoder(self, maker: PromptMaker) -> Encoder:
        add = {"on": True, "off": False}.get(self.settings.bos, not maker.uses_chat)
        return Encoder(self._checkpoint.tokenizer, add)

    def _make_items(self, maker: PromptMaker, examples: Sequence[Example]) -> list[Item]:
        """The prompts, each short enough for its answer to fit."""
        self._encoder = self._make_encoder(maker)
        items = [maker.make(example) for example in examples]
        prompts, heads = [item.prompt for item in items], [item.head for item in items]
        self._rows = self._encoder.encode_prompts(prompts, heads)
        for place in range(len(items)):
            items[place], self._rows[place] = self._shorten(maker, items[place], self._rows[place])
        return items

    def _shorten(self, maker: PromptMaker, item: Item, row: Tokens) -> tuple[Item, Tokens]:
        """Drop few-shot examples until a prompt fits, then its beginning."""
        room = self._find_room(maker, item)
        while len(row) > room and item.dropped < maker.shot_count:
            item = maker.make(item.example, item.dropped + 1)
            row = self._encoder.encode([item.prompt])[0]
        over = len(row) - room
        return (replace(item, truncated=over, head=""), row[over:]) if over > 0 else (item, row)

    def _find_room(self, maker: PromptMaker, item: Item) -> int:
        """Tokens that a prompt may have."""
        longest = max((len(text) for text in item.answers), default=0) + 1
        if not item.answers:
            longest = self.settings.max_tokens or maker.questions.tokens
            longest = min(longest, self._checkpoint.max_length // 2)
        return max(1, int(self._checkpoint.max_length) - longest)

    # -- results --

    def _compute(
        self, questions: Questions, items: Sequence[Item], maker: PromptMaker
    ) -> list[ItemRecord]:
        """A record for each item: from the journal, or computed now."""
        defining = (self._encoder.add_special_tokens, str(self._engine.dtype), self.settings.exact)
        generation = (questions.task.name, self.settings.stop, self.settings.max_tokens)
        keys = [item.key(*defining, *(() if item.answers else generation)) for item in items]
        with RecordJournal(self.setup.folder, ItemRecord, JOURNAL_FILE) as journal:
            missing = [place for place, key in enumerate(keys) if key not in journal.replies]
            closed = [place for place in missing if items[place].answers]
            is_open = [place for place in missing if not items[place].answers]
            done = len(items) - len(missing)

            def keep(place: int, record: ItemRecord) -> None:
                nonlocal done
                done += 1
                journal.add(record)
                self.setup.progress(f"asking {self.name}", done, len(items))

            if closed:
                self._score(closed, items, keys, keep)
            if is_open:
                self._generate(is_open, items, keys, questions, keep)
            return [journal.replies[key] for key in keys]

    def _score(
        self,
        places: Sequence[int],
        items: Sequence[Item],
        keys: Sequence[str],
        keep: Callable[[int, ItemRecord], None],
    ) -> None:
        """Compute the log-likelihoods of the options."""
        queries = self._encoder.join_queries(
            [items[place].prompt for place in places],
            [self._rows[place] for place in places],
            [items[place].answers for place in places],
            [items[place].head for place in places],
        )
        empty = self._score_alone([items[place].answers for place in places])

        def on_done(batch: list[int], values: list[list[float]]) -> None:
            for number, found in zip(batch, values, strict=True):
                place, query = places[number], queries[number]
                item = items[place]
                keep(
                    place,
                    ItemRecord(
                        key=keys[place],
                        logprobs=found,
                        counts=list(query.scored),
                        empty=[empty[text] for text in item.answers] if empty else None,
                        tokens_in=len(query.context),
                        tokens_out=sum(query.scored),
                        dropped=item.dropped,
                        truncated=item.truncated,
                    ),
                )

        self._engine.loglikelihoods(queries, on_done)

    def _score_alone(self, answers: Sequence[Sequence[str]]) -> dict[str, float]:
        """The log-likelihood of each option after an empty context, for PMI."""
        start = self._checkpoint.start_token
        if start is None:
            return {}
        texts = list(dict.fromkeys(text for row in answers for text in row))
        rows = [(start, *row) for row in self._encoder.encode(texts, special=False)]
        # in exact mode no result may depend on the others
        size = 1 if self.settings.exact else EMPTY_BRANCHES
        queries = [make_query((start,), rows[i : i + size]) for i in range(0, len(rows), size)]
        values = [value for found in self._engine.loglikelihoods(queries) for value in found]
        return dict(zip(texts, values, strict=True))

    def _generate(
        self,
        places: Sequence[int],
        items: Sequence[Item],
        keys: Sequence[str],
        questions: Questions,
        keep: Callable[[int, ItemRecord], None],
    ) -> None:
        """Generate the answers."""
        from nikawa.models.lm.generate import Answer, Generator, Request, StopFinder

        checkpoint, engine = self._checkpoint, self._engine
        limit = self.settings.max_tokens or questions.tokens
        requests = []
        for place in places:
            row = self._rows[place]
            shared = self._encoder.count_shared(row, items[place].head)
            requests.append(Request(row, shared, min(limit, checkpoint.max_length - len(row))))
        stops = self.settings.stop or (() if questions.is_structured else ("\n",))
        finder = StopFinder(checkpoint.tokenizer, checkpoint.end_tokens, tuple(stops))
        constrainer = self._make_constrainer(questions, [items[place].example for place in places])
        row = requests[0].tokens
        engine.prepare(make_query(row[:-1], [row], row[: requests[0].shared]))
        generator = Generator(engine, finder, constrainer)

        def on_done(number: int, answer: Answer) -> None:
            place = places[number]
            item = items[place]
            keep(
                place,
                ItemRecord(
                    key=keys[place],
                    text=answer.text,
                    was_cut=answer.was_cut,
                    tokens_in=len(self._rows[place]),
                    tokens_out=len(answer.tokens),
                    dropped=item.dropped,
                    truncated=item.truncated,
                ),
            )

        generator.generate(requests, on_done)

    def _make_constrainer(self, questions: Questions, examples: Sequence[Example]) -> Any:
        """What holds a structured answer to its schema; None: answers are free text."""
        if self.settings.constrained == "off" or self.settings.extract:
            return None
        if not questions.is_structured and self.settings.constrained != "on":
            return None
        from nikawa.models.lm.grammar import make_constrainer

        schemas = [questions.schema(example) for example in examples]
        return make_constrainer(
            self._checkpoint.tokenizer, schemas, required=self.settings.constrained == "on"
        )

    def _count(self, records: Sequence[ItemRecord]) -> None:
        for record in records:
            self._usage["requests"] += 1
            self._usage["tokens_in"] += record.tokens_in
            self._usage["tokens_out"] += record.tokens_out
            self._usage["dropped"] += bool(record.dropped)
            self._usage["truncated"] += bool(record.truncated)


def read_record(
    item: Item, record: ItemRecord, questions: Questions, settings: LmSettings
) -> Prediction:
    """The prediction of an item from what was computed for it."""
    if record.logprobs is None:
        return read_text(item, record, questions, settings)
    table = compare_options(item, record)
    if any(not math.isfinite(value) for value in record.logprobs):
        return Prediction(example=item.example.id, why="diverged: a log-likelihood is not finite")
    chosen = table.get(settings.normalise)
    if chosen is None:
        raise BadInput(
            "the tokenizer has no token for an empty context, which PMI needs",
            cure="set normalise=sum, token or character",
        )
    shares = softmax(dict(enumerate(chosen)))  # type: ignore[arg-type]
    raw = msgspec.json.encode({name: values for name, values in table.items() if values}).decode()
    best = max(range(len(chosen)), key=lambda number: chosen[number])
    if isinstance(questions, SimilarityQuestions):
        expected = sum(shares[i] * value for i, value in enumerate(item.values))  # type: ignore[index]
        answers = {"expectation": expected, "best": item.values[best]}
        return Prediction(
            example=item.example.id,
            answer=answers[settings.score],
            raw=msgspec.json.encode(answers).decode(),
        )
    scores = {str(value): shares[i] for i, value in enumerate(item.values)}  # type: ignore[index]
    return Prediction(example=item.example.id, answer=item.values[best], scores=scores, raw=raw)


def compare_options(item: Item, record: ItemRecord) -> Mapping[str, list[float] | None]:
    """Each way to make options of different lengths comparable, from one computation."""
    sums = record.logprobs or []
    lengths = [max(1, len(text.strip())) for text in item.answers]
    counts = record.counts or [1] * len(sums)
    return {
        "sum": sums,
        "token": [value / count for value, count in zip(sums, counts, strict=True)],
        "character": [value / length for value, length in zip(sums, lengths, strict=True)],
        "pmi": None
        if record.empty is None
        else [value - alone for value, alone in zip(sums, record.empty, strict=True)],
    }


def read_text(
    item: Item, record: ItemRecord, questions: Questions, settings: LmSettings
) -> Prediction:
    """The answer in generated text, or none with the reason."""
    text = record.text or ""
    is_torn = record.was_cut and questions.is_structured
    if is_torn and find_json(blank_thoughts(text), (dict, list)) is None:
        return Prediction(example=item.example.id, raw=text, why="length")
    reading = read_extracts(questions.reader, settings.extract)(text, item.example)
    if reading.why is None:
        return Prediction(example=item.example.id, answer=reading.answer, raw=text)
    why = "length" if record.was_cut else f"unparsable: {reading.why}"
    if reading.why.startswith("refusal:"):
        why = reading.why
    return Prediction(example=item.example.id, raw=text, why=why)
