from __future__ import annotations

from collections.abc import Callable

import pytest

from nikawa.perturbation import perturbations
from nikawa.records import Example, Span
from nikawa.text import Analyser

Rewritten = Callable[..., str | None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scramble-o", "古い時計を銀色の狐が磨いている"),
        ("swap-o", "銀色の狐を古い時計が磨いている"),
        ("delete-o", "銀色の狐古い時計磨いている"),
        ("scramble-de", None),
        ("swap-ni", None),
    ],
)
def test_three_operations(rewritten: Rewritten, name: str, expected: str | None) -> None:
    assert rewritten(name, "銀色の狐が古い時計を磨いている") == expected


def test_topic_keeps_its_particle_when_scrambled_and_becomes_ga_when_swapped(
    rewritten: Rewritten,
) -> None:
    text = "その船長は港で眠っている。"
    assert rewritten("scramble-de", text) == "港でその船長は眠っている。"
    assert rewritten("swap-de", text) == "その船長で港が眠っている。"
    assert rewritten("delete-de", text) == "その船長港眠っている。"


def test_indefinite_pronoun_keeps_ka(rewritten: Rewritten) -> None:
    assert rewritten("scramble-o", "誰かが何かを隠している") == "何かを誰かが隠している"
    assert rewritten("swap-de", "狐が片足だけで踊っている") == "狐で片足だけが踊っている"


def test_only_the_own_clause_is_reordered(rewritten: Rewritten) -> None:
    text = "鐘が鳴っていて、魔女が塔に登っている"
    assert rewritten("scramble-ni", text) == "鐘が鳴っていて、塔に魔女が登っている"


