"""Is a condition small enough to be worked on?"""

from __future__ import annotations

from headgate.filters.syntax import Condition, Like, walk
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FilterLimits


def check_size(condition: Condition, limits: FilterLimits) -> None:
    """Refuse a tree beyond the bounds, however it was made."""
    for count, (node, depth) in enumerate(walk(condition), start=1):
        if depth > limits.depth:
            raise FilterTooComplexError(f"a filter is nested at most {limits.depth} deep")
        if count > limits.nodes:
            raise FilterTooComplexError(f"a filter has at most {limits.nodes:,} parts")
        if isinstance(node, Like) and len(node.pattern) > limits.pattern_chars:
            raise FilterTooComplexError(
                f"a LIKE pattern has at most {limits.pattern_chars:,} characters"
            )
