"""Can everything that is published and asked for be read, and do they meet?"""

from random import Random

from headgate.filters.filter import Filter
from headgate.model.events import Event
from headgate.simulation.scenarios.contents import BOUNDS, NAMES, WISHES, body, bound, wish


def test_every_filter_matches_some_events_and_misses_others() -> None:
    chance = Random(1)
    events = [
        Event.from_json(body(chance)).with_known({"$publisher": chance.choice(["pam", "joe"])})
        for _ in range(200)
    ]
    for text in BOUNDS + WISHES:
        matched = sum(Filter.parse(text).matches(event) for event in events)
        assert 0 < matched < len(events), text


def test_events_have_the_names_that_rules_are_about() -> None:
    chance = Random(2)
    names = {name for _ in range(200) for name in Event.from_json(body(chance)).names}
    assert names == set(NAMES)
    assert {bound(chance) for _ in range(200)} == {"TRUE", *BOUNDS}
    assert {wish(chance) for _ in range(500)} == {"TRUE", *BOUNDS, *WISHES}
