"""Replies as models write them, each with the reading that a person gives it.

The table was judged before the reader was run on it. `None` means that a careful person would not
say which answer is given: the reader must give a reason, and never an answer.
"""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.io.answers.phrases import load_phrases
from nikawa.io.answers.reader import make_reader
from nikawa.io.answers.readings import Offer
from nikawa.models.chat.prompts import find_template
from nikawa.models.chat.questions import QUESTIONS
from nikawa.records import Example, Kind, Task

E, C, N = "entailment", "contradiction", "neutral"
NLI = (E, C, N)


def make_task(kind: Kind, labels: tuple[str, ...] = (), **more: Any) -> Task:
    return Task(
        name="own",
        dataset="own",
        kind=kind,
        question="q",
        inputs=("question", "choices") if kind == "choice" else (),
        labels=labels,
        metrics=(),
        **more,
    )


TASKS = {
    "nli": make_task("inference", NLI),
    "choice": make_task("choice"),
    "score": make_task("similarity", scale=(0.0, 5.0)),
    "review": make_task("text", ("positive", "negative")),
    "cola": make_task("text", ("unacceptable", "acceptable")),
    "topic": make_task("text", ("정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠")),
    "relation": make_task("relation", ("no_relation", "org:members", "per:title")),
    "words": make_task("reading"),
}
EXAMPLE = Example(
    id="1",
    inputs={
        "question": "船をつなぐものは？",
        "choices": ["鐘", "綱", "帆", "魚", "地図"],
        "context": "灯台守の美咲は札幌に行った。『北の海』という本を三冊買った。価格は1,200円だった。",
    },
)

