"""`headgate pub`: how does somebody publish from a shell, one event or a file of them?"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from headgate.cli.brokers import Asked, broker_options
from headgate.cli.interrupts import INTERRUPTED, Interrupts
from headgate.cli.output import counted, print_json, print_line, print_note
from headgate.cli.standard_input import StandardInput
from headgate.model.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.client.deliveries import Published
    from headgate.client.network import Network
    from headgate.model.events import Event

REFUSED_SOME = 1
"""The exit code when some events were refused, and the others are stored."""
UNCERTAIN = 4
TOGETHER = 1_000
"""So many events are under way at once."""
CLOUDEVENT = "application/cloudevents+json"


@click.command(
    name="pub",
    epilog="""Examples:

\b
    headgate pub '{"type": "quote", "symbol": "IBM", "price": 101}'
    headgate pub --stream orders --as jane --url https://broker.example:7080 < orders.jsonl
    headgate pub --ce --id e1 '{"specversion": "1.0", "id": "1", "source": "/x", "type": "quote"}'

Exit codes: 0 all are stored, 1 some were refused, 2 what came in was refused and nothing is stored,
4 some may be stored or not, 130 interrupted.
""",
)
@click.argument("event", metavar="[EVENT]", required=False)
@broker_options(several=True)
@click.option("--stream", metavar="NAME", help="On this stream; default: the broker's first.")
@click.option("--id", "event_id", metavar="ID", help="The event's id: repeated, it is stored once.")
@click.option("--ce", "as_cloudevents", is_flag=True, help="Each is a CloudEvent in JSON.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each event.")
def pub(
    event: str | None,
    asked: Asked,
    stream: str | None,
    event_id: str | None,
    as_cloudevents: bool,
    as_json: bool,
) -> None:
    """Publish EVENT, or without one each line of standard input, as JSON.

    An event that is published is stored. Many lines are under way at once; they are stored in their
    order, and a line that is refused doesn't keep the others back.
    """
    if event is None and event_id is not None:
        raise click.UsageError("an id belongs to one event: say EVENT, or no --id")
    told = Told(as_json)
    job = Job(asked, stream, event_id or "", as_cloudevents)
    code = asyncio.run(_publish(job, event, told))
    if code:
        sys.exit(code)


@dataclass(frozen=True)
class Job:
    """What is to be published, as which, and where."""

    asked: Asked
    stream: str | None
    event_id: str
    as_cloudevents: bool


@dataclass
class Told:
    """What became of the events, and what of it is printed."""

    as_json: bool
    stored: int = 0
    repeated: int = 0
    refused: int = 0
    uncertain: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each stream the first and the last offset."""

    def published(self, said: Published) -> None:
        self.stored += 1
        self.repeated += said.repeated
        first, last = self.places.get(said.stream, (said.offset, said.offset))
        self.places[said.stream] = min(first, said.offset), max(last, said.offset)
        if self.as_json:
            print_json(
                {
                    "stream": said.stream,
                    "offset": said.offset,
                    "version": said.version,
                    "repeated": said.repeated,
                }
            )

    def failed(self, number: int, problem: HeadgateError, *, uncertain: bool) -> None:
        self.uncertain += uncertain
        self.refused += not uncertain
        print_note(f"line {number}", str(problem))
        if self.as_json:
            print_json({"line": number, "because": str(problem), "uncertain": uncertain})

    def conclude(self) -> None:
        if self.as_json:
            return
        where = ", ".join(
            f"{stream} {first}" if first == last else f"{stream} {first} to {last}"
            for stream, (first, last) in sorted(self.places.items())
        )
        repeated = f", {self.repeated:,} of them before" if self.repeated else ""
        print_line(
            f"published {counted(self.stored, 'event')}{f': {where}' if where else ''}{repeated}"
        )

    @property
    def code(self) -> int:
        if self.uncertain:
            return UNCERTAIN
        return REFUSED_SOME if self.refused else 0


async def _publish(job: Job, event: str | None, told: Told) -> int:
    from headgate.client.network import Network
    from headgate.client.settings import Settings

    settings = Settings(tuple(job.asked.addresses()), connect_us=0)
    async with Network(settings, job.asked.access()) as net:
        if event is not None:
            line = event.encode(errors="surrogateescape")
            told.published(await _publish_one(net, job, line))
            interrupted = False
        else:
            source = StandardInput("publishing")
            with Interrupts(source.stop) as interrupts:
                await _publish_all(net, job, source.lines(), told)
            interrupted = interrupts.came
    told.conclude()
    return INTERRUPTED if interrupted else told.code


async def _publish_one(net: Network, job: Job, line: bytes) -> Published:
    event, event_id = _read(line, job)
    return await net.publish(event, id=event_id, stream=job.stream)


def _read(line: bytes, job: Job) -> tuple[Event | bytes, str]:
    """The event of a line, and the id that it has."""
    from headgate.model.events import Event

    if not job.as_cloudevents:
        return Event.from_json(line), job.event_id
    from headgate.http.cloudevents import Publication, read_publication

    found = read_publication(CLOUDEVENT, (), line)
    assert isinstance(found, Publication)
    event = Event.from_json(found.content) if found.is_json else found.content
    return event, job.event_id or found.event_id


async def _publish_all(net: Network, job: Job, lines: AsyncIterator[bytes], told: Told) -> None:
    """Publish line by line without waiting for each; their outcomes are told in their order."""
    outcomes: asyncio.Queue[tuple[int, asyncio.Task[Published]] | None] = asyncio.Queue(TOGETHER)
    telling = asyncio.create_task(_tell(outcomes, told))
    number = 0
    async for line in lines:
        number += 1
        if line.strip():
            await outcomes.put((number, asyncio.create_task(_publish_one(net, job, line))))
        if net.error is not None:
            break
    await outcomes.put(None)
    await telling


async def _tell(
    outcomes: asyncio.Queue[tuple[int, asyncio.Task[Published]] | None], told: Told
) -> None:
    from headgate.stores.acl import UnknownOutcomeError

    while (one := await outcomes.get()) is not None:
        number, publishing = one
        try:
            told.published(await publishing)
        except UnknownOutcomeError as problem:
            told.failed(number, problem, uncertain=True)
        except HeadgateError as problem:
            told.failed(number, problem, uncertain=False)
