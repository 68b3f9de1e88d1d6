"""What does it mean to break a promise, and who sees what happens?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from headgate.broker.effects import Message
from headgate.log.records import Record
from headgate.rights.changes import Batch

if TYPE_CHECKING:
    from headgate.simulation.disks import Write
    from headgate.simulation.machines import Machine
    from headgate.simulation.sessions import Asked, Session


class PromiseBroken(Exception):  # noqa: N818
    """Something happened that must never happen."""

    def __init__(self, promise: str, who: str, expected: str, came: str, at_us: int = -1) -> None:
        super().__init__(promise, who, expected, came, at_us)
        self.promise = promise
        self.who = who
        self.expected = expected
        self.came = came
        self.at_us = at_us

    def __str__(self) -> str:
        when = f" at {self.at_us / 1_000_000:.6f} s" if self.at_us >= 0 else ""
        return f"{self.promise}{when}: {self.who}: expected {self.expected}, came {self.came}"


class Checker:
    """Sees what happens; each checker takes up what its promise is about."""

    promise: ClassVar[str] = ""

    def broken(self, who: object, expected: str, came: str) -> PromiseBroken:
        return PromiseBroken(self.promise, str(who), expected, came)

    def started(self, machine: Machine) -> None:
        """A broker starts, with what is on its disk."""

    def killed(self, machine: Machine) -> None:
        """A broker died, and its disk has kept what it kept."""

    def appending(self, machine: Machine, records: tuple[Record, ...]) -> None:
        """A broker wants these records stored: it has just decided about them."""

    def stored(self, machine: Machine, writes: list[Write]) -> None:
        """These writes are on disk; the broker is told next."""

    def logged(self, machine: Machine, record: Record) -> None:
        """A record is on disk: synced, or found there after a crash."""

    def batch_stored(self, version: int, batch: Batch) -> None:
        """The ACL database has another version."""

    def policy_told(self, version: int) -> None:
        """The policy's host has read all versions up to this one."""

    def starting_point(self, version: int, stream: str, offset: int) -> None:
        """Somebody reported where a version begins."""

    def asked(self, session: Session, request: int, asked: Asked) -> None:
        """A client sends a request."""

    def acknowledging(self, session: Session, subscription: int, stream: str, offset: int) -> None:
        """A client sends an acknowledgement."""

    def unsubscribing(self, session: Session, subscription: int) -> None:
        """A client says that it wants a subscription no longer."""

    def told(self, session: Session, message: Message) -> None:
        """A broker tells a client something; the client may never hear it."""

    def heard(self, session: Session, message: Message) -> None:
        """A client hears what it was told."""

    def gone(self, session: Session, because: str) -> None:
        """A broker has done with a connection."""

    def considering(self, machine: Machine) -> None:
        """A broker asks what it may remove."""

    def removing(self, machine: Machine, up_to: dict[str, int], forced: bool) -> None:
        """A broker is told to remove the beginnings of streams."""

    def removed(self, machine: Machine, stream: str, up_to: int) -> None:
        """The beginning of a stream is gone from its disk."""

    def at_rest(self) -> None:
        """Everything is healed, and everybody should have been served."""


_HOOKS: Final = (
    "started", "killed", "appending", "stored", "logged", "batch_stored", "policy_told",
    "starting_point", "asked", "acknowledging", "unsubscribing", "told", "heard", "gone",
    "considering", "removing", "removed", "at_rest",
)  # fmt: skip


@final
class Observers:
    """For each thing that can be seen those who look at it, in the order they were added."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.killed: list[Any] = []
        self.appending: list[Any] = []
        self.stored: list[Any] = []
        self.logged: list[Any] = []
        self.batch_stored: list[Any] = []
        self.policy_told: list[Any] = []
        self.starting_point: list[Any] = []
        self.asked: list[Any] = []
        self.acknowledging: list[Any] = []
        self.unsubscribing: list[Any] = []
        self.told: list[Any] = []
        self.heard: list[Any] = []
        self.gone: list[Any] = []
        self.considering: list[Any] = []
        self.removing: list[Any] = []
        self.removed: list[Any] = []
        self.at_rest: list[Any] = []

    def add(self, checker: Checker) -> None:
        for name in _HOOKS:
            if getattr(type(checker), name) is not getattr(Checker, name):
                getattr(self, name).append(getattr(checker, name))
