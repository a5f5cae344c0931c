"""Replies of a language model to whole conversations, held to a JSON schema where a grammar library is installed.

`LanguageModel` answers the examples of a task; this answers any conversation, such as the question of an annotation form.
A reply that is complete goes into the journal at once, so a killed run resumes where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.base import Setup
from nikawa.models.chat.conversation import Messages, join_messages
from nikawa.models.chat.journal import RecordJournal, compute_digest
from nikawa.models.lm.model import JOURNAL_FILE, LanguageModel
from nikawa.models.lm.prompts import ChatTemplate, choose_chat
from nikawa.models.lm.records import ItemRecord
from nikawa.models.lm.tokens import ControlTokens, Encoder, Tokens, find_start_tokens


@dataclass(frozen=True)
class ReplyRequest:
    """A conversation to continue."""

    messages: Messages
    schema: dict[str, Any]
    """The JSON schema of the reply."""
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0


@dataclass
class Replier:
    """Continues conversations with one checkpoint."""

    setup: Setup
    warnings: dict[str, None] = field(default_factory=dict)
    """What the reader of the results should know."""

    def __post_init__(self) -> None:
        self.model = LanguageModel(self.setup)
        vocabulary = self.model.open_vocabulary()
        settings = self.model.settings
        self._longest, self._tokenizer = vocabulary.max_length, vocabulary.tokenizer
        self._control = ControlTokens(self._tokenizer)
        self._template = None
        start: Tokens = ()
        if choose_chat(settings, self._tokenizer):
            self._template = ChatTemplate(self._tokenizer, has_system=settings.system)
        else:
            start = find_start_tokens(self._tokenizer)
        self._encoder = Encoder(self._tokenizer, start)

    def reply(self, requests: Sequence[ReplyRequest]) -> list[ItemRecord]:
        """A record with the text of each reply; `truncated` is not 0 where the question is too long to be asked."""
        import torch

        rows = self._encoder.encode([self._format_prompt(one) for one in requests])
        keys = [self._make_key(row, one) for row, one in zip(rows, requests, strict=True)]
        with RecordJournal(self.setup.folder, ItemRecord, JOURNAL_FILE) as journal:
            missing: dict[str, int] = {}
            for place, key in enumerate(keys):
                room = self._longest - len(rows[place])
                if room < requests[place].max_tokens:
                    lost = requests[place].max_tokens - room
                    journal.replies[key] = ItemRecord(
                        key=key, tokens_in=len(rows[place]), truncated=lost
                    )
                elif key not in journal.replies:
                    missing[key] = place
            if missing:
                with torch.inference_mode():
                    self._generate(list(missing.values()), requests, rows, keys, journal)
            return [journal.replies[key] for key in keys]

    def _format_prompt(self, request: ReplyRequest) -> str:
        messages = [
            {**message, "content": self._control.break_up(message["content"])}
            for message in request.messages
        ]
        if self._template is not None:
            return self._template.apply(messages)
        settings = self.model.settings
        return join_messages(messages, settings.delimiter, settings.separator)

    def _make_key(self, row: Sequence[int], request: ReplyRequest) -> str:
        settings = self.model.settings
        drawn = (request.temperature, request.seed) if request.temperature else ()
        more = (request.schema, request.max_tokens, drawn, settings.constrained, settings.stop)
        return compute_digest("reply", list(row), *more)

    def _generate(
        self,
        places: Sequence[int],
        requests: Sequence[ReplyRequest],
        rows: Sequence[tuple[int, ...]],
        keys: Sequence[str],
        journal: RecordJournal[ItemRecord],
    ) -> None:
        from nikawa.models.lm.generate import Answer, Generator, Request, StopFinder
        from nikawa.models.lm.tokens import make_query

        checkpoint, engine = self.model.open()
        generator_requests = [
            Request(rows[place], 0, one.max_tokens, one.temperature, one.seed)
            for place in places
            for one in (requests[place],)
        ]
        finder = StopFinder(checkpoint.tokenizer, checkpoint.end_tokens, self.model.settings.stop)
        constrainer = self._make_constrainer([requests[place].schema for place in places])
        row = generator_requests[0].tokens
        engine.prepare(make_query(row[:-1], [row], ()))
        done, total = len(keys) - len(places), len(keys)

        def on_done(number: int, answer: Answer) -> None:
            nonlocal done
            done += 1
            place = places[number]
            journal.add(
                ItemRecord(
                    key=keys[place],
                    text=answer.text,
                    was_cut=answer.was_cut,
                    tokens_in=len(rows[place]),
                    tokens_out=len(answer.tokens),
                )
            )
            self.setup.progress(f"asking {self.model.name}", done, total)

        Generator(engine, finder, constrainer).generate(generator_requests, on_done)

    def _make_constrainer(self, schemas: Sequence[dict[str, Any]]) -> Any:
        setting = self.model.settings.constrained
        if setting == "off":
            return None
        from nikawa.models.lm.grammar import UnusableGrammar, make_constrainer

        try:
            return make_constrainer(self._tokenizer, schemas, required=setting == "on")
        except UnusableGrammar as problem:
            self.warnings.setdefault(f"answers are not constrained: {problem}", None)
            return None


def open_replier(setup: Setup) -> Replier:
    """The checkpoint of a setup; raises `BadInput` where it reads too little text to be asked anything."""
    replier = Replier(setup)
    if replier.model.open_vocabulary().max_length < 64:
        raise BadInput(
            f"{replier.model.name} reads fewer than 64 tokens", cure="choose another checkpoint"
        )
    return replier
