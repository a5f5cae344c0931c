"""Korean words that the particle rules look up: predicates that take an object, and nouns of persons
and organisations.

`OBJECT_VERBS` and `OBJECT_NOUNS` (nouns of 하다 verbs) were counted in 165,000 lines of encyclopedia,
news, law, posts and documentation: a verb is listed if 을/를 is in at least 22% of its clauses. Verbs
whose 을/를 marks a path (건너다) were taken out, and some verbs of the household put in, by hand. The
other lists were written by hand.

Some of the lines come from works under CC BY-SA and CC BY, such as Korean Wikipedia and the Korean
pages of MDN and Kubernetes. No text of theirs is kept here.
"""

from __future__ import annotations

from nikawa.perturbation._particles import word_set
from nikawa.perturbation.base import Tokens

OBJECT_VERBS = word_set("""
가꾸 가두 가로채 가르 가르치 가리 가리우 가리키 가져가 가져오 가지 가하 감싸 감추 갖 갖다주 갖추 갚 개
거느리 거두 거르 거머쥐 건네 건드리 건지 걸 겪 견디 겸하 곁들이 고르 고치 고하 곱씹 괴롭히 구하 굳히
굴리 굽 굽히 권하 그리 그리워하 그만두 긁 금하 긋 기다리 기르 기리 기뻐하 기울이 길들이 깍 깎 깔 깨
깨닫 깨뜨리 깨우 깨우치 꺼내 꺼리 꺾 꼬집 꼽 꽂 꾀하 꾸 꾸리 꾸미 꾸짖 꿇 꿰 끄 끄덕이 끊 끌 끌어내
끌어들이 끌어올리 끓이 끝내 끼 끼우 끼치 나누 나눠주 나타내 낚 날리 남기 낮추 낳 내 내걸 내놓 내다보
내리 내밀 내버리 내보내 내세우 내주 널 넓히 넘겨주 넘기 넣 노리 녹이 놀리 높이 놓 놓치 놔두 누르 누리
느끼 늘리 늘이 늦추 다듬 다루 다물 다스리 다지 다하 닦 닫 달 달래 담 담그 담아내 당기 더럽히 더하
던지 덜 덮 덮치 데려가 데려오 데리 데우 도와주 돌려보내 돌려주 돌리 돌보 돌아보 돌이키 돕 되돌 되돌리
되돌아보 되살리 되새기 되찾 두 두드리 두려워하 두르 둘러보 둘러싸 뒤지 뒤집 드러내 드리 드리우 드시 듣
들 들려주 들어주 들여다보 들여오 들이 따 따내 따라잡 따르 따오 따지 때리 떠올리 떨어뜨리 떨치 떼 뚫 뜯
띄 띄우 띠 마시 마치 막 만나 만드 만들 만지 말리 맛보 망치 맞추 맡 맡기 매기 매달 맺 먹 먹이 멈추
메우 멸하 모시 모으 몰 몰아내 몰아넣 무너뜨리 무릅쓰 무서워하 무찌르 묶 묻 물 물려받 물려주 물리 물리치
물어보 미루 미워하 믿 밀 바꾸 바라보 바래 바로잡 바르 바치 박 받 받들 받아들이 받치 밟 배우 뱉 버리
버무리 벌 벌리 벌이 범하 벗 벗기 베 베끼 베풀 보내 보태 볶 본받 뵈 부르 부리 부수 부추기 부치 부풀리
불 불러들이 불러오 불러일으키 불사르 불어넣 불태우 붓 붙들 붙이 붙잡 비우 비웃 비추 빌 빌리 빚 빠뜨리
빨 빼 빼내 빼앗 빼앗기 뽐내 뽑 뿌리 사 사들이 사로잡 사르 사하 살리 살펴보 살피 삶 삼 삼가 삼키 새기
섞 선보이 섬기 세우 속이 숙이 숨기 슬퍼하 시키 식히 신 싣 싫어하 심 싸 쌓 썰 쏘 쏟 쓰 쓸 씌우 씹
씻 아끼 아우르 안 안기 앉히 알 알리 알아내 알아듣 알아보 알아차리 앗 앞당기 앞두 앞세우 어기 얹 얻 업
없애 엎 에워싸 엮 열 엿보 올려놓 올리 옮기 외우 요하 우려먹 움직이 원하 이끌 이루 이어받 익히 인정받
일깨우 일삼 일으키 일컫 읽 잃 잃어버리 입 입히 잇 잊 잊어버리 자르 자아내 잠그 잡 잡수 잡아먹 저버리
저지르 적 적시 점하 접 젓 정하 제치 제하 좁히 좇 좋아하 주 주고받 죽이 줄이 줍 쥐 즐기 지니 지우
지켜보 지키 집 집어넣 짓 짚 짜 쪼개 쫓 쫓아내 찌르 찍 찔리 찢 차리 찾 찾아내 찾아보 채우 책임지
쳐다보 추 취하 치 치루 치르 칠하 칭하 켜 키우 태우 택하 터뜨리 터트리 털 토하 통틀 튕기 틀 파 파헤치
팔 퍼뜨리 퍼붓 펴 펴내 펼치 폐하 푸 풀 풀어내 품 풍기 피우 피하 하 합치 합하 해내 해치 행하 헐
헤아리 헤치 훔치 휘두르 휩쓸 흔들 흘리 흩
""")
"""Stems of verbs that take an object with 을/를."""

