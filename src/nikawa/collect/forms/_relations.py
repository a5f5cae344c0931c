"""The relations of KLUE-RE with what workers read for them: name, Japanese, Korean, English."""

from __future__ import annotations

TABLE = (
    ("no_relation", "関係なし", "관계 없음", "no relation"),
    ("org:dissolved", "解散した時", "해산 시기", "dissolved in"),
    ("org:founded", "設立された時", "설립 시기", "founded in"),
    ("org:place_of_headquarters", "本部の所在地", "본부 소재지", "has its headquarters in"),
    ("org:alternate_names", "別名", "다른 이름", "is also called"),
    ("org:member_of", "所属する上位の組織", "소속된 상위 조직", "is part of the organisation"),
    ("org:members", "傘下の組織", "산하 조직", "has the member organisation"),
    (
        "org:political/religious_affiliation",
        "政治・宗教上の立場",
        "정치·종교 성향",
        "has the political or religious affiliation",
    ),
    ("org:product", "製品・作品", "제품·작품", "makes the product"),
    ("org:founded_by", "設立者", "설립자", "was founded by"),
    ("org:top_members/employees", "代表者・構成員", "대표자·구성원", "has the head or member"),
    ("org:number_of_employees/members", "構成員の数", "구성원 수", "has so many members"),
    ("per:date_of_birth", "生まれた日", "태어난 날", "was born on"),
    ("per:date_of_death", "亡くなった日", "사망한 날", "died on"),
    ("per:place_of_birth", "生まれた場所", "태어난 곳", "was born in"),
    ("per:place_of_death", "亡くなった場所", "사망한 곳", "died in"),
    ("per:place_of_residence", "住んでいる場所", "사는 곳", "lives in"),
    ("per:origin", "出身・国籍", "출신·국적", "comes from, is a national of"),
    ("per:employee_of", "勤め先・所属", "근무처·소속", "works for, belongs to"),
    ("per:schools_attended", "通った学校", "다닌 학교", "went to the school"),
    ("per:alternate_names", "別名", "다른 이름", "is also called"),
    ("per:parents", "親", "부모", "is a child of"),
    ("per:children", "子", "자녀", "is a parent of"),
    ("per:siblings", "きょうだい", "형제자매", "is a brother or sister of"),
    ("per:spouse", "配偶者", "배우자", "is married to"),
    ("per:other_family", "ほかの親族", "그 밖의 가족", "is otherwise related to"),
    ("per:colleagues", "仕事仲間", "동료", "works together with"),
    ("per:product", "製品・作品", "제품·작품", "made the product or work"),
    ("per:religion", "宗教", "종교", "has the religion"),
    ("per:title", "肩書・職業", "직함·직업", "has the title or profession"),
)
LABELS = tuple(row[0] for row in TABLE)

FIRST = {
    "PER/PER": (
        "per:alternate_names",
        "per:parents",
        "per:children",
        "per:siblings",
        "per:spouse",
        "per:other_family",
        "per:colleagues",
    ),
    "PER/ORG": (
        "per:employee_of",
        "per:schools_attended",
        "per:origin",
        "per:religion",
        "per:product",
    ),
    "PER/LOC": ("per:place_of_birth", "per:place_of_death", "per:place_of_residence", "per:origin"),
    "PER/DAT": ("per:date_of_birth", "per:date_of_death"),
    "PER/POH": ("per:title", "per:alternate_names", "per:product", "per:religion", "per:origin"),
    "PER/NOH": ("per:title",),
    "ORG/PER": ("org:founded_by", "org:top_members/employees", "org:alternate_names"),
    "ORG/ORG": (
        "org:alternate_names",
        "org:member_of",
        "org:members",
        "org:founded_by",
        "org:political/religious_affiliation",
        "org:product",
    ),
    "ORG/LOC": ("org:place_of_headquarters", "org:member_of", "org:alternate_names"),
    "ORG/DAT": ("org:founded", "org:dissolved"),
    "ORG/POH": ("org:product", "org:political/religious_affiliation", "org:alternate_names"),
    "ORG/NOH": ("org:number_of_employees/members",),
}
"""The relations that can hold between two types of entities, by the types of subject and object."""


def words(column: int) -> dict[str, str]:
    """The messages of the labels in the language of a column: 1 Japanese, 2 Korean, 3 English."""
    return {f"label_{row[0]}": row[column] for row in TABLE}
