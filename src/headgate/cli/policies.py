"""What is the policy, what would a file make of it, and who may see this event?

What takes time to import (the stores, YAML) is imported by the commands that need it, so that the
others answer at once.
"""

from __future__ import annotations

import getpass
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.output import counted, print_json, print_line, print_note, print_rows
from headgate.cli.policy_places import PolicyPlace, place_options
from headgate.filters.filter import Filter
from headgate.gate.explaining import explain as explain_delivery
from headgate.model.errors import HeadgateError, named
from headgate.model.values import format_timestamp, parse_timestamp
from headgate.rights.changes import Batch, change_to_json
from headgate.rights.history import PolicyHistory, PolicyVersion
from headgate.rights.requests import Refused, may_subscribe
from headgate.rights.rules import check_principal
from headgate.rights.stated_events import event_from_json
from headgate.rights.subscriptions import Subscription
from headgate.rights.validity import due

if TYPE_CHECKING:
    from headgate.rights.policy_files import PolicyFile
    from headgate.stores.acl import AclStore

_AT_A_BROKER = "whoever is logged in"
"""Stands for the author where the broker puts in who it is."""
FAILED = 1
"""The exit code when a test failed, or the answer is no."""

_json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")
_version_option = click.option(
    "--version", "number", metavar="N", type=int, help="At this version; default: the current one."
)


@click.group(
    name="policy",
    epilog="""Example:

    headgate policy apply policy.yaml --why "Jane joins"
""",
)
def policy_group() -> None:
    """Who may do what, and since which version: policy files and what became of them."""


@policy_group.command(
    epilog="""Examples:

\b
    headgate policy apply policy.yaml
    headgate policy apply policy.yaml --expect 3 --as ann --why "Jane joins" --json
    headgate policy apply policy.yaml --url https://ann@broker.example:7080 --wait 10
""",
)
@click.argument("path", metavar="FILE")
@click.option(
    "--expect", metavar="VERSION", type=int, help="Refuse (exit 3) if another one is current."
)
@click.option("--why", metavar="TEXT", default="", help="The reason, for the history.")
@click.option("--as", "author", metavar="AUTHOR", help="Who is asking; default: your user name.")
@click.option(
    "--wait",
    "wait_s",
    metavar="SECONDS",
    type=click.FloatRange(0, 3_600),
    help="Wait until the version has begun on all streams; with `--url`.",
)
@place_options
@_json_option
def apply(
    path: str,
    expect: int | None,
    why: str,
    author: str | None,
    wait_s: float | None,
    place: PolicyPlace,
    as_json: bool,
) -> None:
    """Make the policy what FILE says: the next version, whole or not at all.

    Prints the version and from which offset of each stream on it holds. Where nothing is to be
    changed the version stays.
    """
    from headgate.cli.applying import apply_file

    author = _author(author, place)
    if wait_s is not None and place.asked is None:
        raise click.UsageError("only a running broker knows all streams: say `--url`, or no --wait")
    file = _read(path)
    _warn(file)
    kept = place.open(create=True)
    applied = apply_file(kept, file, _now, author, why, expect)
    points = _starting_points(kept, applied.version, wait_s)
    if as_json:
        print_json({"version": applied.version, "starting_points": points})
        return
    for number, batch in applied.due:
        click.echo(f"version {number}: {counted(len(batch.changes), 'validity change')}")
    if not applied.changes:
        click.echo(f"nothing to change: version {applied.version} stays")
    else:
        click.echo(f"version {applied.version}: {counted(len(applied.changes), 'change')}")
    if points:
        click.echo("  starting points")
        print_rows([(stream, str(offset)) for stream, offset in points.items()], indent=4)
    else:
        click.echo("  no stream has begun it yet")