OBJECT_VERBS |= word_set(
    "보 튀기 찌 부치 무치 절이 헹구 다리 꿰매 듣 마시 뒤집 우리 재우 빻 갈 다지"
)

OBJECT_NOUNS = word_set("""
가공 가동 가장 각색 간직 간행 갈음 감당 감독 감상 감시 감안 감지 감행 강요 강제 강조 강타 강행 강화
개국 개량 개발 개방 개선 개설 개시 개원 개정 개조 개척 개최 개편 갱신 거듭 거래 거론 거부 거절 거행
건국 건립 건설 건의 건축 검사 검색 검증 검토 게시 게재 겨냥 격려 격퇴 격파 견인 견제 결성 결의 결정
결제 결합 겸비 겸임 겸직 경계 경신 경영 경외 경험 계산 계수 계승 계획 고려 고발 고백 고소 고수 고시
고안 고용 고정 공개 공격 공고 공급 공략 공모 공부 공연 공유 공포 공표 과시 관리 관장 관찰 관측 관통
관할 교부 교육 교체 교환 구경 구독 구동 구매 구별 구분 구비 구사 구상 구성 구속 구원 구입 구축 구출
구현 권고 권유 권장 규정 규제 규탄 규합 극복 금지 기각 기념 기대 기도 기록 기부 기소 기술 기억 기용
기원 기재 기증 기획 나열 날인 납부 납치 낭비 내장 내포 노출 녹음 녹화 논의 능가 다운 다운로드 단축
단행 달성 담당 대변 대여 대입 대접 대체 대표 대행 더빙 도모 도입 도출 독점 돌파 동경 동반 동원 뒷받침
드래그 등록 디버그 디버깅 디자인 라우팅 렌더링 로드 로딩 리메이크 리뷰 릴리스 마감 마련 마무리 마운트
마이그레이션 말소 맞이 매각 매도 매수 매입 매핑 면제 멸시 명령 명명 명시 명심 모니터링 모델링 모방 모색
모집 목격 몰수 묘사 무시 미화 바인딩 박탈 반납 반대 반박 반복 반성 반영 반환 발간 발견 발굴 발급 발령
발매 발명 발부 발사 발산 발송 발의 발표 발행 발휘 방송 방어 방영 방지 방출 방해 배려 배반 배상 배송
배신 배열 배정 배제 배출 배치 배포 백업 번역 변경 변환 병합 병행 보강 보고 보관 보급 보도 보상 보수
보완 보유 보장 보전 보조 보존 보좌 보증 보충 보호 복구 복사 복용 복원 복제 봉쇄 부과 부담 부여 부인
부정 부착 부탁 분류 분리 분배 분산 분석 분실 분장 분할 분해 비교 비난 비유 비치 비판 비하 빌드 사냥
사랑 사살 사수 사용 삭제 산정 산출 살해 삽입 상기 상상 상속 상실 상정 상징 샘플링 생략 생산 생성 서술
선고 선물 선발 선사 선언 선임 선전 선정 선출 선택 선포 선호 설계 설득 설립 설명 설정 설치 섭취 성취
세척 세탁 소개 소비 소유 소장 소지 소집 소화 소환 송부 송출 수락 수렴 수령 수록 수료 수리 수립 수반
수상 수송 수습 수신 수여 수용 수입 수정 수집 수축 수출 수행 숭배 스캔 습격 습득 승계 승낙 승인 시도
시뮬레이션 시사 시상 시연 시작 시청 시행 시험 식별 신고 신뢰 신설 신청 실시 실천 실행 실험 실현 심사
심의 안내 암살 암시 압도 압박 압수 압축 야기 약속 약탈 양도 양보 양성 억압 억제 언급 업그레이드
업데이트 업로드 역설 역임 연결 연계 연구 연동 연상 연습 연장 연재 연주 연출 열거 열람 염려 영위 영입
영접 예견 예매 예방 예약 예언 예측 예치 오픈 옹립 옹호 완공 완료 완성 완수 완화 외면 요구 요리 요약
요청 용서 우려 운반 운송 운영 운용 운전 원망 위로 위임 위촉 위탁 위협 유도 유발 유지 유치 육성 응용
응원 의결 의논 의도 의뢰 의미 의식 의심 이룩 이수 이식 이용 이해 이행 인계 인덱싱 인도 인쇄 인수 인식
인용 인정 인증 인지 인출 인코딩 인터뷰 임대 임명 임용 입금 입력 입수 입증 자극 자랑 자제 자행 작곡
작성 잘못 장려 장식 장악 장착 재개 재건 재배 재생 재현 저술 저장 저주 저지 저해 적용 적재 전개 전공
전달 전담 전망 전송 전시 전파 전환 절단 절약 점검 점령 점유 접수 정렬 정리 정립 정복 정비 정의 정지
제거 제공 제기 제시 제안 제압 제어 제외 제의 제작 제정 제조 제출 제한 조각 조달 조롱 조리 조명 조사
조성 조작 조절 조정 조종 조직 조합 조회 존경 존중 종료 종합 주관 주도 주목 주문 주시 주입 주장 주저
주창 주최 준비 준수 준용 중단 중시 중지 중첩 증명 증오 증진 지급 지도 지명 지목 지배 지불 지시 지원
지적 지정 지지 지출 지칭 지향 지휘 진단 진술 진압 진행 짐작 집계 집전 집필 집행 징수 짝사랑 차단 차별
차용 차지 착용 찬송 찬양 참고 참조 창건 창당 창립 창설 창조 창출 채용 채취 채택 책망 처리 처벌 처분
처형 철거 철회 첨가 첨부 청구 청소 체결 체크 체포 체험 초대 초래 초월 초청 촉구 촉진 총괄 촬영 추가
추격 추구 추대 추론 추방 추억 추적 추정 추진 추천 추출 축소 축적 축출 축하 출간 출력 출산 출시 출자
출판 충당 충원 충전 충족 취급 취득 취소 측정 치료 치유 침공 침략 침범 침해 칭찬 캐스팅 캐시 캡처 커밋
커버 코딩 쿼리 클릭 탄압 탄핵 탈취 탈환 탐구 탐사 탐색 탐지 탑재 테스트 토벌 통보 통일 통제 통지 통치
통합 투여 투입 트리거 특정 파견 파괴 파기 파싱 파악 파일 판매 판별 판정 편성 편입 편집 편찬 평가 평정
폐기 폐쇄 폐지 포괄 포기 포위 포장 포착 포함 폭로 폭행 표기 표명 표방 표시 표현 푸시 풍자 프로그래밍
프로듀싱 프로비전 플레이 필터링 핍박 하사 학살 학습 할당 함유 합병 합산 합성 해결 해독 해산 해석 해소
해임 해제 해지 해체 향상 허가 허락 허용 협박 형성 호소 호스트 호스팅 호위 호출 혼동 혼합 홍보 확대
확립 확보 확신 확인 확장 확정 환불 환산 환영 활용 회복 회상 회수 회피 획득 후원 훈련 훼손 흡수 희망
희생
""")
"""Nouns that with 하다 take an object with 을/를."""

