"""Where Japanese sentences end.

。 ends one; ！ and ？ do unless a quotation goes on (すごい！と叫んだ); ． and . do after Japanese (である．次に) but
not in numbers and names; an ellipsis does only before a space. Laughter and emoji end a sentence
after a final form and stay with it; so do a space after a polite form and a drawn-out vowel
(そうだね〜また). 「…。」 followed by a particle goes on.
"""

from __future__ import annotations

import re

from nikawa.text.sentence_rules import EMOJI, SentenceRules, is_blank

_STOPS = "。｡！？!?‼⁇⁈⁉"
"""Marks that end a sentence unless something goes on."""
_LAUGHED = "(?:笑|爆笑|苦笑|泣|汗|怒|涙|爆)"
_ASIDE = f"[（(]{_LAUGHED}[）)]"
_EYES = r"\^＾∀ωДд▽∇´｀;；_＿><＞＜≧≦TＴ*＊°"
_FACE = rf"(?=[^（）()]{{0,11}}[{_EYES}])[{_EYES}`oOｏＯ0・･￣ー皿艸\-‐'゜ﾟ.．≡=＝｡。, 　]{{2,12}}[）)][/／ﾉノ♪☆]*"
"""The rest of a face such as (^o^)/ after its opening bracket."""
_NOT_LAUGHING = "(?![いうえおっわ顔声話劇止納点覧]|み[をがはにもで、。])"
"""After 笑 as a remark: not the verb, not a compound."""
_TAIL = rf"(?:[{_STOPS}…‥〜～~{EMOJI}]|{_ASIDE}|[＼\\\\]?[（(]{_FACE}|[wｗ]+(?![A-Za-z0-9])|(?<=[！？!?])笑+{_NOT_LAUGHING})*"
_OPENING, _CLOSING = '「『（(［[【〈《〔“｢"', '」』）)］]】〉》〕”｣"'
_BRACKETS = re.escape(_OPENING + _CLOSING)
# One class first, so that the search skips to it at the speed of C; what may follow depends on it.
_EVENTS = re.compile(
    rf"[{_STOPS}.．…‥・wｗ笑〜～~ \u3000{EMOJI}\n{_BRACKETS}](?:"
    rf"(?<=[{_STOPS}]){_TAIL}|(?<=[.．…‥])[.．…‥]*|(?<=・)・+|(?<=[wｗ])[wｗ]+(?![A-Za-z0-9])|(?<=[ぁ-んー][wｗ])(?![A-Za-z0-9])|(?<=[たすいるだねよわぞんー〜～]笑)笑*{_NOT_LAUGHING}|(?<=[たすいるだねよなわぞんー〜～][苦爆]笑){_NOT_LAUGHING}|(?<=[{EMOJI}])[{EMOJI}]*"
    rf"|(?<=[（(])(?:{_LAUGHED}[）)][wｗ]*|{_FACE})|(?<=[{_BRACKETS}])|(?<=\n)\s*"
    # long vowels and spaces, only after what may be a final form
    r"|(?<=[すただいるんねよなわぞか][〜～~])[〜～~]*|(?<=[すたんいうねよかわ！？][ \u3000]))"
)
_PAIRS = dict(zip(_OPENING, _CLOSING, strict=True))
"""Opening bracket or quote to its closing one."""

