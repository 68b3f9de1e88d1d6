"""How much is too much? Bounds on everything that comes from outside, handed on as an argument."""

from __future__ import annotations

from dataclasses import dataclass

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class EventLimits:
    """What an event may measure."""

    event_bytes: int = 1024 * 1024
    attributes: int = 1_000
    depth: int = 32


@dataclass(frozen=True, slots=True)
class FilterLimits:
    """What a filter may measure, and what deciding about filters may cost."""

    text_chars: int = 65_536
    nodes: int = 10_000
    depth: int = 64
    pattern_chars: int = 1_024
    boxes: int = 1_024
    # Boxes looked at while a filter is brought to its normal form, and pieces cut while two filters
    # are compared: past this the answer is an error, never a guess.
    normal_form_steps: int = 50_000
    covering_steps: int = 50_000
    # Value sets in the boxes that two filters are compared by: an advertisement of a thousand
    # attributes comes to a thousand boxes, each with all of them.
    covering_sets: int = 250_000
    # Steps of the automata that decide whether some text fits several patterns, in one decision.
    pattern_steps: int = 100_000


EVENT_LIMITS = EventLimits()
FILTER_LIMITS = FilterLimits()
