"""Replies that hold the wording of an answer and do not give it: denied, doubted, taken back.

A wrong label is worse than none: `None` is also the reading of some texts that a person would read,
such as 「Bと思いましたが、Dです」, and that the reader leaves alone.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.io.answers.test_judged_replies import TASKS

from nikawa.io.answers.reader import make_reader
from nikawa.records import Example

C, E, N = "contradiction", "entailment", "neutral"
EXAMPLE = Example(
    id="1", inputs={"question": "船をつなぐのは？", "choices": ["鐘", "綱", "帆", "錨", "櫂"]}
)
ROWS: dict[str, list[tuple[str, Any]]] = {
    "nli": [
        ("答えは含意です。いや、待ってください。矛盾です。", C),
        ("答えは含意です。訂正します。中立です。", N),
        ("答え：含意\n訂正：中立", N),
        ("答え：含意\nやっぱり中立で。", N),
        ("Answer: entailment\nCorrection: neutral", N),
        ("정답: 함의\n아니, 중립입니다.", N),
        ("My earlier answer was entailment. That is wrong; it should be neutral.", N),
        ("一見すると答えは含意です。しかし、実際にはそうではありません。", None),
        ("一見すると答えは含意ですが、違います。", None),
        ("もし前提が正しければ、答えは含意です。しかし前提は正しくありません。", None),
        ("仮に犬だとすれば、答えは含意です。実際は猫なので中立です。", N),
        ("If the dog is a poodle, the answer is entailment.", None),
        ("If all dogs run, this dog runs, so the answer is entailment.", E),
        ("Some might say the answer is entailment. I disagree.", None),
        ("正解は含意だと思われがちですが、実際は中立です。", N),
        ("答えは含意でも矛盾でもなく中立です。", None),
        ("答えは含意でも中立でもありません。", None),
        ("答えは含意となりません。", None),
        ("答えは矛盾とは判断できません。", None),
        ("判断は含意とする根拠がない。", None),
        ("答えが含意になるのは、前提が真の場合だけです。ここでは違います。", None),
        ("含意が正解とは思えません。", None),
        ("含意を選ぶのは誤りです。", None),
        ("이 문장은 함의가 정답이 아닙니다.", None),
        ("함의가 정답이라고 보기 어렵다.", None),
        ("I don't think entailment is correct.", None),
        ("Neither entailment nor contradiction is correct.", None),
        ("The premise fails to entail the hypothesis.", None),
        ("It is hard to say that this is entailment.", None),
        ('{"contradiction": "no"}', None),
        ("No.\n\nThe premise entails the hypothesis.", E),
        ("Answer: No, it does not contradict; it is neutral.", N),
        ("The answer is neutral because the premise does not say so.", N),
        ("答えは含意に違いありません。", None),
        ("答え: 中立\n（参考）例題の答え: 含意", N),
    ],
    "choice": [
        ("答えはBです。いや、Dです。", 3),
        ("答え：A\n訂正：B", 1),
        ("Answer: A\nWait, actually it's B.", 1),
        ("答えはBと思いましたが、Dです。", None),
        ("AとBが正解です。", None),
        ("AまたはBが正しい。", None),
        ("I don't think B is correct.", None),
        ("A가 정답이 아닙니다", None),
        ("A가 정답이라고 할 수 없습니다", None),
        ("Aを選ぶと間違いです。", None),
        ("答えはCとは異なる", None),
        ("答えはCと同じくらいDもあり得る", None),
        ("答えはCで始まる単語です", None),
        ("答えはCで、Dではない", 2),
        ("正解はBで合っていますか？", None),
        ("答えはBだと言えるでしょうか。", None),
        ("答えはBだとは思いません。", None),
        ("答えはBになることはありません。", None),
        ("정답은 B라고 생각하지 않습니다.", None),
        ("Answer: B;D", None),
        ("A B", None),
        ("A\nB", None),
        ("A (30%), B (70%)", None),
        ('{"B": "A"}', None),
        ("答えはBです。理由は、Aではないからです。", 1),
        ("答えはBですが、念のため理由を述べます。", 1),
    ],
    "score": [
        ("スコアは3です。いや、4です。", 4.0),
        ("スコアは3です。訂正します。", None),
        ("スコアは3ではなく4です。", None),
        ("スコアは3ではありません。", None),
        ("文の類似度が5になるのは同じ意味のときです。", None),
        ("類似度は0.8（0〜1）", None),
        ("유사도는 0.8(80%)입니다", None),
        ("Score: 4 (out of 10)", None),
        ("4点（10点満点）", None),
        ("4（5点満点）", 4.0),
        ("点数の基準:\n5\n4\n3\n2\n1\n0", None),
        ("スコア 0: 無関係、スコア 5: 同義。", None),
        ("スコア 0: 無関係、スコア 5: 同義。よってスコア 2", 2.0),
        ("score: 3:2", None),
        ("3,5", None),
        ("類似度スコア（0〜5）: 4.0", 4.0),
        ("Similarity score (0-5): 4", 4.0),
        ("0〜5で評価すると3.2です。", 3.2),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [(name, text, meant) for name, rows in ROWS.items() for text, meant in rows],
)
def test_what_is_taken_back_is_no_answer(name: str, text: str, meant: Any) -> None:
    reading = make_reader(TASKS[name])(text, EXAMPLE)
    assert reading.answer == meant, reading
    assert (reading.why is None) == (meant is not None)


@pytest.mark.parametrize("name", ["nli", "choice", "score"])
@pytest.mark.parametrize(
    "part",
    [
        "no\n",
        "答えはBです ",
        "いや、",
        "答えは含意だと",
        "もし",
        "AとBが正解",
        "3\n",
        "スコアは3です ",
        "B is correct ",
    ],
)
def test_long_ones_take_no_long_time(name: str, part: str) -> None:
    start = time.process_time()
    make_reader(TASKS[name])(part * (10_000 // len(part)), EXAMPLE)
    assert time.process_time() - start < 3
