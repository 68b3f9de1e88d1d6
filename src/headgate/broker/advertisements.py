"""What may be published on a stream, where publishers have to say so? And who could want it?

What was once advertised stays: a subscription that hears of it late is still owed what was
published since. Each advertisement is kept with the offset after which it holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from headgate.broker.interests import Interest
from headgate.filters.boxes import Box
from headgate.filters.filter import Filter
from headgate.filters.value_sets import ABSENT
from headgate.model.errors import FilterTooComplexError

ADVERTISED_MAX: Final = 256
"""More than these on one stream are as good as everything."""

Advertised: TypeAlias = tuple[tuple[Filter, int], ...]


def with_another(before: Advertised, one: Filter, after: int) -> Advertised:
    """The advertisements of a stream with another one that holds after an offset."""
    if any(_covers(kept, one) for kept, _ in before):
        return before
    if len(before) >= ADVERTISED_MAX:
        return (*before, (Filter.everything(), after))
    return (*before, (one, after))


def _covers(kept: Filter, one: Filter) -> bool:
    """Whether what one advertises is advertised by the other already."""
    try:
        return kept == one or kept == Filter.everything() or kept.covers_advertisement(one)
    except FilterTooComplexError:
        return False


def first_wanted(advertised: Advertised, interest: Interest) -> int | None:
    """After which offset something may have been published that this interest wants, if any."""
    filters = [one for _, one in interest.steps]
    return min(
        (after for said, after in advertised if any(overlaps(said, one) for one in filters)),
        default=None,
    )


def overlaps(advertised: Filter, wanted: Filter) -> bool:
    """Whether an event that is advertised could be wanted; when in doubt it could."""
    try:
        return _any_common(advertised.boxes, wanted.boxes)
    except FilterTooComplexError:
        return True


def _any_common(advertised: Iterable[Box], wanted: Iterable[Box]) -> bool:
    # What an advertisement names may be missing, and what it doesn't name may be anything.
    loose = [
        Box({name: allowed | ABSENT for name, allowed in box.sets.items()}) for box in advertised
    ]
    return any(not (one & Box(box.sets)).is_empty() for one in loose for box in wanted) or any(
        not box.sets for box in loose
    )
