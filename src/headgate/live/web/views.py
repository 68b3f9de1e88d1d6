"""What of a delivery does a subscriber see? Its event as JSON or bytes, and what is known of it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Raw

from headgate.http.socket_messages import NOTHING
from headgate.model.errors import EventError
from headgate.model.events import Event

Shown: TypeAlias = tuple[Raw, bytes | None, Raw]
"""The event as JSON, or its bytes where it is no JSON; and what the broker knows of it."""

_encode = msgspec.json.Encoder().encode


def shown(event: Event) -> Shown:
    known = {name: value for name, value in event.attributes.items() if name[:1] == "$"}
    said = Raw(_encode(known)) if known else NOTHING
    try:
        return Raw(event.to_json()), None, said
    except EventError:  # it is no JSON
        return NOTHING, event.to_bytes(), said
