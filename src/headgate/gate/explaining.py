"""Why was an event delivered, or withheld? All of it for administrators, less for subscribers.

To the subscriber every withheld event has one and the same answer: it must not tell what it hides.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.filters.evaluation import evaluate
from headgate.filters.filter import Filter
from headgate.filters.printing import print_condition
from headgate.filters.syntax import And, Condition, Or
from headgate.gate.delivery import Outcome, Reason, View, gate, read
from headgate.model.events import Event
from headgate.rights.effective import TOPICS, Granted, VersionOfRights, reaches, topics_of
from headgate.rights.rules import Rule
from headgate.rights.subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class Explanation:
    """The outcome, and everything that led to it."""

    outcome: Outcome
    granting: tuple[Granted, ...]
    """The principal's rules that grant the event."""
    domain_granting: tuple[Granted, ...]
    """The rules of the domain that it is connected through, if it is."""
    cut: tuple[str, ...]
    """What the reader may not see, or (`topics`) not all of."""
    because: str

    @property
    def delivered(self) -> bool:
        return isinstance(self.outcome, View)


@dataclass(frozen=True, slots=True)
class SubscriberExplanation:
    """What a subscriber is told: its view, or that there is nothing for it."""

    outcome: View | None
    because: str


NOTHING_FOR_YOU = "nothing that you may read here matches your subscription"


def explain(event: Event, version: VersionOfRights, subscription: Subscription) -> Explanation:
    """For the administrator: rules, where they come from, what was cut, and what failed."""
    outcome = gate(event, version, subscription)
    seen, granting = _seen(event, event, version, subscription.principal)
    seen, domain_granting = _seen(event, seen, version, subscription.domain)
    cut = event.names - seen.names
    if topics_of(seen) != topics_of(event):
        cut |= {TOPICS}
    because = _because(outcome, event, seen, version, subscription)
    return Explanation(outcome, granting, domain_granting, tuple(sorted(cut)), because)


def _seen(
    event: Event, left: Event, version: VersionOfRights, reader: str | None
) -> tuple[Event, tuple[Granted, ...]]:
    """What a reader's rules leave of what is left of an event, and which rules those are."""
    reading = None if reader is None else read(event, version, reader)
    if reader is None or reading is None:
        return left, ()
    granted = version.rights_of(reader).granted
    return reading.cut(left), tuple(one for one in granted if one.rule in reading.rules)


def explain_to_subscriber(
    event: Event, version: VersionOfRights, subscription: Subscription
) -> SubscriberExplanation:
    outcome = gate(event, version, subscription)
    if isinstance(outcome, View):
        return SubscriberExplanation(outcome, f"delivered under version {version.number}")
    return SubscriberExplanation(None, NOTHING_FOR_YOU)


def _because(
    outcome: Outcome,
    event: Event,
    seen: Event,
    version: VersionOfRights,
    subscription: Subscription,
) -> str:
    if isinstance(outcome, View):
        return f"granted, and what `{subscription.principal}` may read matches the subscription"
    if outcome.reason is Reason.NOT_ASKED_FOR:
        failed = nearest_failure(subscription.filter, seen)
        return f"{outcome.reason.value}: `{failed}` is not true of it"
    principal = subscription.principal if outcome.reason is Reason.NO_RIGHT else subscription.domain
    assert principal is not None
    return f"{outcome.reason.value}: {_why_no_rule(event, version, principal)}"


def _why_no_rule(event: Event, version: VersionOfRights, principal: str) -> str:
    rules = version.rights_of(principal).subscribing
    if not rules:
        return f"`{principal}` has no rule for `subscribe` at version {version.number}"
    near = min(rules, key=lambda rule: _failures(rule.filter.condition, event))
    return f"the nearest is {near}, where {_what_fails(near, event)}"


def _what_fails(rule: Rule, event: Event) -> str:
    if not rule.filter.matches(event):
        return f"`{nearest_failure(rule.filter, event)}` is not true"
    if not reaches(rule, event, own=None):
        return "no topic is shared"
    return "its stream is one of the broker itself, and has to be named: `$stream = '…'`"


def nearest_failure(filter_: Filter, event: Event) -> str:
    """The part of a filter that fails, of its alternatives the one that comes nearest."""
    return print_condition(_failing(filter_.condition, event))


def _failing(node: Condition, event: Event) -> Condition:
    match node:
        case And(parts):
            return _failing(
                next(p for p in parts if evaluate(p, event.attributes) is not True), event
            )
        case Or(parts):
            return _failing(min(parts, key=lambda part: _failures(part, event)), event)
        case _:
            return node


def _failures(node: Condition, event: Event) -> int:
    """How many tests keep a condition from being true."""
    match node:
        case And(parts):
            return sum(_failures(part, event) for part in parts)
        case Or(parts):
            return min(_failures(part, event) for part in parts)
        case _:
            return int(evaluate(node, event.attributes) is not True)
