"""The questions of a task with their few-shot examples: what `chat:` and `lm:` have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from nikawa.io.answers.readings import Reader
from nikawa.models.chat.prompts import draw_shots, drop_same_question, find_template
from nikawa.models.chat.questions import QUESTIONS, Questions
from nikawa.records import Example, Prediction, Task

SAMPLE_EXAMPLES = 200
"""Examples that the language of the texts is detected from."""

Messages = list[dict[str, str]]
"""Messages of a chat, each with a role and a content."""


class PromptSettings(Protocol):
    """The settings that define a prompt."""

    @property
    def language(self) -> str:
        """`auto`, or the language of the prompt."""
        ...

    @property
    def prompt(self) -> str:
        """A prompt file; empty: the one that comes with Nikawa."""
        ...

    @property
    def shots(self) -> int | Literal["all"]:
        """Number of few-shot examples."""
        ...


class Conversation:
    """The instruction, the few-shot examples and the questions of one task."""

    def __init__(
        self,
        questions: Questions,
        shots: Sequence[Example],
        count: int,
        clean: Callable[[str], str] = str,
    ) -> None:
        self.questions, self.shots, self.shot_count = questions, shots, count
        self._clean = clean
        self.system = self._fill("system", questions.common_slots())
        self._shot_questions = {id(shot): self.ask(shot) for shot in shots}
        self._usual_shots = list(shots[:count])
        self._shot_inputs = [self._list_inputs(shot) for shot in shots]

    def messages(
        self, example: Example, format_shot: Callable[[Example], str], drop: int = 0
    ) -> Messages:
        """The instruction, the few-shot examples as turns, and the question.

        `format_shot` makes the answer of a few-shot example; the first `drop` of them are left out.
        """
        opening = self.open_with(self.choose_shots(example)[drop:], format_shot)
        return [*opening, {"role": "user", "content": self.ask(example)}]

    def choose_shots(self, example: Example) -> list[Example]:
        """The few-shot examples of a question: none is the question itself."""
        if self._list_inputs(example) not in self._shot_inputs:
            return self._usual_shots
        return drop_same_question(self.questions.task, self.shots, example, self.shot_count)

    def open_with(
        self, shots: Sequence[Example], format_shot: Callable[[Example], str]
    ) -> Messages:
        """The instruction, and few-shot examples as turns."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        for shot in shots:
            messages.append({"role": "user", "content": self._shot_questions[id(shot)]})
            messages.append({"role": "assistant", "content": format_shot(shot)})
        return messages

    def ask(self, example: Example) -> str:
        """The question about an example."""
        return self._fill("user", self.questions.slots(example))

    def _fill(self, section: str, slots: Mapping[str, str]) -> str:
        texts = {name: self._clean(text) for name, text in slots.items()}
        return self.questions.template.fill(section, texts)

    def _list_inputs(self, example: Example) -> list[Any]:
        return [example.inputs.get(name) for name in self.questions.task.inputs]

    def about(self) -> dict[str, Any]:
        """The prompt and its few-shot examples."""
        template = self.questions.template
        return {
            "task": self.questions.task.name,
            "language": self.questions.language,
            "prompt": template.name,
            "prompt_version": template.version,
            "shots": [shot.id for shot in self.shots[: self.shot_count]],
        }


def begin_conversation(
    task: Task,
    examples: Sequence[Example],
    pool: Sequence[Example],
    settings: PromptSettings,
    seed: int,
    clean: Callable[[str], str] = str,
) -> Conversation:
    """The questions about some examples, with few-shot examples from a pool.

    `clean` is applied to every text of an example, but not to the words of the prompt file.
    """
    language = settings.language
    if language == "auto":
        language = detect_language(task, examples)
    template = find_template(task, language, settings.prompt)
    questions = QUESTIONS[task.kind](task, template, language, pool)
    shots = draw_shots(task, pool, settings.shots, seed)
    count = len(shots) if settings.shots == "all" else settings.shots
    return Conversation(questions, shots, count, clean)


def move_system_message(messages: Messages) -> Messages:
    """The same messages with the instruction at the start of the first question."""
    if len(messages) < 2 or messages[0]["role"] != "system":
        return messages
    system, first, *others = messages
    content = f"{system['content']}\n\n{first['content']}"
    return [{**first, "content": content}, *others]


def join_messages(messages: Messages, delimiter: str = " ", separator: str = "\n\n") -> str:
    """The messages as plain text: each answer follows its question after the delimiter."""
    texts: list[str] = []
    for message in messages:
        if message["role"] == "assistant":
            texts[-1] += delimiter + message["content"]
        else:
            texts.append(message["content"])
    return separator.join(texts)


def read_answer(
    read: Reader, example: Example, text: str, *, was_cut: bool, raw: str
) -> Prediction:
    """The prediction in a generated text, or none with the reason.

    `raw` is the model's whole text; `was_cut`: it reached the maximum number of tokens.
    """
    reading = read(text, example)
    if reading.why is None:
        return Prediction(example=example.id, answer=reading.answer, raw=raw)
    why = f"unparsable: {reading.why}"
    if was_cut:
        why = "length"
    elif reading.why.startswith("refusal:"):
        why = reading.why
    return Prediction(example=example.id, raw=raw, why=why)


def detect_language(task: Task, examples: Sequence[Example]) -> str:
    """`ja`, `ko` or `en`, by the script of most texts."""
    votes: Counter[str] = Counter()
    for example in examples[:SAMPLE_EXAMPLES]:
        values = [example.inputs.get(name) for name in task.inputs]
        text = msgspec.json.encode([v for v in values if not hasattr(v, "start")]).decode()
        if re.search(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]", text):
            votes["ko"] += 1
        elif re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text):
            votes["ja"] += 1
        else:
            votes["en"] += 1
    return max(("ja", "ko", "en"), key=lambda name: votes[name])
