"""Which kinds of values are there, and are timestamps exact?"""

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import HeadgateError
from headgate.model.values import OPAQUE, Kind, Value, format_timestamp, kind_of, parse_timestamp

OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=OFFSETS,
    allow_imaginary=False,
)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", Kind.STRING),
        (1, Kind.INTEGER),
        (1.0, Kind.DOUBLE),
        (True, Kind.BOOLEAN),
        (datetime(2026, 1, 31, tzinfo=UTC), Kind.TIMESTAMP),
        (frozenset({"a"}), Kind.SET),
        (OPAQUE, Kind.OPAQUE),
    ],
)
def test_each_value_has_one_kind(value: Value, kind: Kind) -> None:
    assert kind_of(value) is kind


def test_there_is_one_opaque_value_only() -> None:
    for other in (pickle.loads(pickle.dumps(OPAQUE)), copy.copy(OPAQUE), copy.deepcopy(OPAQUE)):
        assert other is OPAQUE
    assert repr(OPAQUE) == "OPAQUE"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T12:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31t12:00:00z", "2026-01-31T12:00:00Z"),
        ("2026-01-31 12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00.25Z", "2026-01-31T12:00:00.250000Z"),
        ("2026-01-31T12:00:00.000001Z", "2026-01-31T12:00:00.000001Z"),
        ("2026-01-31T12:00:00.123456000000Z", "2026-01-31T12:00:00.123456Z"),
        ("2026-01-31T00:30:00+01:00", "2026-01-30T23:30:00Z"),
        ("2026-01-31T23:30:00-00:45", "2026-02-01T00:15:00Z"),
        ("2026-01-31T12:00:00-00:00", "2026-01-31T12:00:00Z"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_timestamp_is_read_with_any_offset_and_written_in_utc(text: str, written: str) -> None:
    assert format_timestamp(parse_timestamp(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026",
        "2026-1-31",
        "2026-01-31T",
        "2026-01-31T12:00:00",
        "2026-01-31T12",
        "2026-01-31Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00Z ",
        "2026-01-31T12:00:00Z\n",
        "2026-02-29",
        "2026-13-01",
        "2026-00-01",
        "0000-01-01",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:60Z",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+01:60",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-01-31T12:00:00.1234567Z",
        "2026-01-31T12:00:00.0000001Z",
        "2026-01-31T12:00:00." + "1" * 19 + "Z",
        "٢٠٢٦-01-31",
        "x\ny" * 1000,
    ],
)
def test_what_is_no_moment_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(HeadgateError) as refusal:
        parse_timestamp(text)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 200


@given(MOMENTS)
def test_a_written_timestamp_reads_as_the_same_moment(moment: datetime) -> None:
    read = parse_timestamp(format_timestamp(moment))
    assert read == moment
    assert read.tzinfo is UTC
    assert parse_timestamp(moment.isoformat()) == moment


@given(MOMENTS, MOMENTS)
def test_written_timestamps_with_microseconds_sort_as_the_moments_do(
    one: datetime, other: datetime
) -> None:
    one, other = one.replace(microsecond=1), other.replace(microsecond=1)
    assert (format_timestamp(one) < format_timestamp(other)) == (one < other)