_GOES_ON = re.compile(
    # particles, unless they begin an adverb, a conjunction or an interjection (とても, でも, はい)
    r"\s*(?:と(?!ても|にかく|りあえず|ころで)|は(?![いぁじやっ])|が(?!ん|っ)|に(?!ほん|ゃ)|の(?!んびり)"
    r"|で(?!も|き|しょ)|も(?!う|っと|し|の|ち)|や(?![っばるらめ])|へ(?!え|ぇ|ー)|か(?![わなっ])"
    r"|[を、，,。｡．！？!?…）)」』ー]|って|など|だ(?!から|けど|って)|です|から|まで|より|ば[か]?り"
    r"|な(?:の|ん(?![でてか])|ら|ど)|みたい|らし|風(?=[のなにだで])|的(?=[なにで])|または|あるいは|もしくは|および|及び)"
)
_PARTICLE = r"[をのは](?=[一-龠ァ-ヶA-Za-zＡ-Ｚａ-ｚ])"
"""A particle before a word begins no sentence: the mark belongs to a name (モーニング娘。のライブ)."""
_IN_NAME = re.compile(_PARTICLE)
_TO = r"と(?!ても|にかく|ころ|りあえず|もかく|もあれ|もに|んで|はいえ|なると|すると|き|ある|おく|うとう|っても)"
_SPACED_TO = r" と(?:言|い[っう]|思|叫|書|聞|声|呼)"
_QUOTED = re.compile(
    rf"[、，,]|って|などと|なんて|{_PARTICLE}|[がに](?=[一-龠ァ-ヶA-Za-zＡ-Ｚａ-ｚ])|の(?=[あ-ん])(?!んびり)|{_TO}|{_SPACED_TO}"
    # cries in a row that one と takes up: なぜ？どうして？という疑問
    rf"|(?:[^。｡！？!?\n「」『』（）()、，\s]{{1,18}}[！？!?]+){{1,4}}(?:って|などと|なんて|{_TO})"
)
# 「行くの？」「行かない。」と言い合う
_QUOTES_IN_ROW = re.compile(r"(?:「[^「」\n]{0,12}」){1,4}(?:と(?!は)|って|など|を|の(?=[一-龠]))")
_SPEAKER_ACTS = re.compile(r"[^。｡！？!?\n「」、]{1,12}?[がは]")
_REPORTED = re.compile(
    r"[^。｡！？!?\n「」]{0,60}?(?:いっ[たて]|いいまし|うな[っり]|わめ|聞[いきく]|言[っうい]|尋ね|訊|問[いう]|叫[びんぶ]"
    r"|つぶや|呟|答え[たる]|ささや|囁|声|怒鳴|呼[びんぶ]|笑[いっう]|続け|返し|話[しす]|語[っり]|頷|うなず)"
)
"""A clause that says who spoke: 「何時？」彼は眠そうに聞いた."""
_QUERY = re.compile(r"[A-Za-z0-9_.%-]*[=&/]")
_STRAY_CLOSE = re.compile(r"[」』）)］\]】〉》〕”｣’]*")
_NAMES = re.compile(
    "つのだ☆ひろ|らき☆すた|うたの☆プリンス|遊☆戯☆王|ハロー[！!]プロジェクト|ラブライブ[！!]|ハイキュー[！!]{2}"
    "|Hey[！!] ?Say[！!] ?JUMP|アイカツ[！!]|踊る[！!]さんま御殿[！!]{2}|BanG Dream[！!]"
    "|(?:モーニング娘|モー娘|ゲスの極み乙女|君の名は)。(?=[のはがをにとも'’])"
)
"""Names with a mark in them."""
MAX_NAME_CHARS = 12
_FINAL = frozenset("たすいうくぐつぬぶむるだねよなわぞさんまかせえれけっッーあ。！？!?…〜～笑)）")
"""Last characters of final forms, after which laughter or an emoji ends a sentence."""
_NOMINAL = re.compile(
    "(?:最高|最悪|好き|嫌い|無理|残念|感動|感激|感謝|幸せ|素敵|綺麗|きれい|上手|下手|大変|楽しみ|お疲れ様|お疲れさま|おめでとう|ありがとう|おやすみ"
    "|完了|終了|確定|決定|合格|優勝|完敗|満足|天才|爆笑|号泣|元気|大丈夫|了解|同感|納得|安心|感無量|反省|後悔|限界|完璧|絶品|美味|至福|仕事|帰宅|到着)$"
)
"""Nouns that are predicates by themselves, before laughter or an emoji."""
_POLITE = re.compile(
    "(?:です|ます|でした|ました|ません|ましょう|でしょう|ください|下さい)(?:か|ね|よ|よね|わ|けど)?$"
)
"""Polite final forms. A space after one ends a sentence."""
_DRAWN_OUT = re.compile(
    "(?:(?:です|ます|でした|ました|ません|ましょう|でしょう|ください)(?:か|ね|よ|よね|わ|な)?|[だたいる](?:ね|よ|な|わ|ぞ|よね))$"
)
"""Final forms after which a drawn-out vowel ends a sentence (そうだね〜また今度)."""
_JAPANESE = re.compile(r"\s*[ぁ-んァ-ヶ一-龠]")
_QUOTED_VERB = re.compile("と(?:思|言|い[うっ]|叫|つぶや|呟|考え)")
_NEW_CLAUSE = re.compile(
    "[^。｡！？!?、，\n（）()「」]{1,8}?(?:は|が|も)(?=[…、，]|[ぁ-ん一-龠ァ-ヶ])"
)
MAX_CLAUSE_CHARS = 40
_AFTER_TOPIC = re.compile("[^\n]*(?:[はもがてで、]|たら)[^\n]*[一-龠ァ-ヶ]$")
"""A clause that ends with a noun."""
_YAHOO = ("Yahoo", "ヤフー")