JUDGED: dict[str, list[tuple[str, Any]]] = {
    "nli": [
        # a third table
        (
            "承知しました。判断結果をお伝えします。\n\n結論：**矛盾**\n\n理由：前提では寝ていますが、仮説では走っています。",
            C,
        ),
        (
            "前提：犬が走っている。\n仮説：動物が動いている。\n\n犬は動物であり、走ることは動くことなので、仮説は前提から必ず導かれます。\n\n答え：含意",
            E,
        ),
        (
            "Step 1: ...\nStep 2: The hypothesis adds new information.\nStep 3: So it's neutral.\n\nFinal answer: neutral",
            N,
        ),
        ("まとめると、関係は「含意」ではなく「中立」になります。", N),
        ("この問題の答えは中立でしょう。", N),
        ("含意（前提から仮説が成り立つため）", E),
        ("解答: 含意 | 確信度: 高", E),
        ("矛盾 / contradiction", C),
        ("정답은 함의(entailment)입니다.", E),
        ("모순\n\n설명: 전제에서는 비가 오지만 가설에서는 맑다.", C),
        ("전제와 가설은 중립적인 관계입니다.", N),
        ("함의 관계가 성립하지 않으며, 모순도 아닙니다. 따라서 중립입니다.", N),
        ("가설이 참인지 거짓인지 알 수 없으므로 정답은 중립이다.", N),
        ("Sure! The label is: Contradiction", C),
        ("The relationship is neutral because the premise doesn't mention the color.", N),
        ("I would say entailment.", E),
        ("Contradiction.\nThe premise says he is asleep.", C),
        ("The correct answer is: **entailment**", E),
        ("Hence, neutral.", N),
        ("Therefore the hypothesis is entailed by the premise.", E),
        ("前提と仮説が矛盾するかどうかを検討します。", None),
        ("矛盾の可能性があります。", None),
        ("中立か含意のどちらかだと思います。", None),
        ("含意とも中立とも取れます。", None),
        ("モデルは「含意」と答えるかもしれません。", None),
        ("It could be entailment, but it might be neutral.", None),
        ("not entailment", None),
        ("모순인지 확인해 보겠습니다.", None),
        ("entailment/neutral", None),
        ("前提が正しければ仮説も正しいと言えます。", None),
        # a second table, judged later on wordings that no one had tried
        ("この2つの文の関係は「中立」だと考えられます。", N),
        ("回答：\n**矛盾 (contradiction)**", C),
        ("中立 (neutral)", N),
        ("Entailment\n\nExplanation: the premise says the same thing.", E),
        ("Label: contradiction\nReason: The premise does not entail the hypothesis.", C),
        ("前提から仮説が導けるため、含意と判断します。", E),
        ("仮説の内容は前提からは分からないため、中立と判断しました。", N),
        ("前提と仮説は矛盾していないため、中立です。", N),
        ("前提は仮説を含意しないが、矛盾もしない。したがって中立である。", N),
        ("矛盾しているように見えますが、実際には含意です。", E),
        ("Based on the premise, the hypothesis is a contradiction.", C),
        ("I think the answer would be neutral.", N),
        ("Answer - entailment", E),
        ("답변: 함의 (entailment)", E),
        ("전제와 가설은 서로 모순됩니다.", C),
        ("따라서 두 문장의 관계는 '중립'입니다.", N),
        ("가설은 전제에 의해 함의된다.", E),
        ("전제로부터 가설을 추론할 수 없으므로 중립입니다.", N),
        ("모순이 아니므로 중립 관계이다.", N),
        ("最終的な答え: entailment", E),
        ("✅ 含意", E),
        ("[含意]", E),
        ("「含意」を選びます。", E),
        ("A: entailment, B: contradiction, C: neutral", None),
        ("選択肢: 含意、矛盾、中立\n答え: 中立", N),
        ("答え: 中立\n\n質問: 次の文は？", N),
        ("This is not a contradiction.", None),
        ("It's hard to say whether this is entailment or neutral.", None),
        ("含意とは、前提が正しければ仮説も正しいことです。", None),
        ("答えは「含意」か「中立」のどちらかです。", None),
        ("答えは中立、もしくは矛盾。", None),
        ("矛盾なし", None),
        ("中立的な立場から言えば、難しい問題です。", None),
        ("What is the label? entailment", E),
        ("{'label': 'neutral'}", N),
        ("neutral<|im_end|>", N),
        ("The premise contradicts itself.", None),
        ("答えは矛盾しません。", None),
        ("Neither. The answer: neutral", N),
        ("결론적으로 정답은 모순이 맞습니다.", C),
        # plain
        ("含意", E),
        ("矛盾。", C),
        ("「中立」", N),
        ("**含意**", E),
        ("ENTAILMENT", E),
        ("함의", E),
        ("- 中立", N),
        ("\n\n矛盾\n", C),
        ("含意です", E),
        ("中立である。", N),
        ("모순입니다.", C),
        ("ラベル：entailment", E),
        # after a cue
        ("答えは含意です。", E),
        ("したがって答えは「矛盾」です。", C),
        ('정답은 "모순"입니다', C),
        ("정답: 중립", N),
        ("답은 함의입니다.", E),
        ("답: **모순**", C),
        ("Answer: contradiction", C),
        ("ANSWER: NEUTRAL", N),
        ("**Answer:** entailment", E),
        ("**Final Answer**: neutral.", N),
        ("The answer is contradiction.", C),
        ("The correct label is **neutral**.", N),
        ("正解は中立となります。", N),
        ("結論：含意", E),
        ("結論として、答えは矛盾になります。", C),
        ("判定結果は「中立」と考えられます。", N),
        ("答え\n\n含意", E),
        ("### 答え\n矛盾", C),
        ("$\\boxed{中立}$", N),
        ("The final answer is \\boxed{\\text{entailment}}.", E),
        ("関係は矛盾です。", C),
        ("두 문장의 관계는 중립으로 판단됩니다.", N),
        ("The relationship between the two sentences is contradiction.", C),
        # JSON
        ('{"answer": "中立"}', N),
        ('```json\n{"label": "entailment", "reason": "矛盾はない"}\n```', E),
        ('{"reason": "答えは矛盾に見えるが違う", "answer": "含意"}', E),
        ('結果は次のとおりです。\n{"label": "모순"}', C),
        # thinking aloud: the last statement counts
        ("<think>答えは矛盾かな</think>含意", E),
        ("<think>\n答えは矛盾です。\n</think>\n\n答えは中立です。", N),
        ("矛盾に見える。答えは矛盾です。いや、よく考えると答えは中立です。", N),
        ("Let me think. The answer is neutral... Actually, the answer is entailment.", E),
        ("前提では犬が寝ている。仮説では犬が走っている。よって、矛盾です。", C),
        ("思考を省きます</think>矛盾", C),
        # predicates
        ("仮説は前提と矛盾しています。", C),
        ("前提は仮説を含意する。", E),
        ("前提は仮説を含意します。", E),
        ("가설은 전제와 모순됩니다.", C),
        ("두 문장은 모순 관계입니다.", C),
        ("The premise entails the hypothesis.", E),
        ("The hypothesis contradicts the premise.", C),
        ("The hypothesis is neutral with respect to time, so it is neutral.", N),
        # denied, and another one given
        ("含意ではなく中立です。", N),
        ("答えは矛盾ではなく、中立です。", N),
        ("함의가 아니라 모순입니다.", C),
        ("답은 중립이 아니라 함의입니다.", E),
        ("The answer is not entailment but neutral.", N),
        ("The premise does not entail the hypothesis, so the answer is neutral.", N),
        ("Label: neutral, not contradiction.", N),
        # traps
        ("含意か中立か迷います。", None),
        ("答えは含意または中立です。", None),
        ("entailment or neutral", None),
        ("함의 또는 중립", None),
        ("The answer is entailment or neutral.", None),
        ("含意、矛盾、中立のいずれかを選びます。", None),
        ("まず含意の定義を確認します。", None),
        ("矛盾という言葉は前提に出てこない。", None),
        ("仮説は前提と矛盾しません。", None),
        ("矛盾とは言えない。", None),
        ("非矛盾です。", None),
        ("答えは矛盾でしょうか。", None),
        ("答えは矛盾ですか？", None),
        ("もし答えが含意ならば、犬は走っているはずだ。", None),
        ("모순이라고 할 수 없습니다.", None),
        ("정답은 함의인가?", None),
        ("오답: 함의", None),
        ("不正解は含意です。", None),
        ("It is neither entailment nor contradiction.", None),
        ("Is it a contradiction?", None),
        ("The word neutral appears in the premise twice.", None),
        ("A wrong answer is entailment.", None),
        ("1. 含意\n2. 矛盾\n3. 中立", None),
        ("<think>答えは含意です", None),
        ("申し訳ありませんが、お答えできません。", None),
        ("죄송하지만 답변할 수 없습니다.", None),
        ("I'm sorry, but I can't help with that.", None),
        ("C", None),
        ("答えはCです。", None),
        ("2", None),
        ("", None),
        ("…", None),
    ],
    "choice": [
        # a third table
        ("考え方：船を岸につなぐには綱を使う。\n\n最終的な答え：B", 1),
        ("**正解：B（綱）**", 1),
        ("答えは「綱」。", 1),
        ("Bの「綱」です。", 1),
        ("B) 綱", 1),
        ("The answer is B: 綱", 1),
        ("My final answer is **(C)**.", 2),
        ("Answer:\nD", 3),
        ("綱が正解です。", 1),
        ("정답은 綱입니다.", 1),
        ("보기 중 정답은 D입니다.", 3),
        ("답은 E 입니다.", 4),
        ("私の選択はCです。", 2),
        ("A→✕ B→◯ C→✕", None),
        ("AでもBでもありません。", None),
        ("鐘、綱、帆", None),
        ("どれも正しくありません。", None),
        ("正解はありません。", None),
        ("The answer is either A or D.", None),
        ("BまたはC", None),
        # a second table, judged later on wordings that no one had tried
        ("答えは (B) 綱 です。", 1),
        ("正解は B 「綱」です。", 1),
        ("B\n\n解説：船は綱でつなぎます。Aの鐘は違います。", 1),
        ("正しい選択肢は D です。", 3),
        ("I choose C.", 2),
        ("The answer is option (E), 地図.", 4),
        ("Therefore, the correct choice is **B**.", 1),
        ("よってBを選択します。", 1),
        ("정답은 ③번입니다.", 2),
        ("답: B. 綱", 1),
        ("選択肢の中では「綱」が最も適切です。", 1),
        ("「綱」と「帆」のうち、つなぐのは「綱」です。", 1),
        ("Bではありません。", None),
        ("A、B、Cは違う。", None),
        ("AとBは違うので、答えはCかDです。", None),
        ("わかりません。", None),
        ("Answer: B or C", None),
        ("答えは5です", None),
        ("答え：(1) 綱", 1),
        ("Bかもしれません。", None),
        ("E.", 4),
        ("答えはE（地図）ではなくB（綱）です。", 1),
        ("B, because ropes tie ships.", 1),
        ("B", 1),
        ("Ｂ", 1),
        ("(B)", 1),
        ("B.", 1),
        ("b)", 1),
        ("[B]", 1),
        ("Ⓑ", 1),
        ("ウ", 2),
        ("（ウ）", 2),
        ("②", 1),
        ("❷", 1),
        ("3", 3),
        ("３", 3),
        ("2番目", 1),
        ("두 번째는 2번째", None),
        ("綱", 1),
        ("「綱」", 1),
        ("綱です。", 1),
        ("B: 綱", 1),
        ("B（綱）", 1),
        ("綱（B）", 1),
        ("**B. 綱**", 1),
        ("したがって答えは「C」です。", 2),
        ("答えはBです。", 1),
        ("答えは綱です。", 1),
        ("答え：Ｄ", 3),
        ("正解は、E。", 4),
        ("ANSWER: C", 2),
        ("Answer: (D)", 3),
        ("The correct answer is B) 綱.", 1),
        ("The best option is C because ships have sails.", 2),
        ("정답은 B입니다.", 1),
        ("정답: ②", 1),
        ("답은 (마)입니다", 4),
        ("\\boxed{C}", 2),
        ("`\\boxed{C}`", 2),
        ("答えは3です", 3),
        ("Cが正解です。", 2),
        ("Bが最も適切です。", 1),
        ("B가 정답입니다.", 1),
        ("Option B is correct.", 1),
        ("選択肢Bです", 1),
        ("以上より、選択肢Bが正しい。", 1),
        ("よって選択肢Bを選択する。", 1),
        ("選択肢B「綱」が最も適切です。", 1),
        ("選択肢Aと選択肢Bが正しい。", None),
        ("選択肢Aまたは選択肢Bが適切です。", None),
        ("選択肢Bが正しいとは言えない。", None),
        ("誤った選択肢Bを選びました。", None),
        ("もし選択肢Bが正しいなら、綱が要る。", None),
        ("B. 船は綱でつなぐからです。", 1),
        ("A: 鐘\nB: 綱\nC: 帆\n答え: B", 1),
        ("船をつなぐものは綱です。", 1),
        ('{"answer": "B"}', 1),
        ('{"answer": 1}', 1),
        ("<think>A? B? 答えはA</think>B", 1),
        ("答えはA、いや、やはり答えはCです。", 2),
        ("AではなくB", 1),
        ("答えはAではなくBです。", 1),
        ("The answer is B, not A.", 1),
        ("The answer is not A but C.", 2),
        ("정답은 A가 아니라 B입니다.", 1),
        ("Aは楽器なので違う。Bは船具だ。よって答えはB", 1),
        # traps
        ("B: 鐘", None),
        ("AかB", None),
        ("A or B", None),
        ("A, B", None),
        ("答えはAまたはBです。", None),
        ("Answer: A dog", None),
        ("A dog barks.", None),
        ("答えはアメリカです", None),
        ("オーストリアが正解です。", None),
        ("命綱です。", None),
        ("2番", None),
        ("정답: 2번", None),
        ("A: 鐘\nB: 綱\nC: 帆", None),
        ("選択肢Aは鐘です。", None),
        ("綱と帆があるが、どちらとも言えない。", None),
        ("Aが正解ではない。", None),
        ("Aは不正解です。", None),
        ("F", None),
        ("7", None),
        ("⑥", None),
        ("Bは正しいでしょうか？", None),
        ("", None),
    ],
    "score": [
        # a third table
        ("類似度：4.5（ほぼ同じ意味）", 4.5),
        ("評価は3点です。", 3.0),
        ("I'd rate the similarity as 4.", 4.0),
        ("Rating: 3.5 out of 5.", 3.5),
        ("두 문장은 매우 비슷합니다. 점수: 4.5", 4.5),
        ("スコアは「2」です。", 2.0),
        ("答え：3.5点（5点満点中）", 3.5),
        ("類似度は約4.0です。", 4.0),
        ("4点か5点", None),
        ("1文目は2023年の話です。", None),
        # a second table, judged later on wordings that no one had tried
        ("類似度スコアは 4.2 点です。", 4.2),
        ("スコア：3", 3.0),
        ("Similarity: 3.8/5", 3.8),
        ("두 문장의 유사도는 2.5점입니다.", 2.5),
        ("**Score: 4.0**\n\nBoth sentences describe 2 dogs.", 4.0),
        ("2.5\n\n理由：3つの単語が同じだから。", 2.5),
        ("I'd give it a 3.", 3.0),
        ("5点中3点", 3.0),
        ("3点（5点満点）", 3.0),
        ("3.0から3.5くらい", None),
        ("類似度は3以上です。", None),
        ("-1", -1.0),
        ("0点", 0.0),
        ("スコアは4です。ただし3でもよい。", 4.0),
        ("5", 5.0),
        ("意味は80%同じです。", None),
        ("3.5", 3.5),
        ("３．５", 3.5),
        ("4点", 4.0),
        ("4.0点", 4.0),
        ("4.0점", 4.0),
        ("4/5", 4.0),
        ("4 / 5", 4.0),
        ("4 out of 5", 4.0),
        ("約3.5", 3.5),
        ("about 3", 3.0),
        ("**2.5**", 2.5),
        ("類似度は3.5です", 3.5),
        ("類似度：４．２", 4.2),
        ("スコア: 2.0", 2.0),
        ("答えは1.5です。", 1.5),
        ("점수는 3.2입니다", 3.2),
        ("유사도: 4", 4.0),
        ("Score: 4.5", 4.5),
        ("The similarity score is 2.8.", 2.8),
        ("類似度は5段階中4です。", 4.0),
        ("類似度: 2.5(5点満点)", 2.5),
        ("文1には犬が2匹、文2には3匹いる。よって類似度は1.5です。", 1.5),
        ("似ているので4点です。", 4.0),
        ('{"score": 3.5}', 3.5),
        ('{"score": "3.5", "reason": "2語が同じ"}', 3.5),
        ("\\boxed{3.4}", 3.4),
        ("最初は2かと思ったが、類似度は3.0です。", 3.0),
        ("<think>5?</think>3", 3.0),
        ("I would rate this 3.5.", 3.5),
        # traps
        ("文1には犬が3匹いる。", None),
        ("スコアは1から5の間です。", None),
        ("3か4", None),
        ("3〜4", None),
        ("between 3 and 4", None),
        ("8/10", None),
        ("類似度は7です", None),
        ("類似度は高いです", None),
        ("5点満点で評価します。", None),
        ("3 dogs", None),
        ("NaN", None),
        ("", None),
    ],
    "review": [
        ("肯定的", "positive"),
        ("このレビューは肯定的です。", "positive"),
        ("答え: ネガティブ", "negative"),
        ("부정", "negative"),
        ("The review is negative.", "negative"),
        ("The review is not negative.", None),
        ("肯定的とも否定的とも言えない。", None),
        ("否定的な単語はありません。", None),
    ],
    "cola": [
        ("1", "acceptable"),
        ("0", "unacceptable"),
        ("答えは0です。", "unacceptable"),
        ("この文は容認できません。", "unacceptable"),
        ("容認できる", "acceptable"),
        ("Unacceptable.", "unacceptable"),
        ("容認できるとは言えない。", None),
        ("10", None),
    ],
    "topic": [
        ("경제", "경제"),
        ("주제는 IT과학입니다.", "IT과학"),
        ("정답: 생활문화", "생활문화"),
        ("이 기사는 경제 정책을 다룬 정치 기사처럼 보인다.", None),
    ],
    "relation": [
        ("org:members", "org:members"),
        ("The relation is per:title.", "per:title"),
        ("관계: no_relation", "no_relation"),
        ("per:titles", None),
    ],
    "words": [
        ("札幌", "札幌"),
        ("札幌。", "札幌。"),
        ("『北の海』", "『北の海』"),
        ("「札幌」", "「札幌」"),
        ("1,200円", "1,200円"),
        ("答え：札幌", "札幌"),
        ("答えは「札幌」です。", "札幌"),
        ("答えは札幌です。", "札幌"),
        ("정답: 札幌", "札幌"),
        ("Answer: 三冊", "三冊"),
        ('{"answer": "三冊"}', "三冊"),
        ("<think>小樽?</think>札幌", "札幌"),
        ("答え: 答えなし", ""),
        ("정답: 답 없음", ""),
        ("", ""),
        ("答えは分からない", "答えは分からない"),
        ("<think>札幌かな", None),
    ],
}
ROWS = [(name, text, meant) for name, rows in JUDGED.items() for text, meant in rows]


def test_the_table_is_large_enough() -> None:
    assert len(ROWS) >= 120
    assert sum(meant is None for _, _, meant in ROWS) >= 40


@pytest.mark.parametrize(("name", "text", "meant"), ROWS)
def test_a_reply_is_read_as_a_person_reads_it(name: str, text: str, meant: Any) -> None:
    reading = make_reader(TASKS[name])(text, EXAMPLE)
    assert reading.answer == meant, reading
    assert (reading.why is None) == (meant is not None)
    assert 0 <= reading.start <= reading.end <= len(text)
    if reading.why is not None:
        assert "\n" not in reading.why


@pytest.mark.parametrize(
    ("text", "meant"),
    [(text, meant) for text, meant in JUDGED["nli"] if text not in ("C", "答えはCです。")],
)
def test_chat_reads_the_same(text: str, meant: str | None) -> None:
    questions = QUESTIONS["inference"](TASKS["nli"], find_template(TASKS["nli"], "ja"), "ja")
    assert questions.read(EXAMPLE, text).answer == meant


@pytest.mark.parametrize(("text", "meant"), JUDGED["choice"])
def test_chat_reads_choices_the_same_but_for_bare_numbers(text: str, meant: int | None) -> None:
    questions = QUESTIONS["choice"](TASKS["choice"], find_template(TASKS["choice"], "ja"), "ja")
    # letters were offered: a bare number may count from 0 or from 1, and アイウ were not among them
    not_offered = ("3", "３", "答えは3です", '{"answer": 1}', "ウ", "（ウ）", "답은 (마)입니다")
    assert questions.read(EXAMPLE, text).answer == (None if text in not_offered else meant)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("C", N), ("答えはCです。", N), ("したがって答えは「A」です。", E), ("B: 矛盾", C)],
)
def test_letters_count_where_they_were_offered(text: str, meant: str) -> None:
    offer = Offer(keys=("A", "B", "C"))
    assert make_reader(TASKS["nli"], offer=offer)(text, EXAMPLE).answer == meant
    assert make_reader(TASKS["nli"], indices=True)(text, EXAMPLE).answer == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("B", "AB"),
        ("「B」", "AB"),
        ("答えはBです。", "AB"),
        ("C", "B"),
        ("AB", "AB"),
        ("B: AB", "AB"),
    ],
)
def test_an_offered_letter_is_not_the_label_of_that_name(text: str, meant: str) -> None:
    """Blood types: the prompt shows `A: A`, `B: AB`, `C: B`, `D: O` and asks for the letter."""
    labels = ("A", "AB", "B", "O")
    task, offer = replace(TASKS["nli"], labels=labels), Offer(keys=tuple("ABCD"))
    assert make_reader(task, offer=offer)(text, EXAMPLE).answer == meant
    choices = replace(EXAMPLE, inputs={"question": "型は？", "choices": list(labels)})
    assert make_reader(TASKS["choice"], offer=offer)(text, choices).answer == labels.index(meant)


