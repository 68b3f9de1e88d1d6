"""What is going to happen in a run? All of it as plain data: who is there, and who does what when.

A schedule can be written down, read back, shortened step by step, and written by hand. What is not
in it (how long a message takes within its limits, which unsynced write a crash tears) comes from
its seed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from headgate.model.errors import HeadgateError
from headgate.simulation.timeline import MILLISECOND, SECOND


class ScheduleError(HeadgateError, ValueError):
    """What should happen in a run can't be read, or can't be."""


class Weather(Struct, frozen=True, forbid_unknown_fields=True):
    """How long things take while nothing is wrong."""

    link_us: int = MILLISECOND
    jitter_us: int = MILLISECOND // 2
    pieces: float = 0.0
    """How often what is sent on a link arrives in pieces, or together with what follows."""
    client_us: int = MILLISECOND // 2
    sync_us: int = MILLISECOND
    read_us: int = MILLISECOND // 2
    database_us: int = 2 * MILLISECOND


class BrokerPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """What is particular about one broker."""

    streams: tuple[str, ...] = ()
    clock_us: int = 0
    """How far its clock is off at the beginning."""
    drift_ppm: int = 0
    foreign: dict[str, str] = field(default_factory=dict)
    routes_only: bool = False


class ClientPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A client, and how it behaves."""

    principal: str
    brokers: tuple[str, ...]
    """Where it connects: at the first, and where that fails at the next."""
    domain: str | None = None
    ack_every: int = 1
    """It acknowledges after so many deliveries of a subscription."""
    ack_us: int = 0
    """So long it takes to process a delivery."""
    in_flight: int = 4
    """Publications that may wait for their answers together."""
    patience_us: int = 3 * SECOND
    """After this it doesn't wait for an answer any longer, and tries again."""


# What clients do.


class Connect(Struct, frozen=True, tag="connect", forbid_unknown_fields=True):
    """A client comes, or moves to another broker."""

    client: str
    broker: str = ""


class Disconnect(Struct, frozen=True, tag="disconnect", forbid_unknown_fields=True):
    """A client goes; `silently` its broker learns it late."""

    client: str
    silently: bool = False


class Publish(Struct, frozen=True, tag="publish", forbid_unknown_fields=True):
    """A client publishes, and tries until it has an answer."""

    client: str
    event_id: str
    body: str
    stream: str | None = None
    is_json: bool = True
    known: dict[str, str] = field(default_factory=dict)


class Answer(Struct, frozen=True, tag="answer", forbid_unknown_fields=True):
    """A client publishes when it hears its next delivery, which causes what it publishes."""

    client: str
    event_id: str
    body: str
    stream: str | None = None


class Subscribe(Struct, frozen=True, tag="subscribe", forbid_unknown_fields=True):
    """A client wants to receive, now and after each reconnection."""

    client: str
    key: str
    filter: str = "TRUE"
    durable: str | None = None
    """Under this name it is kept while nobody is connected."""
    causal: bool = False
    resumed: bool = False
    """After a reconnection it goes on after the last delivery that it processed itself."""
    after: dict[str, int] = field(default_factory=dict)
    """Where it is to start: on these streams after an offset, 0 for the beginning."""


class Unsubscribe(Struct, frozen=True, tag="unsubscribe", forbid_unknown_fields=True):
    """A client wants it no longer; a durable subscription is forgotten."""

    client: str
    key: str


class Advertise(Struct, frozen=True, tag="advertise", forbid_unknown_fields=True):
    """A client says what it is going to publish."""

    client: str
    filter: str


class Administer(Struct, frozen=True, tag="administer", forbid_unknown_fields=True):
    """An administrator asks for a batch; `serially` against the version it knows."""

    client: str
    changes: tuple[dict[str, Any], ...]
    serially: bool = False


class AdministerElsewhere(Struct, frozen=True, tag="administer elsewhere"):
    """Somebody writes a batch into the ACL database without asking a broker."""

    changes: tuple[dict[str, Any], ...]


# What goes wrong.


class Kill(Struct, frozen=True, tag="kill", forbid_unknown_fields=True):
    """A broker dies and comes back; `silently` nobody is told (the machine lost its power)."""

    broker: str
    for_us: int
    silently: bool = False


class KillMidway(Struct, frozen=True, tag="kill midway", forbid_unknown_fields=True):
    """A broker dies between two of the things that its core wants done."""

    broker: str
    for_us: int
    after: int
    """How many more things are done before."""
    silently: bool = False


class Break(Struct, frozen=True, tag="break", forbid_unknown_fields=True):
    """The links between two brokers are reset, and new ones refused for a while."""

    one: str
    other: str
    for_us: int = 0


class Part(Struct, frozen=True, tag="part", forbid_unknown_fields=True):
    """Nothing gets from one broker to another for a while, and nobody is told."""

    one: str
    other: str
    for_us: int
    both_ways: bool = True
    reset: bool = False
    """What was sent meanwhile is lost with its link; else it arrives late."""


class Isolate(Struct, frozen=True, tag="isolate", forbid_unknown_fields=True):
    """Nothing gets to a broker or from it for a while."""

    broker: str
    for_us: int
    reset: bool = False


class Slow(Struct, frozen=True, tag="slow", forbid_unknown_fields=True):
    """A link becomes slow: so many bytes a second, and so much later."""

    one: str
    other: str
    for_us: int
    bytes_per_s: int
    delay_us: int = 0


