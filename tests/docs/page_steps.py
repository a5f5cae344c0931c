"""What has to be in a page's folder before its commands run, what people do between them, and what cannot run: `python -m tests.docs.page_steps PAGE NUMBER FOLDER`.

The tests of the pages take the same preparations from `page_files`, `page_people` and `page_answers`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.docs import page_answers as answers
from tests.docs import page_files as files
from tests.docs import page_people as people


class Step(NamedTuple):
    """What is done in the page's folder before the command that begins so; before the first if nothing is named."""

    before: str
    do: Callable[[Path], None]


def save_language_model(*places: str) -> Callable[[Path], None]:
    """A preparation that saves a tiny language model at each place."""

    def save(folder: Path) -> None:
        from tests.models.lm.checkpoints import CHAT_TEMPLATE, save_checkpoint

        for place in places:
            if "gemma" in place:
                save_checkpoint(folder / place, "qwen", CHAT_TEMPLATE)
            else:
                save_checkpoint(folder / place)

    return save


def save_encoder(folder: Path) -> None:
    """A tiny encoder that knows the characters of mini-ja."""
    from tests.models.encoder.checkpoints import save_tiny

    from nikawa.datasets import load

    texts = (e.inputs for part in load("mini-ja").splits.values() for e in part)
    letters = {c for inputs in texts for c in "".join(map(str, inputs.values()))}
    save_tiny(folder / "path" / "to" / "checkpoint", (c for c in letters if not c.isspace()))


def make_project(folder: Path) -> None:
    """The project that machines.md speaks of."""
    people.run_nikawa(
        folder, "collect", "new", "my-project", "--examples", "texts.jsonl", "--form", "choice",
        "--set", 'labels=["positive", "negative"]', "-k", "2",
    )  # fmt: skip


def make_board(folder: Path) -> None:
    """The board that board.md makes."""
    for line in (
        "data export mini-ja --to jsonl --out mine",
        "data hide mine --split test --out mine-public --keys mine-keys.jsonl",
        "board new my-board --dataset mine-public --keys mine-keys.jsonl --title Mini",
    ):
        people.run_nikawa(folder, *line.split())


def make_dataset(folder: Path) -> None:
    """A dataset folder of one's own."""
    people.run_nikawa(folder, "data", "export", "mini-ja", "--to", "jsonl", "--out", "my-dataset")


def remove(*names: str) -> Callable[[Path], None]:
    """A preparation that removes what an earlier command wrote, where a page uses a name again as an alternative."""

    def do(folder: Path) -> None:
        for name in names:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    return do


def in_project(do: Callable[[Path], None], name: str) -> Callable[[Path], None]:
    """The preparation of a folder inside the page's folder."""
    return lambda folder: do(folder / name)


STEPS: dict[str, tuple[Step, ...]] = {
    "aggregate": (
        Step("", files.write_aggregate),
        Step("nikawa aggregate judgements.jsonl", remove("gold")),
    ),
    "agreement": (
        Step("", files.write_agreement),
        Step("nikawa agree s.csv --map example=id,worker=who", files.write_sheet_of_answers),
        Step('nikawa agree s.csv --map "example=id,answer=rater', files.write_sheet_of_items),
    ),
    "answers": (
        Step("python", answers.write_of("jnli", "dev", "answers.jsonl")),
    ),
    "board-trust": (Step("", make_board),),
    "board": (
        Step(
            "nikawa run --model majority",
            in_project(files.change_board_settings, "my-board"),
        ),
    ),
    "build": (Step("", files.write_build),),
    "build-klue": (Step("", files.write_build_klue),),
    "build-reading": (Step("", files.write_build_reading),),
    "clean": (Step("", files.write_clean),),
    "collect": (Step("nikawa collect status similarity", in_project(people.rate_pairs, "similarity")),),
    "data": (
        Step("nikawa data check my-dataset", make_dataset),
        Step("nikawa data check jsts@", answers.copy_old_version),
    ),
    "dialogue": (
        Step("", files.write_dialogue),
        Step("nikawa collect export dialogues", in_project(people.write_dialogue, "dialogues")),
        Step("nikawa collect export states", in_project(people.judge_states, "states")),
        Step(
            "nikawa collect export writing",
            lambda folder: people.write_goals(
                folder / "writing", folder / "my-wos" / "build" / "goals" / "goals.jsonl"
            ),
        ),
    ),
    "encoder": (Step("", save_encoder),),
    "lexicon": (Step("", files.write_novel),),
    "lm": (Step("", save_language_model("models/tiny")),),
    "machines": (
        Step("", files.write_machines),
        Step("", make_project),
        Step("", save_language_model("models/gemma-3-1b")),
    ),
    "memory": (Step("", save_language_model("models/tiny")),),
    "pair": (Step("", files.write_pair),),
    "pretrain": (Step("", files.write_corpus),),
    "release": (Step("", files.write_corrections),),
    "scale": (Step("", files.write_shards),),
    "score": (
        Step("nikawa score jsquad", answers.write_of("jsquad", "dev", "answers.jsonl")),
        Step("nikawa score jnli:dev", answers.write_of("jnli", "dev", "answers.tsv")),
        Step("nikawa score klue-ner", answers.write_entities),
        Step("nikawa score jsts", answers.write_of("jsts", "dev", "answers.json")),
        Step("nikawa score jnli answers", answers.write_of("jnli", "dev", "answers.jsonl")),
        Step("nikawa score jcommonsenseqa", answers.write_reasons),
        Step(
            "nikawa score jnli sweep",
            answers.write_of("jnli", "dev", "a.jsonl", "b.jsonl", "c.jsonl", folder="sweep")),
        Step("nikawa compare a.jsonl", answers.write_of("jnli", "dev", "a.jsonl", "b.jsonl")),
        Step(
            "nikawa compare base=run1",
            answers.write_of("jsts", "dev", *(f"run{n}.jsonl" for n in range(1, 6)))),
        Step("nikawa compare a=samples", answers.write_logs),
        Step("nikawa compare systems/a", answers.write_systems),
        Step(
            "nikawa compare a.jsonl b.jsonl --task jsick-nli",
            answers.write_of("jsick-nli", "test", "a.jsonl", "b.jsonl")),
    ),
    "stress": (Step("nikawa stress test.jsonl", answers.write_stress),),
    "tags": (Step("", files.write_tag_pack),),
    "split": (Step("nikawa split klue-nli", answers.write_first_pairs),),
    "templates": (
        Step("", in_project(files.write_lighthouse, "my-pack")),
        Step("python", in_project(files.write_lighthouse, "lighthouse")),
    ),
}  # fmt: skip
"""Page to its steps."""

EDITS: dict[str, tuple[tuple[str, str], ...]] = {
    "split": (("klue-nli:dev", "klue-nli.jsonl"),),
    "machines": (
        (
            "--model lm:models/gemma-3-1b",
            "--model lm:models/gemma-3-1b --set max_length=2048 --set max_tokens=24 --tries 1",
        ),
    ),
}
"""What a command takes here: a tiny model, which answers with random words, stands for the one that the page names, and a split that trains
a model for every item that it moves has fewer items."""


def find_steps(page: str, line: str, is_first: bool) -> list[int]:
    """The numbers of the steps before a command of a page."""
    return [
        number
        for number, step in enumerate(STEPS.get(page, ()))
        if (line.startswith(step.before) if step.before else is_first)
    ]


def main() -> None:
    page, number, folder = sys.argv[1:]
    STEPS[page][int(number)].do(Path(folder))


if __name__ == "__main__":
    main()
