"""Does filtering in the network deliver the same as at its edge, and send less over every link?"""

from __future__ import annotations

import dataclasses

import pytest

from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.filtering import (
    SUBSCRIBERS_EACH,
    Filtering,
    measure_filtering,
)

CONDITIONS = Conditions(records=150, seed=3)


@pytest.fixture(scope="module")
def filtering() -> Filtering:
    return measure_filtering(CONDITIONS)


def test_deliveries_are_the_same_both_times(filtering: Filtering) -> None:
    assert filtering.deliveries_are_equal
    assert filtering.in_network.received == filtering.at_edge.received
    assert filtering.in_network.deliveries > CONDITIONS.records / 2
    assert len(filtering.in_network.received) == 8 * SUBSCRIBERS_EACH


def test_one_delivery_that_differs_is_seen(filtering: Filtering) -> None:
    found = filtering.at_edge
    name, received = next(item for item in found.received.items() if item[1])
    for other in (received[:-1], (*received, received[-1]), ((*received[0][:2], b"{}"),)):
        changed = dataclasses.replace(found, received={**found.received, name: other})
        assert not dataclasses.replace(filtering, at_edge=changed).deliveries_are_equal


def test_over_every_link_the_network_sends_less_than_the_edge_needs(filtering: Filtering) -> None:
    assert len(filtering.tree.links) == 10
    for link in filtering.tree.links:
        here, edge = filtering.in_network.links[link], filtering.at_edge.links[link]
        assert here.all_bytes < edge.all_bytes, link
        assert here.all_frames < edge.all_frames, link


def test_to_filter_at_the_edge_everything_goes_everywhere(filtering: Filtering) -> None:
    assert {one.records for one in filtering.at_edge.links.values()} == {CONDITIONS.records}


def test_a_link_carries_what_is_received_behind_it_and_nothing_else(filtering: Filtering) -> None:
    """The rights are in the filters that are asked for upstream."""
    for (_, outer), traffic in filtering.in_network.links.items():
        behind = {leaf for inner, leaf in filtering.tree.links if inner == outer} or {outer}
        received = {
            offset
            for name, found in filtering.in_network.received.items()
            if name.rpartition("-")[0] in behind
            for offset, _, _ in found
        }
        assert traffic.records == len(received), outer
