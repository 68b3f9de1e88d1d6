"""Across modules: does a program get everything once, in order, whatever becomes of connections?

Connections break between any two texts, brokers go and come back, answers are lost or refused for
now, and the program publishes, takes and acknowledges as chance wants it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random

import pytest

from headgate.client.effects import Settled
from headgate.client.errors import RefusedError
from headgate.client.settings import SECOND
from headgate.client.wishes import Wish
from headgate.http.socket_messages import Delivery, Published, Started
from tests.client.brokers import Net
from tests.client.stage import Stage
from tests.proofs import COUNTED, proof_size

SEEDS = proof_size(test=300, soak=20_000)


class Program:
    """Publishes under way and subscriptions, and what came of them."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.net = Net(left=["orders"], right=["quotes", "news"])
        self.stage = Stage(self.net, seed=seed, patience_us=1_000_000 * SECOND)
        self.stage.twice_in = 20
        self.published = 0
        self.own = 0
        self.handed: dict[Wish, dict[str, list[int]]] = {}
        self.starts: dict[Wish, dict[str, int]] = {}
        self.counts: dict[str, int] = defaultdict(int)

    # What may happen.

    def publish(self) -> None:
        self.published += 1
        self.own += 1
        stream = self.chance.choice([None, None, None, "orders"])
        if stream is not None and not self.knows("left"):
            stream = None
        self.stage.conversation.publish(b'{"n":%d}' % self.published, self.stage.now, stream=stream)

    def knows(self, broker: str) -> bool:
        line = self.stage.line
        return line is not None and line.broker.name == broker

    def others_publish(self) -> None:
        name = self.chance.choice(list(self.net.streams))
        broker = next(one for one in self.net.brokers.values() if name in one.streams)
        self.published += 1
        line = broker.connect()
        line.hear(b'{"do":"publish","request":1,"event":{},"id":"o%d","stream":"%s"}' % (
            self.published, name.encode(),
        ))  # fmt: skip
        line.gone()

    def subscribe(self) -> None:
        if len(self.handed) < 4:
            durable = self.chance.choice([None, f"d{len(self.handed)}"])
            wish = self.stage.conversation.subscribe("", self.stage.now, durable=durable)
            self.handed[wish], self.starts[wish] = defaultdict(list), {}

    def take(self) -> None:
        for wish in self.handed:
            for _ in range(self.chance.randint(0, 30)):
                found = self.stage.conversation.take(wish)
                if isinstance(found, Started):
                    self.starts[wish].setdefault(found.stream, found.after)
                elif isinstance(found, Delivery):
                    self.handed[wish][found.stream].append(found.offset)
                else:
                    break

    def refuse(self) -> None:
        if self.stage.line is not None:
            self.stage.line.refuses_for_now = self.chance.randint(1, 3)

    def cut(self) -> None:
        self.counts["connections cut"] += self.stage.line is not None
        self.stage.cut()

    def go(self) -> None:
        """A broker goes or comes back."""
        broker = self.chance.choice(list(self.net.brokers.values()))
        broker.is_up = not broker.is_up
        if not broker.is_up and self.stage.line in broker.lines:
            self.cut()

    def wait(self) -> None:
        self.stage.wait(self.chance.randint(0, SECOND // 2))

    def step(self) -> None:
        stage = self.stage
        act = self.chance.choices(
            [self.publish, self.others_publish, self.take, stage.up, stage.down, stage.answer_dial,
             self.wait, self.subscribe, self.refuse, self.cut, self.go],
            [8, 8, 8, 12, 12, 6, 6, 1, 1, 1, 0.5],
        )[0]  # fmt: skip
        act()

    def finish(self) -> None:
        """No more faults, and all brokers in turn: whatever waits comes to its end."""
        for _ in range(50):
            for name, broker in self.net.brokers.items():
                for other in self.net.brokers.values():
                    other.is_up = other is broker
                if not self.knows(name):
                    self.stage.cut()
                self.stage.meet()
                for line in broker.lines:
                    line.refuses_for_now = 0
                self.stage.wait(6 * SECOND)
                self.stage.talk()
                self.take()
                self.stage.talk()
            if len(self.stage.of(Settled)) == self.own and self.is_read():
                return
        raise AssertionError("it doesn't come to an end")

    def is_read(self) -> bool:
        return all(
            len(records) == self.starts[wish].get(stream, 0) + len(handed[stream])
            for wish, handed in self.handed.items()
            for stream, records in self.net.streams.items()
        )


def play(seed: int) -> Program:
    program = Program(seed)
    for _ in range(400):
        program.step()
    program.finish()
    return program


def check(program: Program) -> None:
    ids = [record.id for records in program.net.streams.values() for record in records]
    assert len(ids) == len(set(ids)), "stored twice"
    for effect in program.stage.of(Settled):
        assert isinstance(effect, Settled)
        said = effect.outcome
        if isinstance(said, RefusedError):  # it was for a stream of the broker that there was
            assert "hosts no stream" in said.because
            assert effect.publication.event_id not in ids
            continue
        assert isinstance(said, Published), said
        assert program.net.streams[said.stream][said.offset - 1].id == effect.publication.event_id
    bodies = [bytes(one.event) for records in program.net.streams.values() for one in records]
    own = [body for body in bodies if body != b"{}"]
    assert len(own) == len(set(own)), "the same event under two ids"
    for wish, handed in program.handed.items():
        for stream, records in program.net.streams.items():
            start = program.starts[wish][stream]
            assert handed[stream] == list(range(start + 1, len(records) + 1))


@pytest.mark.proof
def test_everything_comes_once_in_order_and_nothing_is_stored_twice(
    record_property: Callable[[str, object], None],
) -> None:
    counts: dict[str, int] = defaultdict(int)
    for seed in range(SEEDS):
        program = play(seed)
        try:
            check(program)
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}: {broken}") from broken
        counts["publications"] += len(program.stage.of(Settled))
        counts["repeated"] += sum(
            isinstance(effect, Settled)
            and isinstance(effect.outcome, Published)
            and effect.outcome.repeated
            for effect in program.stage.of(Settled)
        )
        counts["deliveries"] += sum(
            len(offsets) for handed in program.handed.values() for offsets in handed.values()
        )
        for name, number in program.counts.items():
            counts[name] += number
    assert min(counts.values()) > SEEDS
    record_property(COUNTED, dict(counts))
