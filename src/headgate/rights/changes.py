"""What does an administrator ask for? An ordered list of changes, applied whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeAlias

from headgate.model.values import format_timestamp, parse_timestamp
from headgate.rights.rules import PolicyError, Rule, check_principal

WHY_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule holds from this version on (or from its validity's begin)."""

    rule: Rule

    def __str__(self) -> str:
        return f"+ {self.rule}"


@dataclass(frozen=True, slots=True)
class Revoke:
    """A rule holds no longer."""

    rule: Rule

    def __str__(self) -> str:
        return f"- {self.rule}"


@dataclass(frozen=True, slots=True)
class Begin:
    """The validity of a granted rule begins."""

    rule: Rule

    def __str__(self) -> str:
        return f"* {self.rule} begins"


@dataclass(frozen=True, slots=True)
class CreateGroup:
    """A group without members yet."""

    group: str

    def __str__(self) -> str:
        return f"+ group {self.group}"


@dataclass(frozen=True, slots=True)
class DropGroup:
    """A group that has no members, no rules and no groups above it any more."""

    group: str

    def __str__(self) -> str:
        return f"- group {self.group}"


@dataclass(frozen=True, slots=True)
class Join:
    """A principal, or another group, becomes a member of a group."""

    group: str
    member: str

    def __str__(self) -> str:
        return f"+ {self.member} in {self.group}"


@dataclass(frozen=True, slots=True)
class Leave:
    """A member leaves a group."""

    group: str
    member: str

    def __str__(self) -> str:
        return f"- {self.member} in {self.group}"


Change: TypeAlias = Grant | Revoke | Begin | CreateGroup | DropGroup | Join | Leave

_RULES: dict[str, type[Grant | Revoke | Begin]] = {"grant": Grant, "revoke": Revoke, "begin": Begin}
_GROUPS: dict[str, type[CreateGroup | DropGroup]] = {
    "create_group": CreateGroup,
    "drop_group": DropGroup,
}
_MEMBERS: dict[str, type[Join | Leave]] = {"join": Join, "leave": Leave}
_WORDS: dict[type, str] = {
    kind: word for kinds in (_RULES, _GROUPS, _MEMBERS) for word, kind in kinds.items()
}


def change_to_json(change: Change) -> dict[str, Any]:
    word = _WORDS[type(change)]
    match change:
        case Grant(rule) | Revoke(rule) | Begin(rule):
            return {word: rule.to_json()}
        case CreateGroup(group) | DropGroup(group):
            return {word: group}
        case Join(group, member) | Leave(group, member):
            return {word: {"group": group, "member": member}}


def change_from_json(said: Mapping[str, Any]) -> Change:
    ((word, content),) = said.items()
    if word in _RULES:
        return _RULES[word](Rule.from_json(content))
    if word in _GROUPS:
        return _GROUPS[word](content)
    if word in _MEMBERS:
        return _MEMBERS[word](content["group"], content["member"])
    raise PolicyError(f"expected one of {', '.join(_WORDS.values())}, found `{word}`")


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes, who asks for them, when and why."""

    changes: tuple[Change, ...]
    author: str
    time: datetime
    why: str = ""

    def __post_init__(self) -> None:
        check_principal(self.author)
        if not self.changes:
            raise PolicyError("a batch without changes makes no version")
        if len(self.why) > WHY_CHARS_MAX:
            raise PolicyError(f"the reason of a batch has at most {WHY_CHARS_MAX:,} characters")
        if self.time.utcoffset() is None:
            raise PolicyError("the time of a batch needs a zone")

    def to_json(self) -> dict[str, Any]:
        return {
            "author": self.author,
            "time": format_timestamp(self.time),
            "why": self.why,
            "changes": [change_to_json(change) for change in self.changes],
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        return cls(
            changes=tuple(change_from_json(change) for change in said["changes"]),
            author=said["author"],
            time=parse_timestamp(said["time"]),
            why=said.get("why", ""),
        )