PERSONS = word_set(
    "나 저 너 우리 저희 너희 그 그녀 당신 여러분 누구 누군가 아무 자기 자신 본인 서로 각자 모두 "
    "사람 남자 여자 남성 여성 소년 소녀 청년 노인 어른 아이 아기 애 어린이 청소년 학생 선생 교사 교수 제자 "
    "아버지 어머니 아빠 엄마 부모 아들 딸 형 누나 오빠 언니 동생 형제 자매 남매 부부 남편 아내 할머니 할아버지 "
    "손자 손녀 삼촌 이모 고모 조카 사촌 가족 친척 조상 후손 자녀 자손 며느리 사위 장인 장모 시어머니 "
    "친구 동료 선배 후배 이웃 손님 고객 주인 환자 의사 간호사 변호사 검사 판사 형사 경찰관 범인 도둑 강도 "
    "신사 숙녀 사내 노파 할멈 영감 소방관 외교관 장교 하사 청중 하인 하녀 왕비 기사 사장 부장 과장 대리 직원 사원 회원 위원 의원 요원 점원 승무원 공무원 군인 병사 장군 대통령 총리 장관 시장 "
    "도지사 지사 왕 임금 왕자 공주 황제 신하 백성 국민 시민 주민 군중 관객 청중 독자 시청자 팬 선수 감독 코치 "
    "가수 배우 작가 화가 시인 기자 편집자 과학자 학자 연구자 연구원 전문가 개발자 관리자 사용자 이용자 소비자 "
    "판매자 사업자 운영자 담당자 책임자 소유자 임차인 임대인 신청인 피고인 원고 피고 증인 당사자 보호자 피해자 "
    "가해자 용의자 피의자 범죄자 농부 어부 상인 장인 목수 요리사 운전사 기사 승객 관광객 노동자 근로자 씨 님 분 "
    "놈 녀석 여인 처녀 총각 신부 신랑 스님 목사 신 천사 귀신 괴물 팀원 조합원 대원 단원 교인 신도 제작자 "
    "고양이 개 강아지 새 말 소 돼지 닭 양 염소 토끼 여우 곰 호랑이 사자 늑대 원숭이 코끼리 쥐 뱀 개구리 거북이 "
    "물고기 고래 상어 벌 나비 개미 벌레 곤충 동물 짐승 펭귄 독수리 까치 까마귀 비둘기 병아리 송아지 "
    "비서 사서 약사 교장 교감 원장 회장 총장 의장 반장 조장 팀장 점장 선장 기장 소장 국장 실장 차장 이장 단장 대장 사령관 심판 통역 경호원 "
    "기사 이사 감사 세무사 회계사 변리사 법무사 영양사 조종사 사진사 미용사 이발사 마술사 조련사 사육사 수의사 강사 박사 석사 도예가 무용가 "
    "음악가 소설가 건축가 정치가 사업가 전도사 집사 경비 수녀 신부님 형님 누님 아우 막내 맏이 큰아들 작은아들 큰딸 작은딸 외삼촌 외할머니 외할아버지 "
    "시아버지 시누이 올케 처제 매형 형수 이모부 고모부 쌍둥이 아가씨 아줌마 아저씨 꼬마 소꿉친구 짝꿍 애인 연인 나그네 거지 해적 기사단 "
    "셰프 모델 아나운서 파일럿 디자이너 프로듀서 매니저 엔지니어 가이드 아이돌 댄서 피아니스트 바이올리니스트 "
    "너구리 다람쥐 오리 참새 올빼미 사슴 노루 멧돼지 두더지 수달 고슴도치 거위"
)
"""Nouns of persons and animals."""

