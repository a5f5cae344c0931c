"""Write a dialogue between a user with a goal and an agent with a table of entities, and mark the state (KLUE-DST).

One worker writes both sides, or two meet live (`mode`). An answer is

    {"dialogue": {"how": "self", "turns": [{"role": "user", "text": "…", "state": ["hotel-area-east"]}, {"role": "sys", …}]}}

`how` is `self`, or of two workers `live`, `replaced` (somebody left, and another went on) or `alone` (somebody left, and
the other finished); `by` then numbers the speaker of each turn, and `speaker` is the number of the worker whose answer it is:
both workers of a dialogue have the same one as their answer.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import WritingForm, make_guideline, only_answer
from nikawa.collect.forms._dialogue import (
    STATE_WORDS,
    USER,
    DialogueRules,
    check_dialogue,
    prepare_ontology,
    read_turns,
    shown_goal,
)
from nikawa.records import Example

HOW = ("self", "live", "replaced", "alone")
"""How a dialogue came about."""
KEYS = {"how", "turns"}
LIVE = "live"
MAX_SPEAKERS = 100


class Dialogue(DialogueRules, frozen=True, kw_only=True):
    """Who writes, and the rules."""

    question: str = "dialogue"
    mode: Literal["self", "live"] = "self"
    """`self`: one worker writes both sides; `live`: two workers meet, one is the user, the other the agent."""
    partner_seconds: Annotated[float, Meta(ge=5, le=3600)] = 45
    """Live: a worker whose page sends no request for so long is away; another may take the place."""
    reply_seconds: Annotated[float, Meta(ge=10, le=86_400)] = 300
    """Live: so is one who neither types nor sends a turn for so long, though it is their turn."""


def is_live(options: Options) -> bool:
    """Whether two workers write a dialogue."""
    return bool(options.mode == LIVE)


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """Turns that alternate and keep the rules, with states that have what the goal says."""
    value = only_answer(answer, options.question)
    if not isinstance(value, dict) or value.keys() - {"speaker"} != KEYS:
        return [Problem(REFUSED)]
    how, speaker = value["how"], value.get("speaker", 0)
    if not isinstance(how, str) or how not in HOW or type(speaker) is not int:
        return [Problem(REFUSED)]
    if how != "self" and not is_live(options):  # a page could pass by the rules of states with it
        return [Problem(REFUSED)]
    turns = read_turns(value["turns"])
    if turns is None or any(not 0 <= turn.by < MAX_SPEAKERS for turn in turns):
        return [Problem(REFUSED)]
    return check_dialogue(turns, example, options, live=how != "self")


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """The turns without their states, and the states apart, for others to check; `meta.how` says how they came about."""
    value = answer[options.question]
    turns = value["turns"]
    bare = [{"role": turn["role"], "text": turn["text"]} for turn in turns]
    states = [turn["state"] for turn in turns if turn["role"] == USER]
    return [WriterExample({"turns": bare, "states": states}, meta={"how": value["how"]})]


def view(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The goal."""
    return shown_goal(example, options)


SAMPLE_ONTOLOGY: dict[str, Any] = {
    "language": "ko",
    "domains": {
        "숙소": {
            "opening": "다온시에서 묵을 곳을 찾고 있습니다.",
            "slots": {
                "지역": {"values": ["강변", "시장"], "phrase": "{value} 쪽에 있어야 합니다."},
                "주차": {
                    "values": ["yes", "no"],
                    "phrase": {"yes": "주차할 수 있어야 합니다.", "no": "주차는 필요 없습니다."},
                },
                "이름": {"kind": "offer"},
                "예약 요일": {
                    "kind": "book",
                    "values": ["토요일", "일요일"],
                    "phrase": "{value}에 묵으려고 합니다.",
                },
                "전화번호": {"kind": "ask", "phrase": "전화번호를 물어보세요."},
            },
        }
    },
}
SAMPLE_ENTITIES: dict[str, Any] = {
    "숙소": [
        {"이름": "물안개여관", "지역": "강변", "주차": "yes", "전화번호": "070 0001"},
        {"이름": "새벽시장호텔", "지역": "시장", "주차": "no", "전화번호": "070 0002"},
    ]
}
SAMPLE_TURNS: list[dict[str, Any]] = [
    {"role": "user", "text": "강변에 있는 숙소를 찾아 주세요.", "state": ["숙소-지역-강변"]},
    {"role": "sys", "text": "물안개여관이 있습니다. 예약해 드릴까요?"},
    {
        "role": "user",
        "text": "네, 토요일로 해 주시고 전화번호도 알려 주세요.",
        "state": ["숙소-지역-강변", "숙소-이름-물안개여관", "숙소-예약 요일-토요일"],
    },
    {"role": "sys", "text": "토요일로 예약했습니다. 번호는 070 0001입니다."},
]