def test_without_letters_in_the_prompt_a_name_is_the_label() -> None:
    task = replace(TASKS["nli"], labels=("A", "AB", "B", "O"))
    assert make_reader(task)("B", EXAMPLE).answer == "B"


def test_a_letter_that_was_not_offered_says_what_would_read_it() -> None:
    why = make_reader(TASKS["nli"])("答えはCです。", EXAMPLE).why
    assert why is not None
    assert "a letter, not a label" in why
    assert "'indices'" in why


def test_a_reading_points_into_the_text_as_written() -> None:
    text = "よって、ＡＮＳＷＥＲ：「矛盾」です。"
    reading = make_reader(TASKS["nli"])(text, EXAMPLE)
    assert (text[reading.start : reading.end], reading.pattern) == ("矛盾", "cue")


@pytest.mark.parametrize("text", ["答えは" * 5_000, "(" * 20_000, "A、" * 8_000, "{" * 20_000])
@pytest.mark.parametrize("name", ["nli", "choice", "score", "words"])
def test_long_replies_take_no_long_time(name: str, text: str) -> None:
    begin = time.process_time()
    reading = make_reader(TASKS[name])(text, EXAMPLE)
    assert reading.why is not None or reading.answer in (0, text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("offer", [None, Offer(keys=tuple("ABCDEFG"), scale=(0.0, 5.0))])
def test_any_mixture_is_read_or_has_a_reason(offer: Offer | None) -> None:
    phrases = load_phrases()
    lists = [getattr(phrases, name) for name in phrases.__struct_fields__]
    pieces = [phrase for each in lists if isinstance(each, tuple) for phrase in each]
    pieces += [
        *'ABCアウ가①②12345./、。:()「」*{}"\n <>|',
        "<think>",
        "</think>",
        "\\boxed{",
        "\ud800",
    ]
    pieces += [text for _, text, _ in ROWS]
    rng = Random(7)
    for _ in range(600):
        name = rng.choice(list(TASKS))
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 10)))
        reading = make_reader(TASKS[name], offer=offer)(text, EXAMPLE)
        assert (reading.answer is None) == (reading.why is not None), text
        assert 0 <= reading.start <= reading.end <= len(text), text
        assert "\n" not in (reading.why or ""), text
