"""How much does Python have to do for something? Counted, so that no clock decides a test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(work: Callable[[], object]) -> int:
    """How many instructions of Python are executed; what C does in one of them counts once."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal counted
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        counted += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted
