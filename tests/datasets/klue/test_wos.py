from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.klue.wos import ontology, read
from nikawa.errors import BadInput
from nikawa.records import Finding

Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]


def dialogue(number: int, *states: list[str] | None) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    for count, state in enumerate(states):
        user = {"role": "user", "text": f"손님 {count}"}
        turns += [
            user if state is None else user | {"state": state},
            {"role": "sys", "text": f"안내 {count}"},
        ]
    return {"guid": f"wos-v1_dev_{number:05}", "domains": ["식당"], "dialogue": turns}


def test_one_example_a_user_turn(lay: Lay) -> None:
    first, second = read(
        lay("wos", "dev", [dialogue(0, ["식당-지역-북쪽"], ["식당-지역-북쪽", "식당-종류-찻집"])])
    )
    assert [first.id, second.id] == ["wos-v1_dev_00000-0", "wos-v1_dev_00000-1"]
    assert first.inputs == {"turns": [{"role": "user", "text": "손님 0"}]}
    assert [t["text"] for t in second.inputs["turns"]] == ["손님 0", "안내 0", "손님 1"]
    assert second.gold == {"state": ["식당-지역-북쪽", "식당-종류-찻집"]}
    assert second.meta == {"domains": ["식당"], "turn": 1}
    assert first.group == second.group == "wos-v1_dev_00000"


def test_empty_state_is_gold_and_no_state_is_hidden(lay: Lay) -> None:
    (open_,) = read(lay("wos", "dev", [dialogue(0, [])]))
    assert (open_.gold, open_.origin) == ({"state": []}, None)
    (hidden,) = read(lay("wos", "test", [dialogue(0, None)]))
    assert hidden.gold == {}
    assert hidden.origin is not None
    assert hidden.origin.gold == "hidden"
    with pytest.raises(BadInput, match="record 1: wos-v1_dev_00000-0 has no state"):
        list(read(lay("wos", "dev", [dialogue(0, None)])))


@pytest.mark.parametrize("entry", ["식당-지역", "식당--북쪽", "-지역-북쪽", ""])
def test_bad_state(lay: Lay, entry: str) -> None:
    with pytest.raises(
        BadInput, match=r"record 2: wos-v1_dev_00001-1: .* is not domain-slot-value"
    ):
        list(read(lay("wos", "dev", [dialogue(0, []), dialogue(1, [], [entry])])))


def test_bad_dialogue(lay: Lay) -> None:
    with pytest.raises(BadInput, match="record 1: wos-v1_dev_00000 has no user turn"):
        list(read(lay("wos", "dev", [dialogue(0)])))
    odd = dialogue(0, [])
    odd["dialogue"][0]["role"] = "guest"
    with pytest.raises(BadInput, match="record 1: invalid enum value 'guest'"):
        list(read(lay("wos", "dev", [odd])))


def test_traps(lay: Lay, tmp_path: Path, trapped: Trapped) -> None:
    path = lay(
        "wos",
        "dev",
        [
            dialogue(0, ["식당-지역-북쪽"]),
            dialogue(1, ["식당-지역-북쪽", "식당-지역-남쪽"]),
            dialogue(2, ["식당-지역-달"]),
            dialogue(3, ["배-지역-북쪽"]),
        ],
    )
    values = {"식당-지역": ["none", "dontcare", "북쪽", "남쪽"]}
    (path.parent / "ontology.json").write_text(json.dumps(values))
    found = trapped("wos", tmp_path)
    assert found["slot-twice"].ids == ("wos:dev/wos-v1_dev_00001-0",)
    assert [i[-3] for i in found["not-in-ontology"].ids] == ["2", "3"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"식당지역": ["none", "dontcare"]}, "'식당지역' is not domain-slot"),
        ({"식당-지역-북": ["none", "dontcare"]}, "is not domain-slot"),
        ({"식당-지역": ["dontcare", "none"]}, "do not begin with none, dontcare"),
        ({"식당-지역": ["none", "dontcare", "북", "북"]}, "has the value '북' twice"),
        ({"식당-지역": ["none", "dontcare", "북-동"]}, "holds a hyphen"),
        ({"식당-지역": "none"}, "expected `array`"),
    ],
)
def test_bad_ontology(tmp_path: Path, content: dict[str, Any], said: str) -> None:
    path = tmp_path / "ontology.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        ontology(path)


def test_published_ontology(shared_data: Path) -> None:
    found = ontology(shared_data / "klue/klue_benchmark/wos-v1.1/ontology.json")
    assert (len(found), sum(map(len, found.values()))) == (45, 2452)
    assert sum(set(values) == {"none", "dontcare", "yes", "no"} for values in found.values()) == 20
    domains = Counter(slot.split("-")[0] for slot in found)
    assert domains == {"숙소": 15, "식당": 13, "관광": 9, "택시": 5, "지하철": 3}
