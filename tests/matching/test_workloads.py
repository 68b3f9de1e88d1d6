"""Across modules: does an index of ten thousand filters find what a scan over them finds?"""

import random
from itertools import pairwise

import pytest

from bench.support.counting import CountingIndex
from bench.support.rules import WORKLOADS, as_filter, as_json, as_table, events
from headgate.matching.index import FilterIndex
from headgate.model.events import Event

FILTERS = 10_000
EVENTS = events(25, seed=11)


@pytest.mark.parametrize("name", WORKLOADS)
def test_it_finds_what_a_scan_finds_on_the_workloads(name: str) -> None:
    rules = list(WORKLOADS[name].rules(FILTERS, seed=5))
    filters = list(map(as_filter, rules))
    index = FilterIndex(seed=7)
    index.update(add=enumerate(filters))
    some = [Event.of(fields) for fields in EVENTS]
    expected = [
        [number for number, one in enumerate(filters) if one.matches(event)] for event in some
    ]
    for found in (
        index.match_json(as_json(EVENTS)),
        index.match_columns(as_table(EVENTS)),
        index.match_events(some),
    ):
        assert [sorted(ids.tolist()) for ids in found] == expected
    counting = CountingIndex(rules)
    ends, ids = counting.match(*counting.read(EVENTS))
    counted = [sorted(ids[start:end].tolist()) for start, end in pairwise(ends)]
    assert counted == expected


def test_it_does_so_while_filters_come_and_go() -> None:
    chance = random.Random(3)
    rules = list(WORKLOADS["mixed"].rules(FILTERS, seed=6))
    filters = dict(enumerate(map(as_filter, rules)))
    some = [Event.of(fields) for fields in EVENTS]
    met = [{number for number, one in filters.items() if one.matches(event)} for event in some]
    index = FilterIndex()
    index.update(add=filters.items())
    there = set(filters)
    for share in (0.01, 0.3, 0.9, 0.02, 0.5):
        gone = {number for number in there if chance.random() < share}
        back = {number for number in filters if number not in there and chance.random() < 0.5}
        index.update(add=[(number, filters[number]) for number in back], remove=gone)
        there = there - gone | back
        found = index.match_json(as_json(EVENTS))
        assert [set(ids.tolist()) for ids in found] == [one & there for one in met]
        assert [len(ids) for ids in found] == [len(one & there) for one in met]
