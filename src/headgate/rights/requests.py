"""May this principal connect, publish this event, advertise or subscribe to this filter?

A request is allowed under a rule when it stays within all bounds of that rule; one rule is enough.
Whatever can't be decided is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from headgate.filters.covering import ordinary
from headgate.filters.filter import Filter
from headgate.model.errors import FilterTooComplexError, named
from headgate.model.events import Event
from headgate.rights.effective import Rights, brokers_own_stream, reaches, topics_of
from headgate.rights.rules import Action, OnExcess, Rule


class Allowed(Struct, frozen=True):
    """The rules under which a request is allowed."""

    rules: tuple[Rule, ...]


class Refused(Struct, frozen=True):
    """Why no rule allows it: a line for each rule that could have."""

    because: str
    rules: tuple[tuple[Rule, str], ...] = ()


Answer: TypeAlias = Allowed | Refused


def may_connect(rights: Rights) -> Answer:
    allowing = tuple(rule for rule in rights.rules(Action.CONNECT) if rule.allow)
    if allowing:
        return Allowed(allowing)
    return Refused(f"no rule lets `{rights.principal}` connect")


def may_publish(rights: Rights, event: Event) -> Answer:
    topics, own = rights.publishing_topics, brokers_own_stream(event)
    return _decided(
        rights,
        Action.PUBLISH,
        rights.publishing,
        lambda rule: _publication(rule, event, topics, own),
    )


def may_advertise(rights: Rights, advertisement: Filter) -> Answer:
    rules = rights.rules(Action.ADVERTISE)
    return _decided(
        rights, Action.ADVERTISE, rules, lambda rule: _advertisement(rule, advertisement)
    )


def may_subscribe(rights: Rights, subscription: Filter) -> Answer:
    """Whether the request is accepted; what is then delivered is for the gate to decide."""
    rules = rights.rules(Action.SUBSCRIBE)
    return _decided(rights, Action.SUBSCRIBE, rules, lambda rule: _subscription(rule, subscription))


def _decided(
    rights: Rights, action: Action, rules: Iterable[Rule], problem: Callable[[Rule], str | None]
) -> Answer:
    allowing: list[Rule] = []
    refusing: list[tuple[Rule, str]] = []
    for rule in rules:
        try:
            found = problem(rule)
        except FilterTooComplexError as undecided:
            found = str(undecided)
        if found is None:
            allowing.append(rule)
        else:
            refusing.append((rule, found))
    if allowing:
        return Allowed(tuple(allowing))
    if not refusing:
        return Refused(f"no rule lets `{rights.principal}` {action.value}")
    return Refused(
        f"no rule of `{rights.principal}` allows this: {refusing[0][1]}", tuple(refusing)
    )


def _publication(rule: Rule, event: Event, topics: frozenset[str], own: str | None) -> str | None:
    if not reaches(rule, event, own=None):
        return (
            "the event is not within the upper bound"
            if rule.topics is None
            else ("the event is not within the upper bound, or shares no topic with the rule")
        )
    if own is not None and not rule.names_stream(own):
        return "a stream of the broker itself is for rules that name `$stream`"
    if rule.strict.upper and not (
        rule.filter.matches_strictly(event) and _names_all(rule.filter, event)
    ):
        return "the event has attributes that the strict upper bound doesn't name"
    if rule.topics is not None and not topics_of(event) <= topics:
        return "the event has topics that the publisher has no right to"
    if rule.attributes is not None:
        foreign = sorted(
            name for name in event.names if ordinary(name) and name not in rule.attributes
        )
        if foreign:
            return f"the attribute {named(foreign[0])} may not be written"
    return _lower_event(rule, event)


def _lower_event(rule: Rule, event: Event) -> str | None:
    if rule.lower is None:
        return None
    if rule.strict.lower:
        within = rule.lower.advertises_strictly(event) and _names_all(rule.lower, event)
    else:
        within = rule.lower.advertises(event)
    return None if within else "the event is not within the lower bound"


def _names_all(bound: Filter, event: Event) -> bool:
    """Whether a bound names all of an event, the names without a value too: they can be read."""
    return all(name in bound.names for name in event.names if ordinary(name))


def _advertisement(rule: Rule, advertisement: Filter) -> str | None:
    return _upper(rule, advertisement) or _lower(rule, advertisement)


def _subscription(rule: Rule, subscription: Filter) -> str | None:
    restricted = rule.on_excess is OnExcess.RESTRICT and not rule.strict.upper
    return (None if restricted else _upper(rule, subscription)) or _lower(rule, subscription)


def _upper(rule: Rule, requested: Filter) -> str | None:
    if rule.strict.upper:
        within = rule.filter.covers_strictly(requested)
        return None if within else "it is not strictly within the upper bound"
    return None if rule.filter.covers(requested) else "it is wider than the upper bound"


def _lower(rule: Rule, requested: Filter) -> str | None:
    if rule.lower is None:
        return None
    if rule.strict.lower:
        within = rule.lower.covers_advertisement_strictly(requested)
    else:
        within = rule.lower.covers_advertisement(requested)
    return None if within else "it is not within the lower bound"
