"""What does this policy file say shall be? Read whole, or refused with the line at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TypeVar, final

from headgate.filters.filter import Filter
from headgate.model.errors import FilterError, HeadgateError, named, printable
from headgate.model.events import Event
from headgate.model.values import parse_timestamp
from headgate.rights.policy_diff import PolicyState
from headgate.rights.policy_nodes import (
    boolean_of,
    entries_of,
    items_of,
    plain_of,
    record_of,
    text_of,
    word_of,
)
from headgate.rights.policy_yaml import (
    MisreadError,
    Node,
    Place,
    Scalar,
    Table,
    compose,
    found,
)
from headgate.rights.rules import (
    ATTRIBUTES_MAX,
    EVERYTHING,
    Action,
    OnExcess,
    PolicyError,
    Rule,
    Strict,
    check_principal,
    parse_filter,
)
from headgate.rights.stated_events import event_of
from headgate.rights.subscriptions import Subscription

T = TypeVar("T")

FILE_KEYS = ["groups", "rules", "tests"]
RULE_KEYS = [
    "principal", "action", "allow", "filter", "attributes", "lower", "strict", "on_excess",
    "topics", "validity",
]  # fmt: skip
TEST_KEYS = ["name", "who", "domain", "event", "filter", "expect"]
_CYCLE_SHOWN_MAX = 10
WITHHELD = "withheld"
"""What a test expects when nothing shall be delivered."""


@final
class PolicyFileError(PolicyError):
    """A policy file was refused whole: the text begins with the file, the line and the column."""

    def __init__(self, file: str, place: Place | None, problem: str) -> None:
        self.file = file
        self.place = place
        self.problem = problem
        where = f":{place.line}:{place.column}" if place else ""
        super().__init__(f"{printable(file)}{where}: {problem}")

    def __reduce__(self) -> tuple[type[PolicyFileError], tuple[str, Place | None, str]]:
        return PolicyFileError, (self.file, self.place, self.problem)


@dataclass(frozen=True, slots=True)
class StatedRule:
    """A rule and where it stands."""

    rule: Rule
    place: Place

    def is_over(self, now: datetime) -> bool:
        """Whether its validity is over."""
        return self.rule.valid_until is not None and self.rule.valid_until <= now


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """What a subscription shall receive of an event under the policy of the file."""

    name: str
    subscription: Subscription
    event: Event
    expected: Event | None
    """The view, or nothing where the event shall be withheld."""
    place: Place


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy as it shall be, and the tests that say what it is for."""

    file: str
    groups: Mapping[str, frozenset[str]]
    rules: tuple[StatedRule, ...]
    tests: tuple[PolicyTest, ...]

    def at(self, now: datetime) -> PolicyState:
        """What shall be now: a rule whose validity is over is not granted again."""
        return PolicyState(
            self.groups, tuple(one.rule for one in self.rules if not one.is_over(now))
        )

    def ended(self, now: datetime) -> list[StatedRule]:
        """The rules whose validity is over."""
        return [one for one in self.rules if one.is_over(now)]


def read_policy_file(data: bytes | str, file: str = "policy.yaml") -> PolicyFile:
    """Read a policy file; `file` is what refusals call it."""
    try:
        root = compose(data)
        if root is None:
            raise MisreadError(Place(1, 1), "expected `groups`, `rules` and `tests`, found nothing")
        # A file that was cut short must not take every right away.
        record = record_of(root, "a policy file", FILE_KEYS, needed=("rules",))
        groups = _groups(record["groups"]) if "groups" in record else {}
        rules = _rules(record["rules"])
        tests = items_of(record["tests"], "a list of tests") if "tests" in record else ()
        read = [_test(node, number) for number, node in enumerate(tests, start=1)]
        return PolicyFile(file, groups, rules, tuple(read))
    except MisreadError as problem:
        raise PolicyFileError(file, problem.place, problem.problem) from None


def _at(node: Node, make: Callable[[], T]) -> T:
    """What is made of a node; a refusal is one of that place."""
    try:
        return make()
    except HeadgateError as refusal:
        raise MisreadError(node.place, str(refusal)) from None


def _principal(node: Node) -> str:
    name = text_of(node, "the name of a principal")
    _at(node, lambda: check_principal(name))
    return name


def _names(items: tuple[Node, ...], read: Callable[[Node], str]) -> frozenset[str]:
    names: set[str] = set()
    for item in items:
        name = read(item)
        if name in names:
            raise MisreadError(item.place, f"expected each name once, found {named(name)} again")
        names.add(name)
    return frozenset(names)


def _groups(node: Node) -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    listed: dict[str, tuple[Node, ...]] = {}
    for key, members in entries_of(node, "groups with their members"):
        group = _principal(key)
        listed[group] = items_of(members, "a list of members")
        groups[group] = _names(listed[group], _principal)
    _check_no_cycle(listed)
    return groups


