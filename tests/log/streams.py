"""Records for tests: streams whose offsets, versions and digests go on as they should."""

from typing import Any

from headgate.log.digests import START, with_chain
from headgate.log.records import Record

INCARNATION = "boot-1"


def record(offset: int = 1, **said: Any) -> Record:
    """A record that says these things; its digest is left empty."""
    fields: dict[str, Any] = {
        "stream": "orders",
        "incarnation": INCARNATION,
        "offset": offset,
        "version": 0,
        "time_us": 1_790_000_000_000_000 + offset,
        "publisher": "ann",
        "event_id": f"event-{offset}",
        "body": b'{"price": 23}',
        "is_json": True,
        "known": {},
        "vector": {},
    }
    return Record(**{**fields, **said})


def marker(offset: int, version: int, **said: Any) -> Record:
    return record(offset, version=version, publisher="", event_id="", body=None, **said)


def following(last: Record | None, **said: Any) -> Record:
    """A record that may come next in the stream of the last one."""
    if last is None:
        return with_chain(START, record(**said))
    goes_on = {
        "stream": last.stream,
        "incarnation": last.incarnation,
        "offset": last.offset + 1,
        "version": last.version,
    }
    return with_chain(last.chain, record(**{**goes_on, **said}))


def chain_of(*records: Record) -> tuple[Record, ...]:
    """The records with their digests filled in, as one stream."""
    made: list[Record] = []
    for one in records:
        made.append(with_chain(made[-1].chain if made else START, one))
    return tuple(made)


def stream_of(count: int, **said: Any) -> tuple[Record, ...]:
    """This many records, from offset 1 on."""
    return chain_of(*(record(offset, **said) for offset in range(1, count + 1)))
