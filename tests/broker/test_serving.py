"""Is a child sent what it is owed, in order, with everything said that was silent before?"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from headgate.broker.feeds import HostedFeed
from headgate.broker.outbox import Outbox
from headgate.broker.serving import ChildSession
from headgate.peering.errors import PeerError
from headgate.peering.frames import LATEST, Attach, Data, Frame, Silence, Subscribe, Vouched
from tests.broker.parts import NOW, Disk, record, settings


@dataclass
class Mouth:
    """What a session says, and whether it can."""

    outbox: Outbox = field(default_factory=Outbox)
    said: list[Frame] = field(default_factory=list)
    can_write: bool = True
    waits: list[ChildSession] = field(default_factory=list)
    bursts: list[ChildSession] = field(default_factory=list)
    over: list[str] = field(default_factory=list)

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        self.said.append(frame)
        return True

    def writable(self, broker: str) -> bool:
        return self.can_write

    def quiet(self, session: ChildSession, now: int) -> None:
        self.waits.append(session)

    def burst(self, session: ChildSession, now: int) -> None:
        self.bursts.append(session)

    def child_ended(self, session: ChildSession, because: str, now: int) -> None:
        self.over.append(because)


class Parent:
    def __init__(self, after: int = LATEST, *filters: str, known: int = 9) -> None:
        self.mouth = Mouth()
        self.disk = Disk(self.mouth.outbox)
        self.feed = HostedFeed("orders", "boot", settings(), self.mouth.outbox, 0, 0)
        entries = tuple(((0, one),) for one in filters or ("a = 1",))
        self.attach = Attach(7, "orders", "boot", after, 0, 1, known, entries)

    def serve(self) -> ChildSession:
        child = ChildSession(self.mouth, "s", self.attach)
        self.feed.add(child, NOW)
        self.disk.store()
        return child

    def publish(self, *values: int | None, version: int = 1) -> None:
        for a in values:
            one = record(len(self.disk.records) + 1, a, version)
            self.disk.records.append(one)
            self.feed.extend(one, NOW)

    def said(self) -> list[Frame]:
        said, self.mouth.said = self.mouth.said, []
        return said


def sent(previous: int, offset: int, a: int = 1, version: int = 1) -> Data:
    return Data(7, previous, record(offset, a, version))


def test_what_is_sent_says_what_was_sent_before() -> None:
    parent = Parent()
    parent.publish(1, 1)
    parent.serve()
    parent.publish(1, 2, 2, 1)
    assert parent.said() == [Vouched(7, 1, 2, 2, 1), sent(2, 3), sent(3, 6)]


def test_silence_is_said_only_when_it_is_asked_for_and_once() -> None:
    parent = Parent()
    child = parent.serve()
    parent.publish(2, None)
    assert child in parent.mouth.waits
    for _ in range(2):
        child.break_silence(NOW)
    parent.publish(1)
    assert parent.said()[1:] == [Silence(7, 0, 2, 1), sent(2, 3)]


def test_after_the_last_record_of_a_burst_it_is_said_once_that_it_was_the_last() -> None:
    parent = Parent()
    child = parent.serve()
    parent.publish(1, 1)
    assert parent.mouth.bursts == [child, child]
    for _ in range(2):
        child.break_silence(NOW)
    assert parent.said()[1:] == [sent(0, 1), sent(1, 2), Silence(7, 2, 2, 1)]


def test_a_vouch_says_the_silence_before_it() -> None:
    parent = Parent()
    child = parent.serve()
    parent.publish(2, 2)
    change = Subscribe(7, 2, 9, (((0, "a = 2"),),), ())
    wanted = child.changed(change)
    assert wanted is not None
    parent.feed.want(child, wanted, 2, NOW)
    parent.publish(2)
    assert parent.said()[1:] == [Vouched(7, 2, 0, 2, 1), sent(2, 3, 2)]


def test_beyond_what_the_child_knows_everything_is_sent() -> None:
    parent = Parent(LATEST, "a = 1", known=3)
    parent.serve()
    parent.publish(2, version=3)
    parent.publish(2, version=4)
    assert parent.said()[1:] == [sent(0, 2, 2, 4)]
    assert parent.mouth.outbox.counts["conservative send"] == 1


def test_a_full_link_waits_and_is_served_from_where_it_was() -> None:
    parent = Parent()
    child = parent.serve()
    parent.mouth.can_write = False
    parent.publish(1, 1)
    assert child.waits
    assert len(parent.said()) == 1
    parent.mouth.can_write = True
    parent.feed.serve(child, NOW)
    assert parent.said() == [sent(0, 1), sent(1, 2)]


def test_a_child_that_was_there_before_goes_on_after_its_offset() -> None:
    parent = Parent(1)
    parent.publish(1, 1, 2, 1)
    parent.serve()
    assert parent.said()[:1] == [Vouched(7, 1, 1, 1, 0)]
    assert parent.mouth.said == []


def test_a_change_that_came_twice_is_none() -> None:
    child = Parent().serve()
    assert child.changed(Subscribe(7, 1, 9, (), ())) is None


@pytest.mark.parametrize(
    "frame",
    [
        Subscribe(7, 2, 9, (), (((0, "a = 5"),),)),
        Subscribe(7, 0, 9, (), ()),
        Subscribe(7, 2, 9, (((0, "a ~ 1"),),), ()),
        Subscribe(7, 2, 9, (((2, "TRUE"), (1, "TRUE")),), ()),
        Subscribe(7, 2, 9, ((),), ()),
    ],
)
def test_a_change_of_something_else_is_refused(frame: Subscribe) -> None:
    with pytest.raises(PeerError, match="expected"):
        Parent().serve().changed(frame)


def test_a_session_that_can_not_be_served_says_why() -> None:
    parent = Parent()
    parent.serve().ended("no way", NOW)
    assert parent.mouth.over == ["no way"]
