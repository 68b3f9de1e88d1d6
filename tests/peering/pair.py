"""Two ends of a link, and the bytes between them; and a frame of each kind."""

from headgate.log.records import Record
from headgate.peering.frames import (
    PROTOCOL,
    Alive,
    Announce,
    Attach,
    Data,
    Detach,
    Ended,
    Frame,
    Hello,
    Reply,
    Request,
    Silence,
    Subscribe,
    Vouched,
)
from headgate.peering.links import Link
from tests.log.streams import stream_of

HEARTBEAT = 1_000

RECORD: Record = stream_of(1, known={"$topic": "a/b", "$n": 1.5}, vector={"trades": ("boot-2", 7)})[
    0
]

FRAMES: tuple[Frame, ...] = (
    Announce("b", "orders", "boot-1", 1, None),
    Announce("b", "orders", "boot-1", 2, (("price < 100", 0), ("TRUE", 70))),
    Attach(1, "orders", "boot-1", -1, 0, 0, 0, ()),
    Attach(2, "orders", "boot-1", 7, 3, 2, 9, (((0, "TRUE"),), ((4, "a = 1"), (6, "FALSE")))),
    Subscribe(2, 3, 9, (((0, "b = 2"),),), ()),
    Detach(2),
    Data(2, 0, RECORD),
    Silence(2, 1, 5, 3),
    Vouched(2, 3, 5, 7, 3),
    Ended(2, "it restarts"),
    Request("a", "boot-9", 1, "c", b"\x00\xff"),
    Reply("a", "boot-9", 1, b""),
)
"""What a link carries: of some kinds more than one."""
EVERY_KIND: tuple[Frame, ...] = (Hello(PROTOCOL, "a", "boot-1", 2**20), Alive(), *FRAMES)


def hello(broker: str, protocol: int = PROTOCOL, frame_bytes_max: int = 2**20) -> Hello:
    return Hello(protocol, broker, f"boot of {broker}", frame_bytes_max)


class Pair:
    """Broker `a`, which dialled, and broker `b`, which accepted."""

    def __init__(self, left: Hello | None = None, right: Hello | None = None) -> None:
        self.now = 1_000_000
        self.left = Link(left or hello("a"), self.now, HEARTBEAT, expected="b")
        self.right = Link(right or hello("b"), self.now, HEARTBEAT)
        self.came_left: list[Frame] = []
        self.came_right: list[Frame] = []
        """All that came since the beginning."""

    def pump(self, bytes_max: int = 2**16) -> tuple[list[Frame], list[Frame]]:
        """Carry what waits, in pieces; what came to the left end, and what to the right."""
        came_right = self._carry(self.left, self.right, bytes_max)
        came_left = self._carry(self.right, self.left, bytes_max)
        self.came_left += came_left
        self.came_right += came_right
        return came_left, came_right

    def opened(self) -> "Pair":
        assert self.pump() == ([], [])
        return self

    def wait(self, us: int, *, pump: bool = True) -> None:
        """Let time pass, with each timer in its time; without `pump` nothing gets through."""
        end = self.now + us
        for _ in range(10_000):
            timers = [timer for link in (self.left, self.right) if (timer := link.next_timer())]
            self.now = min([end, *(max(timer, self.now) for timer in timers)])
            if self.now == end:
                return
            for link in (self.left, self.right):
                link.on_timer(self.now)
            if pump:
                self.pump()
        raise AssertionError("a timer is due again and again, and nothing changes")

    def _carry(self, source: Link, target: Link, bytes_max: int) -> list[Frame]:
        data = source.data_to_send()
        frames: list[Frame] = []
        for at in range(0, len(data), bytes_max):
            frames += target.receive(data[at : at + bytes_max], self.now)
        return frames
