"""Build a lexicon from raw text: count (verb, case, noun), cut off what is rare or excluded, write
a folder.

The folder appears whole or not at all and holds the same bytes for the same text, whatever the
machine.

Triples of verb, case and noun come by adjacency of morphemes or by a dependency parser. By
adjacency: a chain of noun and case particle, adverbs allowed between, up to a verb: 机に本をそっと置いた
gives 置く with ニ 机 and ヲ 本. The owner of an object (英語の本を) is kept as ノ~ヲ. Nouns that follow each
other are one noun. Passive and causative verbs are skipped, since their cases differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.generation.frame_counts import FrameCounts, Triple, write_counts
from nikawa.generation.lexicon import FRAME_COLUMNS, SHIPPED_FOLDER, read_word_list
from nikawa.generation.times import UNITS, VERB_TIMES
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
"""Particle to the name of its case."""
VOICE = frozenset({"れる", "られる", "せる", "させる"})
"""Auxiliaries of the passive and the causative."""
_FRAME_CASES = {True: (("ヲ",), ("ノ~ヲ", "ヲ")), False: (("ニ",), ("マデ",))}
"""The cases of a verb's frames, by whether it is transitive."""
_NOUNS = frozenset({"一般", "サ変接続", "固有名詞", "形容動詞語幹", "接尾", "ナイ形容詞語幹"})
"""Kinds of nouns (IPADIC) that have a content: no pronouns, numbers, suffixes or dependent nouns."""
_SUFFIXES = frozenset({"一般", "地域", "サ変接続", "人名"})
"""Kinds of suffixes that a compound may hold."""
_CASE_TAGS = frozenset({("格助詞", "一般"), ("副助詞", "*")})
_OWNER = "ノ"
"""Where the chain keeps a noun with の until the noun it belongs to is known."""
MAX_COMPOUND = 3
"""Morphemes in a compound: longer runs are mostly names and headings."""
_WORD = re.compile(r"[ぁ-ヿ一-鿿々ー]+")
MAX_TYPES = 3_000_000
"""Different triples held at once; beyond it those seen once so far are dropped."""
MAX_NOUNS_OF_CASE = 100
"""Nouns a frame line lists at most, the commonest."""
PROGRESS_LINES = 1_000
"""Lines between two reports of progress."""

Tokens = Sequence[Token]
"""The analysis of a text."""
Children = dict[int, list[int]]
"""Token to the tokens that depend on it."""
Extractor = Callable[[Tokens], Iterator[Triple]]
"""Finds the triples of one analysed text."""


def extract_by_adjacency(tokens: Tokens) -> Iterator[Triple]:
    """The triples of one analysed text (IPADIC), by adjacency."""
    chain: dict[str, str] = {}
    i = 0
    while i < len(tokens):
        kind = tokens[i].pos[0]
        if kind == "名詞":
            i, noun = read_compound(tokens, i)
            if i == len(tokens):
                return
            token, owner = tokens[i], chain.pop(_OWNER, "")
            is_case = token.pos[0] == "助詞" and token.pos[1:3] in _CASE_TAGS
            is_do = token.pos[0] == "動詞" and token.base == "する"
            if token.surface == "の" and token.pos[1] == "連体化":
                chain[_OWNER] = noun
                i += 1
            elif token.surface in CASES and is_case:
                case = CASES[token.surface]
                if case in chain:
                    chain.clear()
                chain[case] = noun
                if case == "ヲ" and owner:
                    chain["ノ~ヲ"] = owner
                i += 1
            elif noun and is_do and tokens[i - 1].pos[1] == "サ変接続":
                yield from _end_chain(tokens, i, noun + "する", chain)
            else:
                chain.clear()
            continue
        if kind == "動詞" and tokens[i].pos[1] == "自立":
            yield from _end_chain(tokens, i, tokens[i].base, chain)
        elif kind not in ("接頭詞", "副詞"):
            chain.clear()
        i += 1


def read_compound(tokens: Tokens, start: int) -> tuple[int, str]:
    """Where the run of nouns ends, and the compound; empty where one of them is no content noun."""
    is_good = start == 0 or tokens[start - 1].pos[0] != "接頭詞"
    end = start
    while end < len(tokens) and tokens[end].pos[0] == "名詞":
        pos = tokens[end].pos
        if pos[1] not in _NOUNS:
            is_good = False
        if pos[1] == "接尾" and (end == start or pos[2] not in _SUFFIXES):
            is_good = False
        if end > start and tokens[end].start != tokens[end - 1].end:
            is_good = False  # a blank between them: no one word
        end += 1
    word = "".join(token.surface for token in tokens[start:end])
    if is_good and end - start <= MAX_COMPOUND and _WORD.fullmatch(word):
        return end, word
    return end, ""


