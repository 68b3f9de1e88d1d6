"""Where does a conversation with brokers stand, and what may happen to it there?"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class State(Enum):
    """Where a conversation stands."""

    APART = "without a connection, until it is time to try again"
    DIALLING = "a connection is being made"
    OPENING = "connected, but the broker has not said who it is"
    OPEN = "both sides speak"
    OVER = "ended for good"

    __hash__ = object.__hash__


class Happening(Enum):
    """What may happen to a conversation."""

    DIAL = "it is time to try the next broker"
    CONNECTED = "the connection is there"
    GREETED = "the broker's `connected` comes"
    MESSAGE = "another message comes"
    LOST = "the connection is lost, or can't be made"
    SILENCE = "nothing comes for too long"
    DROPPED = "the broker ends it for good"
    CLOSE = "the program ends it"

    __hash__ = object.__hash__


TABLE: Final[Mapping[State, Mapping[Happening, State]]] = {
    State.APART: {
        Happening.DIAL: State.DIALLING,
        Happening.DROPPED: State.OVER,
        Happening.CLOSE: State.OVER,
    },
    State.DIALLING: {
        Happening.CONNECTED: State.OPENING,
        Happening.LOST: State.APART,
        Happening.SILENCE: State.APART,
        Happening.DROPPED: State.OVER,
        Happening.CLOSE: State.OVER,
    },
    State.OPENING: {
        Happening.GREETED: State.OPEN,
        Happening.LOST: State.APART,
        Happening.SILENCE: State.APART,
        Happening.DROPPED: State.OVER,
        Happening.CLOSE: State.OVER,
    },
    State.OPEN: {
        Happening.MESSAGE: State.OPEN,
        Happening.LOST: State.APART,
        Happening.SILENCE: State.APART,
        Happening.DROPPED: State.OVER,
        Happening.CLOSE: State.OVER,
    },
    State.OVER: {
        Happening.CLOSE: State.OVER,
    },
}
