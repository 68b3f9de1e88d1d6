"""Which events could the gate let through for this subscription at this version?

The answer is a filter for routing: it may let more through than the gate, never less. The gate
evaluates a subscription on what the reader may see, so a condition on an attribute that may be cut
becomes true here: in the view the attribute may be missing, whatever the event has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, product

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
    walk,
)
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FILTER_LIMITS
from headgate.rights.effective import TOPICS, VersionOfRights
from headgate.rights.rules import Rule
from headgate.rights.subscriptions import Subscription

_TRUE = Constant(True)


def restricted(version: VersionOfRights, subscription: Subscription) -> Filter:
    """A filter that matches every event that the gate lets through at the version.

    Where the whole of it would be too complex, a part of it is enough: a subscriber who asks for
    something complicated isn't sent more than its rights, nor one with many rights everything.
    """
    readers = [subscription.principal]
    if subscription.domain is not None:
        readers.append(subscription.domain)
    sides = [version.rights_of(reader).subscribing for reader in readers]
    if not all(sides):
        return Filter.nothing()
    wish = subscription.filter.condition
    attempts: tuple[Callable[[], Condition], ...] = (
        lambda: _by_rules(wish, sides),
        lambda: conjunction(map(_granted, sides)),
        lambda: _granted(sides[0]),
        lambda: _weakened(wish, _surely_seen(chain.from_iterable(sides)), True),
    )
    for attempt in attempts:
        try:
            return Filter(attempt())
        except FilterTooComplexError:
            continue
    return Filter.everything()


def _by_rules(wish: Condition, sides: Sequence[Sequence[Rule]]) -> Condition:
    """An alternative for every choice of rules that together grant an event."""
    within: dict[Condition, None] = {}
    nodes = 0
    for rules in product(*sides):
        weak = _weakened(wish, _surely_seen(rules), True)
        alternative = conjunction([*map(_grant, rules), weak])
        nodes += sum(1 for _ in walk(alternative))
        if nodes > FILTER_LIMITS.nodes:
            raise FilterTooComplexError("too many rules to restrict this subscription by each")
        within[alternative] = None
    return disjunction(within)


def _granted(rules: Iterable[Rule]) -> Condition:
    return disjunction(dict.fromkeys(map(_grant, rules)))


def _grant(rule: Rule) -> Condition:
    """Which events a rule grants."""
    if rule.topics is None:
        return rule.filter.condition
    shared = disjunction(Contains(topic, Name(TOPICS)) for topic in sorted(rule.topics))
    return conjunction([rule.filter.condition, shared])


def _surely_seen(rules: Iterable[Rule]) -> Callable[[str], bool]:
    """Whether a view has all of an attribute that the event has, whichever of the rules grant."""
    names: frozenset[str] | None = None
    topics = True
    for rule in rules:
        readable = rule.readable
        if readable is not None:
            names = readable if names is None else names & readable
        topics = topics and rule.topics is None
    return lambda name: (names is None or name in names) and (topics or name != TOPICS)


def _weakened(node: Condition, surely_seen: Callable[[str], bool], truth: bool) -> Condition:
    """The condition (or its opposite) with what may be cut taken for true."""
    match node:
        case Not(part):
            return _weakened(part, surely_seen, not truth)
        case And(parts) | Or(parts):
            weak = [_weakened(part, surely_seen, truth) for part in parts]
            return conjunction(weak) if isinstance(node, And) is truth else disjunction(weak)
        case _:
            if not all(map(surely_seen, names_in(node))):
                return _TRUE
            return node if truth else Not(node)
