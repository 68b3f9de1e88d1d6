"""What can an attribute hold?

Strings, 64 bit integers, finite doubles, booleans, timestamps (aware `datetime`s, exact to the
microsecond), sets of strings, and `OPAQUE` for what can be read but not filtered on.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Final, final

from headgate.model.errors import HeadgateError, named


@final
class Opaque:
    """The value of an attribute that can be read but not filtered on: there is only one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "OPAQUE"

    def __reduce__(self) -> str:
        return "OPAQUE"  # a copy, a pickle and the original are one object


OPAQUE: Final = Opaque()

Scalar = str | int | float | bool | datetime
Value = Scalar | frozenset[str] | Opaque


class Kind(Enum):
    """The kinds of values: within a kind values compare, across kinds only numbers do."""

    STRING = "string"
    INTEGER = "integer"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    SET = "set"
    OPAQUE = "opaque"


_KINDS = {
    str: Kind.STRING,
    int: Kind.INTEGER,
    float: Kind.DOUBLE,
    bool: Kind.BOOLEAN,
    datetime: Kind.TIMESTAMP,
    frozenset: Kind.SET,
    Opaque: Kind.OPAQUE,
}


def kind_of(value: Value) -> Kind:
    return _KINDS[value.__class__]


_RFC_3339 = re.compile(
    r"""
    (\d{4}) - (\d\d) - (\d\d)
    (?: [Tt\ ] (\d\d) : (\d\d) (?: : (\d\d) (?: \. (\d{1,18}) )? )?
        ( [Zz] | [+-]\d\d:\d\d )
    )?
    """,
    re.ASCII | re.VERBOSE,
)


def parse_timestamp(text: str) -> datetime:
    """Read RFC 3339 (`2026-01-31T12:00:00.25Z`); a date alone is its first moment in UTC."""
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise HeadgateError(
            f"expected a timestamp like `2026-01-31T12:00:00Z`, found {named(text, 40)}"
        )
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    digits = (fraction or "").rstrip("0")
    if len(digits) > 6:
        raise HeadgateError(f"a timestamp is exact to the microsecond, `{text}` is finer")
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int(digits.ljust(6, "0")),
            tzinfo=_zone(offset),
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as problem:
        raise HeadgateError(f"`{text}` is no moment in time: {problem}") from None


def _zone(offset: str | None) -> timezone:
    if offset is None or offset in "Zz":
        return UTC
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(f"there is no UTC offset `{offset}`")
    span = timedelta(hours=hours, minutes=minutes)
    return timezone(-span if offset[0] == "-" else span)


def format_timestamp(moment: datetime) -> str:
    """Write the moment so that `parse_timestamp` reads the same one, always in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
