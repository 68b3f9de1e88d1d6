"""What may this principal do, all things taken together, and where does each right come from?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from headgate.filters.compiling import Test
from headgate.model.events import Event
from headgate.model.values import Value
from headgate.rights.rules import Action, Rule

TOPICS = "topics"
"""The attribute that holds an event's publication topics."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A rule, and the groups through which a principal has it, from the nearest one up."""

    rule: Rule
    through: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rights:
    """The union of a principal's rules and those of all its groups, since a version."""

    principal: str
    since: int
    granted: tuple[Granted, ...]
    _subscribing: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _reaching: tuple[tuple[Rule, Test], ...] = field(init=False, repr=False, compare=False)
    _topics: frozenset[str] = field(init=False, repr=False, compare=False)
    _publishing: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _publishing_topics: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        subscribing = tuple(self.rules(Action.SUBSCRIBE))
        publishing = tuple(self.rules(Action.PUBLISH))
        object.__setattr__(self, "_subscribing", subscribing)
        object.__setattr__(self, "_reaching", ())
        object.__setattr__(self, "_topics", _topics_of_rules(subscribing))
        object.__setattr__(self, "_publishing", publishing)
        object.__setattr__(self, "_publishing_topics", _topics_of_rules(publishing))

    def rules(self, action: Action) -> list[Rule]:
        return [one.rule for one in self.granted if one.rule.action is action]

    @property
    def subscribing(self) -> tuple[Rule, ...]:
        """The rules that let it receive."""
        return self._subscribing

    @property
    def topics(self) -> frozenset[str]:
        """The topics it may subscribe to by its topic rules."""
        return self._topics

    @property
    def publishing(self) -> tuple[Rule, ...]:
        """The rules that let it publish."""
        return self._publishing

    @property
    def publishing_topics(self) -> frozenset[str]:
        """The topics it may publish under by its topic rules."""
        return self._publishing_topics

    def reading(self, event: Event) -> tuple[Rule, ...]:
        """The rules that let it receive this event."""
        # The filters are asked first and at once: this is what every delivery costs.
        values = event._values
        own = brokers_own_stream(event)
        return tuple(
            [
                rule
                for rule, matches in self._reaching or self._compiled()
                if matches(values) and limits_allow(rule, event, own=own)
            ]
        )

    def _compiled(self) -> tuple[tuple[Rule, Test], ...]:
        reaching = tuple((rule, rule.filter.compiled()) for rule in self._subscribing)
        object.__setattr__(self, "_reaching", reaching)
        return reaching


def _topics_of_rules(rules: tuple[Rule, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(rule.topics or () for rule in rules))


class VersionOfRights(Protocol):
    """A policy as it is at one version: whole, or as far as a broker has to know it."""

    @property
    def number(self) -> int: ...

    def rights_of(self, principal: str) -> Rights:
        """What a principal may do, through its groups too, and where each right comes from."""
        ...


def reaches(rule: Rule, event: Event, *, own: str | None) -> bool:
    """Whether a rule for `subscribe` or `publish` is about this event."""
    return rule.filter.matches(event) and limits_allow(rule, event, own=own)


def limits_allow(rule: Rule, event: Event, *, own: str | None) -> bool:
    """Whether a rule whose filter matches may also reach the event's topics and stream."""
    return (rule.topics is None or not rule.topics.isdisjoint(topics_of(event))) and (
        own is None or rule.names_stream(own)
    )


def topics_of(event: Event) -> frozenset[str]:
    topics: Value | None = event._values.get(TOPICS)
    return topics if isinstance(topics, frozenset) else frozenset()


def brokers_own_stream(event: Event) -> str | None:
    """The stream of an event like one of `$policy`, which only a rule that names it reaches."""
    stream = event._values.get("$stream")
    return stream if isinstance(stream, str) and stream.startswith("$") else None
