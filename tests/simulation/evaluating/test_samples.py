"""Do many measurements come to the mean, the deviation and the growth that they have?"""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.simulation.evaluating.samples import Sample, growth_per_hop_ms


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=50))
def test_mean_and_deviation_are_those_of_the_textbook(values: list[int]) -> None:
    sample = Sample(tuple(values))
    assert sample.mean_ms == pytest.approx(statistics.fmean(values) / 1_000)
    assert sample.deviation_ms == pytest.approx(statistics.stdev(values) / 1_000, abs=1e-9)


def test_one_measurement_deviates_from_nothing() -> None:
    assert Sample((1_500,)).mean_ms == 1.5
    assert Sample((1_500,)).deviation_ms == 0


def test_what_grows_by_two_milliseconds_a_hop_does_so() -> None:
    by_hops = {hops: Sample((3_000 + 2_000 * hops,)) for hops in (1, 4, 7)}
    assert growth_per_hop_ms(by_hops) == pytest.approx(2)


@given(st.dictionaries(st.integers(1, 20), st.integers(0, 10**6), min_size=2, max_size=6))
def test_growth_is_the_slope_of_least_squares(by_hops: dict[int, int]) -> None:
    samples = {hops: Sample((value,)) for hops, value in by_hops.items()}
    expected = statistics.linear_regression(list(by_hops), list(by_hops.values())).slope / 1_000
    assert growth_per_hop_ms(samples) == pytest.approx(expected, abs=1e-9)


def test_one_length_says_nothing_of_growth() -> None:
    assert growth_per_hop_ms({4: Sample((1, 2))}) is None