def find_end(text: str, start: int, mark: re.Match[str]) -> int:
    """Where the sentence that begins at `start` ends by this mark, or -1 where it goes on."""
    at, end = mark.span()
    first = text[at]
    if first in "☆！!。" and is_in_name(text, start, at):
        return -1
    if first in "。｡":
        goes_on = _IN_NAME.match(text, end) or (end - at > 1 and _QUOTED_VERB.match(text, end))
        return -1 if goes_on else _skip_closers(text, end)
    if first in "！？!?‼⁇⁈⁉":
        if text.endswith(_YAHOO, start, at) or _QUOTED.match(text, end):
            return -1
        if first in "!?":
            before, after = text[at - 1 : at], text[end : end + 1]
            is_ascii = before.isascii() and after.isascii()
            is_inside_latin = is_ascii and not before.isspace() and after.strip()
            if is_inside_latin or _QUERY.match(text, end):
                return -1
        return _skip_closers(text, end)
    if first in ".．":
        return find_end_at_point(text, start, at, end)
    if first in "…‥・":
        return end if text[end : end + 1].isspace() else -1
    if end - at == 1 and first in _BRACKETS:
        return -1
    if first in " \u3000〜～~":
        form = _POLITE if first in " \u3000" else _DRAWN_OUT
        is_end = form.search(text, max(start, at - 8), at) and _JAPANESE.match(text, end)
        return end if is_end and not _GOES_ON.match(text, end) else -1
    # Laughter, emoji and （笑） end a sentence after a final form, unless a particle or a mark follows.
    before = text[at - 1]
    if first in "（(" and before in "＼\\m" and at - 1 > start:  # the arms of a face
        before = text[at - 2]
    if first == "笑" and before in "苦爆":
        before = text[at - 2]
    is_final = before in _FINAL or (before == "草" and first in "wｗ")
    is_final = is_final or bool(_NOMINAL.search(text, max(start, at - 6), at))
    if not is_final and _AFTER_TOPIC.match(text, max(start, at - MAX_CLAUSE_CHARS), at):
        # 感動（泣）味は普通: a clause with its own topic follows
        is_final = bool(_NEW_CLAUSE.match(text, end))
    if at <= start or not is_final or end == len(text):
        return -1
    return -1 if _GOES_ON.match(text, end) else end


def is_in_name(text: str, start: int, at: int) -> bool:
    """Whether the mark at `at` belongs to a name."""
    nearby = _NAMES.finditer(text, max(start, at - MAX_NAME_CHARS), at + MAX_NAME_CHARS)
    return any(name.start() <= at < name.end() for name in nearby)


def _skip_closers(text: str, end: int) -> int:
    """Closing marks without an opening one belong to what they follow."""
    closers = _STRAY_CLOSE.match(text, end)
    return closers.end() if closers else end


def find_end_at_point(text: str, start: int, at: int, end: int) -> int:
    """Where a sentence ends by a point: after Japanese, not in numbers, names and Latin words; else
    -1.
    """
    before, after = text[max(start, at - 1) : at], text[end : end + 1]
    if end - at > 1:
        return end if after.isspace() else -1
    if not before or before.isdigit() or before.isascii() or "Ａ" <= before <= "ｚ":
        return -1
    if text[at] == "." and after.isascii() and after.isalnum():
        return -1
    return _skip_closers(text, end)


def find_end_after_pair(text: str, start: int, opening: int, closing: int) -> int:
    """Where a sentence ends after a closed pair of brackets or quotes, or -1."""
    end, last, bracket = closing + 1, text[closing - 1], text[opening]
    if last not in _STOPS:
        return -1
    if bracket in "（(":
        return end if is_blank(text, start, opening) and not _GOES_ON.match(text, end) else -1
    if bracket not in '「“｢"' or _GOES_ON.match(text, end):
        return -1
    after = text[end : end + 1]
    if after and after in "「“｢":
        return -1 if _QUOTES_IN_ROW.match(text, end) else end
    if last in "。｡" or after.isspace():
        return end
    # a cry, and then somebody else acts: 「危ない！」運転手が踏み込んだ
    is_whole = is_blank(text, start, opening) and _SPEAKER_ACTS.match(text, end)
    return end if is_whole and not _REPORTED.match(text, end) else -1


RULES = SentenceRules(_EVENTS, _PAIRS, find_end, find_end_after_pair)
