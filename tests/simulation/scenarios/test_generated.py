"""Is a seed the same schedule each time, and do schedules have all that should be tried?"""

from collections import Counter

from headgate.simulation.scenarios.generated import generated
from headgate.simulation.schedules import (
    Administer,
    AdministerElsewhere,
    Advertise,
    Answer,
    Connect,
    Disconnect,
    Publish,
    Subscribe,
    Unsubscribe,
)


def test_a_seed_is_the_same_schedule_each_time_and_another_one_another() -> None:
    assert generated(7) == generated(7)
    assert generated(7) != generated(8)


def test_steps_are_in_order_and_all_before_the_calm() -> None:
    for seed in range(50):
        schedule = generated(seed)
        times = [step.at_us for step in schedule.steps]
        assert times == sorted(times)


def test_everything_that_clients_do_comes_up() -> None:
    counts: Counter[str] = Counter()
    for seed in range(200):
        for step in generated(seed).steps:
            action = step.action
            counts[type(action).__name__] += 1
            if isinstance(action, Subscribe):
                counts["durable"] += action.durable is not None
                counts["causal"] += action.causal
                counts["resumed"] += action.resumed
                counts["from an offset"] += bool(action.after)
                counts["durable from an offset"] += bool(action.after and action.durable)
    kinds = [Administer, AdministerElsewhere, Advertise, Answer, Connect, Disconnect, Publish,
             Subscribe, Unsubscribe]  # fmt: skip
    more = ["durable", "causal", "resumed", "from an offset", "durable from an offset"]
    for name in [*(kind.__name__ for kind in kinds), *more]:
        assert counts[name] > 10, name
