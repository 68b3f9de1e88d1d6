"""Is a CloudEvent taken as its specification has it, in each mode, and nothing else for one?"""

from typing import Any

import msgspec
import pytest

from headgate.http.cloudevents import (
    BATCH_MAX,
    Batch,
    CloudEventError,
    Publication,
    read_publication,
)
from headgate.http.content_types import UnsupportedTypeError

EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "e1",
    "source": "/exchange",
    "type": "quote",
    "datacontenttype": "application/json",
    "subject": "IBM",
    "time": "2026-01-31T12:00:00.123456789Z",
    "urgent": True,
    "sequence": 7,
    "data": {"price": 101},
}
HEADERS = [
    ("ce-specversion", "1.0"),
    ("CE-Id", "e1"),
    ("ce-source", "/exchange"),
    ("ce-type", "quote"),
]


def structured(event: object, media: str = "application/cloudevents+json") -> Publication:
    found = read_publication(media, [], msgspec.json.encode(event))
    assert isinstance(found, Publication)
    return found


def binary(
    body: bytes, media: str | None = None, *more: tuple[str, str]
) -> tuple[str, dict[str, Any]]:
    found = read_publication(media, [*HEADERS, *more], body)
    assert isinstance(found, Publication)
    assert found.is_json
    content = msgspec.json.decode(found.content)
    for name, value in HEADERS:
        assert content.pop(name[3:].lower()) == value
    return found.event_id, content


def test_a_structured_cloudevent_is_the_event_as_it_came() -> None:
    found = structured(EVENT)
    assert found.is_json
    assert msgspec.json.decode(found.content) == EVENT
    assert found.event_id == "/exchange e1"


def test_a_binary_cloudevent_is_the_object_that_its_structured_mode_would_be() -> None:
    assert binary(b'{"price": 101}', "application/json") == (
        "/exchange e1",
        {"datacontenttype": "application/json", "data": {"price": 101}},
    )


@pytest.mark.parametrize(
    ("media", "body", "content"),
    [
        ("application/vnd.x+json", b"[1]", {"data": [1]}),
        ("text/plain", "Zürich".encode(), {"data": "Zürich"}),
        ("text/plain; charset=iso-8859-1", b"Z\xfcrich", {"data_base64": "WvxyaWNo"}),
        ("text/plain", b"Z\xfcrich", {"data_base64": "WvxyaWNo"}),
        ("application/xml", b"<a/>", {"data": "<a/>"}),
        ("application/octet-stream", b"\x00\x01", {"data_base64": "AAE="}),
        (None, b"{}", {"data_base64": "e30="}),
        (None, b"", {}),
    ],
)
def test_data_are_json_text_or_base64(
    media: str | None, body: bytes, content: dict[str, Any]
) -> None:
    expected = content if media is None else {"datacontenttype": media, **content}
    assert binary(body, media)[1] == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("plain", "plain"),
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),
        ('"a \\"b\\" c"', 'a "b" c'),
        ("100%", "100%"),
        ("%25", "%"),
    ],
)
def test_headers_are_unquoted_and_percent_decoded(value: str, said: str) -> None:
    assert binary(b"", None, ("ce-note", value))[1] == {"note": said}


def test_a_batch_names_what_is_wrong_with_each() -> None:
    body = msgspec.json.encode([EVENT, {**EVENT, "id": ""}, 7, {**EVENT, "id": "e2"}])
    batch = read_publication("application/cloudevents-batch+json; charset=utf-8", [], body)
    assert isinstance(batch, Batch)
    first, second, third, fourth = batch.publications
    assert isinstance(first, Publication)
    assert isinstance(fourth, Publication)
    assert (first.event_id, fourth.event_id) == ("/exchange e1", "/exchange e2")
    assert str(second) == "expected a text in the attribute `id`"
    assert str(third).startswith("expected a CloudEvent as a JSON object")
    assert read_publication("application/cloudevents-batch+json", [], b"[]") == Batch(())


def test_source_and_id_are_one_name_however_long() -> None:
    long = {**EVENT, "source": "/" + "s" * 300}
    names = {structured(one).event_id for one in (EVENT, long, {**long, "id": "e2"})}
    assert len(names) == 3
    assert max(map(len, names)) <= 256


def test_plain_json_is_the_event_itself() -> None:
    headers = [("Idempotency-Key", '"k 1"')]
    found = read_publication("application/json; charset=utf-8", headers, b'{"a": 1}')
    assert found == Publication(b'{"a": 1}', True, "k 1")
    assert read_publication("application/json", [], b"{") == Publication(b"{", True, "")


