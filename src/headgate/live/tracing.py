"""Where did an event spend its time? Spans for OpenTelemetry, on each broker that it passes.

All brokers know the trace of a record without being told: it follows from the stream, its
incarnation and the offset, and so does whether it is kept. Nothing more is carried or stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Final, cast, final

import msgspec
from msgspec import Struct

from headgate.broker.effects import Delivery, Effect, Published, RequestRefused, Send, Tell
from headgate.model.errors import HeadgateError
from headgate.peering.wire import HEAD_BYTES

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import SpanContext

ASKED_MAX: Final = 10_000
"""Publications that are remembered until they are answered."""
TRACEPARENT_CHARS_MAX: Final = 256
_LOW: Final = 2**64 - 1


class TracingError(HeadgateError):
    """Traces can't be made."""


class _RecordHead(Struct, frozen=True, array_like=True):
    """What a record begins with."""

    stream: str
    incarnation: str
    offset: int


class _DataHead(Struct, frozen=True, array_like=True, tag="data"):
    """What a frame with a record begins with."""

    session: int
    previous: int
    record: _RecordHead


_decode = msgspec.msgpack.Decoder(_DataHead).decode


def trace_of(stream: str, incarnation: str, offset: int) -> tuple[int, int]:
    """The trace of a record, and the first span in it: the same on all brokers."""
    digest = sha256(f"{incarnation}\0{stream}\0{offset}".encode()).digest()
    # Zero is no id.
    return int.from_bytes(digest[:16], "big") or 1, int.from_bytes(digest[16:24], "big") or 1


@final
class _Ids:
    """Gives the next span the ids that follow from its record; others get some by chance."""

    def __init__(self, chance: Random) -> None:
        self.next: tuple[int, int] | None = None
        self._chance = chance

    def is_trace_id_random(self) -> bool:
        return False

    def generate_trace_id(self) -> int:
        return self.next[0] if self.next is not None else self._chance.randrange(1, 2**128)

    def generate_span_id(self) -> int:
        return self.next[1] if self.next is not None else self._chance.randrange(1, 2**64)


@final
class Tracing:
    """The spans of one broker; made only where traces are wanted."""

    def __init__(
        self, broker: str, ratio: float, processor: SpanProcessor, chance: Random | None = None
    ) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.sampling import ALWAYS_ON
        except ImportError:
            raise TracingError(
                "traces need OpenTelemetry: `pip install 'headgate[tracing]'`"
            ) from None
        self._ids = _Ids(chance or SystemRandom())
        self._bound = round(ratio * 2**64)
        self._broker = broker
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,  # what is not wanted never comes so far
            id_generator=cast(Any, self._ids),
            resource=Resource.create({"service.name": "headgate", "headgate.broker": broker}),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("headgate")
        self._asked: OrderedDict[tuple[int, int], tuple[int, str | None]] = OrderedDict()

    def is_wanted(self, trace: int) -> bool:
        """Whether a trace is kept: on all brokers with this ratio alike."""
        return (trace & _LOW) < self._bound

    def asked(self, client: int, request: int, now_ns: int, traceparent: str | None) -> None:
        """A client wants to publish; it may have said which of its own spans that is."""
        self._asked[client, request] = now_ns, traceparent
        if len(self._asked) > ASKED_MAX:
            self._asked.popitem(last=False)

    def turned(
        self, effects: Sequence[Effect], now_ns: int, incarnation_of: Callable[[str], str | None]
    ) -> None:
        """What one turn of the loop brought up."""
        for effect in effects:
            if isinstance(effect, Tell):
                self._told(effect, now_ns, incarnation_of)
            elif isinstance(effect, Send):
                self._sent(effect, now_ns)

    def stop(self) -> None:
        """Hand out what is waiting."""
        self._provider.shutdown()

    def _told(self, effect: Tell, now_ns: int, incarnation_of: Callable[[str], str | None]) -> None:
        message = effect.message
        if isinstance(message, Published):
            self._published(effect.client, message, now_ns, incarnation_of(message.stream))
        elif isinstance(message, RequestRefused):
            self._asked.pop((effect.client, message.request), None)
        elif isinstance(message, Delivery):
            ids = trace_of(message.stream, message.incarnation, message.offset)
            if self.is_wanted(ids[0]):
                said = {
                    "headgate.subscription": message.subscription,
                    "headgate.client": effect.client,
                    "headgate.version": message.version,
                }
                self._follow("deliver", ids, now_ns, message.stream, message.offset, said)

    def _published(
        self, client: int, message: Published, now_ns: int, incarnation: str | None
    ) -> None:
        began_ns, traceparent = self._asked.pop((client, message.request), (now_ns, None))
        if incarnation is None or message.repeated:
            return
        ids = trace_of(message.stream, incarnation, message.offset)
        if not self.is_wanted(ids[0]):
            return
        from opentelemetry.context import Context
        from opentelemetry.trace import Link, SpanKind

        cause = context_of(traceparent)
        self._ids.next = ids
        span = self._tracer.start_span(
            "publish",
            context=Context(),
            kind=SpanKind.SERVER,
            start_time=began_ns,
            attributes={
                **self._where(message.stream, message.offset),
                "headgate.version": message.version,
            },
            links=[Link(cause)] if cause is not None else [],
        )
        self._ids.next = None
        span.end(now_ns)

    def _sent(self, effect: Send, now_ns: int) -> None:
        data, at = effect.data, 0
        while at + HEAD_BYTES <= len(data):
            end = at + HEAD_BYTES + int.from_bytes(data[at : at + HEAD_BYTES], "big")
            try:
                record = _decode(data[at + HEAD_BYTES : end]).record
            except msgspec.MsgspecError:
                pass  # another kind of frame
            else:
                ids = trace_of(record.stream, record.incarnation, record.offset)
                if self.is_wanted(ids[0]):
                    said = {"headgate.link": effect.link}
                    self._follow("forward", ids, now_ns, record.stream, record.offset, said)
            at = end

    def _follow(
        self,
        what: str,
        ids: tuple[int, int],
        now_ns: int,
        stream: str,
        offset: int,
        said: dict[str, Any],
    ) -> None:
        """A moment in the life of a record that was published on some broker."""
        from opentelemetry.trace import (
            NonRecordingSpan,
            SpanContext,
            SpanKind,
            TraceFlags,
            set_span_in_context,
        )

        first = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        span = self._tracer.start_span(
            what,
            context=set_span_in_context(NonRecordingSpan(first)),
            kind=SpanKind.PRODUCER,
            start_time=now_ns,
            attributes={**self._where(stream, offset), **said},
        )
        span.end(now_ns)

    def _where(self, stream: str, offset: int) -> dict[str, Any]:
        return {
            "messaging.system": "headgate",
            "messaging.destination.name": stream,
            "headgate.offset": offset,
            "headgate.broker": self._broker,
        }


def context_of(traceparent: str | None) -> SpanContext | None:
    """The span that a client named (W3C Trace Context), if it can be read."""
    if traceparent is None or len(traceparent) > TRACEPARENT_CHARS_MAX:
        return None
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    found = TraceContextTextMapPropagator().extract({"traceparent": traceparent})
    context = get_current_span(found).get_span_context()
    return context if context.is_valid else None


def tracing_to(endpoint: str, broker: str, ratio: float) -> Tracing:
    """Traces that are sent to an OTLP endpoint over HTTP, from a thread of their own."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise TracingError("traces need OpenTelemetry: `pip install 'headgate[tracing]'`") from None
    return Tracing(broker, ratio, BatchSpanProcessor(OTLPSpanExporter(endpoint)))