def _end_chain(tokens: Tokens, i: int, verb: str, chain: dict[str, str]) -> list[Triple]:
    """Give the chain to the verb at `i` unless it is passive or causative.

    Either way the chain is emptied.
    """
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    has_voice = after is not None and after.pos[0] == "動詞" and after.base in VOICE
    chain.pop(_OWNER, None)
    triples = []
    if not has_voice and _WORD.fullmatch(verb):
        triples = [(verb, case, noun) for case, noun in chain.items() if noun]
    chain.clear()
    return triples


def extract_by_heads(tokens: Tokens) -> Iterator[Triple]:
    """The triples of one text analysed with heads (GiNZA)."""
    children: Children = {}
    for i, token in enumerate(tokens):
        if token.head is not None and token.head != i:
            children.setdefault(token.head, []).append(i)
    for i, token in enumerate(tokens):
        if token.pos[0] != "名詞" or token.head is None or token.head == i:
            continue
        dependents = [tokens[child] for child in children.get(i, ())]
        cases = [dependent.surface for dependent in dependents if dependent.deprel == "case"]
        if len(cases) != 1 or cases[0] not in CASES:
            continue
        verb = _find_governor(tokens, token.head, children)
        noun = _join_compound(tokens, i, children)
        if verb and _WORD.fullmatch(noun):
            yield verb, CASES[cases[0]], noun


def _find_governor(tokens: Tokens, i: int, children: Children) -> str:
    """The verb at `i`; empty if the word is not a verb in the active voice."""
    token = tokens[i]
    dependents = [tokens[child] for child in children.get(i, ())]
    helpers = [one for one in dependents if one.deprel in ("aux", "aux:pass", "compound")]
    if any(helper.base in VOICE for helper in helpers):
        return ""
    if token.pos[0] == "動詞":
        return token.base
    has_light_verb = any(helper.base == "する" and helper.pos[0] == "動詞" for helper in helpers)
    return token.surface + "する" if has_light_verb and token.pos[0] == "名詞" else ""


def _join_compound(tokens: Tokens, i: int, children: Children) -> str:
    """The noun at `i` with the parts of its compound, if nothing is between them."""
    before = [child for child in children.get(i, ()) if child < i]
    parts = [child for child in before if tokens[child].deprel == "compound"]
    first = min(parts, default=i)
    run = tokens[first : i + 1]
    is_unbroken = all(a.end == b.start for a, b in pairwise(run))
    if is_unbroken and len(parts) == i - first:
        return "".join(token.surface for token in run)
    return tokens[i].surface


def count_sentences(tokens: Iterable[Token]) -> int:
    """How many sentences a text has: the ends it marks, and what is left after the last one."""
    ends, is_open = 0, False
    for token in tokens:
        if token.surface in "。！？!?":
            ends += is_open
            is_open = False
        else:
            is_open = True
    return ends + is_open


METHODS: dict[str, tuple[str, Extractor]] = {
    "adjacency": ("ja", extract_by_adjacency),
    "ginza": ("ginza", extract_by_heads),
}
"""Method to the analyser it needs and the function that finds the triples."""


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
    """What was read, counted and dropped."""

    lines: int
    sentences: int
    triples: int
    """Observations of a verb with a noun in a case."""
    types: int
    """Different ones among them."""
    verbs: int
    kept_triples: int
    kept_types: int
    kept_verbs: int
    nouns: int
    """Different nouns that were kept."""
    frames: int
    """Lines of `frames.tsv`."""
    dropped: dict[str, int]
    """Types dropped, by reason."""


def build_lexicon(
    texts: Sequence[Path],
    out: Path,
    options: LexiconOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Callable[[int], None] = lambda lines: None,
) -> LexiconReport:
    """Count over `texts` (plain, .gz, .zst or .xz) and write the lexicon folder `out`.

    `on_progress` is called with the number of lines read.
    """
    options = options or LexiconOptions()
    if options.method not in METHODS:
        raise unknown("method", options.method, METHODS)
    refuse_existing(out, overwrite)
    agents, excluded = read_word_list(options.agents), frozenset(read_word_list(options.exclude))
    counts, seen = count_frames(texts, options.method, on_progress)
    if not seen["sentences"]:
        others = f", nor do {len(texts) - 1} others" * (len(texts) > 1)
        cure = "give text, one sentence or more a line"
        raise BadInput(f"holds no sentence{others}", file=texts[0], cure=cure)
    if not counts:
        # Text of another language has sentences, but no noun, particle and verb of Japanese.
        cure = "give Japanese text with verbs and their nouns; lexicons of other languages are written by hand"
        raise BadInput("no noun occurs with a verb in the text", file=texts[0], cure=cure)
    kept, dropped = _cut_counts(counts, excluded, options, seen["pruned"])
    frames = list(_list_frames(kept, options.nouns))
    verbs = {verb for verb, _ in frames}
    without_frame = sum(verb not in verbs for verb, _, _ in kept)
    if without_frame:
        dropped[f"no frame: no case of the verb has {options.nouns} nouns"] = without_frame
    report = LexiconReport(
        lines=seen["lines"],
        sentences=seen["sentences"],
        triples=counts.total() + seen["pruned"],
        types=len(counts) + seen["pruned"],
        verbs=len({verb for verb, _, _ in counts}),
        kept_triples=sum(kept.values()),
        kept_types=len(kept),
        kept_verbs=len({verb for verb, _, _ in kept}),
        nouns=len({noun for _, _, noun in kept}),
        frames=len(frames),
        dropped=dropped,
    )
    plural = "s" * (len(texts) != 1)
    about = {
        "name": out.name,
        "language": "ja",
        "title": f"Case frames counted in {len(texts)} text file{plural}",
        "licence": options.licence,
        "provenance": f"Counted by {options.method} with nikawa lexicon build; frames were not read by a person.",
        "sources": [path.name for path in texts],
    }
    files: dict[str, Iterable[str]] = {
        "lexicon.toml": [
            f"{key} = {msgspec.json.encode(it).decode()}" for key, it in about.items()
        ],
        "agents.txt": agents,
        "exclude.txt": sorted(excluded),
        "frames.tsv": ["\t".join(FRAME_COLUMNS), *(line for _, line in frames)],
        "counts.tsv": write_counts(kept),
    }
    with atomic_folder(out, overwrite=overwrite) as folder:
        for name, lines in files.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        written = msgspec.json.format(msgspec.json.encode(report), indent=2)
        (folder / "report.json").write_bytes(written + b"\n")
    return report


