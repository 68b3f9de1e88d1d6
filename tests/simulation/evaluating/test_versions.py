"""Is what access control adds to a record what the protocol says, and nothing else?"""

from __future__ import annotations

import pytest

from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.traffic import About
from headgate.simulation.evaluating.versions import HOPS, Policy, Steady, measure_versions

CONDITIONS = Conditions(records=400, changes_per_s=20)
CHANGING = (Policy.OTHERS_CHANGE, Policy.THEIRS_CHANGE)


@pytest.fixture(scope="module")
def measured() -> dict[Policy, Steady]:
    return {one.policy: one for one in measure_versions(CONDITIONS)}


def test_the_same_is_delivered_under_every_policy(measured: dict[Policy, Steady]) -> None:
    assert len({one.deliveries for one in measured.values()}) == 1
    received = {
        hop.traffic.records - hop.in_vain for one in measured.values() for hop in one.hops.values()
    }
    assert len(received) == 1


def test_rights_that_stay_add_nothing_but_the_version_of_a_record(
    measured: dict[Policy, Steady],
) -> None:
    resting, free = measured[Policy.AT_REST], measured[Policy.NO_RIGHTS]
    assert resting.hops == free.hops
    for hop in resting.hops.values():
        assert hop.traffic.frames[About.SILENCE] <= 1, "after the last record"
        assert hop.traffic.all_frames == hop.traffic.records + hop.traffic.frames[About.SILENCE]
        assert hop.traffic.version_bytes == hop.traffic.records
        assert (hop.conservative, hop.in_vain) == (0, 0)


def test_each_record_is_gated_once_for_each_subscriber_that_it_reaches(
    measured: dict[Policy, Steady],
) -> None:
    for one in measured.values():
        assert (one.gated, one.withheld, one.held) == (one.deliveries, 0, 0)


def test_a_version_is_told_once_on_each_link_and_answered_by_a_new_set(
    measured: dict[Policy, Steady],
) -> None:
    for policy in CHANGING:
        one = measured[policy]
        assert one.versions >= 10
        assert len(one.hops) == HOPS
        for hop in one.hops.values():
            # A question and its answer for the starting points, a record or a silence; a set that
            # is asked for, and vouched for.
            assert one.versions <= hop.traffic.frames[About.POLICY] <= 6 * one.versions
            assert one.versions <= hop.traffic.frames[About.SETS] <= 2 * one.versions


def test_what_concerns_nobody_behind_a_link_costs_less_than_what_does(
    measured: dict[Policy, Steady],
) -> None:
    others, theirs = (measured[policy].hops for policy in CHANGING)
    for link in others:
        for about in (About.POLICY, About.SETS):
            assert others[link].traffic.bytes[about] < theirs[link].traffic.bytes[about]


def test_only_while_a_version_is_on_its_way_records_are_sent_without_being_asked_for(
    measured: dict[Policy, Steady],
) -> None:
    for policy in CHANGING:
        one = measured[policy]
        hops = list(one.hops.values())
        assert hops[0].conservative > 0
        # There and back takes less than three publications, and nearer the subscribers less still.
        assert hops[0].conservative <= 3 * one.versions
        assert hops[1].conservative <= hops[0].conservative
        assert hops[0].in_vain > 0
        for hop in hops:
            assert 0 <= hop.in_vain <= hop.conservative
