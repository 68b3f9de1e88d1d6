"""Headgate: publish/subscribe for organisations that share event streams but not everything."""

from headgate.filters.filter import Filter
from headgate.gate.delivery import View, Withheld, gate
from headgate.model.errors import EventError, FilterError, HeadgateError
from headgate.model.events import Event
from headgate.rights.changes import Batch, CreateGroup, DropGroup, Grant, Join, Leave, Revoke
from headgate.rights.history import PolicyHistory, PolicyVersion, StaleVersionError
from headgate.rights.rules import Action, OnExcess, PolicyError, Rule, Strict
from headgate.rights.subscriptions import Subscription

__all__ = [
    "Action",
    "Batch",
    "CreateGroup",
    "DropGroup",
    "Event",
    "EventError",
    "Filter",
    "FilterError",
    "Grant",
    "HeadgateError",
    "Join",
    "Leave",
    "OnExcess",
    "PolicyError",
    "PolicyHistory",
    "PolicyVersion",
    "Revoke",
    "Rule",
    "StaleVersionError",
    "Strict",
    "Subscription",
    "View",
    "Withheld",
    "gate",
]
