"""Is it seen what hardly ever happened?"""

from headgate.simulation.counting import Counts, hardly_taken, in_words


def test_counts_are_summed_and_what_is_missing_is_named() -> None:
    counts = Counts()
    counts.add({"kill": 4, "part": 9})
    counts.add({"kill": 1})
    assert hardly_taken(counts, ["kill", "part", "fill disk"], floor=6) == [
        "kill (5)",
        "fill disk (0)",
    ]
    assert in_words(counts) == "9 part, 5 kill"
