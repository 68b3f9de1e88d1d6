"""Is what brokers ask and answer read as it was said, and is nonsense refused?"""

from __future__ import annotations

import pytest

from headgate.broker.questions import (
    Answer,
    AskRights,
    AskVersion,
    KeepPositions,
    Noted,
    PositionsKept,
    Question,
    ReportStarts,
    RightsAre,
    Take,
    Taken,
    TakenOver,
    VersionIs,
    answer,
    encode,
    granted_to_wire,
    question,
    rights_from_wire,
)
from headgate.peering.errors import PeerError
from headgate.rights.changes import CreateGroup, Join
from tests.rights.policies import grant, policy

QUESTIONS: list[Question] = [
    AskVersion(),
    AskRights(("ann", "bob")),
    ReportStarts("orders", {1: 1, 2: 5}),
    Take("ann", None, "mine", "a = 1", False, "s", "boot", 7),
    Take("ann", "abroad", "mine", "TRUE", True, "s", "boot", 7),
    KeepPositions("ann", "mine", 2, {"orders": ("boot", 3)}),
    KeepPositions("ann", "mine", 2, {}, forget=True),
    TakenOver("ann", "mine", 3, "t"),
]
HISTORY = policy(CreateGroup("staff"), Join("staff", "ann"), grant("staff", filter_="a = 1"))
ANSWERS: list[Answer] = [
    VersionIs(3),
    RightsAre(1, {"ann": ((1, granted_to_wire(HISTORY.current().rights_of("ann"))),), "bob": ()}),
    Noted(),
    Taken(1, {"orders": ("boot", 3)}),
    Taken(0, {}, "end it first"),
    PositionsKept(True),
]


@pytest.mark.parametrize("one", QUESTIONS)
def test_a_question_is_read_as_it_was_asked(one: Question) -> None:
    assert question(encode(one)) == one


@pytest.mark.parametrize("one", ANSWERS)
def test_an_answer_is_read_as_it_was_given(one: Answer) -> None:
    said = answer(encode(one))
    assert type(said) is type(one)
    assert encode(said) == encode(one)


NONSENSE = [
    b"",
    b"\xc1",
    b"\x80",
    b"null",
    encode(AskVersion())[:-1],
    encode(AskRights(("x" * 257,))),
    encode(AskRights(("ann",) * 10_001)),
    encode(VersionIs(-1)),
    encode(KeepPositions("ann", "mine", -1, {})),
    encode(ReportStarts("orders", {1: 2**63})),
]


@pytest.mark.parametrize("body", [*NONSENSE, *(encode(one) for one in ANSWERS)])
def test_what_is_no_question_is_refused(body: bytes) -> None:
    with pytest.raises(PeerError, match="expected a question"):
        question(body)


@pytest.mark.parametrize("body", [*NONSENSE, *(encode(one) for one in QUESTIONS)])
def test_what_is_no_answer_is_refused(body: bytes) -> None:
    with pytest.raises(PeerError, match="expected an answer"):
        answer(body)


def test_rights_are_read_as_they_were_written() -> None:
    rights = HISTORY.current().rights_of("ann")
    (said,) = [answer(encode(one)) for one in ANSWERS if isinstance(one, RightsAre)]
    assert isinstance(said, RightsAre)
    since, granted = said.timelines["ann"][0]
    assert rights_from_wire("ann", since, granted) == rights
