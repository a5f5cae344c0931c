"""The analyser protocol and its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import msgspec


class Token(msgspec.Struct, frozen=True, gc=False):
    """One morpheme. `text[start:end] == surface` always; only Korean contractions and ligatures
    share characters.
    """

    surface: str
    """The characters of the text that it covers."""
    base: str
    """Dictionary form; the surface if the dictionary has no entry."""
    pos: tuple[str, ...]
    """The dictionary's own tag fields, such as ("名詞", "接尾", "助数詞", "*")."""
    reading: str = ""
    """Katakana, or "" if unknown."""
    ctype: str = ""
    """Conjugation class, or "" if it does not conjugate."""
    cform: str = ""
    """Conjugation form."""
    start: int = 0
    """Offset of its first character in the text."""
    end: int = 0
    """Offset after its last character."""
    form: str = ""
    """The morpheme, which differs from the surface in contractions: 하 and 었 both cover the surface 했."""
    norm: str = ""
    """Headword without spelling variation (UniDic lemma, Juman representative form, Sudachi normal
    form)."""
    notes: str = ""
    """Additional information: Juman's semantics, mecab-ko's expression, GiNZA's universal
    tag."""
    head: int | None = None
    """Index of the governing token in the same analysis, its own index for a root; None without a
    parser."""
    deprel: str | None = None
    """The relation to its head, as Universal Dependencies name it; None without a parser."""

    @property
    def tag(self) -> str:
        """The tag fields as the dictionaries print them: `名詞,接尾,助数詞,*`."""
        return ",".join(self.pos)


Engine = Callable[[Sequence[str]], Iterable[list[Token]]]
"""What an implementation provides: a function from texts to the tokens of each text, in order. The
texts are short and checked."""


class Analyser(Protocol):
    """Text in, morphemes out. `nikawa.text.analyser` gives one by its name.

    Texts with NUL or a lone surrogate are refused with `BadInput`.
    """

    @property
    def name(self) -> str:
        """The name `analyser` knows it by."""

    @property
    def language(self) -> str:
        """`ja`, `ko`, or "" for any."""

    def analyse(self, text: str) -> tuple[Token, ...]:
        """The morphemes of `text`, in order."""

    def analyse_many(self, texts: Iterable[str]) -> Iterator[tuple[Token, ...]]:
        """The same for many texts, in order, as a stream."""
