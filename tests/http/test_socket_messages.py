"""Do client and broker understand each other, and nothing else?"""

import msgspec
import pytest

from headgate.http.socket_messages import (
    MESSAGES_MAX,
    Acknowledge,
    Acknowledged,
    Advertise,
    Advertised,
    BrokerMessage,
    ClientMessage,
    Connected,
    Delivery,
    Dropped,
    Ended,
    Lost,
    Publish,
    Published,
    Refused,
    SocketError,
    Started,
    Subscribe,
    Subscribed,
    Unsubscribe,
    encode,
    read_from_broker,
    read_from_client,
)


def plain(messages: list[ClientMessage] | list[BrokerMessage]) -> list[object]:
    """Messages as JSON has them: two `Raw` of the same text are not equal."""
    return [msgspec.json.decode(msgspec.json.encode(one)) for one in messages]


SAID: list[tuple[ClientMessage, str]] = [
    (Publish(1, msgspec.Raw(b'{"a":1}')), '{"do":"publish","request":1,"event":{"a":1}}'),
    (
        Publish(1, payload_base64=b"\x00\x01", id="e1", stream="orders"),
        '{"do":"publish","request":1,"payload_base64":"AAE=","id":"e1","stream":"orders"}',
    ),
    (Subscribe(2, 1, "a > 1"), '{"do":"subscribe","request":2,"subscription":1,"filter":"a > 1"}'),
    (
        Subscribe(2, 1, durable="desk", causal=True, paced=True, after={"orders": 12}),
        '{"do":"subscribe","request":2,"subscription":1,"durable":"desk","causal":true,'
        '"paced":true,"after":{"orders":12}}',
    ),
    (
        Subscribe(2, 1, after="orders@I.12"),
        '{"do":"subscribe","request":2,"subscription":1,"after":"orders@I.12"}',
    ),
    (
        Acknowledge(1, "orders", 7),
        '{"do":"acknowledge","subscription":1,"stream":"orders","offset":7}',
    ),
    (Unsubscribe(1), '{"do":"unsubscribe","subscription":1}'),
    (Advertise(3, "a = 1"), '{"do":"advertise","request":3,"filter":"a = 1"}'),
]

TOLD: list[tuple[BrokerMessage, str]] = [
    (
        Connected("b1", "jane", 3),
        '{"is":"connected","broker":"b1","principal":"jane","version":3}',
    ),
    (
        Published(1, "orders", 7, 3),
        '{"is":"published","request":1,"stream":"orders","offset":7,"version":3,"repeated":false}',
    ),
    (Refused(1, "no"), '{"is":"refused","request":1,"because":"no","temporary":false}'),
    (Subscribed(2, 1), '{"is":"subscribed","request":2,"subscription":1,"attachment":0}'),
    (
        Started(1, "orders", "I", 6),
        '{"is":"started","subscription":1,"stream":"orders","incarnation":"I","after":6}',
    ),
    (
        Delivery(1, "orders", "I", 7, 3, msgspec.Raw(b'{"a":1}'), known=msgspec.Raw(b'{"$x":1}')),
        '{"is":"delivery","subscription":1,"stream":"orders","incarnation":"I","offset":7,'
        '"version":3,"event":{"a":1},"known":{"$x":1}}',
    ),
    (
        Delivery(1, "orders", "I", 7, 3, payload_base64=b"\x00\x01"),
        '{"is":"delivery","subscription":1,"stream":"orders","incarnation":"I","offset":7,'
        '"version":3,"payload_base64":"AAE="}',
    ),
    (
        Lost(1, "orders", "I", 3, 9),
        '{"is":"lost","subscription":1,"stream":"orders","incarnation":"I","after":3,"up_to":9}',
    ),
    (
        Ended(1, "gone", {"orders": 7}),
        '{"is":"ended","subscription":1,"because":"gone","after":{"orders":7}}',
    ),
    (
        Acknowledged(1, "orders", 7),
        '{"is":"acknowledged","subscription":1,"stream":"orders","offset":7}',
    ),
    (Advertised(3), '{"is":"advertised","request":3}'),
    (Dropped("the broker is stopping"), '{"is":"dropped","because":"the broker is stopping"}'),
]


@pytest.mark.parametrize(("message", "text"), SAID)
def test_what_a_client_says_is_written_as_documented_and_read_again(
    message: ClientMessage, text: str
) -> None:
    assert encode([message]) == text.encode()
    assert plain(read_from_client(text)) == plain([message])


@pytest.mark.parametrize(("message", "text"), TOLD)
def test_what_a_broker_says_is_written_as_documented_and_read_again(
    message: BrokerMessage, text: str
) -> None:
    assert encode([message]) == text.encode()
    assert plain(read_from_broker(text)) == plain([message])


def test_several_messages_are_one_array_in_their_order() -> None:
    said = [message for message, _ in SAID]
    assert plain(read_from_client(encode(said))) == plain(said)
    told = [message for message, _ in TOLD]
    assert plain(read_from_broker(encode(told))) == plain(told)
    assert read_from_client("[]") == []


def test_a_client_may_hear_more_than_it_knows_of() -> None:
    (message,) = read_from_broker('{"is":"advertised","request":3,"since":"tomorrow"}')
    assert message == Advertised(3)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"null",
        b"1",
        b'"publish"',
        b"[1]",
        b'{"request":1}',
        b'{"do":"dance","request":1}',
        b'{"do":"publish"}',
        b'{"do":"publish","request":-1}',
        b'{"do":"publish","request":1.5}',
        b'{"do":"publish","request":9007199254740993}',
        b'{"do":"publish","request":1,"evnt":{}}',
        b'{"do":"publish","request":1,"event":{"a" 1}}',
        b'{"do":"publish","request":1,"payload_base64":"?"}',
        b'{"do":"publish","request":1,"id":"' + b"x" * 257 + b'"}',
        b'{"do":"acknowledge","subscription":1,"stream":"s","offset":-1}',
        b'{"do":"subscribe","request":1,"subscription":1,"filter":"' + b"x" * 70_000 + b'"}',
        b"[" * 1_000_000,
        b'{"do":"publish","request":1,"event":' + b"[" * 1_000_000,
        b"[" + b'{"do":"unsubscribe","subscription":1},' * MESSAGES_MAX + b"{}]",
    ],
)
def test_what_is_no_message_is_refused_in_one_short_line(text: bytes) -> None:
    with pytest.raises(SocketError, match="expected messages of a client as JSON") as refusal:
        read_from_client(text)
    assert len(str(refusal.value)) < 300
    assert str(refusal.value).isprintable()


def test_a_broker_that_says_something_else_is_none() -> None:
    with pytest.raises(SocketError, match="expected messages of a broker as JSON"):
        read_from_broker('{"do":"unsubscribe","subscription":1}')