GROUPS = word_set(
    "정부 회사 기업 경찰 검찰 법원 국회 당국 당 여당 야당 위원회 협회 학회 대학 학교 은행 병원 팀 구단 단체 조직 "
    "국가 나라 연구진 제작진 경영진 의료진 취재진 연구팀 업체 업계 사업자 법인 조합 노조 군 군대 부대 공단 공사 "
    "재단 연맹 연합 의회 시청 구청 교육청 소방서 경찰서 방송사 신문사 출판사 호텔 매장 가게 본사 당사 저희 "
    "미국 중국 일본 한국 북한 러시아 영국 프랑스 독일"
)
"""Nouns of organisations, which act as persons do."""
_PERSON_ENDS = ("자", "인", "원", "객", "민", "꾼", "생", "님", "씨")
_GROUP_ENDS = ("청", "팀", "진", "측", "당", "위원회", "협회")
_NOT_PERSONS = word_set(
    "의자 과자 상자 모자 문자 글자 숫자 전자 투자 그림자 피자 사진 확인 원인 할인 디자인 라인 온라인 와인 승인 요인 "
    "병원 공원 지원 자원 차원 학원 정원 회원권 기원 발생 인생 재생 위생 학생증 고민 서민 식당 성당 마당 강당 부당 "
    "신청 요청 시청 청 진 당 측 자 인 원 생 민 객 무인 부인 개인 법인 확진 추진 촬영진 행진 승진 지진 포인"
)


