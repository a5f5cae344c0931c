"""Prompts of a local language model: the chat template of its tokenizer, or plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.chat.conversation import (
    Conversation,
    Messages,
    join_messages,
    move_system_message,
)
from nikawa.models.chat.journal import compute_digest
from nikawa.models.chat.questions import SimilarityQuestions
from nikawa.models.lm.settings import LmSettings
from nikawa.models.lm.tokens import ControlTokens, Tokens, find_start_tokens
from nikawa.records import Example

SCALE_STEP = 0.1
"""Distance between the values of a scale that are scored: prompts ask for one decimal."""
MAX_SCALE_VALUES = 1001


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
    """The answers that they mean."""
    dropped: int = 0
    """Few-shot examples that did not fit into the prompt."""
    truncated: int = 0
    """Tokens that the prompt lost at its beginning."""

    def key(self, *setting: Any) -> str:
        """What its result is looked up by."""
        return compute_digest(self.prompt, self.answers, self.truncated, *setting)


class PromptMaker:
    """Builds the prompts of one task."""

    def __init__(
        self,
        conversation: Conversation,
        settings: LmSettings,
        tokenizer: Any,
        control: ControlTokens,
    ) -> None:
        self.conversation, self.questions = conversation, conversation.questions
        self.settings, self.tokenizer, self.control = settings, tokenizer, control
        self.uses_chat = choose_chat(settings, tokenizer)
        self._template = ChatTemplate(tokenizer, has_system=settings.system)
        self._lead = "" if self.uses_chat else settings.delimiter
        self.keyed: set[str] = set()
        """Examples whose words cannot be scored, so that their keys are."""
        self.unasked: set[str] = set()
        """Examples whose question is not in the prompt, as the chat template changes it."""
        self._shot_answers = {id(shot): self._format_gold(shot) for shot in conversation.shots}
        # few-shot examples are the same for nearly all items: they are put together once
        self._openings: dict[tuple[int, ...], tuple[Messages, str]] = {}

    def make(self, example: Example, drop: int = 0) -> Item:
        """The prompt of an example, without the first `drop` few-shot examples."""
        shots = self.conversation.choose_shots(example)[drop:]
        key = tuple(map(id, shots))
        if key not in self._openings:
            self._openings[key] = self._open_with(shots)
        opening, head = self._openings[key]
        question = self.conversation.ask(example)
        if self.uses_chat:
            prompt = self._apply_template([*opening, {"role": "user", "content": question}])
            head = prompt[: max(0, prompt.rfind(question))]
            if question not in prompt:
                self.unasked.add(example.id)
        else:
            prompt = head + question
        texts, values = self._list_answers(example)
        answers = tuple(self._lead + text for text in texts)
        return Item(example, prompt, head, answers, tuple(values), dropped=drop)

    def _open_with(self, shots: Sequence[Example]) -> tuple[Messages, str]:
        """The instruction and few-shot examples, as messages and as text before a question."""
        opening = self.conversation.open_with(shots, lambda shot: self._shot_answers[id(shot)])
        text = join_messages(opening, self.settings.delimiter, self.settings.separator)
        return opening, text + self.settings.separator if opening else ""

    def choose_start(self) -> Tokens:
        """The tokens that every prompt starts with. A chat template writes its own."""
        bos = self.settings.bos
        if bos == "auto":
            return () if self.uses_chat else find_start_tokens(self.tokenizer)
        if bos == "off":
            return ()
        token = getattr(self.tokenizer, "bos_token_id", None)
        if not isinstance(token, int):
            raise BadInput("the tokenizer has no beginning-of-text token", cure="set bos=auto")
        return (token,)

    def _format_gold(self, shot: Example) -> str:
        """The answer of a few-shot example, in the form that is asked for."""
        gold = shot.gold[self.questions.task.question]
        options = self.questions.options(shot)
        if options is not None and self.settings.answer == "word" and gold in options.values:
            return self.control.break_up(options.words[options.values.index(gold)])
        return self.control.break_up(self.questions.format_gold(shot, gold, as_json=False))

    def _list_answers(self, example: Example) -> tuple[Sequence[str], Sequence[Any]]:
        """The texts that are scored, and the values they mean; none: the answer is generated."""
        options = self.questions.options(example)
        if options is not None:
            texts = options.words if self.settings.answer == "word" else options.keys
            texts = tuple(map(self.control.break_up, texts))
            if len(set(texts)) < len(texts) or not all(text.strip() for text in texts):
                # two choices with the same words, or one without words: neither can be scored
                texts = options.keys
                self.keyed.add(example.id)
            return texts, options.values
        if isinstance(self.questions, SimilarityQuestions):
            values = list_scale_values(*self.questions.scale)
            return [f"{value:.1f}" for value in values], values
        return (), ()

    def _apply_template(self, messages: Messages) -> str:
        return self._template.apply(messages)


class ChatTemplate:
    """The chat template of a tokenizer; one without a system role gets the instruction before the first question."""

    def __init__(self, tokenizer: Any, *, has_system: bool) -> None:
        self.tokenizer, self._has_system = tokenizer, has_system

    def apply(self, messages: Messages) -> str:
        """The prompt of a conversation."""
        if self._has_system:
            try:
                return self._render(messages)
            except Exception:  # a template raises what it likes
                self._has_system = False
        try:
            return self._render(move_system_message(messages))
        except Exception as problem:
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise BadInput(
                f"the chat template of the tokenizer fails: {reason}", cure="set chat=off"
            ) from None

    def _render(self, messages: Messages) -> str:
        # answers are short: a template with this switch keeps the model from thinking first
        text: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
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
        raise BadInput(
            f"the scale from {low:g} to {high:g} cannot be scored value by value",
            cure="use a scale of at most 100 points",
        )
    return [round(low + i * SCALE_STEP, 1) for i in range(count)]