def _refused(*turns: dict[str, Any], how: str = "self") -> Answer:
    return {"dialogue": {"how": how, "turns": list(turns)}}


_FIRST, _SECOND, _THIRD, _FOURTH = SAMPLE_TURNS

FORM = WritingForm(
    name="dialogue",
    script="dialogue.js",
    title={
        "ja": "目的のある対話を書く",
        "ko": "목적이 있는 대화 쓰기",
        "en": "Dialogue with a goal",
    },
    questions=("dialogue",),
    inputs=("goal",),
    optional=("constraints", "asks"),
    validate=validate,
    settings=Dialogue,
    files=("ontology", "entities"),
    prepare=prepare_ontology,
    server_only=("entities",),
    to_judge=to_judge,
    together=is_live,
    view=view,
    why_no_machine="workers write it turn by turn while they search a table",
    words={
        "ja": {
            **STATE_WORDS["ja"],
            "prompt": "目標に沿って、利用者と案内係の対話を書いてください。",
            "prompt_user": "あなたは利用者です。目標に沿って話してください。",
            "prompt_sys": "あなたは案内係です。表を検索して利用者に答えてください。",
            "prompt_wait": "相手を待っています。",
            "input_goal": "目標",
            "input_constraints": "条件",
            "input_asks": "質問",
            "goal_met": "済",
            "goal_open": "未",
            "dialogue": "対話",
            "turn_of": "{role}の発言 {number}",
            "turn_send": "発言する",
            "turn_sent": "発言しました",
            "turn_unsent": "まだ送っていない発言があります。送るか消してから、対話を終えてください。",
            "misunderstood": "案内係の理解が目標と違います。次の発言で伝え直してください。",
            "dialogue_end": "対話を終える",
            "key_send": "発言する",
            "turn_missing": "発言を入力してください",
            "turn_short": "{least}文字以上で書いてください",
            "turn_polite": "丁寧な文体（です・ます）で終えてください",
            "turn_plain": "くだけた文体（です・ますを使わない）で終えてください",
            "turns_few": "利用者の発言を{least}回以上書き、最後は案内係の発言で終えてください",
            "turns_many": "利用者の発言は{most}回までです",
            "slot_missing": "目標のうち、まだ話していない項目があります: {slot}",
            "slot_invented": "「{slot}」は目標にありません",
            "value_other": "「{slot}」は、目標では「{value}」です",
            "value_unsaid": "「{value}」が、まだ発言に出てきていません",
            "entity_unfit": "目標の条件に合わない名前です: {name}",
            "ask_open": "「{slot}」の質問にまだ答えていません",
            "search": "表を検索",
            "search_domain": "分野",
            "search_words": "言葉で絞り込む",
            "search_found": "{count}件",
            "search_more": "{count}件中の最初の{shown}件",
            "search_use": "「{name}」を提案に書き込む",
            "search_state": "要望に合うものだけが表示されます。",
            "partner_here": "相手がいます",
            "partner_away": "相手の応答がありません。ほかの人が代わるのを待つか、一人で最後まで書くことができます。",
            "partner_none": "相手がまだいません。来るのを待つか、一人で書くことができます。",
            "partner_over": "対話が終わりました。",
            "alone": "一人で最後まで書く",
            "alone_now": "両方の役を書いています",
            "turn_yours": "あなたの番です",
            "turn_theirs": "相手の番です",
            "turn_taken": "その前に別の発言が届きました。読んでから、もう一度送ってください。",
            "seat_lost": "この対話は、ほかの人が引き継ぎました。",
            "state_first": "返事の前に、利用者の要望を更新してください。",
        },
        "ko": {
            **STATE_WORDS["ko"],
            "prompt": "목표에 맞게 이용자와 안내원의 대화를 써 주세요.",
            "prompt_user": "당신은 이용자입니다. 목표에 맞게 말해 주세요.",
            "prompt_sys": "당신은 안내원입니다. 표를 검색해서 이용자에게 답해 주세요.",
            "prompt_wait": "상대를 기다리고 있습니다.",
            "input_goal": "목표",
            "input_constraints": "조건",
            "input_asks": "질문",
            "goal_met": "완료",
            "goal_open": "남음",
            "dialogue": "대화",
            "turn_of": "{role} 발화 {number}",
            "turn_send": "보내기",
            "turn_sent": "보냈습니다",
            "turn_unsent": "아직 보내지 않은 발화가 있습니다. 보내거나 지운 뒤에 대화를 끝내 주세요.",
            "misunderstood": "안내원이 목표와 다르게 이해했습니다. 다음 발화에서 다시 말해 주세요.",
            "dialogue_end": "대화 끝내기",
            "key_send": "발화 보내기",
            "turn_missing": "발화를 입력해 주세요",
            "turn_short": "{least}자 이상 써 주세요",
            "turn_polite": "높임말(해요체나 합니다체)로 끝내 주세요",
            "turn_plain": "반말로 끝내 주세요",
            "turns_few": "이용자 발화를 {least}번 이상 쓰고, 마지막은 안내원 발화로 끝내 주세요",
            "turns_many": "이용자 발화는 {most}번까지입니다",
            "slot_missing": "목표 가운데 아직 말하지 않은 항목이 있습니다: {slot}",
            "slot_invented": "‘{slot}’ 항목은 목표에 없습니다",
            "value_other": "‘{slot}’ 항목은 목표에서 ‘{value}’입니다",
            "value_unsaid": "‘{value}’라는 말이 아직 발화에 나오지 않았습니다",
            "entity_unfit": "목표의 조건에 맞지 않는 이름입니다: {name}",
            "ask_open": "‘{slot}’ 질문에 아직 답하지 않았습니다",
            "search": "표 검색",
            "search_domain": "분야",
            "search_words": "단어로 좁히기",
            "search_found": "{count}건",
            "search_more": "{count}건 중 처음 {shown}건",
            "search_use": "‘{name}’ 제안에 쓰기",
            "search_state": "요구 사항에 맞는 것만 나옵니다.",
            "partner_here": "상대가 있습니다",
            "partner_away": "상대의 응답이 없습니다. 다른 사람이 올 때까지 기다리거나 혼자서 끝까지 쓸 수 있습니다.",
            "partner_none": "아직 상대가 없습니다. 기다리거나 혼자서 쓸 수 있습니다.",
            "partner_over": "대화가 끝났습니다.",
            "alone": "혼자서 끝까지 쓰기",
            "alone_now": "두 역할을 모두 쓰고 있습니다",
            "turn_yours": "당신 차례입니다",
            "turn_theirs": "상대 차례입니다",
            "turn_taken": "그 전에 다른 발화가 도착했습니다. 읽고 나서 다시 보내 주세요.",
            "seat_lost": "이 대화는 다른 사람이 이어받았습니다.",
            "state_first": "답하기 전에 이용자의 요구 사항을 고쳐 주세요.",
        },
        "en": {
            **STATE_WORDS["en"],
            "prompt": "Write a dialogue of a user and an agent that reaches the goal.",
            "prompt_user": "You are the user. Say what the goal asks for.",
            "prompt_sys": "You are the agent. Search the table and answer the user.",
            "prompt_wait": "Waiting for a partner.",
            "input_goal": "Goal",
            "input_constraints": "Conditions",
            "input_asks": "Questions",
            "goal_met": "done",
            "goal_open": "open",
            "dialogue": "Dialogue",
            "turn_of": "{role}, turn {number}",
            "turn_send": "Send the turn",
            "turn_sent": "The turn was sent",
            "turn_unsent": "You have not sent what you typed. Send or delete it, then end the dialogue.",
            "misunderstood": "The agent understood something else than your goal. Say it again in your next turn.",
            "dialogue_end": "End the dialogue",
            "key_send": "send the turn",
            "turn_missing": "Write the turn",
            "turn_short": "Write at least {least} characters",
            "turn_polite": "End in the polite style",
            "turn_plain": "End in the plain style",
            "turns_few": "Write at least {least} turns of the user, and let the agent have the last word",
            "turns_many": "Write at most {most} turns of the user",
            "slot_missing": "The dialogue does not mention all of the goal yet: {slot}",
            "slot_invented": "The goal says nothing of “{slot}”",
            "value_other": "In the goal, “{slot}” is “{value}”",
            "value_unsaid": "No turn mentions “{value}” yet",
            "entity_unfit": "This name does not fit the goal: {name}",
            "ask_open": "The question about “{slot}” is not answered yet",
            "search": "Search the table",
            "search_domain": "Domain",
            "search_words": "Words to look for",
            "search_found": "{count} found",
            "search_more": "The first {shown} of {count}",
            "search_use": "Suggest “{name}”",
            "search_state": "Only what fits the requests is listed.",
            "partner_here": "Your partner is here",
            "partner_away": "Your partner does not respond. Wait until another worker takes the place, or write the rest alone.",
            "partner_none": "There is no partner yet. Wait for one, or write alone.",
            "partner_over": "The dialogue has ended.",
            "alone": "Write the rest alone",
            "alone_now": "You write both sides",
            "turn_yours": "It is your turn",
            "turn_theirs": "It is your partner’s turn",
            "turn_taken": "Another turn arrived first. Read it, then send yours again.",
            "seat_lost": "Another worker continues this dialogue.",
            "state_first": "Update the requests of the user before you answer.",
        },
    },
    guideline=make_guideline(
        ja=(
            "利用者が先に話し、案内係が最後に話します。一度の発言は一文か二文にしてください。",
            "目標に書かれたことは、いくつかの発言に分けて、すべて伝えてください。目標にない条件は加えないでください。",
            "案内係は表にある情報だけを使い、要望に合うものを提案してください。",
            "利用者の発言ごとに、それまでに伝えた要望をすべて選んでください。前の要望はそのまま引き継がれます。変わったものだけを直してください。",
            "どれでもよいと言ったときは「こだわらない」を選んでください。",
        ),
        ko=(
            "이용자가 먼저 말하고 안내원이 마지막에 말합니다. 한 번에 한두 문장만 써 주세요.",
            "목표에 적힌 내용은 여러 발화에 나누어 모두 전해 주세요. 목표에 없는 조건은 더하지 마세요.",
            "안내원은 표에 있는 정보만 사용하고, 요구 사항에 맞는 것을 제안해 주세요.",
            "이용자 발화마다 그때까지 말한 요구 사항을 모두 골라 주세요. 앞의 요구 사항은 그대로 이어지므로 달라진 것만 고치면 됩니다.",
            "아무거나 괜찮다고 말했으면 ‘상관없음’을 골라 주세요.",
        ),
        en=(
            "The user speaks first and the agent last. Write one or two sentences in a turn.",
            "Say everything that the goal asks for, spread over several turns. Add no other wishes.",
            "The agent uses only the table, and suggests what fits the requests.",
            "After each turn of the user, select all requests made so far. Earlier requests stay; change only what changed.",
            "If the user has no preference, choose “does not matter”.",
        ),
    ),
    sample=Sample(
        inputs={
            "goal": [
                "다온시에서 묵을 곳을 찾고 있습니다.",
                "강변 쪽에 있어야 합니다.",
                "토요일에 묵으려고 합니다.",
                "전화번호를 물어보세요.",
            ],
            "constraints": [
                {"slot": "숙소-지역", "value": "강변", "sentence": 1},
                {"slot": "숙소-예약 요일", "value": "토요일", "sentence": 2},
            ],
            "asks": [{"slot": "숙소-전화번호", "sentence": 3}],
        },
        answer={"dialogue": {"how": "self", "turns": SAMPLE_TURNS}},
        refused=(
            {},
            {"dialogue": SAMPLE_TURNS},
            {"dialogue": {"how": "other", "turns": SAMPLE_TURNS}},
            {"dialogue": {"how": "live", "turns": SAMPLE_TURNS}},
            _refused(),
            _refused(_FIRST, _SECOND),
            _refused(*SAMPLE_TURNS[:3]),
            _refused(_SECOND, _FIRST, _FOURTH, _THIRD),
            _refused(_FIRST, {**_SECOND, "text": " "}, _THIRD, _FOURTH),
            _refused(_FIRST, {**_SECOND, "text": "네"}, _THIRD, {**_FOURTH, "text": "그"}),
            _refused(_FIRST, {**_SECOND, "text": "네" * 201}, _THIRD, _FOURTH),
            _refused({**_FIRST, "text": "강변이 좋아."}, *SAMPLE_TURNS[1:]),
            _refused({**_FIRST, "state": ["숙소-지역-산"]}, *SAMPLE_TURNS[1:]),
            _refused({**_FIRST, "state": ["숙소-지역-시장"]}, *SAMPLE_TURNS[1:]),
            _refused({**_FIRST, "state": ["숙소-주차-yes"]}, *SAMPLE_TURNS[1:]),
            _refused({**_FIRST, "state": ["숙소-이름-새벽시장호텔"]}, *SAMPLE_TURNS[1:]),
            _refused(_FIRST, _SECOND, {**_THIRD, "state": ["숙소-지역-강변"]}, _FOURTH),
            _refused(*[_FIRST, _SECOND] * 20, _THIRD, _FOURTH),
        ),
        settings={
            "ontology": SAMPLE_ONTOLOGY,
            "entities": SAMPLE_ENTITIES,
            "politeness": {"user": "polite", "sys": "polite"},
        },
    ),
)