def count_frames(
    texts: Iterable[Path],
    method: str = "adjacency",
    on_progress: Callable[[int], None] = lambda lines: None,
) -> tuple[Counter[Triple], Counter[str]]:
    """The triples of the texts, and how many `lines` and `sentences` were read and types `pruned`."""
    from nikawa.text import analyser

    name, extract = METHODS[method]
    counts: Counter[Triple] = Counter()
    seen: Counter[str] = Counter()
    lines = (line for path in texts for _, line in read_lines(path))
    for tokens in analyser(name, cache=0).analyse_many(lines):
        seen["lines"] += 1
        seen["sentences"] += count_sentences(tokens)
        counts.update(extract(tokens))
        if seen["lines"] % PROGRESS_LINES == 0:
            on_progress(seen["lines"])
            if len(counts) > MAX_TYPES:
                once = [triple for triple, n in counts.items() if n == 1]
                for triple in once:
                    del counts[triple]
                seen["pruned"] += len(once)
    on_progress(seen["lines"])
    return counts, seen


def _cut_counts(
    counts: Counter[Triple], excluded: frozenset[str], options: LexiconOptions, pruned: int
) -> tuple[dict[Triple, int], dict[str, int]]:
    """What stays, and how many types went for which reason.

    A triple goes where its verb or its noun is excluded, where it is rare, and where its verb is.
    `pruned` are the types that counting dropped already.
    """
    clean = {triple: n for triple, n in counts.items() if excluded.isdisjoint(triple[::2])}
    frequent = {triple: n for triple, n in clean.items() if n >= options.triple}
    verbs: Counter[str] = Counter()
    for (verb, _, _), n in frequent.items():
        verbs[verb] += n
    kept = {triple: n for triple, n in frequent.items() if verbs[triple[0]] >= options.verb}
    dropped = {
        "excluded words": len(counts) - len(clean),
        f"seen fewer than {options.triple} times": len(clean) - len(frequent) + pruned,
        f"verb seen fewer than {options.verb} times": len(frequent) - len(kept),
    }
    return kept, dropped


def _list_frames(kept: dict[Triple, int], min_nouns: int) -> Iterator[tuple[str, str]]:
    """Verb and line of `frames.tsv` of each frame whose cases have nouns enough.

    A transitive verb has ヲ, and ノ~ヲ with ヲ; another one has ニ and マデ. Counts do not tell times,
    units and states, so all times and units are allowed, and no state.
    """
    nouns: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (verb, case, noun), n in kept.items():
        nouns.setdefault((verb, case), []).append((-n, noun))
    totals = FrameCounts(kept).by_verb
    all_times, all_units = " ".join(VERB_TIMES), " ".join(UNITS)
    for verb in sorted({verb for verb, _ in nouns}):
        whole = sum(totals[verb, case] for case in CASES.values())
        is_transitive = totals[verb, "ヲ"] * 4 >= whole
        voice = "yes" if is_transitive else "no"
        for cases in _FRAME_CASES[is_transitive]:
            listed = []
            for case in cases:
                commonest = sorted(nouns.get((verb, case), []))[:MAX_NOUNS_OF_CASE]
                if len(commonest) >= min_nouns:
                    listed.append(f"{case}={' '.join(noun for _, noun in commonest)}")
            if len(listed) == len(cases):
                fields = (verb, "", voice, all_times, all_units, "no", ";".join(listed))
                yield verb, "\t".join(fields)
