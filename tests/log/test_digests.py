"""Does every change of what was stored or sent change its digest, and nothing else?"""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.log.digests import (
    START,
    RunningDigest,
    chained,
    check_chain,
    view_bytes,
    with_chain,
)
from headgate.log.records import LogError, Record
from headgate.model.events import Event
from tests.log.streams import chain_of, marker, record, stream_of
from tests.log.test_records import records

OTHERWISE: list[dict[str, Any]] = [
    {"stream": "order"},
    {"incarnation": "boot-2"},
    {"offset": 2},
    {"version": 1},
    {"time_us": 0},
    {"publisher": "bob"},
    {"event_id": ""},
    {"body": b'{"price":23}'},
    {"body": None},
    {"body": b""},
    {"is_json": False},
    {"known": {"$a": 1}},
    {"known": {"$a": 1.0}},
    {"known": {"$a": True}},
    {"known": {"$a": "1"}},
    {"known": {"$a": None}},
    {"known": {"$b": 1}},
    {"vector": {"orders": ("i", 1)}},
    {"hidden": ("$time",)},
    {"publisher": "a", "event_id": "nnevent-1"},
]


def test_a_change_of_any_field_changes_the_digest() -> None:
    changed = [chained(START, record(**said)) for said in ({}, *OTHERWISE)]
    assert len(set(changed)) == len(OTHERWISE) + 1
    assert {name for said in OTHERWISE for name in said} == {
        name for name in Record.__struct_fields__ if name != "chain"
    }


def test_a_change_before_changes_the_digest() -> None:
    assert chained(b"\x01" * 32, record()) != chained(b"\x02" * 32, record())
    assert chained(START, record()) != chained(bytes(32), record())


@given(records, records)
def test_two_records_have_one_digest_only_if_they_are_one(one: Record, other: Record) -> None:
    other = msgspec.structs.replace(other, chain=one.chain)
    # As bytes: `1 == True == 1.0`, but they are not the same record.
    same = msgspec.msgpack.encode(one) == msgspec.msgpack.encode(other)
    assert (chained(START, one) == chained(START, other)) == same


def test_the_order_in_which_names_were_noted_is_not_digested() -> None:
    known: dict[str, Any] = {"$a": 1, "$b": 2, "$é": 3}
    vector = {"x": ("i", 1), "y": ("i", 2)}
    turned = record(
        known=dict(reversed(known.items())),
        vector=dict(reversed(vector.items())),
    )
    assert chained(START, turned) == chained(START, record(known=known, vector=vector))


def test_the_digest_is_sha_256_of_messagepack_written_by_hand() -> None:
    # So that another program can follow the chain: written here from the MessagePack page.
    one = record(
        3, stream="s", incarnation="i", version=1, time_us=200, publisher="p", event_id="e",
        body=b"{}", known={"$b": True, "$a": None}, vector={"s": ("i", 300)},
    )  # fmt: skip
    by_hand = (
        b"\x9d" + b"\xc4\x20" + b"\x07" * 32 + b"\xa1s" + b"\xa1i" + b"\x03" + b"\x01" + b"\xcc\xc8"
        + b"\xa1p" + b"\xa1e" + b"\xc4\x02{}" + b"\xc3" + b"\x82\xa2$a\xc0\xa2$b\xc3"
        + b"\x81\xa1s\x92\xa1i\xcd\x01\x2c" + b"\x90"
    )  # fmt: skip
    assert chained(b"\x07" * 32, one) == sha256(by_hand).digest()


def test_a_chain_goes_on_from_record_to_record() -> None:
    first, second = chain_of(record(1), marker(2, version=1))
    assert second == with_chain(first.chain, marker(2, version=1))
    assert check_chain(START, [first, second]) == second.chain
    assert check_chain(first.chain, [second]) == second.chain
    assert check_chain(START, []) == START


@pytest.mark.parametrize("at", range(4))
def test_a_record_changed_left_out_or_put_elsewhere_breaks_the_chain(at: int) -> None:
    whole = list(stream_of(5))
    forged = msgspec.structs.replace(whole[at], publisher="mallory")
    resealed = with_chain(whole[at - 1].chain if at else START, forged)
    for broken, found in (
        ([*whole[:at], forged, *whole[at + 1 :]], at + 1),
        ([*whole[:at], resealed, *whole[at + 1 :]], at + 2),
        ([*whole[:at], *whole[at + 1 :]], at + 2),
        ([*whole[:at], whole[at + 1], whole[at], *whole[at + 2 :]], at + 2),
    ):
        with pytest.raises(LogError, match=f"offset {found} of `orders` doesn't continue"):
            check_chain(START, broken)


# --- views ------------------------------------------------------------------------------------

DAY = datetime(2026, 1, 31, tzinfo=UTC)

