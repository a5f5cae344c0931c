"""The last stage of a pre-training: weights with their card and figures, made once, never over another's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from nikawa.errors import BadInput
from nikawa.pretrain.choices import Choices, settings_of
from nikawa.pretrain.prepare import News
from nikawa.pretrain.settings import PROCESSOR_BATCH
from nikawa.pretrain.stages import PACK, STATE, VOCABULARY, Stages
from nikawa.pretrain.state import CARD, CONFIG, read_figures, read_marks

if TYPE_CHECKING:
    from nikawa.pretrain.card import Figures, Story
    from nikawa.pretrain.learn import Course


Say = Callable[[str], None]
"""Hears a line that is worth keeping, when it is known."""


@dataclass(frozen=True)
class Weights:
    """Where they are made and how."""

    out: Path
    stages: Stages
    choices: Choices
    news: News = lambda _what, _done, _total: None
    say: Say = lambda _line: None

    def refuse(self) -> None:
        """A finished encoder of which nobody can tell how it was made is left alone."""
        if self._finished() and read_marks(self.stages.folder(STATE)) is None:
            raise self._in_the_way()

    def learn(self, story: Callable[[Figures], Story]) -> Figures:
        """Train unless it is done; `story` tells what the card says of a training with these figures."""
        from nikawa.pretrain.learn import learn
        from nikawa.pretrain.state import write_model

        course = self._course()
        if not self._done(course, story):
            learned = learn(course)
            overwrite = self.choices.overwrite
            write_model(
                learned, course.tokenizer, self.out, story(learned.figures), overwrite=overwrite
            )
        return read_figures(self.out)

    def _course(self) -> Course:
        from nikawa.pretrain.learn import Course

        course = Course(
            self.stages.folder(VOCABULARY),
            self.stages.folder(PACK) / "train",
            self._heldout(),
            settings_of(self.choices),
            self.stages.folder(STATE),
            self.news,
            self.say,
            self.choices.threads,
        )
        return course if self.choices.batch else self._suited(course)

    def _suited(self, course: Course) -> Course:
        """With the batch of the training whose state is here, wherever it was begun; else that of the device."""
        from nikawa.pretrain.device import device_for
        from nikawa.pretrain.learn import key_of
        from nikawa.pretrain.pack import open_pack

        small = replace(course, settings=structs.replace(course.settings, batch=PROCESSOR_BATCH))
        left = None if self.choices.overwrite else read_marks(self.stages.folder(STATE))
        if left is not None:
            packed = open_pack(course.train)
            for begun in (course, small):
                if left.key == key_of(begun, packed):
                    return begun
        if device_for(self.choices.device).type == "cuda":
            return course
        self.say(
            f"No graphics card: {PROCESSOR_BATCH:,} pieces a step in the place of {course.settings.batch:,}; --batch says otherwise"
        )
        return small

    def _heldout(self) -> Path | None:
        """The text that the loss is measured on, where there is enough."""
        from nikawa.pretrain.look import LEAST
        from nikawa.pretrain.pack import open_pack

        path = self.stages.folder(PACK) / "heldout"
        return path if path.is_dir() and open_pack(path).pieces >= LEAST else None

    def _done(self, course: Course, story: Callable[[Figures], Story]) -> bool:
        """Whether the very encoder is here; another one, or the state of another training, is refused."""
        from nikawa.pretrain.learn import key_of
        from nikawa.pretrain.pack import open_pack

        left = None if self.choices.overwrite else read_marks(self.stages.folder(STATE))
        if left is None:
            return False
        same = left.key == key_of(course, open_pack(course.train))
        if self._finished():
            if same and left.done == left.total and self._told(story):
                return True
            raise self._in_the_way()
        if not same:
            what = (
                "is the state of a training with other settings, or with another version of torch"
            )
            raise BadInput(
                what,
                file=course.state,
                cure="choose another --out, or say --overwrite to begin anew",
            )
        return False

    def _told(self, story: Callable[[Figures], Story]) -> bool:
        """Whether the card that is here says what is to be said."""
        from nikawa.pretrain.card import tells

        card, figures = self.out / CARD, read_figures(self.out)
        return card.is_file() and tells(
            card.read_bytes().decode("utf-8", "replace"), story(figures), figures
        )

    def _finished(self) -> bool:
        return (self.out / CONFIG).is_file() and not self.choices.overwrite

    def _in_the_way(self) -> BadInput:
        cure = "choose another --out, or say --overwrite"
        return BadInput("holds a finished encoder", file=self.out, cure=cure)
