"""How does a person like to read a policy, a change of it, or an explanation?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import click

from headgate.cli.output import (
    as_text,
    counted,
    print_coloured,
    print_line,
    print_rows,
    print_table,
)
from headgate.gate.delivery import View
from headgate.gate.explaining import Explanation
from headgate.gate.policy_tests import TestResult
from headgate.model.events import Event
from headgate.model.values import format_timestamp
from headgate.rights.changes import (
    Batch,
    Begin,
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
)
from headgate.rights.effective import Granted
from headgate.rights.history import PolicyVersion
from headgate.rights.policy_files import WITHHELD
from headgate.rights.policy_schema import policy_schema
from headgate.rights.rules import EVERYTHING, Action, OnExcess, Rule, Strict
from headgate.rights.stated_events import fields_of


def rule_to_json(granted: Granted) -> dict[str, Any]:
    """A rule as a file spells it, with its name and where a principal has it from."""
    return {"id": granted.rule.id, **granted.rule.to_json(), "through": list(granted.through)}


def what(rule: Rule) -> str:
    """What the rule is about: the content, or whether somebody may connect."""
    if rule.action is Action.CONNECT:
        return "allowed" if rule.allow else "not allowed"
    return "everything" if rule.filter == EVERYTHING else str(rule.filter)


def limits(rule: Rule) -> list[str]:
    """The other bounds of a rule, one by one."""
    said: list[str] = []
    if rule.readable is not None:
        verb = "writes" if rule.action is Action.PUBLISH else "reads"
        said.append(f"{verb} {', '.join(sorted(rule.readable))}")
    if rule.topics is not None:
        said.append(f"topics {', '.join(sorted(rule.topics))}")
    if rule.lower is not None:
        said.append(f"at least {rule.lower}")
    if rule.strict is not Strict.NEITHER:
        said.append(f"strict: {rule.strict.value}")
    if rule.on_excess is OnExcess.REFUSE:
        said.append("on excess: refuse")
    if rule.valid_from is not None:
        said.append(f"from {format_timestamp(rule.valid_from)}")
    if rule.valid_until is not None:
        said.append(f"until {format_timestamp(rule.valid_until)}")
    if rule.via:
        said.append(f"by certificates {', '.join(rule.via)}")
    return said


def rule_line(rule: Rule) -> str:
    more = "; ".join(limits(rule))
    return f"{rule.principal} {rule.action.value}: {what(rule)}{f' ({more})' if more else ''}"


def change_line(change: Change) -> tuple[str, str]:
    """The sign of a change, and the change in words."""
    match change:
        case Grant(rule):
            return "+", rule_line(rule)
        case Revoke(rule):
            return "-", rule_line(rule)
        case Begin(rule):
            return "*", f"{rule_line(rule)} begins"
        case CreateGroup(group):
            return "+", f"group {group}"
        case DropGroup(group):
            return "-", f"group {group}"
        case Join(group, member):
            return "+", f"{member} in {group}"
        case Leave(group, member):
            return "-", f"{member} in {group}"


_COLOURS = {"+": "green", "-": "red", "*": "yellow"}


def print_changes(changes: Iterable[Change]) -> None:
    for change in changes:
        sign, words = change_line(change)
        print_coloured(f"{sign} {words}", _COLOURS[sign])


def moment(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def print_version(version: PolicyVersion, head: str) -> None:
    """Groups and rules of a version."""
    print_line(head)
    groups = version.groups()
    if groups:
        click.echo("\ngroups")
        print_rows([(name, ", ".join(sorted(groups[name])) or "-") for name in groups], indent=2)
    rules = version.rules()
    click.echo("\nrules" if rules else "\nno rules: nobody may do anything")
    waiting = set(version.pending())
    for principal, its_own in groupby(rules, key=lambda rule: rule.principal):
        print_line(f"  {principal}")
        _print_rules(
            [(rule, "not yet valid" if rule in waiting else "") for rule in its_own], indent=4
        )


def print_rights(principal: str, version: PolicyVersion) -> None:
    """What a principal may do, and where it has each right from."""
    rights = version.rights_of(principal)
    print_line(f"{principal} at version {version.number}")
    if not rights.granted:
        click.echo("  no rights")
    _print_rules([(one.rule, origin(one)) for one in rights.granted], indent=2)


def origin(granted: Granted) -> str:
    return f"through {' in '.join(granted.through)}" if granted.through else "its own"


def _print_rules(rules: Sequence[tuple[Rule, str]], indent: int) -> None:
    width = max((len(rule.action.value) for rule, _ in rules), default=0)
    for rule, note in rules:
        print_line(f"{' ' * indent}{rule.action.value:<{width}}  {what(rule)}")
        more = "; ".join([*limits(rule), *([note] if note else [])])
        if more:
            print_line(f"{' ' * (indent + width + 2)}{more}")


def print_history(batches: Sequence[tuple[int, Batch]]) -> None:
    rows = [("version", "when (UTC)", "who", "changes", "why")]
    rows += [
        (str(number), moment(batch.time), batch.author, str(len(batch.changes)), batch.why)
        for number, batch in batches
    ]
    print_table(rows)


def batch_head(number: int, batch: Batch) -> str:
    why = f": {batch.why}" if batch.why else ""
    return f"version {number}, {moment(batch.time)} UTC, by {batch.author}{why}"


def print_explanation(explanation: Explanation, principal: str, domain: str | None) -> None:
    version = explanation.outcome.version
    word = "delivered to" if explanation.delivered else f"{WITHHELD} from"
    through = f" through {domain}" if domain else ""
    print_line(f"{word} {principal}{through} at version {version}")
    view = view_of(explanation)
    rows = [("view", as_text(view))] if view is not None else []
    if explanation.cut:
        rows.append(("cut", ", ".join(explanation.cut)))
    rows += [
        ("rule", f"{rule_line(granted.rule)} [{origin(granted)}]")
        for granted in explanation.granting
    ]
    rows.append(("because", explanation.because))
    print_rows(rows, indent=2)


def view_of(explanation: Explanation) -> dict[str, Any] | None:
    outcome = explanation.outcome
    return fields_of(outcome.event) if isinstance(outcome, View) else None


def print_tests(file: str, results: Sequence[TestResult]) -> None:
    for result in results:
        test = result.test
        if result.passed:
            print_coloured(f"passed  {test.name}", "green")
            continue
        place = f"{file}:{test.place.line}:{test.place.column}"
        print_coloured(f"FAILED  {place}: {test.name}", "red")
        rows = [("expected", _shown(test.expected)), ("got", _shown(result.got))]
        print_rows([*rows, ("because", result.explanation.because)], indent=8)
    failed = sum(not result.passed for result in results)
    click.echo(f"{counted(len(results) - failed, 'test')} passed, {failed} failed")


def expected(view: Event | None) -> Any:
    """A view, or `withheld`, as the file writes it."""
    return WITHHELD if view is None else fields_of(view)


def _shown(view: Event | None) -> str:
    return WITHHELD if view is None else as_text(fields_of(view))


def schema_text() -> str:
    """The schema of policy files as it is published."""
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"
