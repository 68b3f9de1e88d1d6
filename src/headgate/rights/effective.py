"""What may this principal do, all things taken together, and where does each right come from?"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    _topics: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        subscribing = tuple(self.rules(Action.SUBSCRIBE))
        topics = frozenset().union(*(rule.topics or () for rule in subscribing))
        object.__setattr__(self, "_subscribing", subscribing)
        object.__setattr__(self, "_topics", topics)

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

    def reading(self, event: Event) -> tuple[Rule, ...]:
        """The rules that let it receive this event."""
        own = is_the_brokers_own(event)
        return tuple([rule for rule in self._subscribing if reaches(rule, event, own=own)])


def reaches(rule: Rule, event: Event, *, own: bool) -> bool:
    """Whether a rule for `subscribe` or `publish` is about this event."""
    return (
        rule.filter.matches(event)
        and (rule.topics is None or not rule.topics.isdisjoint(topics_of(event)))
        and (not own or "$stream" in rule.filter.names)
    )


def topics_of(event: Event) -> frozenset[str]:
    topics: Value | None = event.attributes.get(TOPICS)
    return topics if isinstance(topics, frozenset) else frozenset()


def is_the_brokers_own(event: Event) -> bool:
    """Whether the event is of a stream like `$policy`, which only a rule that names it reaches."""
    stream = event.attributes.get("$stream")
    return isinstance(stream, str) and stream.startswith("$")