PERSONAL_VERBS = word_set(
    "보 바라보 내려다보 둘러보 즐기 맛보 먹 마시 고르 사 빌리 쓰 배우 듣 읽 느끼 입 찍 누리 만나"
)
"""Verbs that only persons do, as what can be done somewhere or with something (즐길 수 있다)."""
PERSONAL_NOUNS = word_set(
    "이용 체험 감상 관람 구경 관찰 만끽 구매 구입 예약 주문 선택 열람 시식 조망 사용 경험"
)
"""Nouns of such verbs with 하다."""


def is_person(tokens: Tokens, i: int) -> bool:
    """Whether the noun that token i ends is that of a person or an animal."""
    token = tokens[i]
    if token.form == "들" and i:
        return is_person(tokens, i - 1)
    if token.pos[0] == "NP" or token.form in PERSONS:
        return token.form in PERSONS
    if token.pos[0] == "XSN":
        return token.form in _PERSON_ENDS
    if token.pos[0] == "NNB":
        return token.form in ("명", "분", "마리", "씨", "님")
    is_suffixed = token.form.endswith(_PERSON_ENDS) and len(token.form) > 2
    return is_suffixed and token.form not in _NOT_PERSONS


def acts(tokens: Tokens, i: int) -> bool:
    """Whether the noun that token i ends is one that acts: a person, an organisation or a name."""
    token = tokens[i]
    if is_person(tokens, i) or token.form in GROUPS or token.pos[0] in ("NNP", "SL"):
        return True
    if token.pos[0] == "SSC":  # 김다온(27)은
        return True
    return token.form.endswith(_GROUP_ENDS) and token.form not in _NOT_PERSONS


def takes_object(predicate: Tokens) -> bool:
    """Whether the predicate of these tokens takes an object: 두었다, 발표했다."""
    verbs = [
        i for i, token in enumerate(predicate) if token.pos[0] in ("VV", "XSV", "VA", "XSA", "VCP")
    ]
    if not verbs:
        return False
    verb = predicate[verbs[-1]]
    if any(token.pos[0] == "VX" and token.form == "지" for token in predicate):
        return False  # 만들어지다
    if verb.pos[0] == "XSV":
        before = predicate[verbs[-1] - 1].form if verbs[-1] else ""
        return verb.form == "시키" or (verb.form == "하" and before in OBJECT_NOUNS)
    return verb.pos[0] == "VV" and verb.form in OBJECT_VERBS


def is_intransitive(predicate: Tokens) -> bool:
    """Whether the predicate of these tokens is a verb that takes no object: 숨은, not 잡은."""
    is_verb = any(token.pos[0] in ("VV", "XSV") for token in predicate)
    return is_verb and not takes_object(predicate)