@policy_group.command(
    epilog="""Examples:

\b
    headgate policy diff policy.yaml
    headgate policy diff policy.yaml --exit-code
""",
)
@click.argument("path", metavar="FILE")
@click.option("--exit-code", is_flag=True, help="Exit 1 where there is something to change.")
@place_options
@_json_option
def diff(path: str, exit_code: bool, place: PolicyPlace, as_json: bool) -> None:
    """Show the changes that `headgate policy apply FILE` would make, in their order."""
    from headgate.cli.policy_output import print_changes
    from headgate.rights.policy_plans import plan

    file = _read(path)
    _warn(file)
    planned = plan(place.history(missing_is_empty=True), file, _now())
    first = () if planned.due is None else planned.due.changes
    if as_json:
        print_json(
            {
                "version": planned.base,
                "due": [change_to_json(change) for change in first],
                "changes": [change_to_json(change) for change in planned.changes],
            }
        )
    else:
        if first:
            click.echo("validities that begin or end by now, a version of their own")
            print_changes(first)
        if planned.changes:
            click.echo(f"from version {planned.base} to {named(file.file)}")
            print_changes(planned.changes)
        else:
            click.echo(f"nothing to change in version {planned.base}")
    if exit_code and (first or planned.changes):
        sys.exit(FAILED)


@policy_group.command(
    epilog="""Examples:

\b
    headgate policy show
    headgate policy show --principal jane --version 3
""",
)
@_version_option
@click.option("--principal", metavar="P", help="Only what P may do, and where P has it from.")
@place_options
@_json_option
def show(number: int | None, principal: str | None, place: PolicyPlace, as_json: bool) -> None:
    """Show the groups and rules of a version, or the rights of one principal."""
    from headgate.cli.policy_output import batch_head, print_rights, print_version, rule_to_json

    history = place.history()
    version = _at(history, number)
    if principal is not None:
        rights = version.rights_of(principal)
        if as_json:
            found = [rule_to_json(granted) for granted in rights.granted]
            print_json({"version": version.number, "principal": principal, "rights": found})
        else:
            print_rights(principal, version)
    elif as_json:
        groups = {name: sorted(members) for name, members in version.groups().items()}
        rules = [rule.to_json() for rule in version.rules()]
        print_json({"version": version.number, "groups": groups, "rules": rules})
    else:
        head = "version 0"
        if version.number:
            head = batch_head(version.number, history.batch(version.number))
        print_version(version, head)


@policy_group.command(
    epilog="""Examples:

\b
    headgate policy history
    headgate policy history --version 3
""",
)
@click.option("--version", "number", metavar="N", type=int, help="The changes of this one.")
@place_options
@_json_option
def history(number: int | None, place: PolicyPlace, as_json: bool) -> None:
    """List the versions: when, who, why; or show the changes of one of them."""
    from headgate.cli.policy_output import batch_head, print_changes, print_history

    found = place.history()
    if number is not None:
        batch = found.batch(number)
        if as_json:
            changes = [change_to_json(change) for change in batch.changes]
            print_json({**_summary(number, batch), "batch": changes})
        else:
            print_line(batch_head(number, batch))
            print_changes(batch.changes)
    elif as_json:
        print_json([_summary(version, batch) for version, batch in found.batches()])
    elif found.version:
        print_history(found.batches())
    else:
        click.echo("no versions yet")


def _summary(number: int, batch: Batch) -> dict[str, Any]:
    return {
        "version": number,
        "time": format_timestamp(batch.time),
        "author": batch.author,
        "why": batch.why,
        "changes": len(batch.changes),
    }


@policy_group.command(
    epilog="""Examples:

\b
    headgate policy explain --principal jane --event '{"type": "quote", "price": 101}'
    headgate policy explain --principal jane --event '{"price": 1}' --filter "price > 5" --json
""",
)
@click.option("--principal", metavar="P", required=True, help="Who subscribes.")
@click.option(
    "--event",
    "event_json",
    metavar="JSON",
    required=True,
    help="The event; names like `$topic` are what the broker knows of it.",
)
@click.option("--filter", "text", metavar="FILTER", help="Its subscription; default: everything.")
@click.option("--domain", metavar="D", help="The untrusted domain through which it is connected.")
@_version_option
@place_options
@_json_option
def explain(
    principal: str,
    event_json: str,
    text: str | None,
    domain: str | None,
    number: int | None,
    place: PolicyPlace,
    as_json: bool,
) -> None:
    """Say whether a principal receives an event, what it sees of it, and why."""
    from headgate.cli.policy_output import print_explanation, rule_to_json, view_of

    event = event_from_json(event_json)
    filter_ = Filter.everything() if text is None else Filter.parse(text)
    subscription = Subscription(principal, filter_, domain)
    version = _at(place.history(), number)
    explanation = explain_delivery(event, version, subscription)
    if text is not None:
        answer = may_subscribe(version.rights_of(principal), filter_)
        if explanation.delivered and isinstance(answer, Refused):
            print_note("note", f"such a subscription would be refused: {answer.because}")
    if as_json:
        print_json(
            {
                "decision": "deliver" if explanation.delivered else "withhold",
                "version": version.number,
                "view": view_of(explanation),
                "rules": [rule_to_json(granted) for granted in explanation.granting],
                "cut": list(explanation.cut),
                "because": explanation.because,
            }
        )
    else:
        print_explanation(explanation, principal, domain)


