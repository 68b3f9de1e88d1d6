"""Is a seed the same run each time, and many of them the same as one after the other?"""

from headgate.broker.core import Broker
from headgate.simulation.running import run, run_many, run_portion
from tests.simulation.test_shrinking import Rude


def test_a_seed_gives_the_same_run_each_time() -> None:
    for seed in range(5):
        one, other = run(seed, trace=True), run(seed, trace=True)
        assert one.trace == other.trace
        assert len(one.trace) > 10
        assert one.counts == other.counts
        assert one.is_good, one.broken


def test_many_in_several_processes_are_the_same_as_one_after_the_other() -> None:
    told: list[int] = []
    alone = run_portion(range(20))
    together = run_many(range(20), workers=2, progress=told.append)
    assert (together.runs, together.counts) == (alone.runs, alone.counts)
    assert sum(told) == 20


def test_the_first_seed_that_fails_is_named_with_any_number_of_workers() -> None:
    for workers in (1, 2):
        summary = run_many(range(64), workers=workers, make_core=Rude, stop_at_failure=True)
        seed, because = summary.failed[0]
        assert not run(seed, make_core=Rude).is_good
        assert all(run(before, make_core=Rude).is_good for before in range(seed))
        assert "no_core_fails" in because


def test_a_core_of_ones_own_may_be_run() -> None:
    assert run(3, make_core=Broker).trace == ()
