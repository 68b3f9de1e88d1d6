"""Is a tree beyond the bounds refused, whoever made it?"""

import pytest

from headgate.filters.size import check_size
from headgate.filters.syntax import Condition, Constant, Like, Name, Not, Or
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FilterLimits


def test_a_tree_made_by_a_program_is_held_to_the_same_bounds() -> None:
    node: Condition = Constant(True)
    for _ in range(50_000):
        node = Not(node)
    with pytest.raises(FilterTooComplexError, match="64 deep"):
        check_size(node, FilterLimits())


def test_what_is_just_within_every_bound_is_taken() -> None:
    tree = Or((Not(Constant(True)), Like(Name("x"), "abc")))
    check_size(tree, FilterLimits(nodes=5, depth=3, pattern_chars=3))
    for limits, said in [
        (FilterLimits(nodes=4), "at most 4 parts"),
        (FilterLimits(depth=2), "at most 2 deep"),
        (FilterLimits(pattern_chars=2), "at most 2 characters"),
    ]:
        with pytest.raises(FilterTooComplexError, match=said):
            check_size(tree, limits)
