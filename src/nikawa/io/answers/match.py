"""Which example a sample of another tool's log is about: by id, else by the texts it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nikawa.io.answers.base import ID_NAMES, Ask, id_text
from nikawa.io.answers.fields import Unfit
from nikawa.records import Example


class Matcher:
    """Finds examples by what a log repeats of them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._by_text: dict[str, list[int]] = {}
        self._needs: list[int] = []
        self._by_choices: dict[tuple[str, ...], list[int]] = {}

    def find(self, doc: Any, order: int | None = None) -> str | None:
        """The id of the example `doc` repeats; among equals the one at `order` in the split."""
        if not isinstance(doc, Mapping):
            return None
        texts = list(_texts(doc))
        for name in ID_NAMES:
            own = id_text(doc.get(name))
            if own in self._ask.by_id:
                return self._checked(self._ask.by_id[own], doc)
        return self.find_texts(texts, order)

    def _checked(self, example: Example, doc: Mapping[str, Any]) -> str:
        """The example's id, unless every input the log repeats under the same name is another one."""
        shared = [
            (value.strip(), doc[name].strip())
            for name, value in example.inputs.items()
            if isinstance(value, str) and isinstance(doc.get(name), str)
        ]
        if shared and all(one != other for one, other in shared):
            raise Unfit(
                f"id {example.id!r} has other texts than in the split",
                "check the split and the dataset's version",
            )
        return example.id

    def find_texts(self, texts: Sequence[str], order: int | None = None) -> str | None:
        """The id of the example all of whose texts are among `texts`."""
        if not self._needs:
            self._index()
        hits = Counter(
            place for text in dict.fromkeys(texts) for place in self._by_text.get(text, ())
        )
        full = [place for place, count in hits.items() if count == self._needs[place]]
        if len(full) > 1:
            full = [place for place in full if self._in_turn(place, texts)] or full
        if not full:
            return None
        return self._ask.examples[order if order in full and order is not None else min(full)].id

    def find_choices(self, choices: Sequence[str], prompt: str, order: int) -> str | None:
        """The id of the example with these choices whose question the prompt holds."""
        if not self._by_choices:
            for place, example in enumerate(self._ask.examples):
                own = tuple(str(choice).strip() for choice in example.inputs.get("choices", ()))
                self._by_choices.setdefault(own, []).append(place)
        same = self._by_choices.get(tuple(choices), [])
        asked = [
            i
            for i in same
            if str(self._ask.examples[i].inputs.get("question", "")).strip() in prompt
        ]
        return self._ask.examples[order if order in asked else asked[0]].id if asked else None

    def _index(self) -> None:
        for place, example in enumerate(self._ask.examples):
            texts = set(_texts(example.inputs))
            self._needs.append(len(texts))
            for text in texts:
                self._by_text.setdefault(text, []).append(place)

    def _in_turn(self, place: int, texts: Sequence[str]) -> bool:
        """Whether the texts come in the order of the example's inputs: a pair may occur both ways round."""
        own = list(_texts(self._ask.examples[place].inputs))
        wanted = set(own)
        return list(dict.fromkeys(text for text in texts if text in wanted)) == list(
            dict.fromkeys(own)
        )


def _texts(fields: Mapping[str, Any]) -> Iterator[str]:
    for value in fields.values():
        if isinstance(value, str) and value.strip():
            yield value.strip()
        elif isinstance(value, list):
            yield from (item.strip() for item in value if isinstance(item, str) and item.strip())
