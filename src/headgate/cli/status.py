"""`headgate status`: is a broker well, and what does it do just now?"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from headgate.cli.brokers import Asked, broker_options
from headgate.cli.output import counted, print_json, print_rows, print_table, yes_or_no
from headgate.model.errors import HeadgateError
from headgate.model.values import format_timestamp

if TYPE_CHECKING:
    from headgate.http.shapes import Status

LOOK_S = 0.1
NOT_READY = 1
"""The exit code when the broker serves no clients just now."""


@click.command(
    name="status",
    epilog="""Examples:

\b
    headgate status
    headgate status --wait 30
    headgate status --url https://ann@broker.example:7080 --json

Exit codes: 0 the broker is ready, 1 it is not ready, 2 it can't be reached or doesn't tell us.
""",
)
@broker_options(several=False)
@click.option(
    "--wait", "wait_s", metavar="SECONDS", type=click.FloatRange(0, 3_600), default=0,
    help="Wait until it is there and ready.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(asked: Asked, wait_s: float, as_json: bool) -> None:
    """Show how a broker is: its streams, neighbours, clients and its log."""
    import msgspec

    found = _found(asked, time.monotonic() + wait_s)
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        _print(found)
    if not found.ready:
        sys.exit(NOT_READY)


def _found(asked: Asked, until: float) -> Status:
    """What a broker says, as soon as it is ready or the time is up."""
    from headgate.client.rest import Rest
    from headgate.http.shapes import Status

    while True:
        try:
            # A broker that starts for the first time makes its token and its certificate then.
            found = Rest(asked.addresses()[0], asked.access()).get("/v1/status", Status)
            if found.ready or time.monotonic() >= until:
                return found
        except HeadgateError:
            if time.monotonic() >= until:
                raise
        time.sleep(LOOK_S)


def _print(found: Status) -> None:
    since = datetime.fromtimestamp(found.since_us // 1_000_000, UTC)
    rows = [
        ("broker", f"{found.broker}, up since {format_timestamp(since)}"),
        ("ready", yes_or_no(found.ready)),
        ("policy", f"version {found.version}, hosted by {found.policy.host}"),
        ("lease", "holds" if found.leased else "lost: nothing new is accepted"),
        ("clients", f"{found.clients:,} with {counted(found.subscriptions, 'subscription')}"),
        ("log", "size unknown" if found.log.bytes is None else f"{found.log.bytes:,} bytes"),
    ]
    problems = (("policy", found.policy.problem), ("log", found.log.problem))
    rows += [(f"{what} problem", said) for what, said in problems if said]
    print_rows(rows, indent=0)
    if found.neighbours:
        click.echo("\nneighbours")
        print_rows(
            [
                (name, "connected" if is_there else "not connected")
                for name, is_there in sorted(found.neighbours.items())
            ],
            indent=2,
        )
    if found.streams:
        click.echo("\nstreams")
        table = [("stream", "first", "last", "version")]
        table += [
            (name, str(one.first), str(one.last), str(one.version))
            for name, one in sorted(found.streams.items())
        ]
        print_table(table, indent=2)
