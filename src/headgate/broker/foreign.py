"""What crosses a link to an untrusted domain? Only what the domain itself has a right to.

The sending side gates every record by the domain's rights at the record's version, on the full
event, and never sends to be on the safe side. What the other side asks for is matched on the view:
it must not learn by asking what it may not read.
"""

from __future__ import annotations

from typing import Final, final

from headgate.broker.feeds import Offer
from headgate.broker.interests import EVERYTHING, STEPS_MAX, Interest, InterestSet
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.serving import ChildSession, Mouth, change_of
from headgate.gate.delivery import View, gate
from headgate.log.records import POLICY, Record
from headgate.model.events import Event
from headgate.peering.frames import Attach, Subscribe, Vouched
from headgate.rights.requests import Allowed, may_publish
from headgate.rights.restriction import restricted
from headgate.rights.subscriptions import Subscription

_OWN: Final = ("$stream", "$publisher", "$time")


def rights_of(domain: str, policy: PolicyFollowing) -> InterestSet:
    """What a domain may receive, by version; while its rights aren't known here, all waits."""
    if not policy.ready(domain):
        return EVERYTHING
    rights = policy.rights
    steps = [
        (version, restricted(rights.at(version), Subscription(domain)))
        for version in rights.borders((domain,))[-STEPS_MAX:]
    ]
    return InterestSet(policy.known, frozenset({Interest.of(steps)}))


def may_ask(domain: str, policy: PolicyFollowing) -> bool:
    """Whether brokers of a domain may ask about the policy: if it may read `$policy`."""
    if not policy.ready(domain):
        return False
    rules = policy.rights.rights_at(domain, policy.known).subscribing
    return any(rule.names_stream(POLICY) and rule.readable is None for rule in rules)


def admits(domain: str, policy: PolicyFollowing, record: Record, now: int) -> bool | None:
    """Whether a domain may publish a record that comes from it; `None`: not known yet."""
    if record.body is None:
        return True
    if not policy.ready(domain) or record.version > policy.known:
        return None
    if not policy.reaches_back((domain,), record.version):
        policy.ask_back((domain,), record.version, lambda _: None, now)
        return None
    rights = policy.rights.rights_at(domain, record.version)
    return isinstance(may_publish(rights, record.event), Allowed)


def as_seen(record: Record, view: Event) -> Record:
    """The record with nothing in it but a view; digests of the whole don't cross."""
    body = view.to_bytes()
    names = view.attributes
    return Record(
        record.stream, record.incarnation, record.offset, record.version,
        record.time_us if "$time" in names else 0,
        record.publisher if "$publisher" in names else "",
        "",
        body,
        record.is_json or body == b"{}",
        {name: value for name, value in record.known.items() if name in names},
        {},
        hidden=tuple(name for name in _OWN if name not in names),
    )  # fmt: skip


@final
class ForeignChild(ChildSession):
    """A session with a broker of an untrusted domain."""

    def __init__(
        self, mouth: Mouth, child: str, frame: Attach, domain: str, policy: PolicyFollowing
    ) -> None:
        super().__init__(mouth, child, frame)
        self.domain = domain
        self.policy = policy
        self.asked = self.newest_asked = self.wanted
        """What it asked for: what holds now, and what will once that is vouched for."""
        self.asked_epoch = frame.epoch
        self._vouched_epoch = -1
        self.wanted = rights_of(domain, policy)
        self.epoch = 0

    def learnt(self, now: int) -> None:
        """Another version is known: the domain may have other rights."""
        wanted = rights_of(self.domain, self.policy)
        if self.home is not None:
            self.home.want(self, wanted, self.epoch + 1, now)
        if self.feed is not None:
            self.feed.serve(self, now)

    def changed(self, frame: Subscribe) -> InterestSet | None:
        if frame.epoch == self.asked_epoch:
            return None
        self.newest_asked = change_of(self.newest_asked, frame, self.asked_epoch)
        self.asked_epoch = frame.epoch
        return self.wanted

    def epoch_of(self, frame: Subscribe) -> int:
        return self.epoch + 1

    def offer(self, record: Record, now: int) -> Offer:
        if not self.mouth.writable(self.child):
            self.waits = True
            return Offer.BLOCKED
        if not self.policy.ready(self.domain) or record.version > self.policy.known:
            return Offer.BLOCKED
        if not self.policy.reaches_back((self.domain,), record.version):
            self.policy.ask_back((self.domain,), record.version, self.learnt, now)
            return Offer.BLOCKED
        outcome = gate(
            record.event, self.policy.rights.at(record.version), Subscription(self.domain)
        )
        seen = as_seen(record, outcome.event) if isinstance(outcome, View) else None
        if seen is None or not self.asked.wants(seen):
            self.mouth.outbox.count("withheld from a domain")
            self.mouth.quiet(self, now)
            return Offer.PASSED
        self.mouth.outbox.count("view for a domain")
        return self._send(seen, now)

    def vouched(self, after: int, version: int, now: int) -> None:
        """The domain's own broker is told of the epochs that it has asked for."""
        if self._vouched_epoch == self.asked_epoch:
            self.mouth.quiet(self, now)
            return
        self._vouched_epoch = self.asked_epoch
        self.asked = self.newest_asked
        previous = after if self.told is None else self.told
        frame = Vouched(self.session, self.asked_epoch, previous, after, version)
        self.mouth.send(self.child, frame, now)
        self.told = after
        self.silent_at = None