def test_every_matching_clause_is_rewritten(rewritten: Rewritten) -> None:
    text = "狐が帽子をかぶっていて、狸が太鼓を叩いている"
    assert rewritten("swap-o", text) == "狐を帽子がかぶっていて、狸を太鼓が叩いている"
    assert rewritten("scramble-o", text) == "帽子を狐がかぶっていて、太鼓を狸が叩いている"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        # the relative clause belongs to the second phrase
        ("scramble-o", "狐が赤い帽子をかぶった狸を見ている", "赤い帽子をかぶった狸を狐が見ている"),
        ("scramble-ni", "狐が丘の上にある小屋に入っている", "丘の上にある小屋に狐が入っている"),
        ("scramble-o", "狐は布で覆われた箱を運んでいる", "布で覆われた箱を狐は運んでいる"),
        ("scramble-o", "狐は尾が長い猫を追っている", "尾が長い猫を狐は追っている"),
        # the published sets move a phrase of the relative clause, which is wrong
        ("scramble-de", "狐が布で覆われた箱を運んでいる", None),
        ("scramble-ni", "狐が壁に描かれた絵を見ている", None),
        # a later subject shows that both phrases belong to the relative clause
        ("scramble-de", "狐が森で拾った箱は重い", "森で狐が拾った箱は重い"),
        # a noun clause is no relative clause
        ("scramble-o", "狐が笛を吹くのをやめている", "笛を狐が吹くのをやめている"),
    ],
)
def test_relative_clauses(rewritten: Rewritten, name: str, text: str, expected: str | None) -> None:
    assert rewritten(name, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("「狐が笛を吹く」と狸が言った。", "「笛を狐が吹く」と狸が言った。"),
        ("狸が「狐が笛を吹く」と言った。", "狸が「笛を狐が吹く」と言った。"),
        ("（狐が笛を吹く）と書いてある。", "（笛を狐が吹く）と書いてある。"),
        ("「雨だ。」狐が笛を吹いた。", "「雨だ。」笛を狐が吹いた。"),
        ("「雨が降れば」と狐が笛を吹いた。", "笛を「雨が降れば」と狐が吹いた。"),
        ("しかし狐が笛を吹いていた。", "しかし笛を狐が吹いていた。"),
        ("だから狐が笛を吹いた。", "だから笛を狐が吹いた。"),
        ("そして、狐が笛を吹いた。", "そして、笛を狐が吹いた。"),
        ("雨が降ったが、しかし狐が笛を吹いた。", "雨が降ったが、しかし笛を狐が吹いた。"),
        ("私が狐が笛を吹くのを聞いた。", "私が笛を狐が吹くのを聞いた。"),
        ("象は鼻が林檎を掴む。", "象は林檎を鼻が掴む。"),
        ("雨が降れば狐が笛を吹く。", "雨が降れば笛を狐が吹く。"),
        ("雨が降ったら狐が笛を吹く。", "雨が降ったら笛を狐が吹く。"),
        ("空が暗いと狐が笛を吹く。", "空が暗いと笛を狐が吹く。"),
        ("狸が眠ると赤い帽子の狐が笛を吹く。", "狸が眠ると笛を赤い帽子の狐が吹く。"),
        ("狐が歌って狸が笛を吹いた。", "狐が歌って笛を狸が吹いた。"),
        (
            "狸が太鼓を叩いている間、狐は笛を吹いていた。",
            "太鼓を狸が叩いている間、笛を狐は吹いていた。",
        ),
        (
            "狸が太鼓を叩いている時、狐は笛を吹いていた。",
            "太鼓を狸が叩いている時、笛を狐は吹いていた。",
        ),
        ("狸が眠っているとき、狐は笛を吹いていた。", "狸が眠っているとき、笛を狐は吹いていた。"),
        ("狸が来たとき狐が笛を吹いた。", "狸が来たとき笛を狐が吹いた。"),
        ("昨日、狐が笛を吹いた。", "昨日、笛を狐が吹いた。"),
        (
            "狸が来たよ。帽子をかぶった狐が笛を吹いた。",
            "狸が来たよ。笛を帽子をかぶった狐が吹いた。",
        ),
    ],
)
def test_what_stands_before_the_clause_stays_there(
    rewritten: Rewritten, text: str, expected: str
) -> None:
    assert rewritten("scramble-o", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("耳が長い狐が笛を吹く。", "笛を耳が長い狐が吹く。"),
        ("狐、狸、そして熊が笛を吹いた。", "笛を狐、狸、そして熊が吹いた。"),
        ("狐および狸が笛を吹いた。", "笛を狐および狸が吹いた。"),
        ("赤いまたは青い服の狐が笛を吹いた。", "笛を赤いまたは青い服の狐が吹いた。"),
        ("狐（名はコン）が笛を吹く。", "笛を狐（名はコン）が吹く。"),
        ("赤、白の帽子をかぶった狐が笛を吹く。", "笛を赤、白の帽子をかぶった狐が吹く。"),
        ("狸が来たと狐が笛を吹いた。", "笛を狸が来たと狐が吹いた。"),
    ],
)
def test_what_belongs_to_the_subject_goes_with_it(
    rewritten: Rewritten, text: str, expected: str
) -> None:
    assert rewritten("scramble-o", text) == expected


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("o", "狐が犯人であることを狸が証明した。"),  # the fox is the subject of the noun clause
        ("o", "白い狐が白い狐を見た。"),  # swapped is scrambled
        ("o", "狐「が笛を吹く」と言った。"),
        ("o", "狐が「笛を吹く」と言った。"),  # not within one bracket
        ("ni", "兄が弟に、妹が姉に手紙を書いた。"),  # two subjects of one predicate
        ("ni", "狐が笛を尾が長い犬に渡した。"),  # the tail is long
        ("o", "狐はゆっくり塀を登っている"),  # something is between
        ("o", "狐が、塀を登っている"),
        ("o", "狐が庭で塀を登っている"),
        ("o", "狐が太鼓と笛を鳴らしている"),  # a coordination
        ("o", "狐は帽子をかぶっていて、笑っている"),  # a topic of two predicates
        ("o", "狐が帽子をかぶって座っている"),
        ("o", "狐は笛を吹きながら踊っている"),
        ("o", "狐が眠っている狸を見ている"),  # the fox may be asleep
        ("o", "狐の笛を吹いている"),  # no subject
        ("ni", "狐が静かに眠っている"),  # an adverb
        ("ni", "狐が写真のために立っている"),
        ("ni", "狐が動かずにいる"),
        ("ni", "狐が川に沿って歩いている"),
        ("de", "狐が遊んでいる"),  # a verb form
    ],
)
def test_not_eligible(rewritten: Rewritten, case: str, text: str) -> None:
    assert rewritten(f"scramble-{case}", text) is None


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("o", "狐が青と白の旗を振っている"),  # a coordination of attributes
        ("o", "狐は太鼓と笛を鳴らしている"),
        ("o", "狐が帽子をかぶっていて、笑っている"),
        ("o", "狐が歌を歌いながら太鼓を叩いている"),
        ("o", "狐が塀を跳び越えている"),
        ("de", "狐が庭で歌って踊っている"),
        ("ni", "誰も椅子に座っていない"),
    ],
)
def test_eligible(rewritten: Rewritten, case: str, text: str) -> None:
    assert rewritten(f"scramble-{case}", text) is not None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("scramble-o", "狐が一匹、笛を吹いている", None),
        ("scramble-o", "狐は1992年以来、笛を吹いている", None),
        ("scramble-o", "狐は毎朝笛を吹く", None),
        ("swap-o", "狐は今朝その笛を吹いた", None),
        ("delete-de", "狐が二匹、庭で踊る", None),
        ("scramble-o", "狐が明日の笛を探す", "明日の笛を狐が探す"),
        ("scramble-o", "狐が夏祭りを待つ", "夏祭りを狐が待つ"),
        ("scramble-o", "狐が笛、太鼓を鳴らす", "笛、太鼓を狐が鳴らす"),
        ("scramble-o", "狐が3、4本の笛を吹く", "3、4本の笛を狐が吹く"),
        ("scramble-o", "狐は毎朝届く手紙を読む", "毎朝届く手紙を狐は読む"),
    ],
)
def test_no_bystander_is_moved(
    rewritten: Rewritten, name: str, text: str, expected: str | None
) -> None:
    assert rewritten(name, text) == expected


