"""Does a record mean the same wherever it is read, and is nonsense none?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.log.records import (
    LogError,
    Record,
    checked_bytes,
    microseconds,
    moment,
)
from headgate.model.errors import EventError, HeadgateError
from tests.log.streams import marker, record

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Record).decode

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
offsets = st.integers(0, 2**62)
values = (
    texts
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
records = st.builds(
    Record,
    stream=texts,
    incarnation=texts,
    offset=offsets,
    version=offsets,
    time_us=st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    publisher=texts,
    event_id=texts,
    body=st.none() | st.binary(max_size=40),
    is_json=st.booleans(),
    known=st.dictionaries(texts, values, max_size=4),
    vector=st.dictionaries(texts, st.tuples(texts, offsets), max_size=4),
    chain=st.sampled_from([b"", b"\x07" * 32]),
)


@given(records)
def test_a_record_comes_back_from_its_bytes_as_it_was(one: Record) -> None:
    again = decode(encode(one))
    assert again == one
    assert [(name, type(value)) for name, value in again.known.items()] == [
        (name, type(value)) for name, value in one.known.items()
    ]
    assert checked_bytes(one) == len(encode(one))


@given(records)
def test_the_time_of_every_record_can_be_told(one: Record) -> None:
    assert microseconds(one.time) == one.time_us


WRONG: list[dict[str, Any]] = [
    {"stream": "x" * 257},
    {"stream": 1},
    {"stream": "\ud800"},
    {"incarnation": None},
    {"offset": -1},
    {"offset": 2**62 + 1},
    {"offset": 2**70},
    {"offset": 1.0},
    {"offset": True},
    {"version": -1},
    {"time_us": 253_402_300_800_000_000},
    {"time_us": -62_135_596_800_000_001},
    {"publisher": "x" * 257},
    {"event_id": "x" * 257},
    {"body": "text"},
    {"is_json": 1},
    {"is_json": None},
    {"known": {"$a": [1]}},
    {"known": {"$a": b"x"}},
    {"known": {"$a": 2**63}},
    {"known": {"$a" * 200: 1}},
    {"known": {f"${number}": 1 for number in range(1_001)}},
    {"known": {1: 1}},
    {"vector": {"orders": ("i", -1)}},
    {"vector": {str(number): ("i", 1) for number in range(1_025)}},
    {"chain": b"x" * 33},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: str(wrong)[:40])
def test_what_keeps_no_limits_is_no_record(wrong: dict[str, Any]) -> None:
    with pytest.raises(LogError, match=r"offset .* of `.*` is no record: "):
        checked_bytes(record(**wrong))


def test_a_record_with_too_few_or_too_many_fields_is_none() -> None:
    fields = list(msgspec.structs.astuple(record()))
    assert decode(encode(fields)) == record()
    for wrong in (fields[:-3], [*fields, 1]):
        with pytest.raises(msgspec.ValidationError, match="array"):
            decode(encode(wrong))


def test_an_event_has_what_its_broker_knows_in_names_with_a_dollar() -> None:
    one = record(known={"$topic": "a/b", "$user.n": 3}, time_us=1_500_000)
    assert dict(one.event.attributes) == {
        "price": 23,
        "$topic": "a/b",
        "$user.n": 3,
        "$stream": "orders",
        "$publisher": "ann",
        "$time": datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC),
    }
    assert one.event.to_json() == b'{"price":23}'
    assert one.event is one.event


def test_nobody_can_pass_as_another_publisher_by_what_is_known_of_an_event() -> None:
    one = record(known={"$publisher": "root", "$stream": "other", "$time": "never"})
    assert one.event.attributes["$publisher"] == "ann"
    assert one.event.attributes["$stream"] == "orders"
    assert one.event.attributes["$time"] == one.time


def test_a_body_that_is_no_json_stays_as_it_came() -> None:
    one = record(body=b"\xff\x00", is_json=False)
    assert one.event.to_bytes() == b"\xff\x00"
    assert one.event.attributes["$publisher"] == "ann"


def test_a_marker_is_no_event() -> None:
    one = marker(7, version=3)
    assert one.is_marker
    assert not record().is_marker
    assert not record(body=b"", is_json=False).is_marker
    with pytest.raises(LogError, match="offset 7 of `orders` is a version marker, no event"):
        _ = one.event


@pytest.mark.parametrize(
    "wrong",
    [
        {"body": b"{"},
        {"body": b'{"$price": 1}'},
        {"known": {"price": 1}},
        {"known": {"$nan": float("nan")}},
    ],
)
def test_a_body_that_can_not_be_an_event_is_refused_when_it_is_asked_for(
    wrong: dict[str, Any],
) -> None:
    with pytest.raises(EventError):
        _ = record(**wrong).event


def test_moments_are_kept_to_the_microsecond() -> None:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    assert microseconds(start + timedelta(days=1, microseconds=-1)) == 86_399_999_999
    assert microseconds(start - timedelta(microseconds=1)) == -1
    assert moment("2026-01-31T12:00:00.000001Z") == 1_769_860_800_000_001
    with pytest.raises(HeadgateError, match="expected a timestamp"):
        moment("yesterday")