DIFFERENT = [
    Event.of({}),
    Event.of({"a": 1}),
    Event.of({"a": 1.0}),
    Event.of({"a": True}),
    Event.of({"a": "1"}),
    Event.of({"a": None}),
    Event.of({"a": {}}),
    Event.of({"a": ["1"]}),
    Event.of({"a": ["2", "1"]}),
    Event.of({"a": [1]}),
    Event.of({"a": DAY}),
    Event.of({"a": "2026-01-31T00:00:00Z"}),
    Event.of({"a": DAY, "b": "2026-01-31T00:00:00Z"}),
    Event.of({"b": DAY, "a": "2026-01-31T00:00:00Z"}),
    Event.of({"a.b": 1}),
    Event.of({"a": {"b": 1}}),
    Event.from_json(b'"a"'),
    Event.from_json(b"[1]"),
    Event.from_bytes(b"[1]"),
    Event.from_bytes(b'"a"'),
    Event.from_bytes(b"{}"),
    Event.from_bytes(b""),
    Event.of({}).with_known({"$a": 1}),
    Event.of({}).with_known({"$a": 1.0}),
    Event.of({}).with_known({"$a": True}),
    Event.of({}).with_known({"$a": "1"}),
    Event.of({}).with_known({"$a": ["1"]}),
    Event.of({}).with_known({"$a": ["1", "2"]}),
    Event.of({}).with_known({"$a": [1]}),
    Event.of({}).with_known({"$a": DAY}),
    Event.of({}).with_known({"$a": "2026-01-31T00:00:00Z"}),
    Event.of({}).with_known({"$b": 1}),
    Event.of({}).with_known({"$a": 1, "$b": 1}),
    Event.of({"a": 1}).with_known({"$a": 1}),
]


def test_different_views_have_different_bytes() -> None:
    written = {view_bytes(event): event for event in DIFFERENT}
    assert len(written) == len(DIFFERENT)


def test_equal_views_have_equal_bytes_however_they_were_made() -> None:
    one = record(known={"$a": 1, "$b": ["x", "y"]}, body=b'{"b": {"c": 2}, "a": 1, "d": 0}').event
    other = Event.from_json(b'{"a":1,"b":{"c":2}}').with_known(
        {"$b": {"y", "x"}, "$time": one.attributes["$time"], "$publisher": "ann"}
    )
    readable = {"a", "b.c", "$b", "$time", "$publisher"}
    assert one.cut(readable) == other
    assert view_bytes(one.cut(readable)) == view_bytes(other)
    assert view_bytes(one) != view_bytes(other)


values = (
    st.integers(-2, 2)
    | st.sampled_from([-1.0, 0.0, 1.0, True, False, "", "1", "a", DAY, "2026-01-31T00:00:00Z"])
    | st.lists(st.sampled_from(["a", "b"]), max_size=2)
    | st.just([1])
)
trees = st.dictionaries(
    st.sampled_from("ab"), values | st.none() | st.dictionaries(st.sampled_from("ab"), values)
)
known = st.dictionaries(st.sampled_from(["$a", "$b"]), values)
views = st.builds(
    Event.with_known,
    trees.map(Event.of) | st.sampled_from([b"", b"{}", b"x"]).map(Event.from_bytes),
    known,
)


@given(views, views)
def test_two_views_have_the_same_bytes_exactly_when_they_are_equal(
    one: Event, other: Event
) -> None:
    assert (view_bytes(one) == view_bytes(other)) == (one == other)


# --- running digests ------------------------------------------------------------------------------


def test_a_running_digest_says_how_many_views_were_sent_and_which_in_which_order() -> None:
    views = [view_bytes(event) for event in DIFFERENT[:3]]
    sent = RunningDigest()
    assert (sent.count, sent.digest) == (0, START)
    for offset, view in enumerate(views, 1):
        sent = sent.add(offset, 7, view)
    assert sent.count == 3
    assert sent == RunningDigest().add(1, 7, views[0]).add(2, 7, views[1]).add(3, 7, views[2])
    others = [
        RunningDigest().add(1, 7, views[0]).add(2, 7, views[1]),
        RunningDigest().add(1, 7, views[0]).add(3, 7, views[1]).add(2, 7, views[2]),
        RunningDigest().add(1, 7, views[0]).add(2, 7, views[2]).add(3, 7, views[1]),
        RunningDigest().add(1, 7, views[0]).add(2, 8, views[1]).add(3, 7, views[2]),
        RunningDigest().add(1, 7, views[0]).add(2, 7, views[1]).add(4, 7, views[2]),
    ]
    assert len({sent.digest, *(other.digest for other in others)}) == 6


def test_a_running_digest_is_frozen_and_can_be_kept_and_gone_on_with() -> None:
    sent = RunningDigest().add(1, 0, b"view")
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=RunningDigest)
    assert kept.add(2, 0, b"next") == sent.add(2, 0, b"next")
    with pytest.raises(AttributeError):
        sent.count = 5  # type: ignore[misc]


def test_a_running_digest_is_sha_256_of_what_the_page_says() -> None:
    first = sha256(bytes(32) + (5).to_bytes(8, "big") + (2).to_bytes(8, "big") + b"view").digest()
    second = sha256(first + (9).to_bytes(8, "big") + (3).to_bytes(8, "big") + b"").digest()
    assert RunningDigest().add(5, 2, b"view").add(9, 3, b"") == RunningDigest(2, second)
