"""What in this policy file is allowed, and perhaps not meant?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from difflib import get_close_matches

from headgate.model.errors import named, printable
from headgate.model.values import format_timestamp
from headgate.rights.policy_files import PolicyFile, StatedRule
from headgate.rights.rules import Action, Rule


def warnings_about(file: PolicyFile, now: datetime) -> list[str]:
    """Each with the file and the line."""
    principals = {member for members in file.groups.values() for member in members}
    said: list[tuple[StatedRule, str]] = []
    for stated in file.rules:
        rule = stated.rule
        said += [(stated, text) for text in _about(rule)]
        if rule.principal not in file.groups and rule.principal not in principals:
            meant = _nearly(rule.principal, list(file.groups))
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


def _nearly(name: str, groups: list[str]) -> str | None:
    """A group with nearly this name; `ward-7` and `ward-8` are two names, no slip."""
    near = get_close_matches(name, groups, n=1, cutoff=0.85)
    return near[0] if near and _digits(near[0]) == _digits(name) else None


def _digits(name: str) -> str:
    return "".join(char for char in name if char.isdigit())