def test_assumed_eligible_takes_the_first_pair_of_particles(rewritten: Rewritten) -> None:
    text = "朝、狐がゆっくり塀を登っている"
    assert rewritten("delete-o", text) is None
    assert rewritten("delete-o", text, assume_eligible=True) == "朝、狐ゆっくり塀登っている"


def test_assumed_eligible_stays_within_a_sentence(rewritten: Rewritten) -> None:
    assert rewritten("swap-o", "狐が笑う。笛を吹く。", assume_eligible=True) is None
    text = "狐が笑う。狸がそっと笛を吹く。"
    assert rewritten("scramble-o", text, assume_eligible=True) == "狐が笑う。そっと笛を狸が吹く。"


def test_assumed_eligible_needs_both_phrases(rewritten: Rewritten) -> None:
    for text in ("がを", "狐が", "を狐が", "狐がを", ""):
        assert rewritten("delete-o", text, assume_eligible=True) is None


def test_the_first_text_is_rewritten_and_nothing_that_spans_point_into(ipadic: Analyser) -> None:
    swap = perturbations("ja")["swap-o"]
    text = "狐が笛を吹いている"
    assert swap.eligible(Example(id="1", inputs={"sentence1": text, "sentence2": text}), ipadic)
    assert not swap.eligible(Example(id="1", inputs={"hypothesis": text}), ipadic)
    tagged = Example(id="1", inputs={"text": text}, gold={"spans": [Span(0, 1, "ANIMAL")]})
    assert not swap.eligible(tagged, ipadic)


def test_effects() -> None:
    effects = {
        p.name: p.effect for p in perturbations("ja").values() if p.name[-2:] in ("-o", "ni", "de")
    }
    assert {name.partition("-")[0]: effect for name, effect in effects.items()} == {
        "scramble": "keeps",
        "swap": "neutral",
        "delete": "neutral",
    }
    assert len(effects) == 9
