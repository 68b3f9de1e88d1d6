"""`headgate sub`: what does somebody receive, printed as it comes?

Deliveries go to standard output; where a subscription starts, and what becomes of it, is said on
standard error, or with `--json` among the other lines.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.brokers import Asked, broker_options
from headgate.cli.interrupts import INTERRUPTED, Interrupts
from headgate.cli.output import as_text, print_json, print_line, print_note

if TYPE_CHECKING:
    from headgate.client.deliveries import Delivery, Item
    from headgate.client.effects import Greeted, Parted
    from headgate.client.subscriptions import Subscription

ENDED = 1
"""The exit code when the broker has ended the subscription, or the connection."""


@click.command(
    name="sub",
    epilog="""Examples:

\b
    headgate sub --filter "type = 'quote' AND price > 100"
    headgate sub --from start --count 10 --json
    headgate sub --durable desk-7 --as jane --url https://broker.example:7080

Exit codes: 0 all of --count came, or you had enough without one, 1 the broker ended it, 2 what came
in was refused, 130 interrupted before --count was there.
""",
)
@click.option(
    "--filter", "wanted", metavar="FILTER", default="", help="Default: all that you may read."
)
@broker_options(several=True)
@click.option(
    "--from", "after", metavar="WHERE",
    help="`start`, or a cursor such as `orders@INCARNATION.12`; default: from now on.",
)  # fmt: skip
@click.option("--durable", metavar="NAME", help="Kept under this name: go on where it was.")
@click.option("--causal", is_flag=True, help="Nothing before what its publisher had seen.")
@click.option("--count", metavar="N", type=click.IntRange(min=1), help="End after N deliveries.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each thing that comes.")
def sub(
    wanted: str,
    asked: Asked,
    after: str | None,
    durable: str | None,
    causal: bool,
    count: int | None,
    as_json: bool,
) -> None:
    """Print the events that match a filter, as far as you may read them.

    A line has the stream, the offset, the version of the policy by which it is delivered, and what
    you see of the event. A lost connection is made again, and nothing comes twice. A delivery of a
    durable subscription is acknowledged once it is printed.
    """
    if durable is not None and after is not None:
        raise click.UsageError("a durable subscription goes on where it was: leave out `--from`")
    from headgate.filters.filter import Filter

    if wanted:
        Filter.parse(wanted)
    wish = Wanted(wanted, after, durable, causal, count)
    code = asyncio.run(_subscribe(asked, wish, Printer(as_json)))
    if code:
        sys.exit(code)


@dataclass(frozen=True)
class Wanted:
    """What is to come."""

    filter: str
    after: str | None
    durable: str | None
    causal: bool
    count: int | None


class Printer:
    """Writes what comes, for a person or for a program."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._version = 0
        self._parted = ""
        """Why there is no connection, as it was said last: each attempt would say it again."""

    def changed(self, change: Greeted | Parted) -> None:
        from headgate.client.effects import Greeted

        if isinstance(change, Greeted):
            self._parted = ""
            words = f"{change.broker} at {change.url} as {change.principal}"
            self._say(
                "connected",
                f"{words}, version {change.version}",
                broker=change.broker,
                principal=change.principal,
                version=change.version,
            )
        elif change.because != self._parted:
            self._parted = change.because
            self._say("parted", change.because, because=change.because)

    def item(self, item: Item) -> None:
        from headgate.client.deliveries import Delivery, Start

        if isinstance(item, Delivery):
            self._delivery(item)
        elif isinstance(item, Start):
            words = f"{item.stream} begins after offset {item.after}"
            self._say("started", words, **_place(item), after=item.after)
        else:
            words = f"{item.stream} after {item.after} up to {item.up_to} isn't kept any more"
            self._say("lost", words, **_place(item), after=item.after, up_to=item.up_to)

    def ended(self, because: str) -> None:
        self._say("ended", because, because=because, version=self._version)

    def _delivery(self, one: Delivery) -> None:
        self._version = one.version
        body = one.body
        if self._as_json:
            said: dict[str, Any] = {"is": "delivery", **_place(one)}
            said |= {"offset": one.offset, "version": one.version}
            if isinstance(body, bytes):
                from base64 import b64encode

                said["payload_base64"] = b64encode(body).decode()
            else:
                said["event"] = body
            print_json({**said, "known": one.known})
        else:
            shown = f"{len(body):,} bytes" if isinstance(body, bytes) else as_text(body)
            print_line(f"{one.stream} {one.offset}  version {one.version}  {shown}")

    def _say(self, kind: str, words: str, **fields: Any) -> None:
        if self._as_json:
            print_json({"is": kind, **fields})
        else:
            print_note(kind, words)


def _place(one: Item) -> dict[str, str]:
    return {"stream": one.stream, "incarnation": one.incarnation}


async def _subscribe(asked: Asked, wanted: Wanted, printer: Printer) -> int:
    from headgate.client.errors import DroppedError, SubscriptionEndedError
    from headgate.client.network import Network
    from headgate.client.settings import Settings

    settings = Settings(tuple(asked.addresses()), connect_us=0)
    net = Network(settings, asked.access())
    net.on_change = printer.changed
    async with net:
        subscription = net.subscribe(
            wanted.filter, durable=wanted.durable, after=wanted.after, causal=wanted.causal
        )
        with Interrupts(subscription.leave) as interrupts:
            try:
                is_done = await _print_items(subscription, wanted, printer)
            except (DroppedError, SubscriptionEndedError) as end:
                printer.ended(str(end))
                return ENDED
    return INTERRUPTED if interrupts.came and wanted.count is not None and not is_done else 0


async def _print_items(subscription: Subscription, wanted: Wanted, printer: Printer) -> bool:
    """Whether as many came as were wanted."""
    from headgate.client.deliveries import Delivery

    left = wanted.count
    while True:
        try:
            item = await subscription.next_item()
        except StopAsyncIteration:
            return False
        printer.item(item)
        if isinstance(item, Delivery) and left is not None:
            left -= 1
            if not left:
                await item.acknowledge()
                return True
