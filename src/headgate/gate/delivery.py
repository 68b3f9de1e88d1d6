"""What does this subscription receive of this event at this version?

Pure: the same event, version and subscription give the same answer wherever they are asked.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from headgate.model.events import Event
from headgate.rights.effective import TOPICS, VersionOfRights, topics_of
from headgate.rights.rules import Rule
from headgate.rights.subscriptions import Subscription


class Reason(Enum):
    """Why an event is withheld."""

    NO_RIGHT = "no rule of the principal grants it"
    NO_DOMAIN_RIGHT = "no rule of the domain grants it"
    NOT_ASKED_FOR = "what the principal may read of it does not match the subscription"


class View(Struct, frozen=True):
    """What is delivered: the event as this reader may see it."""

    event: Event
    version: int


class Withheld(Struct, frozen=True):
    """Nothing is delivered."""

    version: int
    reason: Reason


Outcome: TypeAlias = View | Withheld


class Reading(Struct, frozen=True):
    """What a principal's (or a domain's) rules let it read of one event."""

    rules: tuple[Rule, ...]
    attributes: frozenset[str] | None
    """The readable names; `None` for all."""
    topics: frozenset[str] | None
    """The publication topics that it may see; `None` for all."""

    def cut(self, event: Event) -> Event:
        seen = event if self.attributes is None else event.cut(self.attributes)
        if self.topics is None or topics_of(seen) <= self.topics:
            return seen
        return seen.with_members(TOPICS, self.topics)


def gate(event: Event, version: VersionOfRights, subscription: Subscription) -> Outcome:
    """Decide one delivery: rights first, then the cut, then the filter on what is left."""
    view = event
    for principal, reason in (
        (subscription.principal, Reason.NO_RIGHT),
        (subscription.domain, Reason.NO_DOMAIN_RIGHT),
    ):
        if principal is None:
            continue
        reading = read(event, version, principal)
        if reading is None:
            return Withheld(version.number, reason)
        view = reading.cut(view)
    if not subscription.filter.matches(view):
        return Withheld(version.number, Reason.NOT_ASKED_FOR)
    return View(view, version.number)


def gate_then_and_now(
    event: Event, then: VersionOfRights, now: VersionOfRights, subscription: Subscription
) -> Outcome:
    """The stricter choice for a replay: the rights at publication and those of today, both."""
    first = gate(event, then, Subscription(subscription.principal, domain=subscription.domain))
    if isinstance(first, Withheld):
        return first
    today = gate(event, now, Subscription(subscription.principal, domain=subscription.domain))
    if isinstance(today, Withheld):
        return today
    view = _common(first.event, today.event)
    if not subscription.filter.matches(view):
        return Withheld(now.number, Reason.NOT_ASKED_FOR)
    return View(view, then.number)


def _common(one: Event, other: Event) -> Event:
    """What two views of one event have in common."""
    shared = one.cut(other.names)
    return shared.with_members(TOPICS, topics_of(other)) if topics_of(shared) else shared


def read(event: Event, version: VersionOfRights, principal: str) -> Reading | None:
    """What the rules let a principal read of an event; nothing where none grants it."""
    rights = version.rights_of(principal)
    rules = rights.reading(event)
    if not rules:
        return None
    readable: frozenset[str] | None = frozenset()
    topics: frozenset[str] | None = rights.topics
    for rule in rules:
        names = rule.readable
        readable = None if names is None or readable is None else readable | names
        if rule.topics is None and (names is None or TOPICS in names):
            topics = None  # a rule without topics of its own that lets read them, lets read all
    return Reading(rules, readable, topics)
