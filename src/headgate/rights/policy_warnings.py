"""What in this policy file is allowed, and perhaps not meant?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from headgate.model.errors import named, printable
from headgate.model.values import format_timestamp
from headgate.rights.policy_files import PolicyFile, StatedRule
from headgate.rights.rules import Action, Rule

_SLIP_CHARS_MAX = 40
_ALIKE_CHARS_MIN = 6
_LONGER_CHARS_MIN = 3


def warnings_about(file: PolicyFile, now: datetime) -> list[str]:
    """Each with the file and the line."""
    principals = {member for members in file.groups.values() for member in members}
    groups = _GroupNames(file.groups)
    said: list[tuple[StatedRule, str]] = []
    for stated in file.rules:
        rule = stated.rule
        said += [(stated, text) for text in _about(rule)]
        if rule.principal not in file.groups and rule.principal not in principals:
            meant = groups.nearly(rule.principal)
            if meant is not None:
                text = f"{named(rule.principal)} is no group and in none: is {named(meant)} meant?"
                said.append((stated, text))
    for stated in file.ended(now):
        end = stated.rule.valid_until
        assert end is not None
        text = f"its validity was over on {format_timestamp(end)}: it grants nothing"
        said.append((stated, text))
    said.sort(key=lambda one: one[0].place)
    return [
        f"{printable(file.file)}:{stated.place.line}:{stated.place.column}: {text}"
        for stated, text in said
    ]


def _about(rule: Rule) -> Iterator[str]:
    if rule.filter.is_empty():
        yield f"no event matches {named(str(rule.filter))}: it grants nothing"
    if rule.action is Action.SUBSCRIBE and rule.readable is not None:
        hidden = sorted(rule.filter.names - rule.readable)
        if hidden:
            names = ", ".join(named(name) for name in hidden)
            yield (
                f"the filter names {names}, which this rule does not let {named(rule.principal)} "
                "read: the content stays hidden, but that an event arrives tells something about it"
            )


class _GroupNames:
    """Finds the group that a name with one slip in it means, however many groups there are.

    A character too many, too few or wrong, and two that changed places, leave something in common:
    the name without one of its characters.
    """

    def __init__(self, groups: Iterable[str]) -> None:
        self._groups: dict[tuple[str, str], str] = {}
        for group in groups:
            for slip in _slips(group):
                self._groups.setdefault(slip, group)

    def nearly(self, name: str) -> str | None:
        near = (self._groups[slip] for slip in _slips(name) if slip in self._groups)
        return next((group for group in near if _is_slip(name, group)), None)


def _slips(name: str) -> Iterator[tuple[str, str]]:
    """The name, and what is left of it without one character; `ward-7` and `ward-8` are no slip."""
    if len(name) <= _SLIP_CHARS_MAX:
        digits = "".join(char for char in name if char.isdigit())
        yield name, digits
        for at in range(len(name)):
            yield name[:at] + name[at + 1 :], digits


def _is_slip(name: str, group: str) -> bool:
    """Whether it is more likely than two short names that happen to be alike."""
    shorter = min(len(name), len(group))
    return shorter >= (_ALIKE_CHARS_MIN if len(name) == len(group) else _LONGER_CHARS_MIN)
