"""What does one right say? `[principal, action, filter]`, and the bounds that may come with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, Self

import msgspec

from headgate.filters.filter import Filter
from headgate.filters.likeness import Pattern
from headgate.filters.syntax import (
    And,
    Comparison,
    Condition,
    In,
    Like,
    Literal,
    Name,
    Not,
    Or,
)
from headgate.model.errors import HeadgateError, named
from headgate.model.limits import FILTER_LIMITS
from headgate.model.values import format_timestamp, parse_timestamp

PRINCIPAL_CHARS_MAX = 256
ATTRIBUTES_MAX = 1_000


class PolicyError(HeadgateError, ValueError):
    """A rule, a batch or a policy file was refused whole; the current version stays."""


class Action(Enum):
    """What a rule is about."""

    CONNECT = "connect"
    PUBLISH = "publish"
    ADVERTISE = "advertise"
    SUBSCRIBE = "subscribe"


class Strict(Enum):
    """Which of a rule's bounds are strict: every attribute has to be named by them."""

    NEITHER = "neither"
    UPPER = "upper"
    LOWER = "lower"
    BOTH = "both"

    @property
    def upper(self) -> bool:
        return self in (Strict.UPPER, Strict.BOTH)

    @property
    def lower(self) -> bool:
        return self in (Strict.LOWER, Strict.BOTH)


class OnExcess(Enum):
    """What becomes of a subscription that is wider than the upper bound."""

    RESTRICT = "restrict"
    REFUSE = "refuse"


EVERYTHING = Filter.everything()
_TEXT_MAX = FILTER_LIMITS.text_chars
_LONG = _TEXT_MAX // 16


@dataclass(frozen=True, eq=False)
class Rule:
    """A positive right. Rules are compared by what they say, and named by a digest of it."""

    principal: str
    action: Action
    filter: Filter = EVERYTHING
    """The upper bound."""
    allow: bool = True
    """For `connect` only; `False` grants nothing."""
    lower: Filter | None = None
    strict: Strict = Strict.NEITHER
    on_excess: OnExcess = OnExcess.RESTRICT
    attributes: frozenset[str] | None = None
    """What may be read, or written; `None` where the rule leaves it open."""
    topics: frozenset[str] | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    via: tuple[str, ...] = field(default=())
    """The chain of certificates that granted it, as their digests."""

    def __post_init__(self) -> None:
        check_principal(self.principal)
        _check_parts(self)
        _check_filters(self)

    @property
    def readable(self) -> frozenset[str] | None:
        """The attributes that the rule lets read (or write), or `None` for all of them."""
        if self.attributes is None and self.strict.upper:
            return self.filter.names
        return self.attributes

    @cached_property
    def _streams_named(self) -> tuple[frozenset[str], tuple[Pattern, ...]]:
        return streams_named(self.filter.condition)

    def names_stream(self, stream: str) -> bool:
        """Whether the filter speaks of this very stream of the broker's own, such as `$policy`."""
        texts, patterns = self._streams_named
        return stream in texts or any(pattern.matches(stream) for pattern in patterns)

    @cached_property
    def id(self) -> str:
        """A short name for the rule, the same wherever and whenever it is granted."""
        return hashlib.sha256(canonical(self.to_json())).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """The rule as a policy file spells it, without what is left to the defaults."""
        said: dict[str, Any] = {"principal": self.principal, "action": self.action.value}
        if self.action is Action.CONNECT:
            said["allow"] = self.allow
        elif self.filter != EVERYTHING:
            said["filter"] = str(self.filter)
        if self.lower is not None:
            said["lower"] = str(self.lower)
        if self.strict is not Strict.NEITHER:
            said["strict"] = self.strict.value
        if self.on_excess is not OnExcess.RESTRICT:
            said["on_excess"] = self.on_excess.value
        if self.attributes is not None:
            said["attributes"] = sorted(self.attributes)
        if self.topics is not None:
            said["topics"] = sorted(self.topics)
        validity = {"from": self.valid_from, "until": self.valid_until}
        if any(validity.values()):
            said["validity"] = {
                end: format_timestamp(moment) for end, moment in validity.items() if moment
            }
        if self.via:
            said["via"] = list(self.via)
        return said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """Read what `to_json` writes; the spelling was checked by whoever reads a policy file."""
        validity = said.get("validity", {})
        return cls(
            principal=said["principal"],
            action=Action(said["action"]),
            filter=parse_filter(said["filter"]) if "filter" in said else EVERYTHING,
            allow=said.get("allow", True),
            lower=parse_filter(said["lower"]) if "lower" in said else None,
            strict=Strict(said.get("strict", "neither")),
            on_excess=OnExcess(said.get("on_excess", "restrict")),
            attributes=_set_or_none(said.get("attributes")),
            topics=_set_or_none(said.get("topics")),
            valid_from=parse_timestamp(validity["from"]) if "from" in validity else None,
            valid_until=parse_timestamp(validity["until"]) if "until" in validity else None,
            via=tuple(said.get("via", ())),
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Rule) and self._said() == other._said())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._said())

    def __str__(self) -> str:
        said = self.to_json()
        rest = ", ".join(
            f"{key}: {_in_words(value)}" for key, value in said.items() if key not in _NAMED
        )
        content = said.get("filter", "" if self.action is Action.CONNECT else "TRUE")
        parts = [self.principal, self.action.value, content, rest]
        return f"[{', '.join(part for part in parts if part)}]"

    def _said(self) -> tuple[object, ...]:
        return (
            self.principal, self.action, self.filter, self.allow, self.lower, self.strict,
            self.on_excess, self.attributes, self.topics, self.valid_from, self.valid_until,
            self.via,
        )  # fmt: skip


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{end} {moment}" for end, moment in value.items())
    return " ".join(value) if isinstance(value, list) else str(value)


