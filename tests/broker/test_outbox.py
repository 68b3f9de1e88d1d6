"""Does nothing happen before what it waits for is stored, and all of it then, in order?"""

from __future__ import annotations

from headgate.broker.effects import Append, Connected, Drop, Keep, Read, Tell
from headgate.broker.outbox import Outbox
from tests.broker.parts import record


class Noted:
    """What came of what was to be stored."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def stored(self, name: str) -> list[object]:
        return [
            lambda now: self.said.append(f"{name} stored"),
            lambda because, now: self.said.append(f"{name} lost: {because}"),
        ]


def test_effects_are_taken_once_in_the_order_in_which_they_came_up() -> None:
    outbox = Outbox()
    outbox.tell(1, Connected(1))
    outbox.drop(2, "enough")
    assert outbox.take() == [Tell(1, Connected(1)), Drop(2, "enough")]
    assert outbox.take() == []


def test_tickets_are_numbered_from_1_on_whatever_is_stored() -> None:
    outbox = Outbox()
    outbox.append([record(1)], lambda now: None, lambda because, now: None)
    outbox.keep("key", b"value")
    assert outbox.take() == [Append(1, (record(1),)), Keep(2, "key", b"value")]


def test_a_ticket_stands_for_itself_and_all_before_it() -> None:
    outbox, noted = Outbox(), Noted()
    for name in ("a", "b", "c"):
        outbox.append([], *noted.stored(name))  # type: ignore[arg-type]
    outbox.stored(2, 0)
    assert noted.said == ["a stored", "b stored"]
    outbox.stored(3, 0)
    assert noted.said[2:] == ["c stored"]


def test_what_waits_for_all_that_is_under_way_does_not_wait_when_nothing_is() -> None:
    outbox, noted = Outbox(), Noted()
    outbox.when_stored(*noted.stored("a"), 0)  # type: ignore[call-arg, arg-type]
    assert noted.said == ["a stored"]
    outbox.keep("key", None)
    outbox.when_stored(*noted.stored("b"), 0)  # type: ignore[call-arg, arg-type]
    assert noted.said == ["a stored"]
    outbox.stored(1, 0)
    assert noted.said == ["a stored", "b stored"]


def test_what_can_not_be_stored_is_lost_as_a_whole_and_what_follows_is_not() -> None:
    outbox, noted = Outbox(), Noted()
    for name in ("a", "b"):
        outbox.append([], *noted.stored(name))  # type: ignore[arg-type]
    outbox.stored(1, 0)
    outbox.store_failed("full", 0)
    outbox.append([], *noted.stored("c"))  # type: ignore[arg-type]
    outbox.stored(3, 0)
    assert noted.said == ["a stored", "b lost: full", "c stored"]


def test_a_read_is_answered_once() -> None:
    outbox, found = Outbox(), list[object]()
    outbox.read(
        "orders", 3, 10,
        lambda records, now: found.append((list(records), now)),
        lambda because, now: found.append(because),
    )  # fmt: skip
    (read,) = outbox.take()
    assert isinstance(read, Read)
    assert (read.stream, read.after, read.count_max) == ("orders", 3, 10)
    outbox.was_read(read.number, [record(4)], 7)
    assert found == [([record(4)], 7)]


def test_a_read_that_failed_is_answered_with_the_reason() -> None:
    outbox, found = Outbox(), list[str]()
    outbox.read(
        "orders", 3, 10, lambda records, now: None, lambda because, now: found.append(because)
    )
    (read,) = outbox.take()
    assert isinstance(read, Read)
    outbox.read_failed(read.number, "damaged", 7)
    assert found == ["damaged"]


def test_no_number_is_given_twice() -> None:
    outbox = Outbox()
    assert len({outbox.next_number() for _ in range(10)}) == 10
