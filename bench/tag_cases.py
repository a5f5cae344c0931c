"""Tag packs on judged sentences: exact sets by part, precision and recall by tag.

The sentences are tests/cases/tags.jsonl. A sentence counts as exact if the pack finds all of the
judged tags and no other.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from nikawa.tagging import find_pack, tagger
from nikawa.text import analyser

CASES = Path(__file__).parents[1] / "tests" / "cases" / "tags.jsonl"
PACKS = {"ja": ("jsick", "ja"), "ko": ("jsick-ko", "ko")}


def main() -> None:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    for language, names in PACKS.items():
        cases = [row for row in rows if row["language"] == language]
        sizes = Counter(row["half"] for row in cases)
        for name in names:
            pack = find_pack(name)
            pack_tagger, reader = tagger(pack), analyser(pack.analyser)
            exact: Counter[str] = Counter()
            judged: Counter[str] = Counter()
            matched: Counter[str] = Counter()
            both: Counter[str] = Counter()
            for row in cases:
                tags = pack_tagger.tags(reader.analyse(row["text"]))
                exact[row["half"]] += tags == set(row["tags"])
                judged.update(row["tags"])
                matched.update(tags)
                both.update(tags & set(row["tags"]))
            parts = ", ".join(f"{part} {exact[part]} of {size}" for part, size in sizes.items())
            print(f"\n{name}: {parts}")
            for tag in pack.tags:
                precision = both[tag] / matched[tag] if matched[tag] else 0.0
                recall = both[tag] / judged[tag] if judged[tag] else 0.0
                print(f"  {tag:<16}precision {precision:.2f}  recall {recall:.2f}  n {judged[tag]}")


if __name__ == "__main__":
    main()
