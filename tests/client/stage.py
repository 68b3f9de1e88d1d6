"""A conversation with pretended brokers, in a time that a test moves on."""

from __future__ import annotations

from random import Random

from headgate.client.conversation import Conversation
from headgate.client.effects import (
    AdvertisementSettled,
    Dial,
    Effect,
    HangUp,
    Ping,
)
from headgate.client.settings import SECOND, Settings
from headgate.client.states import State
from tests.client.brokers import Broker, Line, Net


class Stage:
    """A program's conversation, and the connection that it has just now."""

    def __init__(self, net: Net, *urls: str, seed: int = 0, **settings: int) -> None:
        self.net = net
        self.chance = Random(seed)
        self.now = 1_000 * SECOND
        self.line: Line | None = None
        self.dialled: str | None = None
        self.pings = 0
        self.twice_in = 0
        """One text in so many comes twice, by chance."""
        self.conversation = Conversation(
            Settings(urls or tuple(net.brokers), **settings), "n", self.chance, self.now
        )
        self.effects: list[Effect] = []
        self.wait(0)

    def settle(self) -> list[Effect]:
        """Carry out what the conversation asks for, and give all that it says."""
        found = self.conversation.effects()
        for effect in found:
            if isinstance(effect, Dial):
                self.dialled = effect.url
            elif isinstance(effect, HangUp):
                self.dialled = None
                self.hang_up()
            elif isinstance(effect, Ping):
                self.pings += 1
        self.effects += found
        return found

    def of(self, *kinds: type) -> list[Effect]:
        """What the conversation said of these kinds so far."""
        return [effect for effect in self.effects if isinstance(effect, kinds)]

    # The connection.

    def answer_dial(self) -> None:
        """The broker that was dialled answers, or isn't there."""
        url, self.dialled = self.dialled, None
        if url is None:
            return
        broker: Broker = self.net.brokers[url]
        if broker.is_up:
            self.line = broker.connect()
            self.conversation.connected(self.now)
        else:
            self.conversation.lost("connection refused", self.now)
        self.settle()

    def answer_dial_from_afar(self) -> None:
        """The connection is there, and nothing comes on it."""
        self.dialled = None
        self.conversation.connected(self.now)
        self.settle()

    def answer_dial_after(self, span_us: int) -> None:
        self.wait(span_us)
        self.answer_dial()

    def line_of(self) -> Line:
        assert self.line is not None
        return self.line

    def say(self, text: bytes) -> None:
        """The broker says something that it wouldn't."""
        self.conversation.receive(text, self.now)
        self.settle()

    def advertised(self) -> list[AdvertisementSettled]:
        return [effect for effect in self.effects if isinstance(effect, AdvertisementSettled)]

    def hang_up(self) -> None:
        if self.line is not None:
            self.line.gone()
            self.line = None

    def cut(self) -> None:
        """The connection breaks; what was on it is lost, both ways."""
        if self.line is not None:
            self.hang_up()
            self.conversation.lost("the connection broke", self.now)
            self.settle()

    def up(self) -> bool:
        """One text reaches the broker."""
        data = self.conversation.data_to_send() if self.line is not None else b""
        if data:
            assert self.line is not None
            self.line.hear(data)
        return bool(data)

    def down(self) -> bool:
        """One text reaches the program."""
        if self.line is None or not self.line.told:
            return False
        text = self.line.text(self.chance)
        self.conversation.receive(text, self.now)
        if self.twice_in and b"connected" not in text and not self.chance.randrange(self.twice_in):
            self.conversation.receive(text, self.now)  # as if it had been sent twice
        self.settle()
        return True

    # Time.

    def wait(self, span_us: int) -> None:
        """Let time go by, with every timer at its time."""
        until = self.now + span_us
        while (at := self.conversation.next_timer()) is not None and at <= until:
            self.now = max(self.now, at)
            self.conversation.on_timer(self.now)
            self.settle()
        self.now = until

    def meet(self) -> None:
        """Come to a connection on which all is said."""
        while self.conversation.state is not State.OPEN:
            assert self.conversation.state is not State.OVER, self.conversation.error
            self.answer_dial()
            self.down()
            if self.conversation.state is State.APART:
                self.wait(SECOND)
        self.talk()

    def talk(self) -> None:
        """Until nobody has anything to say."""
        while self.up() or self.down():
            pass
