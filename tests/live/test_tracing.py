"""Brokers that tell each other nothing of a trace put their spans into the same one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from headgate.broker.effects import (
    Delivery,
    Effect,
    Published,
    RequestRefused,
    Send,
    Started,
    Tell,
)
from headgate.live import tracing
from headgate.live.tracing import Tracing, TracingError, _Ids, context_of, trace_of, tracing_to
from headgate.model.events import Event
from headgate.peering.frames import Alive, Data
from headgate.peering.wire import encode
from tests.live.link_certificates import Authority
from tests.live.nodes import EVERYTHING, allowed, alone, connected, run
from tests.live.test_links import a_network
from tests.log.streams import stream_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Broker:
    """The spans of one broker."""

    def __init__(self, name: str = "b", ratio: float = 1.0) -> None:
        self._kept = InMemorySpanExporter()
        self.tracing = Tracing(name, ratio, SimpleSpanProcessor(self._kept), Random(name))

    def turned(self, *effects: Effect, now_ns: int = 20) -> None:
        self.tracing.turned(effects, now_ns, lambda stream: "boot-1")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._kept.get_finished_spans()


def delivery(offset: int = 7) -> Tell:
    return Tell(1, Delivery(1, "orders", "boot-1", offset, 3, Event.of({})))


def ids(span: ReadableSpan) -> tuple[int, int]:
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def test_a_publication_is_the_first_span_and_links_to_the_clients_own() -> None:
    broker = Broker()
    broker.tracing.asked(1, 5, 10, PARENT)
    broker.turned(Tell(1, Published(5, "orders", 7, 3)))
    (span,) = broker.spans
    assert (span.name, span.start_time, span.end_time) == ("publish", 10, 20)
    assert ids(span) == trace_of("orders", "boot-1", 7)
    assert span.parent is None
    (link,) = span.links
    assert f"{link.context.trace_id:032x}-{link.context.span_id:016x}" in PARENT
    assert span.attributes is not None
    assert span.attributes["messaging.destination.name"] == "orders"
    assert span.attributes["headgate.broker"] == "b"


def test_a_delivery_on_another_broker_is_in_the_same_trace_below_it() -> None:
    broker = Broker("c")
    broker.turned(delivery())
    (span,) = broker.spans
    trace, first = trace_of("orders", "boot-1", 7)
    assert span.name == "deliver"
    assert ids(span)[0] == trace
    assert ids(span)[1] != first
    assert span.parent is not None
    assert span.parent.span_id == first


def test_each_record_that_is_sent_on_is_a_span() -> None:
    broker = Broker()
    records = stream_of(3)
    frames = [Data(1, record.offset - 1, record) for record in records]
    data = b"".join([encode(Alive()), *map(encode, frames), encode(Alive())])
    broker.turned(Send(9, data))
    assert [span.name for span in broker.spans] == ["forward"] * 3
    assert [ids(span)[0] for span in broker.spans] == [
        trace_of(record.stream, record.incarnation, record.offset)[0] for record in records
    ]


@pytest.mark.parametrize(
    ("ratio", "least", "most"), [(0.0, 0, 0), (0.25, 180, 320), (1.0, 1000, 1000)]
)
def test_all_brokers_keep_the_same_part_of_the_traces(ratio: float, least: int, most: int) -> None:
    one, other = Broker("b", ratio), Broker("c", ratio)
    for offset in range(1, 1_001):
        one.turned(Tell(1, Published(offset, "orders", offset, 3)))
        other.turned(delivery(offset))
    published = {ids(span)[0] for span in one.spans}
    assert published == {ids(span)[0] for span in other.spans}
    assert least <= len(published) <= most


def test_what_is_refused_or_repeated_begins_no_trace_and_is_forgotten() -> None:
    broker = Broker()
    for request in (1, 2):
        broker.tracing.asked(1, request, 10, None)
    broker.turned(
        Tell(1, RequestRefused(1, "no")), Tell(1, Published(2, "orders", 7, 3, repeated=True))
    )
    assert not broker.spans
    assert not broker.tracing._asked


def test_publications_that_are_never_answered_take_no_more_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "ASKED_MAX", 10)
    broker = Broker()
    for request in range(100):
        broker.tracing.asked(1, request, 10, None)
    assert len(broker.tracing._asked) == 10


@pytest.mark.parametrize("said", [None, "", "00-0-0-01", "x" * 10_000, PARENT.replace("0a", "zz")])
def test_a_span_of_a_client_that_cannot_be_read_is_none(said: str | None) -> None:
    assert context_of(said) is None


def test_an_event_is_followed_through_a_chain_of_brokers(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    brokers = {name: Broker(name) for name in "abc"}

    async def work() -> None:
        nodes = await a_network(tmp_path, authority.tls)
        for name, node in nodes.items():
            node._tracing = brokers[name].tracing
        await nodes["a"].administer(allowed(), None)
        reader, ear = await connected(nodes["c"])
        reader.subscribe(1, 1, EVERYTHING)
        await ear.next(Started, 3)
        writer, answers = await connected(nodes["a"])
        writer.publish(1, b"{}", "e1", traceparent=PARENT)
        (published,) = await answers.next(Published)
        await ear.next(Delivery)
        for node in nodes.values():
            await node.stop()
        trace, _ = trace_of("from a", "a.1", published.offset)
        for name, wanted in {
            "a": ["forward", "publish"],
            "b": ["forward"],
            "c": ["deliver"],
        }.items():
            found = [span.name for span in brokers[name].spans if ids(span)[0] == trace]
            assert sorted(found) == wanted, name

    run(work())


def test_a_fault_in_tracing_ends_the_traces_and_not_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        node = alone(tmp_path)
        await node.start()
        await node.administer(allowed(), None)
        client, ear = await connected(node)
        broker = Broker()
        monkeypatch.delattr(_Ids, "is_trace_id_random")
        node._tracing = broker.tracing
        for request in range(3):
            client.publish(request, b"{}", f"e{request}")
        await ear.next(Published, 3)
        assert not broker.spans
        await node.stop()

    run(work())


def test_without_opentelemetry_it_is_said_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for missing in (
        "opentelemetry.sdk.trace",
        "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    ):
        monkeypatch.setitem(__import__("sys").modules, missing, None)
    attempts: list[Callable[[], object]] = [
        lambda: tracing_to("http://localhost:1", "b", 1.0),
        lambda: Tracing("b", 1.0, SimpleSpanProcessor(InMemorySpanExporter())),
    ]
    for attempt in attempts:
        with pytest.raises(TracingError, match=r"headgate\[tracing\]"):
            attempt()


def test_traces_to_an_endpoint_that_is_not_there_harm_nobody() -> None:
    made = tracing_to("http://127.0.0.1:1/v1/traces", "b", 0.0)
    made.turned([delivery()], 20, lambda stream: None)
    made.stop()
