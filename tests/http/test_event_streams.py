"""Are Server-Sent Events what a browser takes for them?"""

import msgspec

from headgate.http import event_streams
from headgate.http.event_streams import Delivery, Ended, Lost, Started


def test_events_are_written_as_documented() -> None:
    assert event_streams.started(Started("orders", "I", 6), "orders@I.6") == (
        b'event: started\nid: orders@I.6\ndata: {"stream":"orders","incarnation":"I","after":6}\n\n'
    )
    delivery = Delivery(
        "orders", "I", 7, 3, msgspec.Raw(b'{"a":1}'), known=msgspec.Raw(b'{"$x":1}')
    )
    assert event_streams.delivery(delivery, "orders@I.7") == (
        b'id: orders@I.7\ndata: {"stream":"orders","incarnation":"I","offset":7,"version":3,'
        b'"event":{"a":1},"known":{"$x":1}}\n\n'
    )
    assert event_streams.lost(Lost("orders", "I", 3, 9), "orders@I.9") == (
        b"event: lost\nid: orders@I.9\n"
        b'data: {"stream":"orders","incarnation":"I","after":3,"up_to":9}\n\n'
    )
    assert event_streams.ended(Ended("gone")) == b'event: ended\ndata: {"because":"gone"}\n\n'
    assert event_streams.retry(1_500) == b"retry: 1500\n\n"


def test_no_text_can_end_a_line() -> None:
    said = event_streams.ended(Ended("a\r\nevent: forged\u2028"))
    assert said.count(b"\n") == 3
    assert b"\r" not in said


def test_a_heartbeat_is_a_comment() -> None:
    assert event_streams.HEARTBEAT.startswith(b":")
    assert event_streams.HEARTBEAT.endswith(b"\n\n")
