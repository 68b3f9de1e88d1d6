"""Headgate: publish/subscribe for organisations that share event streams but not everything."""

from typing import TYPE_CHECKING, Any

from headgate.filters.filter import Filter
from headgate.gate.delivery import Outcome, Reason, View, Withheld, gate
from headgate.gate.explaining import (
    Explanation,
    SubscriberExplanation,
    explain,
    explain_to_subscriber,
)
from headgate.model.errors import (
    EventError,
    FilterError,
    FilterSyntaxError,
    FilterTooComplexError,
    HeadgateError,
)
from headgate.model.events import Event
from headgate.rights.changes import Batch, CreateGroup, DropGroup, Grant, Join, Leave, Revoke
from headgate.rights.effective import Granted, Rights
from headgate.rights.history import (
    PolicyHistory,
    PolicyVersion,
    StaleVersionError,
    UnknownVersionError,
)
from headgate.rights.requests import (
    Allowed,
    Refused,
    may_advertise,
    may_connect,
    may_publish,
    may_subscribe,
)
from headgate.rights.restriction import restricted
from headgate.rights.rules import Action, OnExcess, PolicyError, Rule, Strict
from headgate.rights.starting_points import StartingPoints
from headgate.rights.subscriptions import Subscription

if TYPE_CHECKING:
    from headgate.client.connecting import connect

__all__ = [
    "Action",
    "Allowed",
    "Batch",
    "CreateGroup",
    "DropGroup",
    "Event",
    "EventError",
    "Explanation",
    "Filter",
    "FilterError",
    "FilterSyntaxError",
    "FilterTooComplexError",
    "Grant",
    "Granted",
    "HeadgateError",
    "Join",
    "Leave",
    "OnExcess",
    "Outcome",
    "PolicyError",
    "PolicyHistory",
    "PolicyVersion",
    "Reason",
    "Refused",
    "Revoke",
    "Rights",
    "Rule",
    "StaleVersionError",
    "StartingPoints",
    "Strict",
    "SubscriberExplanation",
    "Subscription",
    "UnknownVersionError",
    "View",
    "Withheld",
    "connect",
    "explain",
    "explain_to_subscriber",
    "gate",
    "may_advertise",
    "may_connect",
    "may_publish",
    "may_subscribe",
    "restricted",
]


def __getattr__(name: str) -> Any:
    """`connect` brings sockets with it: who needs none doesn't wait for them."""
    if name == "connect":
        from headgate.client.connecting import connect

        return connect
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