def _check_no_cycle(members: Mapping[str, tuple[Node, ...]]) -> None:
    """Refuse a group that is within itself, at the member that makes it so."""
    done: set[str] = set()
    for start in members:
        path: dict[str, Iterator[Node]] = {start: iter(members[start])}
        while path:
            group = next(reversed(path))
            member = next(path[group], None)
            if member is None:
                done.add(group)
                del path[group]
                continue
            name = text_of(member, "a member")
            if name in path:
                groups = list(path)
                cycle = [named(one) for one in (name, *reversed(groups[groups.index(name) :]))]
                if len(cycle) > _CYCLE_SHOWN_MAX:
                    cycle[_CYCLE_SHOWN_MAX - 2 : -1] = ["…"]
                raise MisreadError(
                    member.place, f"expected groups without a cycle, found {' in '.join(cycle)}"
                )
            if name in members and name not in done:
                path[name] = iter(members[name])


def _rules(node: Node) -> tuple[StatedRule, ...]:
    seen: dict[Rule, Place] = {}
    for item in items_of(node, "a list of rules"):
        rule = _rule(item)
        if rule in seen:
            first = seen[rule].line
            raise MisreadError(
                item.place, f"expected each rule once, found that of line {first} again"
            )
        seen[rule] = item.place
    return tuple(StatedRule(rule, place) for rule, place in seen.items())


def _rule(node: Node) -> Rule:
    _check_unwritten(node)
    record = record_of(node, "a rule", RULE_KEYS, needed=("principal", "action"))
    begin, end = _validity(record.get("validity"))

    def read(name: str, of: Callable[[Node], T], default: T) -> T:
        return of(record[name]) if name in record else default

    return _at(
        node,
        lambda: Rule(
            principal=_principal(record["principal"]),
            action=Action(word_of(record["action"], _words(Action))),
            filter=read("filter", _bound, EVERYTHING),
            allow=read("allow", boolean_of, True),
            lower=read("lower", _bound, None),
            strict=Strict(read("strict", lambda said: word_of(said, _words(Strict)), "neither")),
            on_excess=OnExcess(
                read("on_excess", lambda said: word_of(said, _words(OnExcess)), "restrict")
            ),
            attributes=read("attributes", lambda said: _some_names(said, "attributes"), None),
            topics=read("topics", lambda said: _some_names(said, "topics"), None),
            valid_from=begin,
            valid_until=end,
        ),
    )


def _check_unwritten(node: Node) -> None:
    for key, _ in node.entries if isinstance(node, Table) else ():
        if key.text == "via":
            raise MisreadError(key.place, "expected no `via`: certificates write it, not people")


def _words(choice: type[Enum]) -> list[str]:
    return [one.value for one in choice]


def _validity(node: Node | None) -> tuple[datetime | None, datetime | None]:
    ends = record_of(node, "a validity", ["from", "until"]) if node is not None else {}
    return _moment(ends.get("from")), _moment(ends.get("until"))


def _some_names(node: Node, what: str) -> frozenset[str]:
    items = items_of(node, f"a list of {what}", may_be_empty=False)
    names = _names(items, lambda item: _name(item, what))
    if not names:
        raise MisreadError(
            node.place, f"expected a list of {what}, found an empty one, which names nothing"
        )
    if len(names) > ATTRIBUTES_MAX:
        raise MisreadError(
            node.place, f"expected at most {ATTRIBUTES_MAX:,} {what}, found {len(names):,}"
        )
    return names


def _name(node: Node, what: str) -> str:
    name = text_of(node, f"one of the {what}")
    if not name:
        raise MisreadError(node.place, f"expected one of the {what}, found {found(node)}")
    return name


def _filter(node: Node) -> Filter:
    text = text_of(node, "a filter")
    try:
        return parse_filter(text)
    except FilterError as refusal:
        raise MisreadError(node.place, str(refusal)) from None


def _bound(node: Node) -> Filter:
    """A filter that has to be decided on, not only evaluated."""
    bound = _filter(node)
    if bound.has_residue:
        raise MisreadError(
            node.place,
            "expected a filter that can be analysed, found arithmetic or a comparison of "
            f"attributes in {named(bound.as_written)}",
        )
    _at(node, bound.is_empty)  # patterns may be too entangled to say so much as this
    return bound


def _moment(node: Node | None) -> datetime | None:
    if node is None:
        return None
    text = text_of(node, "a timestamp like `2026-01-31T12:00:00Z`")
    return _at(node, lambda: parse_timestamp(text))


def _test(node: Node, number: int) -> PolicyTest:
    record = record_of(node, "a test", TEST_KEYS, needed=("who", "event", "expect"))
    name = text_of(record["name"], "a name") if "name" in record else f"test {number}"
    subscription = Subscription(
        _principal(record["who"]),
        _filter(record["filter"]) if "filter" in record else EVERYTHING,
        _principal(record["domain"]) if "domain" in record else None,
    )
    event = _event(record["event"], "an event, a mapping")
    return PolicyTest(printable(name), subscription, event, _expected(record["expect"]), node.place)


def _expected(node: Node) -> Event | None:
    if isinstance(node, Scalar) and node.text == WITHHELD:
        return None
    return _event(node, f"the view, a mapping, or `{WITHHELD}`")


def _event(node: Node, what: str) -> Event:
    if not isinstance(node, Table):
        raise MisreadError(node.place, f"expected {what}, found {found(node)}")
    fields = plain_of(node)
    return _at(node, lambda: event_of(fields))