class Repeat(Struct, frozen=True, tag="repeat", forbid_unknown_fields=True):
    """What is sent on the links between two brokers sometimes arrives twice."""

    one: str
    other: str
    for_us: int
    chance: float = 0.3


class Lose(Struct, frozen=True, tag="lose", forbid_unknown_fields=True):
    """Records that are sent on the links between two brokers sometimes don't arrive."""

    one: str
    other: str
    for_us: int
    chance: float = 0.3


class Garble(Struct, frozen=True, tag="garble", forbid_unknown_fields=True):
    """Bytes that nobody sent arrive on the links between two brokers."""

    one: str
    other: str
    oversized: bool = False


class FillDisk(Struct, frozen=True, tag="fill disk", forbid_unknown_fields=True):
    """A broker's disk is full for a while."""

    broker: str
    for_us: int


class SlowDisk(Struct, frozen=True, tag="slow disk", forbid_unknown_fields=True):
    """A broker's disk takes longer for a while."""

    broker: str
    for_us: int
    sync_us: int


class JumpClock(Struct, frozen=True, tag="jump clock", forbid_unknown_fields=True):
    """A broker's clock is set forward, or back."""

    broker: str
    by_us: int


class LoseDatabase(Struct, frozen=True, tag="lose database", forbid_unknown_fields=True):
    """The ACL database crashes, and is back after a while."""

    for_us: int


class Remove(Struct, frozen=True, tag="remove", forbid_unknown_fields=True):
    """A broker removes the beginnings of its streams, as far as nobody who is away is owed them."""

    broker: str
    keep: int = 0
    """The newest records of each stream that it leaves."""
    forced: bool = False
    """Somebody has decided to take from durable subscriptions, too."""


class StallClient(Struct, frozen=True, tag="stall client", forbid_unknown_fields=True):
    """A client processes nothing for a while."""

    client: str
    for_us: int


ClientAction: TypeAlias = (
    Connect | Disconnect | Publish | Answer | Subscribe | Unsubscribe | Advertise | Administer
)
Fault: TypeAlias = (
    Kill | KillMidway | Break | Part | Isolate | Slow | Repeat | Lose | Garble | FillDisk
    | SlowDisk | JumpClock | LoseDatabase | Remove | StallClient
)  # fmt: skip
Action: TypeAlias = ClientAction | AdministerElsewhere | Fault

FAULTS: tuple[type[Fault], ...] = (
    Kill, KillMidway, Break, Part, Isolate, Slow, Repeat, Lose, Garble, FillDisk, SlowDisk,
    JumpClock, LoseDatabase, Remove, StallClient,
)  # fmt: skip


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that happens at its time."""

    at_us: int
    action: Action


def at(seconds: float, action: Action) -> Step:
    """For schedules written by hand."""
    return Step(round(seconds * SECOND), action)


class Schedule(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole run."""

    seed: int
    nodes: dict[str, tuple[str, ...]]
    policy_host: str
    steps: tuple[Step, ...]
    edges: tuple[tuple[str, str], ...] = ()
    brokers: dict[str, BrokerPlan] = field(default_factory=dict)
    clients: dict[str, ClientPlan] = field(default_factory=dict)
    policy: tuple[tuple[dict[str, Any], ...], ...] = ()
    """The batches that the ACL database has at the beginning."""
    settings: dict[str, int | bool] = field(default_factory=dict)
    """What the brokers are told that differs from the defaults of `Settings`."""
    weather: Weather = Weather()
    calm_us: int = 0
    """When the faults end; at least after all steps."""

    def __post_init__(self) -> None:
        names = set(self.members)
        strangers = sorted(
            {broker for plan in self.clients.values() for broker in plan.brokers} - names
            | set(self.brokers) - names
            | {self.policy_host} - names
        )
        if strangers:
            raise ScheduleError(f"expected brokers of the network, found {', '.join(strangers)}")

    @property
    def members(self) -> tuple[str, ...]:
        """All brokers, node by node."""
        return tuple(broker for brokers in self.nodes.values() for broker in brokers)

    def plan(self, broker: str) -> BrokerPlan:
        return self.brokers.get(broker, _NOTHING_PARTICULAR)

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes) -> Schedule:
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as problem:
            raise ScheduleError(f"this is no schedule: {problem}") from None


_NOTHING_PARTICULAR = BrokerPlan()


def described(action: Action) -> str:
    """An action in one line: `kill b2 for 3 s silently`."""
    words = [str(action.__struct_config__.tag)]
    for name in action.__struct_fields__:
        value = getattr(action, name)
        if value in ("", None, (), {}, False):
            continue
        words.append(_described(name, value))
    return " ".join(words)


def _described(name: str, value: Any) -> str:
    if name.endswith("_us"):
        return f"{name.removesuffix('_us')} {value / SECOND:g} s"
    if value is True:
        return name.replace("_", " ")
    if name == "changes":
        return "; ".join(_change(change) for change in value)
    return str(value) if name in _PLAIN else f"{name} {value}"


_PLAIN = ("client", "broker", "one", "other", "event_id", "body", "key")


def _change(change: dict[str, Any]) -> str:
    ((word, said),) = change.items()
    if isinstance(said, str):
        return f"{word} {said}"
    return f"{word} " + " ".join(
        f"{key}={','.join(map(str, item)) if isinstance(item, list) else item}"
        for key, item in said.items()
    )