_NAMED = ("principal", "action", "filter")


def canonical(said: object) -> bytes:
    return msgspec.json.encode(said, order="sorted")


@lru_cache(maxsize=65_536)
def parse_filter(text: str) -> Filter:
    """Read a filter of a policy: the same texts stand in many rules, and one object will do."""
    return Filter.parse(text)


def _set_or_none(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def check_principal(name: str) -> None:
    if (
        not name
        or len(name) > PRINCIPAL_CHARS_MAX
        or not name.isprintable()
        or name != name.strip()
    ):
        raise PolicyError(
            f"expected the name of a principal (1 to {PRINCIPAL_CHARS_MAX} printable characters), "
            f"found {named(name)}"
        )
    if name[0] == "$":
        raise PolicyError(f"{named(name)} begins with `$`, which is kept for the broker itself")


def _check_parts(rule: Rule) -> None:
    """Refuse what an action can't carry: it would look like a limit and be none."""
    for name in ("attributes", "topics"):
        found = getattr(rule, name)
        if found is not None and (not found or not all(found)):
            raise PolicyError(f"`{name}` of a rule for {named(rule.principal)} names nothing")
        if found is not None and len(found) > ATTRIBUTES_MAX:
            raise PolicyError(f"`{name}` of a rule has at most {ATTRIBUTES_MAX:,} names")
    if rule.action is Action.CONNECT:
        bounds = (rule.lower, rule.attributes, rule.topics)
        if rule.filter != EVERYTHING or any(bound is not None for bound in bounds):
            raise PolicyError("a rule for `connect` takes `allow` and no bounds")
        if rule.strict is not Strict.NEITHER or rule.on_excess is not OnExcess.RESTRICT:
            raise PolicyError("a rule for `connect` takes `allow` and no bounds")
    elif not rule.allow:
        raise PolicyError("only a rule for `connect` takes `allow: false`: rights are positive")
    if rule.on_excess is OnExcess.REFUSE and rule.action is not Action.SUBSCRIBE:
        raise PolicyError("`on_excess` is for `subscribe`: other requests are refused anyway")
    if rule.action is Action.ADVERTISE and (rule.attributes or rule.topics):
        raise PolicyError("a rule for `advertise` takes no `attributes` or `topics`")
    if rule.strict.lower and rule.lower is None:
        raise PolicyError(
            f"`strict: {rule.strict.value}` needs a lower bound: give it with `lower`"
        )
    for moment in (rule.valid_from, rule.valid_until):
        if moment is not None and moment.utcoffset() is None:
            raise PolicyError("`validity` needs moments with a zone")
    if rule.valid_from and rule.valid_until and rule.valid_from >= rule.valid_until:
        raise PolicyError("`validity` ends before it begins")


def streams_named(condition: Condition) -> tuple[frozenset[str], tuple[Pattern, ...]]:
    """The streams that a condition names: as they are, or by a pattern that begins with `$`.

    To exclude a stream is not to name it, so under a NOT it is the opposite that counts.
    """
    texts: set[str] = set()
    patterns: list[Pattern] = []
    waiting = [(condition, True)]
    while waiting:
        node, wanted = waiting.pop()
        match node:
            case Not(part):
                waiting.append((part, not wanted))
            case And(parts) | Or(parts):
                waiting.extend((part, wanted) for part in parts)
            case Comparison("=" | "<>" as sign, Name("$stream"), Literal(_, str(text))):
                if (sign == "=") is wanted:
                    texts.add(text)
            case In(Name("$stream"), values) if wanted:
                texts.update(one.value for one in values if isinstance(one.value, str))
            case Like(Name("$stream"), pattern, escape) if wanted and pattern.startswith("$"):
                patterns.append(Pattern.read(pattern, escape))
    return frozenset(texts), tuple(patterns)


def _check_filters(rule: Rule) -> None:
    for name, bound in (("filter", rule.filter), ("lower", rule.lower)):
        # It is kept as it prints, and has to be read again: printing may lengthen it a little.
        if bound is not None and len(bound.as_written) > _LONG and len(str(bound)) > _TEXT_MAX:
            raise PolicyError(f"`{name}` of a right has at most {_TEXT_MAX:,} characters")
        if bound is not None and bound.has_residue:
            raise PolicyError(
                f"`{name}` of a right can't do arithmetic or compare attributes: `{bound}` "
                "is evaluated but not analysed"
            )
