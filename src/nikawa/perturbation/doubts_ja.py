"""Doubts about a Japanese clause: reasons why the subject and the phrase after it may not be those of
one predicate.

A topic (は, も) is often no subject: 通常は, 荷物は棚に置いた, 忘れ物は受付にお届けください. The phrase after a
subject may belong to a quotation or a noun clause, be part of a compound postposition (を通じて) or an
adverb (一緒に), and で may be the copula (これは父の形見で). Each such sign lowers the confidence of the
clause. A sign that is nearly always right lowers it below the default threshold alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.perturbation._particles import Doubt, word_set
from nikawa.perturbation.base import Tokens
from nikawa.perturbation.phrases_ja import STOPS, TIME_COUNTERS, Analysis, is_time_noun
from nikawa.perturbation.words_ja import (
    PERSONAL_NOUNS,
    PERSONAL_VERBS,
    RESULTS,
    acts,
    find_potential_base,
    is_person,
    takes_object,
)
from nikawa.text import Token

ADVERBIAL_TOPIC = "the topic is an adverbial (通常は)"
OBJECT_TOPIC = "the topic may be the object of the predicate"
CHANCE = "the topic may be a place or a thing with which a person can do it"
EMPHASIS = "the particle is inside the predicate (当惑もした)"
TWO_TOPICS = "another topic is right before the topic"
REQUEST = "the topic may not be the subject of a request or an offer"
MAIN_CLAUSE = "the topic may belong to the main clause"
QUOTATION = "the second phrase belongs to a quotation or a noun clause"
RELATIVE = "the subject may be that of the relative clause"
COPULA = "で may be the copula"
ADVERB = "an adverbial, no argument"
COMPOUND = "the particle is part of a compound postposition (を通じて)"
BETWEEN = "an adverbial is between them"
IDIOM = "the phrase and the verb are an idiom (役に立つ)"
ADJECTIVE = "the subject is that of the adjective"
NO_PREDICATE = "no predicate follows"

# Topics.

_QUANTITIES = word_set(
    "多く 一部 全員 すべて 全て 全部 大半 半分 半数 大部分 ほとんど みんな 皆 みな 残り 両方 人 方 者 自分 全体 一行 双方 前者 後者"
)
"""Nouns that IPADIC tags as adverbs and that are subjects too."""
_ADVERBIAL_TOPICS = word_set(
    "通常 普通 ふつう 通例 普段 ふだん 平素 日頃 実際 本来 元来 基本 原則 一般 最初 最後 当初 今回 前回 次回 毎回 今度 "
    "場合 際 時 とき ころ 頃 とこ うち 間 あいだ ため ほか 他 限り かぎり たび 度 ところ 中 上 点 "
    "時代 時期 時点 時刻 時間帯 季節 シーズン 期間 冬季 夏季 春季 秋季 週末 平日 休日 祝日 前半 後半 序盤 中盤 終盤 "
    "冬場 夏場 昼間 夜間 夜中 朝方 夕方 早朝 深夜 正午 当日 前日 翌日 翌年 翌月 同年 同日 同月 本日 昨日 明日 "
    "時分 ゆうべ 昨夜 昨晩 今夜 今晩 今朝 先週 来週 春 夏 秋 冬 朝 昼 夜 晩 夕べ 午前 午後 正月 年末 年始 お盆 梅雨 連休 休み 平常 昔 むかし 近頃 "
    "詳細 詳しく くわしく 先ほど もと 元 もともと 先日 後日 現時点 今 次 まず こちら そちら 以下 の ん こと もの わけ"
)
"""Nouns whose topic says when, where or on what: no subject, or a cleft (…のは)."""
_PLACES = word_set(
    "これ それ あれ ここ そこ あそこ こちら 町 街 市 県 国 都 村 島 山 川 湖 寺 城 駅 地域 地方 土地 都市 所 場所 "
    "建物 部屋 家 店 公園 神社 辺り"
)
"""Topics after which a noun with で is mostly a predicate: ここは坂の町で."""
_VENUES = word_set("店 当店 ホテル 旅館 劇場")
"""Groups that are also places: この店は靴を選べる."""
_SPEAKING = word_set("言う 云う 話す 語る 待つ 頼む 断る 思う")
"""Verbs whose subject is a person, though their object is often left out."""


_HONORIFIC_VERBS = word_set("召し上がる 召し上る めしあがる なさる おっしゃる いらっしゃる ご覧")
"""Verbs whose subject is a person."""


def find_topic_doubts(sentence: Analysis, k: int, m: int) -> Iterator[Doubt]:
    """Doubts whether the topic k is the subject of the predicate of phrase m."""
    tokens, phrases = sentence.tokens, sentence.phrases
    noun = tokens[phrases[k].last - 1]
    p = phrases[k].last
    if is_adverbial_topic(tokens, phrases[k].first, p):
        yield Doubt(ADVERBIAL_TOPIC, 0.1)
    is_emphatic = "サ変接続" in noun.pos[1:3] and tokens[p + 1].base in ("する", "できる")
    if is_emphatic:
        yield Doubt(EMPHASIS, 0.1)  # 当惑もした
    after = phrases[k + 1]
    if phrases[k].mark == "も" and k + 1 < m and after.kind == "modifier" and after.verbal:
        yield Doubt(RELATIVE, 0.4)  # 空の可能性もある引数を
    before = phrases[k - 1] if k else None
    if before is not None and before.mark == "は" and phrases[k].mark == "は" and not before.comma:
        yield Doubt(TWO_TOPICS, 0.4)
    g = sentence.governors[m]
    if g < 0:
        return
    is_actor = acts(noun) or noun.surface in ("か", "だけ")
    last = tokens[phrases[g].last]
    is_conditional = phrases[g].kind == "and" and last.cform == "仮定形"
    is_clause = phrases[g].kind == "if" and last.surface not in (
        "が",
        "けれど",
        "けれども",
        "けど",
        "し",
    )
    is_noun_clause = phrases[g].kind == "modifier" and not is_auxiliary(tokens, phrases[g].end)
    if phrases[g].kind == "modifier" and not is_actor:
        # 目的はデータを守ることだ: the clause is what the topic is.
        following = [token.surface for token in tokens[phrases[g].end : phrases[g].end + 2]]
        is_noun_clause = is_noun_clause or following in (
            ["こと", "だ"],
            ["こと", "で"],
            ["こと", "です"],
        )
    # 涙を流さずには見られない: a verb before the predicate has the phrase.
    between = phrases[m + 1 : g]
    has_verb = any(
        phrase.verbal
        and (phrase.kind == "case" or tokens[phrase.last - 1].pos[:2] == ("助詞", "副助詞"))
        for phrase in between
    )
    has_question = any(is_question(tokens, phrase.last) for phrase in between)
    if is_conditional or is_clause or is_noun_clause or has_verb or has_question:
        yield Doubt(MAIN_CLAUSE, 0.3)
    tail = read_to_stop(tokens, phrases[g].first)
    if is_request(tail):
        yield Doubt(REQUEST, 0.75 if is_actor else 0.1)
    elif is_offer(tail):
        yield Doubt(REQUEST, 0.9 if is_actor else 0.2)
    if not is_actor and any(token.base in _HONORIFIC_VERBS for token in tail):
        yield Doubt(REQUEST, 0.3)  # 食事は何を召し上がりますか
    has_object = any(phrase.mark == "を" for phrase in phrases[k + 1 : g])
    is_change = phrases[m].mark == "に" and g == m + 1 and tokens[phrases[g].first].base == "する"
    if is_change and not has_object and not is_passive(tokens[phrases[g].first : phrases[g].end]):
        yield Doubt(OBJECT_TOPIC, 0.8 if is_actor else 0.2)  # 入力は非表示にします
    if not has_object:
        yield from find_object_doubts(tokens[phrases[g].first : phrases[g].end], is_actor)
    is_host = not is_actor or noun.surface in _VENUES
    if phrases[m].mark == "を" and is_host and is_chance(tokens[phrases[g].first :]):
        yield Doubt(CHANCE, 0.3)


def is_chance(predicate: Tokens) -> bool:
    """Whether a predicate says what a person can see, choose or use: 一望できる, 楽しめる, 選べます.

    With a topic that is no person, the person who can is not named.
    """
    for i, token in enumerate(predicate):
        if find_potential_base(token.base) in PERSONAL_VERBS:
            return True
        if token.base in PERSONAL_VERBS or token.surface in PERSONAL_NOUNS:
            following = [other.base for other in predicate[i + 1 : i + 5]]
            is_able = following[:1] in (["できる"], ["られる"])
            return is_able or following[:4] in (
                ["こと", "が", "できる"],
                ["する", "こと", "が", "できる"],
            )
    return False


def is_passive(predicate: Tokens) -> bool:
    """Whether a predicate is passive, or says what can be done."""
    return any(token.base in ("れる", "られる", "できる") for token in predicate)


def find_object_doubts(predicate: Tokens, is_actor: bool) -> Iterator[Doubt]:
    """Doubts whether a topic is the subject of a predicate that has no other object."""
    voices = {token.base for token in predicate if token.pos[1] == "接尾"}
    verbs = {token.base for token in predicate if token.pos[0] == "動詞"}
    if not (takes_object(predicate) or verbs & _SPEAKING or voices & {"せる", "させる"}):
        return
    surfaces = [token.surface for token in predicate]
    if "れる" in voices or ("ある" in verbs and "て" in surfaces):
        return
    if "られる" in voices:
        # 預けられます is more often "can", 建てられた more often the passive.
        if not {"た", "て"} & set(surfaces):
            yield Doubt(OBJECT_TOPIC, 0.9 if is_actor else 0.45)
        return
    yield Doubt(OBJECT_TOPIC, 0.8 if is_actor else 0.2)


def is_adverbial_topic(tokens: Tokens, first: int, p: int) -> bool:
    """Whether the noun before は or も is an adverbial: 通常は, 2020年は, 雨天の場合は."""
    noun = tokens[p - 1]
    if noun.surface in _QUANTITIES:
        return False
    if noun.surface in _ADVERBIAL_TOPICS or "副詞可能" in noun.pos[1:3]:
        return True
    if tokens[p].surface == "も" and p - 2 >= first and tokens[p - 2].pos[1] == "数":
        return noun.surface not in ("人", "名", "匹", "頭", "羽", "つ")  # 一言も
    if noun.surface in TIME_COUNTERS and "接尾" in noun.pos[1:3]:
        return p - 2 >= first and tokens[p - 2].pos[1] == "数"
    return noun.pos[0] != "名詞" and noun.pos[0] != "記号" and noun.pos[0] != "助詞"


_FINAL_NOUNS = word_set(
    "の ん よう そう はず つもり わけ もの ところ 予定 方針 見込み 見通し 模様 もよう 計画 考え 構え 意向 様子 みたい"
)
"""Nouns that with the copula make a longer predicate: 行われる予定だ, 通したんだ."""
_AFTER_KOTO = word_set(
    "できる 出来る ある ない 可能 多い 少ない 必要 する なる 決める 決まる いい よい"
)


def is_auxiliary(tokens: Tokens, i: int) -> bool:
    """Whether the noun i after a predicate makes a longer predicate of it: 食べることができる, 買ったそうです."""
    if i >= len(tokens) or tokens[i].pos[0] != "名詞":
        return i >= len(tokens) or tokens[i].surface in STOPS
    after = [token for token in tokens[i + 1 : i + 4] if token.surface not in STOPS]
    if not after:
        return True
    is_formal = tokens[i].surface in (
        "こと",
        "事",
        "よう",
        "必要",
        "可能性",
        "おそれ",
        "恐れ",
        "もの",
    )
    if is_formal and after[0].pos[0] == "助詞" and len(after) > 1:
        return after[1].base in _AFTER_KOTO
    if tokens[i].surface in ("よう", "そう", "みたい") and after[0].surface in ("な", "に"):
        return False  # 夢を破るようなことを
    is_copula = after[0].pos[0] == "助動詞" or after[0].pos[1] in (
        "終助詞",
        "副助詞／並立助詞／終助詞",
    )
    return (tokens[i].surface in _FINAL_NOUNS or tokens[i].surface == "こと") and is_copula


def read_to_stop(tokens: Tokens, first: int) -> Tokens:
    """The tokens from `first` to the end of the sentence."""
    for i in range(first, min(len(tokens), first + 40)):
        if tokens[i].surface in STOPS:
            return tokens[first:i]
    return tokens[first : first + 40]


def is_request(tail: Tokens) -> bool:
    """Whether a predicate asks the reader for something: てください, お願いします, ましょう, 忘れないで."""
    for i, token in enumerate(tail):
        if (
            token.base in ("くださる", "下さる", "ください", "なさる", "願う", "お願い")
            and token.pos[0] != "記号"
        ):
            return True
        if token.cform.startswith("命令") or token.surface in (
            "下さい",
            "ください",
            "ほしい",
            "欲しい",
            "べき",
        ):
            return True
        is_volitional = token.surface == "う" and token.pos[0] == "助動詞"
        if is_volitional and i and tail[i - 1].base not in ("だ", "です", "ない", "た"):
            return True
    surfaces = [token.surface for token in tail if token.pos[1] != "終助詞"]
    return surfaces[-2:] == ["ない", "で"]


def is_offer(tail: Tokens) -> bool:
    """Whether a predicate is humble or says what the reader may do: ご案内します, ご利用いただけます."""
    for i, token in enumerate(tail):
        if token.base in ("いただく", "いただける", "頂く", "頂ける", "申し上げる", "承る"):
            return True
        is_honorific = token.surface[:1] in ("お", "ご", "御") and token.pos[0] in (
            "接頭詞",
            "名詞",
        )
        rest = [other.base for other in tail[i + 1 : i + 4]]
        if is_honorific and any(base in ("する", "いたす", "致す", "できる") for base in rest):
            return True
    return False


# The second phrase.

_HEARSAY = word_set("みる 見る 言う いう 云う する さ 思う 考える 伝える 信じる")
"""Verbs whose passive after と makes a longer predicate: とみられる."""
_QUOTING = word_set(
    "言う いう 云う 述べる 話す 語る 思う おもう 考える 叫ぶ 答える 尋ねる 聞く 訊く 書く 伝える 感じる 信じる 告げる "
    "知る 決める 呼ぶ する なる みる 見る 誓う 祈る 願う 頼む 命じる 認める 疑う 訴える 示す 明かす つぶやく 呟く "
    "主張 発表 説明 判断 約束 報告 指摘 表明 強調 証言 否定 批判 予想 予測 期待 確認 決定 発言 宣言 報道 仮定"
)
"""Verbs, and nouns of する verbs, that a quotation in と belongs to."""
_AREAS = word_set("世界 国内 海外 全国 市内 県内 都内 中 内 上 下 前 外 周辺 付近")
"""Places that are no predicate before で."""

_NI_ADVERBS = word_set(
    "ため よう こと まま 一緒 いっしょ 不意 互い たがい 次第 急 突然 同時 一斉 一気 一度 一挙 共 とも 常 逆 別 特 "
    "代わり かわり せい おかげ 順番 順 交互 無事 本当 ほんとう 実 自然 絶対 永遠 永久 無限 事前 事後 未然 即座 即刻 直 "
    "以内 以上 以前 以後 以降 ばかり たび 度 際 場合 うち ついで 途中 同様 大量 大幅 多分 存分 十分 非常 めったに "
    "さ 割 仮 真 真面目 静か 徐々 最終的 全国的 代わる 勝手 無意識 たま 時々 ついつい 一心 一目散 矢継ぎ早 一律 一様 "
    "相互 いきなり 帰り 帰りがけ 行きがけ 手始め のち 後々 一杯 いっぱい 目一杯 明か 明らか 確 偶然 意外 案外 当然 無論 公然 暗 密か 内密 極秘 単 特別 普通 等分 均等 順々 別途 早急 至急 性急 早速 頻繁 定期的 "
    "次々 漸次 一面 交代 交替 間接 直接 一番 第一 最後 最初 如実 俄か にわか 一生懸命 末 大事 大切 粗末 苦 気 目 口 あて 当て 個別 別々 極端 極度 適度 過度 平等 公平 正確 慎重 念入り 手軽 気軽 早め 多め 少なめ 大きめ 小さめ 遅め"
)
"""Before に these make an adverb, no argument."""
_KANA_MANNERS = word_set(
    "しずか さかん たしか かすか ほのか わずか はるか ひそか おろか ゆたか のどか いささか いちず ひたむき まっすぐ まとも むやみ やたら "
    "きれい りっぱ じょうず へた ふしぎ しんけん じみ はで ばか らく ひま まれ まめ 早々 徐々 次々 続々 着々 堂々 早急 至急 極秘 密か 遥か 如く ごとく"
)
_MANNER_ENDS = word_set(
    "混じり 交じり まじり ごと 毎 おき 越し ごし ずつ がち 気味 ぎみ がてら まかせ 任せ まぎれ 紛れ がかり 放題 半分 通り どおり ふう 風 なり 次第 やか らか"
)
"""Suffixes that make an adverb with に: 溜息混じりに, 家ごとに, 速やかに."""
_IDIOMS = {
    "に": """
        世話:なる 役:立つ,たつ 大目:見る,みる 念頭:置く,おく 棚:上げる 途方:暮れる,くれる 軌道:乗る 図:乗る 板:付く,つく
        気:なる,入る,いる,する,かかる,掛かる,かける,病む,障る,留める,食う 眼:つく,付く,入る 目:入る,つく,付く,する,とまる,留まる,余る,遭う,見える
        耳:入る,する,挟む,はさむ 口:する,出す,だす,合う 手:入れる,入る,する,負える,余る 身:つける,付ける,着ける,余る,しみる,染みる
        頭:来る,くる 鼻:つく,かける 腹:据える 真:受ける 夢中:なる 当て:なる,する 頼り:なる,する 束:なる 台無し:なる,する 我:返る
    """,
    "を": """
        腹:立てる,くくる,割る 手:抜く,焼く,貸す 足:引っ張る 口:挟む,はさむ,割る,利く,きく,滑らせる 目:丸い,疑う 首:突っ込む
        気:失う,遣う,使う,つける,付ける,配る,許す,揉む,取り直す,利く,きく,利かす 肩:落とす 息:引き取る,呑む,切らす 油:売る 匙:投げる 音:上げる
        羽目:外す 釘:刺す 見栄:張る 拍車:かける 終止符:打つ 幕:閉じる,開ける 脚光:浴びる 功:奏する,奏す 異彩:放つ 身:引く 猫:かぶる
        顔色:うかがう,窺う 途:就く 一役:買う 花:添える 水:差す 横槍:入れる
    """,
}
"""By particle the nouns that make an idiom with one of these verbs right after them."""


def read_idioms(lines: str) -> dict[str, frozenset[str]]:
    """Noun to its verbs."""
    pairs = (entry.split(":") for entry in lines.split())
    return {noun: frozenset(verbs.split(",")) for noun, verbs in pairs}


_IDIOM_VERBS = {mark: read_idioms(lines) for mark, lines in _IDIOMS.items()}
_DE_ADVERBS = word_set(
    "猛ダッシュ ダッシュ 歳 才 みんな 皆 みな 総勢 同士 同族 一方 他方 反面 一人 ひとり 独り 無言 無断 無料 本気 平気 内緒 途中 一存 独断 先着 早足 急ぎ足 急ぎ "
    "駆け足 大急ぎ 徹夜 笑顔 真顔 素顔 裸 裸足 素足 素手 普段着 全力 独学 単独 共同 総出 大慌て 丸腰 手ぶら 現状 "
    "一目 瞬時 全部 合計 計 総計 事 こと つもり 交代 交替 順番 デフォルト 既定 標準 自動 手動 最速 最短 即日 満場一致 一律 義務 その上 意味 点 形 かたち ところ 関係 都合 理由 原因 せい おかげ ため"
)
"""Before で these make an adverb, no argument."""
_PREDICATE_NOUNS = word_set(
    "軽量 小型 大型 薄型 高性能 格安 割安 手頃 良質 上質 新品 中古 丈夫 病み上がり 性格 体質 出身 生まれ 育ち 状態 種類 一種 名物 名前 名産 有名 専門 予定 見込み 主流 原因 理由 目的 特徴 特産 "
    "代表作 傑作 名作 作品 産地 名所 形見 遺品 夢 現実 事実 冗談 嘘 噂 必要 最高 最低 最悪 絶品 独身 満員 満席 人気 "
    "大人気 好評 休み 定休日 休館 休業 留守 雨 晴れ 曇り 平和 病気 元気 満足 心配 不安 残念 面倒 無理 無駄 便利 "
    "存在 哺乳類 鳥類 魚類 昆虫 動物 植物 都 首都 古都 聖地 発祥 本場 名門 老舗 末っ子 一人っ子 長男 次男 長女 次女 "
    "双子 味方 敵 弱点 長所 短所 自慢 得意 苦手 好物 大好物 趣味 仕事 一部 一つ ひとつ 一員 一環 証拠 証 象徴 "
    "正反対 逆 別物 同じ"
)
"""Before で these are mostly predicates: 姉はにぎやかな性格で."""
_WITH_DE = word_set(
    "魚 鳥 豚 牛 鶏 羊 馬 虫 自分 家族 夫婦 親子 兄弟 仲間 人 名 チーム グループ 一家 一同 友達"
)
"""Persons that act together (家族で, 三人で), and animals that are a means (魚で)."""
_COMPOUND_NI = word_set(
    "基づく もとづく 沿う 応じる 伴う ともなう 比べる くらべる 加える くわえる 先立つ 反する 限る つれる 際する 関する "
    "対する 準じる 準ずる 代わる かわる 向ける 照らす 鑑みる かける 則る のっとる よる 依る 因る 従う したがう かかわる "
    "関わる わたる 渡る おく 於く とる 取る 関連 関係 拠る もかかわらず 続く 通じる"
)
"""Verbs that in て or the stem make a postposition of に: に基づいて, に伴い."""
_COMPOUND_O = word_set(
    "通じる 通す 経る へる 除く のぞく 含める ふくめる 受ける うける もつ めぐる 巡る 問う 踏まえる ふまえる 伴う 兼ねる "
    "控える 始める はじめる 挟む 介する 介す 期する 目指す 願う 祈る 祝う 記念 考慮 考える 機 巻き込む 無視 押す こめる 込める "
    "かける 掛ける 尽くす 境 中心 前 最後 皮切り 筆頭"
)
"""Verbs that in て or the stem make a postposition of を: を通じて, を除き."""
_COMPOUND_NOUNS = word_set(
    "中心 対象 きっかけ 契機 機 境 前 背景 理由 目的 めど 目処 最後 皮切り 軸 手がかり 手掛かり 参考 元 もと 基 基礎 "
    "ベース 条件 相手 頼り 苦 武器 舞台 前提 題材 モデル モチーフ 例 盾 はじめ 始め 筆頭 先頭 メイン 柱 旗印 合図 テーマ "
    "念頭 標的 目標 材料 よそ 尻目 横目 主 主体 核 限度 上限 口実 根拠 拠点 起点 基準 目安 初め 手本 引き換え バック "
    "片手 目前 直前 間近 基盤 土台 原料 主題 主役 機会 ピーク 頂点 視野 目途 後ろ盾 支え 糧 武器 追い風"
)
"""Nouns that make a postposition of を: を中心に, を対象として."""
_FINAL_COMPOUNDS = (
    "違い",
    "ちがい",
    "すぎ",
    "過ぎ",
    "ほか",
    "他",
    "決まっ",
    "相違",
    "ほかなら",
    "他なら",
)
"""What follows に in a longer predicate: に違いない, にすぎない."""
_OWN_SUBJECT = word_set(
    "好き 嫌い 大好き 大嫌い 上手 下手 得意 苦手 必要 可能 豊富 多い 少ない ない 無い 欲しい ほしい"
)
"""Adjectives with a noun in が of their own: 妻が好きな歌."""
_DIMENSIONS = word_set(
    "高い 低い 長い 短い 強い 弱い 大きい 小さい 良い いい よい 悪い 近い 遠い 太い 細い 広い 狭い 濃い 薄い"
)
"""Adjectives of a part: 背が高い人, but not 少年が高い塀."""
_PARTS = word_set(
    "背 丈 耳 足 脚 髪 尾 尻尾 声 鼻 目 首 手 腕 頭 顔 口 体 心 気 力 色 味 匂い 香り 風 波 雨 数 量 質 幅 "
    "値段 価格 人気 身長 体重 背丈 頻度 気温 温度 湿度 可能性 割合 比率 性能 効果 評判 成績 速度 規模"
)
"""Nouns of parts and measures."""


def find_phrase_doubts(sentence: Analysis, k: int, m: int) -> Iterator[Doubt]:
    """Doubts whether phrase m is an argument of the predicate that the subject k belongs to."""
    tokens, phrases = sentence.tokens, sentence.phrases
    p, q, g = phrases[k].last, phrases[m].last, sentence.governors[m]
    is_topic = phrases[k].mark != "が"
    if opens_with_adverbial(tokens, p + 1, q):
        yield Doubt(BETWEEN, 0)
    inside = phrases[k + 1 : m]
    has_topic = any(phrase.mark in ("は", "も") for phrase in inside)
    has_time = any(phrase.comma and is_time_noun(tokens, phrase.last) for phrase in inside)
    if has_topic or has_time or holds_adverbial(tokens, p + 1, q):
        yield Doubt(BETWEEN, 0.1)
    if any(is_question(tokens, i) for i in range(p + 2, q)):
        yield Doubt(QUOTATION, 0.1)
    if breaks_noun_phrase(sentence, k, m):
        yield Doubt(BETWEEN, 0.3)
    if ends_in_clause(sentence, k, m):
        yield Doubt(QUOTATION, 0.1)
    for i in range(m + 1, g if g > 0 else len(phrases)):
        if closes_clause(sentence, i, m) and (is_topic or is_quotation(sentence, i)):
            yield Doubt(QUOTATION, 0.2)
            break
    if g < 0 and not is_nominal_predicate(tokens, q):
        yield Doubt(NO_PREDICATE, 0.4)
    after = tokens[q + 1] if q + 1 < len(tokens) else None
    mark, noun = phrases[m].mark, tokens[q - 1]
    if after is None:
        return
    if mark == "で":
        yield from find_copula_doubts(sentence, k, m, after)
        return
    predicate = tokens[phrases[g].first : phrases[g].end] if g >= 0 else ()
    is_linking = g == m + 1 and phrases[g].kind in ("te", "and", "if")
    first_bases = {token.base for token in predicate[:2]} | {
        token.surface for token in predicate[:2]
    }
    words = "".join(token.surface for token in tokens[p + 1 : q])
    if first_bases & _IDIOM_VERBS[mark].get(words, frozenset()):
        yield Doubt(IDIOM, 0.3)
    if mark == "に":
        if is_manner(words) or is_rate(tokens, p, q):
            yield Doubt(ADVERB, 0.1)
        if tokens[p + 1].surface in ("お", "ご") and "なる" in first_bases:
            yield Doubt(IDIOM, 0.3)  # お休みになった
        is_bare = q - p == 2 and noun.surface in ("後", "先", "上", "中", "前")
        is_limited = noun.surface == "ばかり" and is_person(tokens[q - 2])  # 妹ばかりに
        if (
            is_bare
            or (noun.surface in _NI_ADVERBS and not is_limited)
            or is_adverbial_clause(tokens, phrases[m].first, q)
        ):
            yield Doubt(ADVERB, 0.1)
        if after.surface in _FINAL_COMPOUNDS or (is_linking and first_bases & _COMPOUND_NI):
            yield Doubt(COMPOUND, 0.1)
        return
    if is_linking and first_bases & _COMPOUND_O:
        yield Doubt(COMPOUND, 0.2)
    next_mark = tokens[q + 2].surface if q + 2 < len(tokens) else ""
    if after.surface in _COMPOUND_NOUNS and next_mark in ("に", "として", "と"):
        yield Doubt(COMPOUND, 0.1)


def find_copula_doubts(sentence: Analysis, k: int, m: int, after: Token) -> Iterator[Doubt]:
    """Doubts whether で after phrase m is a case particle."""
    tokens, phrases = sentence.tokens, sentence.phrases
    noun = tokens[phrases[m].last - 1]
    is_topic = phrases[k].mark != "が"
    if after.base in ("ある", "ござる", "いらっしゃる", "あらす", "あらせる", "ない"):
        yield Doubt(COPULA, 0)
    words = "".join(token.surface for token in tokens[phrases[k].last + 1 : phrases[m].last])
    if noun.surface in _DE_ADVERBS or words in _DE_ADVERBS or words in ("後", "あと"):
        yield Doubt(ADVERB, 0.2)
    elif noun.surface in _PREDICATE_NOUNS or noun.surface.endswith(
        ("色", "製", "性", "型", "派", "系")
    ):
        yield Doubt(COPULA, 0.2 if is_topic else 0.6)
    elif is_person(noun) and noun.surface not in _WITH_DE:
        yield Doubt(COPULA, 0.1 if is_topic else 0.7)
    is_area = noun.surface in _AREAS or "地域" in noun.pos[1:4]
    if not is_topic or is_area:
        return
    follows_topic = k > 0 and phrases[k - 1].mark == "は" and not phrases[k - 1].comma
    if phrases[k].mark == "も" and follows_topic and not acts(tokens[phrases[k].last - 1]):
        yield Doubt(COPULA, 0.4)  # この店は値段も手ごろで
    if tokens[phrases[k].last - 1].surface in _PLACES:
        yield Doubt(COPULA, 0.4)
    following = tokens[phrases[m].end + 1 : phrases[m].end + 2]
    is_argument = any(token.surface in ("を", "が") for token in following)  # 夜を過ごした
    if "副詞可能" in after.pos[1:3] and not is_argument:
        yield Doubt(COPULA, 0.45)


def closes_clause(sentence: Analysis, i: int, m: int) -> bool:
    """Whether phrase i closes a clause around phrase m with と, という or って, and more follows."""
    tokens, phrases, brackets = sentence.tokens, sentence.phrases, sentence.edges.open
    last = tokens[phrases[i].last]
    if last.surface not in ("と", "という", "って", "とか", "といった") or last.pos[0] != "助詞":
        return False
    if brackets[phrases[i].last] != brackets[phrases[m].last]:
        return False  # 「狐が笛を吹く」と: the subject is inside too
    if not sentence.edges.holds_predicate(i) or i + 1 >= len(phrases):
        return False
    # … とみられる, と言われている: hearsay about the same clause.
    words = [token.base for token in tokens[phrases[i + 1].first : phrases[i + 1].end]]
    if tokens[phrases[i].last - 1].surface in ("もの", "こと") and words[0] == "する":
        return False  # 提出するものとする: the longer predicate of a rule
    is_hearsay = words in (["いう"], ["云う"]) or bool({"れる", "られる"} & set(words))
    return not (words[0] in _HEARSAY and is_hearsay)


def is_quotation(sentence: Analysis, i: int) -> bool:
    """Whether the clause that phrase i closes is quoted: 行くと言った, not 入ると電話が鳴った."""
    g = sentence.governors[i]
    if sentence.tokens[sentence.phrases[i].last].surface != "と" or g < 0:
        return True
    words = sentence.tokens[sentence.phrases[g].first : sentence.phrases[g].end]
    return any(word.base in _QUOTING for word in words)


def is_rate(tokens: Tokens, p: int, q: int) -> bool:
    """Whether に after a unit is a rate: 月に一回, 一日に五分, 一人に一つ."""
    unit = tokens[q - 1].surface
    is_one = q - p == 3 and tokens[q - 2].surface in ("一", "1", "１")
    is_unit = (q - p == 2 or is_one) and unit.removeprefix("一") in _RATE_UNITS
    return is_unit and q + 1 < len(tokens) and tokens[q + 1].pos[1] == "数"


def is_manner(words: str) -> bool:
    """Whether a phrase with に says how: かんかんに, 家ごとに, 速やかに."""
    if words in _NI_ADVERBS or words in _KANA_MANNERS:
        return True
    half = len(words) // 2
    is_doubled = half > 1 and words == words[:half] * 2 and "ぁ" <= words[0] <= "ヶ"
    return is_doubled or (len(words) > 2 and words.endswith(tuple(_MANNER_ENDS)))


def is_nominal_predicate(tokens: Tokens, q: int) -> bool:
    """Whether a noun of a する verb ends the sentence: 首相が東京に到着."""
    rest = [token for token in tokens[q + 1 :] if token.pos[0] != "記号"]
    return bool(rest) and "サ変接続" in rest[-1].pos[1:3]


def is_adverbial_clause(tokens: Tokens, first: int, q: int) -> bool:
    """Whether に closes a clause of time or purpose: 寝る前に, 帰るころに."""
    noun = tokens[q - 1]
    if noun.pos[1] != "非自立" and "副詞可能" not in noun.pos[1:3]:
        return False
    before = tokens[q - 2] if q >= 2 else None
    return before is not None and q - 1 == first and before.pos[0] in ("動詞", "助動詞")


def holds_adverbial(tokens: Tokens, first: int, end: int) -> bool:
    """Whether a bound adverbial is inside the second phrase: 無言のまま頭を, 限り、線形の時間で."""
    for i in range(first, end - 1):
        is_bound = tuple(tokens[i].pos[1:3]) == ("非自立", "副詞可能")
        is_bound = is_bound or (tokens[i].surface in _DAYS and tokens[i - 1].pos[0] == "連体詞")
        if is_bound or tokens[i].surface in ("場合", "限り", "まま"):
            opens_noun = tokens[i + 1].pos[0] in ("名詞", "接頭詞", "連体詞")
            is_suffix = tokens[i + 1].pos[1] in _BOUND
            if (opens_noun and not is_suffix) or tokens[i + 1].pos[1] == "読点":
                return True
    return False


def breaks_noun_phrase(sentence: Analysis, k: int, m: int) -> bool:
    """Whether something between subject k and phrase m is in no noun phrase: an adverb that modifies
    nothing there (次第に団体に), … と、 before a comma, or two relative clauses with arguments.
    """
    tokens, phrases = sentence.tokens, sentence.phrases
    relatives = 0
    for i in range(k + 1, m):
        phrase, after = phrases[i], phrases[i + 1]
        last = tokens[phrase.last]
        is_loose = phrase.kind == "adverb" and after.kind != "modifier" and not after.verbal
        if is_loose and last.surface not in _DEGREES:
            return True
        is_linking = last.surface == "なり"
        if last.surface == "と" and phrase.comma:
            is_linking = is_person(tokens[phrase.last - 1])  # 隣の信ちゃんと、
        if phrase.kind == "list" and last.pos[0] == "助詞" and is_linking:
            return True
        is_inner = phrase.kind in ("argument", "case", "subject")
        relatives += is_inner and sentence.governors[i] <= m
    marks = [phrase.mark for phrase in phrases[k + 1 : m]]
    return relatives > 2 or marks.count("を") > 1


_DEGREES = word_set("すぐ 直ぐ ちょうど 丁度 およそ ほぼ やや もっと ずっと 最も もっとも")
"""Adverbs before nouns of place and number: すぐ前で."""
_CLAUSE_HEADS = word_set("こと 事 場合 とき 時 ところ 旨 件")
"""Nouns that stand for a whole clause with its subject: 義経が居る事を."""


def ends_in_clause(sentence: Analysis, k: int, m: int) -> bool:
    """Whether phrase m closes a clause that has the subject k: 名前がXであることを, 機械があるだけに."""
    tokens, phrases = sentence.tokens, sentence.phrases
    head = phrases[m].last - 1
    while head > phrases[k].end and tokens[head].pos[:2] == ("助詞", "副助詞"):
        head -= 1
    before = tokens[head - 1]
    if tokens[head].pos[0] in ("動詞", "形容詞", "助動詞"):
        return True
    is_clause = before.pos[0] in ("動詞", "形容詞", "助動詞") and before.surface != "な"
    if phrases[k].mark == "が" and tokens[head].surface in _CLAUSE_HEADS and is_clause:
        return not any(phrase.mark == "が" for phrase in phrases[k + 1 : m])
    # 警報も間に合わないほどの急襲を
    return phrases[k].mark != "が" and any(
        tokens[i].surface in ("ほど", "くらい", "ぐらい") and tokens[i - 1].pos[0] != "名詞"
        for i in range(phrases[k].end + 1, head)
    )


def is_question(tokens: Tokens, i: int) -> bool:
    """Whether token i is か after a predicate: 何なのかを, 行くかを. 誰かを is no question."""
    if tokens[i].surface != "か" or tokens[i].pos[0] != "助詞":
        return False
    before = tokens[i - 1]
    if "形容動詞語幹" in before.pos[1:3]:
        return True  # いくつ必要かを
    return before.pos[0] in ("助動詞", "動詞", "形容詞") or before.surface == "の"


_BOUND = frozenset({"接尾", "非自立", "副詞可能"})
"""Kinds of nouns that do not begin a noun phrase after a time or number."""
_DAYS = word_set("時 とき 日 頃 ころ 朝 昼 夜 晩 夕方 年 月 週 春 夏 秋 冬 瞬間")
"""Times after その, この and ある."""
_FREQUENCIES = word_set("普段 ふだん 通常 普通 毎日 毎朝 毎晩 毎週 毎年 毎月 いつも 大抵 たいてい")
_FLOATING = word_set("みな 皆 みんな 全員 それぞれ おのおの 各自 めいめい 銘々 互い ともに")
"""Words for all, which may be apart from their noun: 船はみな沖に出た."""
_RATE_UNITS = word_set("年 月 日 週 時間 分 回 度 人 つ 週間 か月 ヶ月")
_DURATIONS = word_set("年間 日間 週間 時間 分間 秒間 か月間 ヶ月間")


def opens_with_adverbial(tokens: Tokens, first: int, end: int) -> bool:
    """Whether a time or number is alone before the noun phrase: 毎朝新聞を, 一頭、草原を.

    夏祭りを and 明日の新聞を are single noun phrases.
    """
    if tokens[first].surface in _FLOATING and first + 1 < end:
        return tokens[first + 1].pos[0] in ("名詞", "連体詞") and tokens[first + 1].pos[1] != "接尾"
    if tokens[first].surface in _FREQUENCIES and tokens[first + 1].pos[1] == "数":
        return True  # 普段６時に
    i = first
    while i < end:
        tags = tokens[i].pos[1:3]
        is_number = tags[0] in ("数", "数接続") or "助数詞" in tags
        if not is_number and not _is_time(tokens[i]):
            break
        i += 1
    if i in (first, end):
        return False
    last, after = tokens[i - 1], tokens[i]
    if after.pos[1] == "読点":
        is_list = i + 1 < end and tokens[i + 1].pos[1] == "数"  # 3、4本の笛
        return not is_list or any(token.pos[1] != "数" for token in tokens[first:i])
    is_free_noun = after.pos[0] == "名詞" and after.pos[1] not in _BOUND
    opens_phrase = after.pos[0] in ("接頭詞", "連体詞") or is_free_noun
    is_time = _is_time(last) and (len(last.surface) > 1 or last.surface == "今")
    is_time = is_time or last.surface in _DURATIONS
    return opens_phrase and is_time


def _is_time(token: Token) -> bool:
    """Whether a noun may be an adverb; not 後 of 後輪, nor 一時 of 一時ファイル."""
    if token.surface == "一時":
        return False
    return token.pos[1] == "副詞可能" or tuple(token.pos[1:3]) == ("接尾", "副詞可能")


# The relative clause.

_CONTENT_NOUNS = word_set(
    "リスク 可能性 事情 事実 理由 原因 問題 方法 手段 様子 姿 声 音 話 噂 うわさ 夢 考え 意見 疑い 恐れ おそれ 必要 機会 "
    "場面 光景 状況 状態 経緯 過程 計画 予定 約束 証拠 情報 ニュース 記憶 気持ち 思い 場合 時間 時期 瞬間 場所"
)
"""Nouns that a whole clause explains, with its subject: 攻撃者が制限を避けるリスク."""


_CAPABLE = word_set(
    "可能 必要 有効 有利 便利 適切 最適 重要 固有 特有 必須 有名 有用 不可欠 熱心 夢中 忠実 敏感 人気"
)
"""Adjectives that take a phrase with で or に before a noun."""


def find_relative_doubts(sentence: Analysis, k: int, m: int) -> Iterator[Doubt]:
    """Doubts whether the subject k (が) is that of a relative clause, and the phrase m is not."""
    tokens, phrases = sentence.tokens, sentence.phrases
    noun, after = tokens[phrases[k].last - 1], phrases[k + 1]
    if after.kind == "modifier" and k + 1 < m:
        words = tokens[after.first : after.end]
        verbs = [token.base for token in words if token.pos[:2] == ("動詞", "自立")]
        if after.verbal and not (verbs and verbs[-1] in RESULTS and acts(noun)):
            yield Doubt(RELATIVE, 0.3)
        bases = {token.base for token in words} | {token.surface for token in words}
        if not after.verbal and (
            bases & _OWN_SUBJECT or (bases & _DIMENSIONS and noun.surface in _PARTS)
        ):
            yield Doubt(ADJECTIVE, 0.2)
    if m + 1 < len(phrases) and phrases[m + 1].kind == "modifier" and phrases[m].mark != "を":
        words = tokens[phrases[m + 1].first : phrases[m + 1].end]
        is_capable = any(token.surface in _CAPABLE for token in words)
        if is_capable:
            yield Doubt(RELATIVE, 0.3)  # 実行レイヤーで / トリガー可能な
    head = tokens[phrases[m].last - 1]
    if head.surface in _CONTENT_NOUNS and m > k + 1 and phrases[m - 1].verbal:
        yield Doubt(RELATIVE, 0.3)  # 攻撃者が制限を避けるリスクを
    g = sentence.governors[m]
    if g >= 0 and phrases[g].kind == "modifier" and not is_auxiliary(tokens, phrases[g].end):
        # 狐が布で覆われた箱を運ぶ: the fox may carry or be covered. A later subject decides it.
        end = sentence.governors[g] if sentence.governors[g] >= 0 else len(phrases)
        has_subject = any(phrase.kind == "subject" for phrase in phrases[g + 1 : end])
        if not sentence.makes_noun_clause(g) and not has_subject:
            yield Doubt(RELATIVE, 0.3)
