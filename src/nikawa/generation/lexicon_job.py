"""Build a lexicon from raw text: count (verb, case, noun), cut off what is rare or excluded, write a folder.

The folder appears whole or not at all and holds the same bytes for the same text, whatever the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.generation.frame_counts import FrameCounts, Triple, count_lines
from nikawa.generation.lexicon import FOLDER, FRAME_COLUMNS, TIMES, UNITS, word_list
from nikawa.generation.lexicon_extract import CASES, Extractor, adjacent, parsed, sentences_in
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.lines import read_lines
from nikawa.records import Record

METHODS: dict[str, tuple[str, Extractor]] = {
    "adjacency": ("ja", adjacent),
    "ginza": ("ginza", parsed),
}
"""Method to the analyser it needs and the function that finds the triples."""
MOST_TYPES = 3_000_000
"""Different triples held at once; beyond it those seen once so far are dropped."""
NOUNS_OF_A_CASE = 100
"""Nouns a frame line lists at most, the commonest."""
NEWS_EVERY = 1_000


class Choices(Record, frozen=True, kw_only=True):
    """How to count, and what to keep of it."""

    method: str = "adjacency"
    triple: int = 2
    """A triple must be seen this often."""
    verb: int = 10
    """A verb must be seen this often with a kept noun."""
    nouns: int = 3
    """A case of a verb must have this many different nouns to be a frame."""
    agents: Path = FOLDER / "ja" / "agents.txt"
    exclude: Path = FOLDER / "ja" / "exclude.txt"
    licence: str = "that of the texts"


class Report(Record, frozen=True, kw_only=True):
    """What was read, found and dropped."""

    lines: int
    sentences: int
    triples: int
    types: int
    verbs: int
    kept_triples: int
    kept_types: int
    kept_verbs: int
    nouns: int
    frames: int
    dropped: dict[str, int]
    """Types dropped, by reason."""


def build_lexicon(
    texts: Sequence[Path],
    out: Path,
    choices: Choices | None = None,
    *,
    overwrite: bool = False,
    news: Callable[[int], None] = lambda lines: None,
) -> Report:
    """Count over `texts` (plain, .gz, .zst or .xz) and write the lexicon folder `out`; `news` hears of lines read."""
    choices = choices or Choices()
    if choices.method not in METHODS:
        raise unknown("method", choices.method, METHODS)
    refuse_existing(out, overwrite)
    agents, excluded = word_list(choices.agents), frozenset(word_list(choices.exclude))
    counts, seen = count_frames(texts, choices.method, news)
    if not seen["sentences"]:
        others = f", nor do {len(texts) - 1} others" * (len(texts) > 1)
        what = f"holds no sentence{others}"
        raise BadInput(what, file=texts[0], cure="give text, one sentence or more a line")
    kept, dropped = _cut(counts, excluded, choices, seen["pruned"])
    _refuse_nothing(texts[0], counts)
    frames = list(_frame_lines(kept, choices.nouns))
    dropped |= _without_frame(kept, frames, choices.nouns)
    report = _report(seen, counts, kept, dropped, len(frames))
    with atomic_folder(out, overwrite=overwrite) as folder:
        _write(folder / "lexicon.toml", _about(texts, out.name, choices))
        _write(folder / "agents.txt", agents)
        _write(folder / "exclude.txt", sorted(excluded))
        _write(folder / "frames.tsv", ["\t".join(FRAME_COLUMNS), *frames])
        _write(folder / "counts.tsv", count_lines(kept))
        (folder / "report.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
        )
    return report


def count_frames(
    texts: Iterable[Path],
    method: str = "adjacency",
    news: Callable[[int], None] = lambda lines: None,
) -> tuple[Counter[Triple], Counter[str]]:
    """The triples of the texts, and how many lines and sentences were read and types pruned."""
    from nikawa.text import analyser

    name, extract = METHODS[method]
    counts: Counter[Triple] = Counter()
    seen: Counter[str] = Counter()
    for tokens in analyser(name, cache=0).analyse_many(
        line for path in texts for _, line in read_lines(path)
    ):
        seen["lines"] += 1
        seen["sentences"] += sentences_in(tokens)
        counts.update(extract(tokens))
        if seen["lines"] % NEWS_EVERY == 0:
            news(seen["lines"])
            if len(counts) > MOST_TYPES:
                seen["pruned"] += _prune(counts)
    news(seen["lines"])
    return counts, seen


def _prune(counts: Counter[Triple]) -> int:
    once = [triple for triple, n in counts.items() if n == 1]
    for triple in once:
        del counts[triple]
    return len(once)


def _cut(
    counts: Counter[Triple], excluded: frozenset[str], cuts: Choices, pruned: int
) -> tuple[dict[Triple, int], dict[str, int]]:
    """What stays, and how many types went for which reason."""
    clean = {t: n for t, n in counts.items() if t[0] not in excluded and t[2] not in excluded}
    often = {t: n for t, n in clean.items() if n >= cuts.triple}
    verbs: Counter[str] = Counter()
    for (verb, _, _), n in often.items():
        verbs[verb] += n
    kept = {t: n for t, n in often.items() if verbs[t[0]] >= cuts.verb}
    dropped = {
        "excluded words": len(counts) - len(clean),
        f"seen fewer than {cuts.triple} times": len(clean) - len(often) + pruned,
        f"verb seen fewer than {cuts.verb} times": len(often) - len(kept),
    }
    return kept, dropped


def _frame_lines(kept: dict[Triple, int], least: int) -> Iterator[str]:
    """A line for each case of a verb that has nouns enough: ヲ, ノ~ヲ with ヲ, ニ and マデ."""
    nouns: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (verb, case, noun), n in kept.items():
        nouns.setdefault((verb, case), []).append((-n, noun))
    totals = FrameCounts(kept).by_verb
    for verb in sorted({verb for verb, _ in nouns}):
        whole = sum(totals[verb, case] for case in CASES.values())
        transitive = totals[verb, "ヲ"] * 4 >= whole
        for cases in (("ヲ",), ("ノ~ヲ", "ヲ")) if transitive else (("ニ",), ("マデ",)):
            lists = {case: _commonest(nouns.get((verb, case), [])) for case in cases}
            if all(len(found) >= least for found in lists.values()):
                yield _frame_line(verb, transitive, lists)


def _refuse_nothing(first: Path, counts: Counter[Triple]) -> None:
    """Text of another language has sentences, but no noun, particle and verb of Japanese."""
    if not counts:
        cure = "give Japanese text with verbs and their nouns; lexicons of other languages are written by hand"
        raise BadInput("no noun stands with a verb in the text", file=first, cure=cure)


def _without_frame(kept: dict[Triple, int], frames: Sequence[str], least: int) -> dict[str, int]:
    """The types of verbs that no frame came of (they stay in the counts), under the reason why."""
    verbs = {line.partition("\t")[0] for line in frames}
    left = sum(verb not in verbs for verb, _, _ in kept)
    return {f"no frame: no case of the verb has {least} nouns": left} if left else {}


def _commonest(nouns: list[tuple[int, str]]) -> list[str]:
    return [noun for _, noun in sorted(nouns)[:NOUNS_OF_A_CASE]]


def _frame_line(verb: str, transitive: bool, nouns: dict[str, list[str]]) -> str:
    listed = ";".join(f"{case}={' '.join(found)}" for case, found in nouns.items())
    cells = (
        verb,
        "",
        "yes" if transitive else "no",
        " ".join(TIMES),
        " ".join(UNITS),
        "no",
        listed,
    )
    return "\t".join(cells)


def _report(
    seen: Counter[str],
    counts: Counter[Triple],
    kept: dict[Triple, int],
    dropped: dict[str, int],
    frames: int,
) -> Report:
    return Report(
        lines=seen["lines"],
        sentences=seen["sentences"],
        triples=counts.total() + seen["pruned"],
        types=len(counts) + seen["pruned"],
        verbs=len({verb for verb, _, _ in counts}),
        kept_triples=sum(kept.values()),
        kept_types=len(kept),
        kept_verbs=len({verb for verb, _, _ in kept}),
        nouns=len({noun for _, _, noun in kept}),
        frames=frames,
        dropped=dropped,
    )


def _about(texts: Sequence[Path], name: str, choices: Choices) -> Iterator[str]:
    values = {
        "name": name,
        "language": "ja",
        "title": f"Case frames counted in {len(texts)} text file{'s' * (len(texts) != 1)}",
        "licence": choices.licence,
        "provenance": f"Counted by {choices.method} with nikawa lexicon build; frames were not read by a person.",
    }
    for key, value in values.items():
        yield f"{key} = {msgspec.json.encode(value).decode()}"
    yield f"sources = {msgspec.json.encode([path.name for path in texts]).decode()}"


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
