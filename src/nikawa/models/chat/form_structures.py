"""Tasks answered by a structure, always as JSON: entities, dependency trees, dialogue states."""

from __future__ import annotations

from typing import Any

from nikawa.models.chat.forms import Form, labels_of, list_in, object_of, words_of
from nikawa.models.chat.reading import Options, Unreadable, quoted
from nikawa.models.chat.spans import find_spans, occurrence
from nikawa.records import Example, Span

ROLES = {
    "ja": {"user": "ユーザー", "sys": "システム"},
    "ko": {"user": "사용자", "sys": "시스템"},
    "en": {"user": "User", "sys": "System"},
}


class _Labelled(Form):
    """A structure whose parts bear labels of the task."""

    structured = True

    def common(self) -> dict[str, str]:
        """The labels and what they mean."""
        labels = labels_of(self.task)
        return {"options": Options(labels, words_of(self.template, labels), labels).shown()}

    def label_of(self) -> dict[str, str]:
        """Each label by its own name and by the word it is shown by, whatever the case."""
        labels = labels_of(self.task)
        words = zip(words_of(self.template, labels), labels, strict=True)
        return {word.casefold(): label for word, label in words} | {
            label.casefold(): label for label in labels
        }


class Tagging(_Labelled):
    """Entities by their words and which of the places that hold them is meant."""

    tokens = 1024

    def answer(self, example: Example, gold: Any) -> Any:
        """Text, occurrence and label of each span."""
        text = example.inputs["text"]
        return [
            {"text": text[s.start : s.end], "occurrence": occurrence(text, s), "label": s.label}
            for s in gold
        ]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of entities."""
        fields = {
            "text": {"type": "string"},
            "occurrence": {"type": "integer"},
            "label": {"type": "string", "enum": list(labels_of(self.task))},
        }
        return object_of({"entities": {"type": "array", "items": object_of(fields)}})

    def read(self, example: Example, text: str) -> list[Span]:
        """The spans; one that is not in the text makes the whole answer unreadable."""
        return find_spans(
            str(example.inputs.get("text", "")), list_in(text, "entities"), self.label_of()
        )


class Tree(_Labelled):
    """The head and label of each word."""

    tokens = 2048

    def slots(self, example: Example) -> dict[str, str]:
        """The words, one a line, with number, form, lemma and part of speech."""
        found = super().slots(example)
        if "words" in self.task.inputs:
            rows = enumerate(example.inputs["words"], start=1)
            found["words"] = "\n".join(
                f"{i}\t{w['form']}\t{w.get('lemma', '')}\t{w.get('pos', '')}".rstrip()
                for i, w in rows
            )
        return found

    def answer(self, example: Example, gold: Any) -> Any:
        """One entry a word."""
        forms = [word["form"] for word in example.inputs["words"]]
        rows = zip(forms, gold["heads"], gold["labels"], strict=True)
        return [
            {"index": i, "word": f, "head": h, "label": r}
            for i, (f, h, r) in enumerate(rows, start=1)
        ]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of words."""
        fields = {
            "index": {"type": "integer"},
            "word": {"type": "string"},
            "head": {"type": "integer"},
            "label": {"type": "string", "enum": list(labels_of(self.task))},
        }
        return object_of({"words": {"type": "array", "items": object_of(fields)}})

    def read(self, example: Example, text: str) -> dict[str, Any]:
        """Heads and labels of all words; a word too many or too few makes the answer unreadable."""
        count, known = len(example.inputs.get("words", ())), self.label_of()
        rows: dict[int, tuple[int, str]] = {}
        for row in list_in(text, "words"):
            index, head, label = _row(row, count, known)
            if rows.setdefault(index, (head, label)) != (head, label):
                raise Unreadable(f"word {index} has two heads")
        if missing := [i for i in range(1, count + 1) if i not in rows]:
            raise Unreadable(f"word {missing[0]} has no head")
        ordered = [rows[i] for i in range(1, count + 1)]
        return {"heads": [head for head, _ in ordered], "labels": [label for _, label in ordered]}


def _row(row: Any, count: int, known: dict[str, str]) -> tuple[int, int, str]:
    if not isinstance(row, dict):
        raise Unreadable("a word is not an object")
    index, head = row.get("index"), row.get("head")
    if not isinstance(index, int) or not 1 <= index <= count:
        raise Unreadable(f"there is no word {index!r}")
    if not isinstance(head, int) or not 0 <= head <= count or head == index:
        raise Unreadable(f"word {index} cannot have the head {head!r}")
    label = known.get(str(row.get("label")).casefold())
    if label is None:
        raise Unreadable(f"{quoted(str(row.get('label')))} is no label")
    return index, head, label


class Dialogue(Form):
    """The state after the last turn: slots with their values."""

    structured = True
    tokens = 512

    def slot_names(self) -> list[str]:
        """The slots that the prompt lists, and those of the examples to learn from."""
        states = (example.gold.get(self.task.question, ()) for example in self.pool)
        met = {entry.rpartition("-")[0] for state in states for entry in state}
        return sorted({*self.template.labels, *met})

    def common(self) -> dict[str, str]:
        """The slots, one a line, with what they mean where the prompt says so."""
        names = self.slot_names()
        return {"options": "\n".join(self._line(name) for name in names) or "-"}

    def _line(self, name: str) -> str:
        word = self.template.labels.get(name, name)
        return name if word == name else f"{name}: {word}"

    def slots(self, example: Example) -> dict[str, str]:
        """The turns, one a line, each with who speaks."""
        found, roles = super().slots(example), ROLES.get(self.language, ROLES["en"])
        if "turns" in self.task.inputs:
            turns = example.inputs["turns"]
            found["turns"] = "\n".join(
                f"{roles.get(t['role'], t['role'])}: {t['text']}" for t in turns
            )
        return found

    def answer(self, example: Example, gold: Any) -> Any:
        """Slot and value of each entry."""
        parts = (entry.rpartition("-") for entry in gold)
        return [{"slot": slot, "value": value} for slot, _, value in parts]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of slots with values; only known slots where there are some."""
        names = self.slot_names()
        slot = {"type": "string", "enum": names} if names else {"type": "string"}
        return object_of(
            {
                "state": {
                    "type": "array",
                    "items": object_of({"slot": slot, "value": {"type": "string"}}),
                }
            }
        )

    def read(self, example: Example, text: str) -> list[str]:
        """The entries as `domain-slot-value`, each once, in the order of the answer."""
        known = set(self.slot_names())
        found: dict[str, None] = {}
        for row in list_in(text, "state"):
            slot, value = (
                (row.get("slot"), row.get("value")) if isinstance(row, dict) else (None, None)
            )
            if not isinstance(slot, str) or not isinstance(value, str) or not value.strip():
                raise Unreadable("an entry is not a slot with a value")
            slot = slot.strip()
            if known and slot not in known:
                raise Unreadable(f"there is no slot {quoted(slot)}")
            if value.strip() != "none":
                found[f"{slot}-{value.strip()}"] = None
        return list(found)
