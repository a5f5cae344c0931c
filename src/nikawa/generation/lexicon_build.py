"""(verb, case, noun) triples from Japanese text, by adjacency of morphemes or by a dependency parser.

By adjacency: a chain of noun and case particle, adverbs allowed between, up to a verb: 机に本をそっと置いた gives 置く with
ニ 机 and ヲ 本. The owner of an object (英語の本を) is kept as ノ~ヲ. Nouns that stand together are one noun. Passive and causative verbs are skipped, since their cases differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.generation.frame_counts import FrameCounts, Triple, count_lines
from nikawa.generation.lexicon import FRAME_COLUMNS, SHIPPED_FOLDER, TIMES, UNITS, read_word_list
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.lines import read_lines
from nikawa.records import Record
from nikawa.text import Token

CASES = {
    "が": "ガ",
    "を": "ヲ",
    "に": "ニ",
    "で": "デ",
    "から": "カラ",
    "まで": "マデ",
    "へ": "ヘ",
    "と": "ト",
    "より": "ヨリ",
}
VOICE = frozenset({"れる", "られる", "せる", "させる"})
_NOUNS = frozenset({"一般", "サ変接続", "固有名詞", "形容動詞語幹", "接尾", "ナイ形容詞語幹"})
_SUFFIXES = frozenset({"一般", "地域", "サ変接続", "人名"})
_CASE_TAGS = frozenset({("格助詞", "一般"), ("副助詞", "*")})
_OWNER = "ノ"
"""Where the chain keeps a noun with の until the noun it belongs to is known."""
_LONGEST = 3
"""Morphemes in a compound: longer runs are mostly names and headings."""
_WORD = re.compile(r"[ぁ-ヿ一-鿿々ー]+")

Extractor = Callable[[Sequence[Token]], Iterator[Triple]]


def extract_by_adjacency(tokens: Sequence[Token]) -> Iterator[Triple]:
    """The triples of one analysed text (IPADIC), by adjacency."""
    chain: dict[str, str] = {}
    i, end = 0, len(tokens)
    while i < end:
        kind = tokens[i].pos[0]
        if kind == "名詞":
            i, noun = _noun(tokens, i)
            i = _after_noun(tokens, i, noun, chain)
            if i < 0:
                i = -i
                yield from _flush(tokens, i, noun + "する", chain)
        elif kind == "動詞":
            if tokens[i].pos[1] == "自立":
                yield from _flush(tokens, i, tokens[i].base, chain)
            chain.clear()
            i += 1
        elif kind == "接頭詞":
            i += 1
        else:
            if kind != "副詞":
                chain.clear()
            i += 1


def _noun(tokens: Sequence[Token], i: int) -> tuple[int, str]:
    """Where the run of nouns ends, and the compound; empty where one of them is no content noun."""
    start = i
    good = i == 0 or tokens[i - 1].pos[0] != "接頭詞"
    while i < len(tokens) and tokens[i].pos[0] == "名詞":
        pos = tokens[i].pos
        if pos[1] not in _NOUNS or (pos[1] == "接尾" and (i == start or pos[2] not in _SUFFIXES)):
            good = False
        if i > start and tokens[i].start != tokens[i - 1].end:  # a blank between them: no one word
            good = False
        i += 1
    word = "".join(token.surface for token in tokens[start:i])
    return i, word if good and i - start <= _LONGEST and _WORD.fullmatch(word) else ""


def _after_noun(tokens: Sequence[Token], i: int, noun: str, chain: dict[str, str]) -> int:
    """Take a case particle into the chain; a negative index says that する follows: the noun is the verb."""
    if i >= len(tokens):
        return i
    token, owner = tokens[i], chain.pop(_OWNER, "")
    if token.surface == "の" and token.pos[1] == "連体化":
        chain[_OWNER] = noun
        return i + 1
    if token.surface in CASES and token.pos[0] == "助詞" and token.pos[1:3] in _CASE_TAGS:
        _extend(chain, CASES[token.surface], noun, owner)
        return i + 1
    if (
        token.pos[0] == "動詞"
        and token.base == "する"
        and noun
        and tokens[i - 1].pos[1] == "サ変接続"
    ):
        return -i
    chain.clear()
    return i


def _extend(chain: dict[str, str], case: str, noun: str, owner: str) -> None:
    if case in chain:
        chain.clear()
    chain[case] = noun
    if case == "ヲ" and owner:
        chain["ノ~ヲ"] = owner


def _flush(tokens: Sequence[Token], i: int, verb: str, chain: dict[str, str]) -> Iterator[Triple]:
    """Give the chain to the verb at `i` unless it is passive or causative."""
    voice = i + 1 < len(tokens) and tokens[i + 1].pos[0] == "動詞" and tokens[i + 1].base in VOICE
    chain.pop(_OWNER, None)
    if not voice and _WORD.fullmatch(verb):
        for case, noun in chain.items():
            if noun:
                yield verb, case, noun
    chain.clear()


def extract_by_heads(tokens: Sequence[Token]) -> Iterator[Triple]:
    """The triples of one text analysed with heads (GiNZA)."""
    children: dict[int, list[int]] = {}
    for i, token in enumerate(tokens):
        if token.head is not None and token.head != i:
            children.setdefault(token.head, []).append(i)
    for i, token in enumerate(tokens):
        if token.pos[0] == "名詞" and token.head is not None and token.head != i:
            cases = [tokens[c] for c in children.get(i, ()) if tokens[c].deprel == "case"]
            if (
                len(cases) == 1
                and cases[0].surface in CASES
                and (verb := _governor(tokens, token.head, children))
            ):
                noun = _compound(tokens, i, children)
                if _WORD.fullmatch(noun):
                    yield verb, CASES[cases[0].surface], noun


def _governor(tokens: Sequence[Token], i: int, children: dict[int, list[int]]) -> str:
    """The verb at `i`, empty where it is none or not in the active voice."""
    helpers = [
        tokens[c]
        for c in children.get(i, ())
        if tokens[c].deprel in ("aux", "aux:pass", "compound")
    ]
    if any(h.base in VOICE for h in helpers):
        return ""
    if tokens[i].pos[0] == "動詞":
        return tokens[i].base
    light = any(h.base == "する" and h.pos[0] == "動詞" for h in helpers)
    return tokens[i].surface + "する" if light and tokens[i].pos[0] == "名詞" else ""


def _compound(tokens: Sequence[Token], i: int, children: dict[int, list[int]]) -> str:
    parts = [c for c in children.get(i, ()) if tokens[c].deprel == "compound" and c < i]
    first = min(parts, default=i)
    return (
        "".join(token.surface for token in tokens[first : i + 1])
        if len(parts) == i - first
        and all(a.end == b.start for a, b in pairwise(tokens[first : i + 1]))
        else tokens[i].surface
    )


def count_sentences(tokens: Iterable[Token]) -> int:
    """How many sentences a text has: the ends it marks, and what is left after the last one."""
    ends, open_ = 0, False
    for token in tokens:
        if token.surface in "。！？!?":
            ends += open_
            open_ = False
        else:
            open_ = True
    return ends + open_


METHODS: dict[str, tuple[str, Extractor]] = {
    "adjacency": ("ja", extract_by_adjacency),
    "ginza": ("ginza", extract_by_heads),
}
"""Method to the analyser it needs and the function that finds the triples."""
MOST_TYPES = 3_000_000
"""Different triples held at once; beyond it those seen once so far are dropped."""
NOUNS_OF_A_CASE = 100
"""Nouns a frame line lists at most, the commonest."""
NEWS_EVERY = 1_000


class LexiconOptions(Record, frozen=True, kw_only=True):
    """How to count, and what to keep of it."""

    method: str = "adjacency"
    triple: int = 2
    """A triple must be seen this often."""
    verb: int = 10
    """A verb must be seen this often with a kept noun."""
    nouns: int = 3
    """A case of a verb must have this many different nouns to be a frame."""
    agents: Path = SHIPPED_FOLDER / "ja" / "agents.txt"
    exclude: Path = SHIPPED_FOLDER / "ja" / "exclude.txt"
    licence: str = "that of the texts"


class LexiconReport(Record, frozen=True, kw_only=True):
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
    choices: LexiconOptions | None = None,
    *,
    overwrite: bool = False,
    news: Callable[[int], None] = lambda lines: None,
) -> LexiconReport:
    """Count over `texts` (plain, .gz, .zst or .xz) and write the lexicon folder `out`; `news` hears of lines read."""
    choices = choices or LexiconOptions()
    if choices.method not in METHODS:
        raise unknown("method", choices.method, METHODS)
    refuse_existing(out, overwrite)
    agents, excluded = read_word_list(choices.agents), frozenset(read_word_list(choices.exclude))
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
        seen["sentences"] += count_sentences(tokens)
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
    counts: Counter[Triple], excluded: frozenset[str], cuts: LexiconOptions, pruned: int
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
) -> LexiconReport:
    return LexiconReport(
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


def _about(texts: Sequence[Path], name: str, choices: LexiconOptions) -> Iterator[str]:
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
