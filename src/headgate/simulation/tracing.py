"""What happened, in words? One line for each thing that a person wants to know, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from headgate.broker import effects
from headgate.broker.effects import Effect, Message
from headgate.log.records import Record
from headgate.model.errors import printable
from headgate.model.events import Event
from headgate.simulation.timeline import SECOND, Timeline

BODY_CHARS_MAX = 100


@final
class Trace:
    """The lines so far; one that is off keeps nothing."""

    def __init__(self, timeline: Timeline, *, is_on: bool) -> None:
        self.is_on = is_on
        self.lines: list[str] = []
        self._timeline = timeline

    def line(self, who: str, what: str) -> None:
        if self.is_on:
            seconds = self._timeline.now / SECOND
            self.lines.append(printable(f"{seconds:11.6f}  {who:<8}  {what}"))


def effect_line(effect: Effect) -> str | None:
    """What a core wants done; nothing for what only repeats what others say."""
    describe = _EFFECTS.get(effect.__class__)
    return None if describe is None else describe(effect)


def message_line(message: Message) -> str:
    """What a client is told."""
    return _MESSAGES[message.__class__](message)


def record_line(record: Record) -> str:
    head = f"{record.stream} {record.offset}, version {record.version}"
    if record.body is None:
        return f"{head}: begins"
    return f"{head}, {record.event_id} of {record.publisher}: {_shortened(record.body)}"


def _shortened(body: bytes) -> str:
    text = body.decode("utf-8", "backslashreplace")
    return text if len(text) <= BODY_CHARS_MAX else f"{text[:BODY_CHARS_MAX]}…"


def _event(event: Event) -> str:
    return _shortened(event.to_bytes())


def _delivery(message: effects.Delivery) -> str:
    head = f"{message.stream} {message.offset}, version {message.version}"
    return f"for {message.subscription}: {head}: {_event(message.event)}"


def _ended(message: effects.SubscriptionEnded) -> str:
    after = ", ".join(f"{stream} {offset}" for stream, offset in message.after)
    where = f" after {after}" if after else ""
    return f"subscription {message.subscription} ended{where}: {message.because}"


_EFFECTS: dict[type[Effect], Callable[[Any], str | None]] = {
    effects.Close: lambda one: f"closes link {one.link}: {one.because}",
    effects.Dial: lambda one: f"dials {one.broker}",
    effects.Append: lambda one: "stores " + "; ".join(map(record_line, one.records)),
    effects.Keep: lambda one: f"keeps {one.key}" if one.value is not None else f"drops {one.key}",
    effects.MayRemove: lambda one: f"may remove up to {dict(one.up_to)}",
    effects.Remove: lambda one: f"removes up to {dict(one.up_to)}",
    effects.Read: lambda one: f"reads {one.stream} after {one.after}",
    effects.ApplyBatch: lambda one: (
        "asks the ACL database for a batch"
        + ("" if one.expected is None else f" after version {one.expected}")
    ),
    effects.KeepStartingPoint: lambda one: (
        f"reports that version {one.version} begins on {one.stream} at {one.offset}"
    ),
    effects.Drop: lambda one: f"drops client {one.client}: {one.because}",
}

_MESSAGES: dict[type[Message], Callable[[Any], str]] = {
    effects.DurableEnded: lambda one: (
        f"that {one.request} ended a durable subscription"
        if one.existed
        else f"that {one.request} names no durable subscription"
    ),
    effects.Lost: lambda one: (
        f"for {one.subscription}: {one.stream} lost after {one.after} up to {one.up_to}"
    ),
    effects.Connected: lambda one: f"that it is connected, at version {one.version}",
    effects.Published: lambda one: (
        f"that {one.request} is {one.stream} {one.offset}, version {one.version}"
        + (", known already" if one.repeated else "")
    ),
    effects.RequestRefused: lambda one: (
        f"that {one.request} is refused{' for now' if one.temporary else ''}: {one.because}"
    ),
    effects.Subscribed: lambda one: (
        f"that {one.request} is subscription {one.subscription}"
        + (f", attachment {one.attachment}" if one.attachment else "")
    ),
    effects.Started: lambda one: (
        f"that subscription {one.subscription} starts on {one.stream} after {one.after}"
    ),
    effects.Delivery: _delivery,
    effects.SubscriptionEnded: _ended,
    effects.Acknowledged: lambda one: (
        f"that {one.stream} {one.offset} is acknowledged for {one.subscription}"
    ),
    effects.Advertised: lambda one: f"that {one.request} is advertised",
    effects.BatchApplied: lambda one: f"that {one.request} is version {one.version}",
    effects.BatchRefused: lambda one: (
        f"that batch {one.request} is refused at version {one.current}: {one.because}"
    ),
}