@policy_group.command(
    epilog="""Examples:

\b
    headgate policy test policy.yaml
    headgate policy test policy.yaml --at 2027-01-01 --json
""",
)
@click.argument("path", metavar="FILE")
@click.option("--at", metavar="TIME", help="As if it were this moment, for rules with a validity.")
@_json_option
def test(path: str, at: str | None, as_json: bool) -> None:
    """Run the tests of FILE against the policy of FILE; no store is asked. Exit 1 if one fails."""
    from headgate.cli.policy_output import expected, print_tests
    from headgate.gate.policy_tests import run_tests

    file = _read(path)
    results = run_tests(file, _now() if at is None else parse_timestamp(at))
    failed = sum(not result.passed for result in results)
    if as_json:
        tests = [
            {
                "name": result.test.name,
                "line": result.test.place.line,
                "passed": result.passed,
                "expected": expected(result.test.expected),
                "got": expected(result.got),
                "because": result.explanation.because,
            }
            for result in results
        ]
        print_json({"passed": len(results) - failed, "failed": failed, "tests": tests})
    else:
        print_tests(file.file, results)
    if failed:
        sys.exit(FAILED)


@policy_group.command(
    epilog="""Example:

    headgate policy schema > policy.schema.json
""",
)
def schema() -> None:
    """Print the JSON Schema of policy files, with which editors complete and check them."""
    from headgate.cli.policy_output import schema_text

    click.echo(schema_text(), nl=False)


def _read(path: str) -> PolicyFile:
    """The policy file of this name; `-` is standard input."""
    from headgate.rights.policy_files import read_policy_file
    from headgate.rights.policy_yaml import FILE_BYTES_MAX

    name = "standard input" if path == "-" else path
    if path == "-" and sys.stdin is None:
        raise HeadgateError("can't read standard input: it is closed")
    try:
        if path == "-":
            data = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
    except OSError as problem:
        raise HeadgateError(f"can't read {named(name, 200)}: {problem.strerror}") from None
    return read_policy_file(data, name)


def _warn(file: PolicyFile) -> None:
    from headgate.rights.policy_warnings import warnings_about

    for warning in warnings_about(file, _now()):
        print_note("warning", warning)


def _author(said: str | None, place: PolicyPlace) -> str:
    if place.asked is not None:
        if said is not None:
            raise click.UsageError(
                "a broker takes whoever logs in for the author: leave out `--as`, and say "
                "`https://NAME@HOST` in `--url`"
            )
        return _AT_A_BROKER
    author = _user() if said is None else said
    check_principal(author)
    return author


def _starting_points(kept: AclStore, version: int, wait_s: float | None) -> dict[str, int]:
    """Where a version begins, as far as is known, or once all streams have begun it."""
    if wait_s is None:
        return kept.starting_points().of_version(version)
    from headgate.client.policies import HttpAclStore

    assert isinstance(kept, HttpAclStore)
    return kept.wait_for_starting_points(version, wait_s)


def _at(history: PolicyHistory, number: int | None) -> PolicyVersion:
    if number is not None:
        return history.at(number)
    version = history.current()
    waiting = due(version, _now())
    if waiting is not None:
        print_note(
            "note",
            f"{counted(len(waiting.changes), 'validity change')} since version {version.number} "
            "will be a version with the next `headgate policy apply`",
        )
    return version


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise click.UsageError("nobody is logged in here: say who asks with `--as`") from None


def _now() -> datetime:
    return datetime.now(UTC)