def test_anything_else_is_a_payload_that_is_no_json() -> None:
    assert read_publication("image/png", [], b"\x89") == Publication(b"\x89", False, "")


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ({"specversion": "0.3"}, "expected CloudEvents `1.0`, found `specversion` `0.3`"),
        ({"id": ""}, "expected a text in the attribute `id`"),
        ({"id": 7}, "expected a text in the attribute `id`"),
        ({"source": "a b"}, "expected a URI without spaces in `source`"),
        ({"type": None}, "expected a CloudEvent with `type`, found none"),
        ({"time": "noon"}, "the attribute `time`: expected a timestamp"),
        ({"Upper": "x"}, "expected attribute names of lower-case letters and digits"),
        ({"x-y": "x"}, "expected attribute names of lower-case letters and digits"),
        ({"list": [1]}, "expected a text, a boolean or an integer of 32 bits"),
        ({"big": 2**31}, "expected a text, a boolean or an integer of 32 bits"),
        ({"real": 0.5}, "expected a text, a boolean or an integer of 32 bits"),
        ({"data_base64": "AAE="}, "has `data` or `data_base64`"),
    ],
)
def test_a_cloudevent_that_is_none_is_refused(said: dict[str, Any], because: str) -> None:
    with pytest.raises(CloudEventError, match=because):
        structured({**EVENT, **said})


@pytest.mark.parametrize(
    ("body", "because"),
    [
        (b"", "expected a CloudEvent as a JSON object"),
        (b"\xff", "expected a CloudEvent as a JSON object"),
        (b"[" * 1_000_000, "expected a CloudEvent as a JSON object"),
        (b'{"a":' * 1_000_000, "expected a CloudEvent as a JSON object"),
        (b"{}", "expected a CloudEvent with `specversion`"),
    ],
)
def test_a_body_that_is_no_cloudevent_is_refused(body: bytes, because: str) -> None:
    with pytest.raises(CloudEventError, match=because):
        read_publication("application/cloudevents+json", [], body)


def test_data_that_are_no_base64_are_refused() -> None:
    event = {name: value for name, value in EVENT.items() if name != "data"}
    for wrong in ("?", 7):
        with pytest.raises(CloudEventError, match="expected Base64"):
            structured({**event, "data_base64": wrong})


def test_data_can_not_reach_beyond_themselves() -> None:
    with pytest.raises(CloudEventError, match="expected JSON, as `Content-Type` says"):
        binary(b'1,"forged":2', "application/json")


@pytest.mark.parametrize(
    ("header", "because"),
    [
        (("ce-data", "x"), "data are in the body"),
        (("ce-datacontenttype", "x"), "data are in the body"),
        (("ce-id", "twice"), "is there twice"),
        (("ce-note", "%ff"), "expected percent-encoded UTF-8"),
        (("ce-note", "\udcff"), "expected percent-encoded UTF-8"),
        (("ce-x_y", "x"), "expected attribute names"),
    ],
)
def test_headers_that_are_no_attributes_are_refused(header: tuple[str, str], because: str) -> None:
    with pytest.raises(CloudEventError, match=because):
        binary(b"", None, header)


@pytest.mark.parametrize(
    ("media", "because"),
    [
        (None, "expected a `Content-Type`"),
        ("nonsense", "expected a `Content-Type`"),
        ("application/x-www-form-urlencoded", "found a form"),
        ("application/cloudevents+xml", "expected `application/cloudevents.json`"),
        ("application/cloudevents-batch+avro", "expected `application/cloudevents-batch.json`"),
        ("application/json; charset=utf-16", "expected UTF-8"),
        ("application/cloudevents+json; charset=utf-16", "expected UTF-8"),
    ],
)
def test_other_types_are_refused(media: str | None, because: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=because):
        read_publication(media, [], b"{}")


def test_a_batch_is_bounded() -> None:
    body = b"[" + b"1," * BATCH_MAX + b"1]"
    with pytest.raises(CloudEventError, match="at most 10,000 CloudEvents"):
        read_publication("application/cloudevents-batch+json", [], body)


def test_an_idempotency_key_is_bounded_and_there_once() -> None:
    for headers in ([("Idempotency-Key", "x" * 257)], [("idempotency-key", "x")] * 2):
        with pytest.raises(CloudEventError, match="Idempotency-Key"):
            read_publication("application/json", headers, b"{}")
