from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nikawa.reproduce.figures import SPLITS, Partial, read_figures
from nikawa.reproduce.job import reproduce
from nikawa.reproduce.klue import compute

Lay = Callable[..., Path]
Write = Callable[[str, str, list[str]], str]
Tag = Callable[[str], list[str]]


def test_without_data_only_the_papers_own_arithmetic(tmp_path: Path) -> None:
    assert compute(tmp_path) == {
        "section3-1-1.valid": 67047,
        "section3-1-1.kept": 63892,
        "section3-1-1.unanimous": 40539,
        "table7.klue-nli.individual": 91.0,
        "section3-3-1.same-as-gold": 364,
        "table8.WIKITREE.total": 16654,
        **{f"section3-4-2.{mode}.entity.PS": 0.0 for mode in ("official", "documented")},
        **{f"section3-4-2.{mode}.entity.OG": 1.0 for mode in ("official", "documented")},
        "section3-4-2.official.character-classes": 13,
        "section3-4-2.documented.character-classes": 12,
    }


def test_explanations_are_of_printed_figures() -> None:
    figures = read_figures("klue")
    assert {*figures.slips, *figures.versions} <= set(figures.printed)
    assert all(figures.printed[name] != entry.recomputed for name, entry in figures.slips.items())


def test_columns_add_up_to_their_total_row() -> None:
    printed = read_figures("klue").printed
    for table in ("table3", "table4", "table6", "table8", "table9", "table9.types"):
        for split in SPLITS:
            depth = table.count(".") + 2
            rows = [
                value
                for name, value in printed.items()
                if name.startswith(f"{table}.")
                and name.endswith(f".{split}")
                and name.count(".") == depth
            ]
            assert sum(rows) == 2 * printed[f"{table}.total.{split}"], (table, split)


def nli(split: str, number: int, source: str, label: str | None) -> dict[str, Any]:
    pair = {"premise": "가" * 30, "hypothesis": "나" * (10 + number)}
    return {"guid": f"klue-nli-v1_{split}_{number}", "source": source, **pair, "gold_label": label}


def test_all_splits_give_totals_and_means(lay: Lay, tmp_path: Path) -> None:
    lay(
        "klue-nli",
        "train",
        [nli("train", 0, "NSMC", "neutral"), nli("train", 1, "airbnb", "neutral")],
    )
    lay("klue-nli", "dev", [nli("dev", 2, "NSMC", "entailment")])
    partial = compute(tmp_path)
    assert partial["table6.NSMC.total"] == Partial(2, "test")
    assert partial["table6.total.hypothesis"] == Partial(11.0, "test")
    lay("klue-nli", "test", [nli("test", 5, "NSMC", None)])
    whole = compute(tmp_path)
    assert whole["table6.NSMC.total"] == 3
    assert whole["table6.total.hypothesis"] == 12.0
    assert whole["table1.klue-nli.train"] == 0.002


def test_hidden_labels_leave_a_total_partial(lay: Lay, tmp_path: Path) -> None:
    for split in ("train", "dev"):
        lay("ynat", split, [{"guid": f"ynat-{split}", "title": "바다 소식", "label": "세계"}])
    lay("ynat", "test", [{"guid": "ynat-test", "title": "하늘 소식"}])
    found = compute(tmp_path)
    assert found["table3.world.total"] == Partial(2, "test")
    assert "table3.world.test" not in found
    assert found["table1.ynat.test"] == 0.001


def test_distinct_entities_by_type(
    lay: Lay, comments: str, sentence: Write, tag: Tag, tmp_path: Path
) -> None:
    body = "".join(
        sentence(f"klue-ner-v1_dev_0000{n}-nsmc", "x", tag("[두루|PS]와 [두루|PS]는 [둘|QT]"))
        for n in range(2)
    )
    lay("klue-ner", "dev", comments + body)
    found = compute(tmp_path)
    assert (found["table9.PS.dev"], found["table9.types.PS.dev"]) == (4, 1)
    assert (found["table9.total.dev"], found["table9.types.total.dev"]) == (6, 2)
    assert found["table1.klue-ner.tags"] == 3, "B-PS, I-PS and B-QT"


def test_dialogues_questions_and_unknown_sources(lay: Lay, tmp_path: Path) -> None:
    turn = {"role": "user", "text": "안녕하세요", "state": []}
    path = lay("wos", "dev", [{"guid": "wos-0", "domains": [], "dialogue": [turn, turn]}])
    (path.parent / "ontology.json").write_text(
        json.dumps({"식당-지역": ["none", "dontcare"]}), encoding="utf-8"
    )
    lay("klue-nli", "dev", [nli("dev", 0, "moon", "neutral")])
    found = compute(tmp_path)
    assert found["table1.wos.dev"] == 0.001, "dialogues, not turns"
    assert found["table1.wos.classes"] == 1
    assert "table6.MOON.dev" not in found


def test_nothing_unexplained_on_the_published_files(shared_data: Path) -> None:
    results = reproduce("klue", shared_data)
    verdicts = Counter(result.verdict for result in results)
    assert verdicts == {"equal": 44, "slip": 5, "version": 2, "absent": 161}
    by_name = {result.figure: result for result in results}
    assert by_name["table9.types.QT.dev"].recomputed == 1757
    assert by_name["table9.types.total.dev"].recomputed == 7753
    assert by_name["table1.klue-sts.dev"].verdict == "equal"
    tables = ("table4.", "table6.", "table8.", "table9.")
    dev = [r for r in results if r.figure.startswith(tables) and r.figure.endswith(".dev")]
    assert Counter(r.verdict for r in dev) == {"equal": 26, "version": 2}
