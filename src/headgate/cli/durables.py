"""`headgate durable`: which subscriptions are kept by their names, and which shall be no more?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headgate.cli.brokers import Asked, broker_options
from headgate.cli.output import print_json, print_line, print_table
from headgate.model.errors import named

if TYPE_CHECKING:
    from headgate.client.policies import HttpAclStore


@click.group(
    name="durable",
    epilog="""Example:

    headgate durable list
""",
)
def durable_group() -> None:
    """Durable subscriptions of a network, whether their clients are there or not.

    What one of them is still owed is not removed from the log.
    """


@durable_group.command(
    name="list",
    epilog="""Examples:

\b
    headgate durable list
    headgate durable list --url https://ann@broker.example:7080 --json
""",
)
@broker_options(several=False)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_(asked: Asked, as_json: bool) -> None:
    """Show them all, and up to where each has acknowledged its streams."""
    found = _store(asked).durables()
    if as_json:
        print_json(
            [
                {
                    "principal": one.principal, "name": one.name, "domain": one.domain,
                    "filter": one.filter, "causal": one.causal, "broker": one.broker,
                    "positions": one.positions,
                }
                for one in found
            ]
        )  # fmt: skip
    elif not found:
        print_line("no durable subscriptions")
    else:
        rows = [("principal", "name", "last at", "done with", "filter")]
        for one in found:
            done = ", ".join(f"{stream} {offset}" for stream, offset in one.positions.items())
            rows.append((one.principal, one.name, one.broker, done or "nothing", one.filter))
        print_table(rows)


@durable_group.command(
    epilog="""Example:

    headgate durable end jane desk-7
""",
)
@click.argument("whose", metavar="PRINCIPAL")
@click.argument("which", metavar="NAME")
@broker_options(several=False)
def end(whose: str, which: str, asked: Asked) -> None:
    """End the subscription NAME of PRINCIPAL for good; its client is told, if it is there."""
    _store(asked).end_durable(whose, which)
    print_line(f"{named(which)} of {named(whose)} is no more")


def _store(asked: Asked) -> HttpAclStore:
    from headgate.client.policies import HttpAclStore
    from headgate.client.rest import Rest

    return HttpAclStore(Rest(asked.addresses()[0], asked.access()))
