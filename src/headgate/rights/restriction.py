"""Which events could the gate let through for this subscription at this version?

The answer is a filter for routing: it may let more through than the gate, never less. The gate
evaluates a subscription on what the reader may see, so a condition on an attribute that may be cut
becomes true here: in the view the attribute may be missing, whatever the event has.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.filters.filter import Filter
from headgate.filters.syntax import (
    And,
    Condition,
    Constant,
    Contains,
    Name,
    Not,
    Or,
    conjunction,
    disjunction,
    names_in,
)
from headgate.model.errors import FilterTooComplexError
from headgate.rights.effective import TOPICS
from headgate.rights.history import PolicyVersion
from headgate.rights.rules import Rule
from headgate.rights.subscriptions import Subscription

_TRUE = Constant(True)


def restricted(version: PolicyVersion, subscription: Subscription) -> Filter:
    """A filter that matches every event that the gate lets through at the version."""
    rules = version.rights_of(subscription.principal).subscribing
    if subscription.domain is None:
        alternatives = [_under(subscription, (rule,)) for rule in rules]
    else:
        domain = version.rights_of(subscription.domain).subscribing
        alternatives = [_under(subscription, (rule, other)) for rule in rules for other in domain]
    return _united(alternatives)


def _under(subscription: Subscription, rules: tuple[Rule, ...]) -> Condition:
    """What could be let through when these rules grant it together."""
    granted: list[Condition] = []
    for rule in rules:
        granted.append(rule.filter.condition)
        if rule.topics is not None:
            granted.append(
                disjunction(Contains(topic, Name(TOPICS)) for topic in sorted(rule.topics))
            )
    return conjunction([*granted, _weakened(subscription.filter.condition, rules, True)])


def _weakened(node: Condition, rules: tuple[Rule, ...], truth: bool) -> Condition:
    """The condition (or its opposite) with what may be cut taken for true."""
    match node:
        case Not(part):
            return _weakened(part, rules, not truth)
        case And(parts) | Or(parts):
            weak = [_weakened(part, rules, truth) for part in parts]
            return conjunction(weak) if isinstance(node, And) is truth else disjunction(weak)
        case _:
            if any(_may_be_cut(name, rules) for name in names_in(node)):
                return _TRUE
            return node if truth else Not(node)


def _may_be_cut(name: str, rules: Iterable[Rule]) -> bool:
    return any(
        (rule.readable is not None and name not in rule.readable)
        or (name == TOPICS and rule.topics is not None)
        for rule in rules
    )


def _united(alternatives: list[Condition]) -> Filter:
    """One filter for all; where together they are too wide, one that lets everything through."""
    if not alternatives:
        return Filter.nothing()
    try:
        return Filter(disjunction(dict.fromkeys(alternatives)))
    except FilterTooComplexError:
        return Filter.everything()
