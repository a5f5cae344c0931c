"""All recipes of KLUE by simulated workers: killed at every stage they resume, labelled so, with whole lineages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.datasets import load
from nikawa.datasets.klue.ynat import LABELS
from nikawa.datasets.lineage import read_lineage
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.recipes.recipe import Ask, Stage, recipes
from nikawa.recipes.store import run_stage

NAMES = ("ynat", "klue-sts", "klue-nli", "klue-ner", "klue-re", "klue-mrc", "klue-dp")
PEOPLE = ("김하늘", "이바다", "박구름", "최나무", "정노을", "한바람")
PLACES = ("가람시", "나루시", "다솜군")
SPLIT = 'split = "0.6,0.2,0.2"\n'


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(
        msgspec.json.encode({**row, "licence": "CC BY 4.0"}).decode() + "\n" for row in rows
    )


def headlines() -> dict[str, str]:
    rows = [
        {"id": f"{t}{n}", "text": f"{t} 소식 {n}보", "category": t, "date": f"{2016 + n % 5}-02-03"}
        for t in LABELS
        for n in range(8)
    ]
    return {"headlines.jsonl": lines(rows), "config.toml": 'headlines = "headlines.jsonl"\n'}


def pairs() -> dict[str, str]:
    rooms = [
        (f"{p} {r}", n % 2)
        for n, (p, r) in enumerate(
            (p, r)
            for p in ("역 앞의", "바다 옆", "언덕 위", "시장 안")
            for r in ("방이 좋아요", "숙소가 조용해요", "집이 넓어요")
        )
    ]
    rows: list[dict[str, Any]] = [
        {
            "id": f"a{n}",
            "text": t,
            "source": "airbnb",
            **({"round_trip": f"{t} 정말"} if odd else {}),
        }
        for n, (t, odd) in enumerate(rooms)
    ]
    rows += [
        {"id": f"q{i}{k}", "text": f"{w} {v}", "source": "paraKQC", "intent": i}
        for i, w in enumerate(("거실 조명", "부엌 조명", "침실 난방"))
        for k, v in enumerate(("켜 줘", "좀 켜", "켤래"))
    ]
    return {
        "s.jsonl": lines(rows),
        "config.toml": f'sentences = "s.jsonl"\nanalyser = "none"\n{SPLIT}',
    }


def premises() -> dict[str, str]:
    rows = [
        {
            "id": f"{s}{n}",
            "text": f"{who} {n}월에 열린 {w}에 참석해 소감을 밝혔다.",
            "source": s,
            "style": style,
        }
        for s, style, who in (("policy", "formal", "장관은"), ("nsmc", "colloquial", "우리는"))
        for n, w in enumerate(("축제", "회의", "시상식", "전시회", "음악회", "경기"))
    ]
    return {"s.jsonl": lines(rows), "config.toml": f'sentences = "s.jsonl"\n{SPLIT}'}


def entities(person: str, place: str, date: str) -> dict[str, str]:
    rows = [
        {
            "id": f"{i}.{j}",
            "text": f"{p}은 {2000 + i + j}년 {q}에서 태어났다.",
            "source": "wikitree",
        }
        for i, p in enumerate(PEOPLE)
        for j, q in enumerate(PLACES)
    ]
    names = [*((p, person) for p in PEOPLE), *((p, place) for p in PLACES), (r"re:\d{4}년", date)]
    config = f'sentences = "s.jsonl"\ntagger = "names.tsv"\n{SPLIT}'
    return {
        "s.jsonl": lines(rows),
        "names.tsv": "".join(f"{n}\t{kind}\n" for n, kind in names),
        "config.toml": config,
    }


def relations() -> dict[str, str]:
    files = entities("PER", "LOC", "DAT")
    triples = "".join(f"{p}\tper:place_of_birth\t{PLACES[n % 3]}\n" for n, p in enumerate(PEOPLE))
    return {
        **files,
        "triples.tsv": triples,
        "config.toml": f'{files["config.toml"]}triples = "triples.tsv"\n',
    }


def passages() -> dict[str, str]:
    rows = [
        {
            "id": f"{source}{n}",
            "title": f"{place} {what}",
            "text": f"{place}에 새 {what}이 문을 열었다. {who} 관장은 아이들이 {n + 3}시까지 머물 수 있다고 {name}에 말했다. 비가 와도 쉬지 않는다.",
            "source": source,
        }
        for source, name in (("wikipedia", "기자"), ("hankyung", "신문"), ("acrofan", "이웃"))
        for n, (who, place, what) in enumerate(
            zip(PEOPLE, (*PLACES, *PLACES), ("책방", "극장", "공방") * 2, strict=True)
        )
    ]
    config = 'articles = "a.jsonl"\nshortest = 20\npassages = 12\nsplit = "0.5,0.25,0.25"\n'
    return {"a.jsonl": lines(rows), "config.toml": config}


KOREAN = (
    "우리는 저녁에 강가를 오래 걸었다.",
    "창문을 열면 바다가 한눈에 보인다.",
    "동생이 만든 빵을 모두 맛있게 먹었다.",
    "새 도서관이 다음 달 시내에 문을 연다.",
    "아침마다 마당에서 작은 새가 노래한다.",
    "방이 정말 깨끗하고 주인도 친절했어요.",
    "역에서 숙소까지 걸어서 십 분이 걸렸어요.",
    "침대가 넓어서 아이들과 함께 편하게 잤어요.",
    "주방에 필요한 그릇이 모두 있어서 좋았어요.",
    "골목이 조용해서 밤에도 잘 쉴 수 있었어요.",
)


def trees() -> dict[str, str]:
    rows = [
        {"id": n, "text": text, "source": "news" if n < 5 else "reviews"}
        for n, text in enumerate(KOREAN)
    ]
    config = f'sentences = "s.jsonl"\nanalyser = "mecab-ko"\n{SPLIT}'
    return {"s.jsonl": lines(rows), "config.toml": config}


SOURCES: dict[str, Callable[[], dict[str, str]]] = {
    "ynat": headlines,
    "klue-sts": pairs,
    "klue-nli": premises,
    "klue-ner": lambda: entities("PS", "LC", "DT"),
    "klue-re": relations,
    "klue-mrc": passages,
    "klue-dp": trees,
}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., BuildReport]:
    """Build a recipe from its sources with simulated workers."""

    def make(name: str, out: str) -> BuildReport:
        for file, text in SOURCES[name]().items():
            (tmp_path / file).write_text(text, "utf-8")
        return build(
            name, tmp_path / out, BuildOptions(config=tmp_path / "config.toml", simulate=3)
        )

    return make


def released(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_killed_at_every_stage_it_resumes(
    name: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, made = run(name, "whole"), run_stage
    left = [stage.name for stage in recipes()[name].stages if isinstance(stage, Stage)]
    while left:
        doomed = left.pop(0)

        def stopped(store: Any, stage: Stage, key: str, doomed: str = doomed) -> Any:
            if stage.name == doomed:
                raise KeyboardInterrupt
            return made(store, stage, key)

        monkeypatch.setattr("nikawa.recipes.build.run_stage", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(name, "killed")
        assert not (tmp_path / "killed" / "card.json").exists()
    monkeypatch.setattr("nikawa.recipes.build.run_stage", made)
    again = run(name, "killed")
    assert again.released is not None
    assert [stage.wrote for stage in again.stages] == [stage.wrote for stage in whole.stages]
    assert released(tmp_path / "killed") == released(tmp_path / "whole")


@pytest.mark.parametrize("name", ["ynat", "klue-sts", "klue-ner", "klue-re", "klue-mrc", "klue-dp"])
def test_simulated_releases_say_so_and_keep_their_lineage(
    name: str, run: Any, tmp_path: Path
) -> None:
    report = run(name, "out")
    assert report.released.workers_are == "simulated"
    assert "simulated" in (tmp_path / "out" / "README.md").read_text("utf-8")
    dataset = load(str(tmp_path / "out"))
    assert dataset.card.workers_are == "simulated"
    told = list(read_lineage(tmp_path / "out"))
    assert len(told) == len(dataset)
    for entry in told:
        assert entry.sources
        assert {source["licence"] for source in entry.sources} == {"CC BY 4.0"}
        assert entry.judgements
        assert entry.steps[-1].rule.startswith(f"split {entry.split}: ")


def test_workers_are_kept_apart_from_a_question_that_was_asked() -> None:
    recipe = recipes()["klue-ner"]
    odd = [
        replace(stage, apart=("nothing",)) if isinstance(stage, Ask) else stage
        for stage in recipe.stages
    ]
    with pytest.raises(ValueError, match=r"tagging reads \['nothing'\]"):
        replace(recipe, stages=tuple(odd))
