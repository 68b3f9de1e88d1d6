"""Headgate: publish/subscribe for organisations that share event streams but not everything."""

from headgate.filters.filter import Filter
from headgate.model.errors import EventError, FilterError, HeadgateError
from headgate.model.events import Event

__all__ = ["Event", "EventError", "Filter", "FilterError", "HeadgateError"]
