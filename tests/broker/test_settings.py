"""Do the settings that nobody chose fit together?"""

import dataclasses

import pytest

from headgate.broker.settings import SECOND, Settings
from headgate.broker.topology import Topology
from headgate.model.limits import EVENT_LIMITS
from headgate.peering.frames import Data, Hello
from headgate.peering.links import HEARTBEATS_MAX
from headgate.peering.wire import decode, encode
from tests.log.streams import record

SETTINGS = Settings("b", Topology.alone("b"), policy_host="b")


def test_a_broker_needs_no_more_than_its_name_its_network_and_the_policys_host() -> None:
    needed = [
        field.name
        for field in dataclasses.fields(Settings)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    assert needed == ["broker", "topology", "policy_host"]


def test_settings_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SETTINGS.lease_us = 0  # type: ignore[misc]


def test_times_are_in_microseconds() -> None:
    assert SECOND == 1_000_000
    assert SETTINGS.lease_us == 60_000_000


def test_a_question_is_asked_several_times_before_the_lease_ends() -> None:
    assert 10 * SETTINGS.ask_again_us <= SETTINGS.lease_us


def test_a_dead_link_is_given_up_and_replaced_before_the_lease_ends() -> None:
    assert HEARTBEATS_MAX * SETTINGS.heartbeat_us + SETTINGS.redial_us < SETTINGS.lease_us


def test_how_far_streams_have_got_is_told_before_a_link_counts_as_idle() -> None:
    assert SETTINGS.silence_us < SETTINGS.heartbeat_us


def test_the_largest_event_fits_into_a_frame_and_into_the_cache() -> None:
    one = record(body=bytes(EVENT_LIMITS.event_bytes), is_json=False, known={"$topic": "x" * 1_000})
    assert len(encode(Data(2**62, 2**62, one))) < SETTINGS.frame_bytes_max
    assert EVENT_LIMITS.event_bytes < SETTINGS.cache_bytes


def test_a_link_may_say_how_large_a_frame_is_taken() -> None:
    hello = Hello(1, SETTINGS.broker, "boot", SETTINGS.frame_bytes_max)
    assert decode(encode(hello)[4:]) == hello


def test_what_is_read_at_once_fits_into_the_cache() -> None:
    assert SETTINGS.read_records <= SETTINGS.cache_records
