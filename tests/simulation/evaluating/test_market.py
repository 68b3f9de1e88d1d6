"""Is the market one in which filters and rights leave out much, but not all?"""

from random import Random

from headgate.filters.filter import Filter
from headgate.model.events import Event
from headgate.rights.rules import parse_filter
from headgate.simulation.administering import batch_of
from headgate.simulation.evaluating import market

EVENTS = [Event.of(event) for event in map(market.events(Random(1)), range(1_000))]
CHANGES = market.policy([(market.PREMIUM, "ann"), (market.PROMOTIONAL, "bob")])


def share(one: Filter) -> float:
    return sum(one.matches(event) for event in EVENTS) / len(EVENTS)


def test_each_wish_leaves_out_nearly_everything() -> None:
    chance = Random(2)
    shares = [share(Filter.parse(market.wishes(chance))) for _ in range(100)]
    assert max(shares) < 0.15
    assert sum(shares) / 100 > 0.01


def test_rights_leave_out_something_but_for_those_who_may_read_everything() -> None:
    granted = {
        change["grant"]["principal"]: parse_filter(change["grant"]["filter"])
        for change in CHANGES
        if change.get("grant", {}).get("action") == "subscribe"
    }
    assert share(granted[market.EVERYTHING]) == 1
    assert share(granted[market.PREMIUM]) == 1
    assert 0.3 < share(granted[market.PROMOTIONAL]) < 0.5


def test_the_policy_is_one_batch_of_changes() -> None:
    batch = batch_of(tuple(CHANGES), "founder", 0)
    assert len(batch.changes) == len(CHANGES)


def test_the_same_chance_gives_the_same_market() -> None:
    again = [Event.of(event) for event in map(market.events(Random(1)), range(1_000))]
    assert again == EVENTS
    assert market.wishes(Random(3)) == market.wishes(Random(3))
