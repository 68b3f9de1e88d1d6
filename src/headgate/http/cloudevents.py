"""What does a request publish? CloudEvents in each of their modes, plain JSON, or other bytes.

A CloudEvent (CloudEvents 1.0, HTTP binding and JSON format) becomes the JSON object that its
structured mode would be: its attributes beside each other, the data under `data`, or as Base64
under `data_base64` where they are neither JSON nor text.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Final, TypeGuard
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Meta, Raw

from headgate.http.content_types import (
    CLOUDEVENT,
    CLOUDEVENT_BATCH,
    CLOUDEVENT_BATCH_JSON,
    CLOUDEVENT_JSON,
    FORM,
    ContentType,
    UnsupportedTypeError,
    read_content_type,
)
from headgate.model.errors import HeadgateError, named, printable
from headgate.model.values import parse_timestamp

BATCH_MAX: Final = 10_000
ID_CHARS_MAX: Final = 256
VERSION: Final = "1.0"

_HEADER: Final = "ce-"
_NAME = re.compile(r"[a-z0-9]+")
_NEEDED = ("specversion", "id", "source", "type")
_NOT_EMPTY = (*_NEEDED, "subject", "dataschema", "datacontenttype", "time")
_INTEGER_MAX = 2**31
_DATA = ("data", "data_base64")


class CloudEventError(HeadgateError, ValueError):
    """A request that should be a publication is none."""


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be published: its content, and the id by which a repetition is known."""

    content: bytes
    is_json: bool
    event_id: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Several publications; in the place of one that can't be read stands what is wrong with it."""

    publications: tuple[Publication | CloudEventError, ...]


def read_publication(
    content_type: str | None, headers: Sequence[tuple[str, str]], body: bytes
) -> Publication | Batch:
    """What a request publishes; `headers` are all of them, as they came."""
    said = read_content_type(content_type)
    media = said.media if said is not None else ""
    if media.startswith(CLOUDEVENT_BATCH):
        _check_format(said, CLOUDEVENT_BATCH_JSON)
        return _read_batch(body)
    if media.startswith(CLOUDEVENT):
        _check_format(said, CLOUDEVENT_JSON)
        return _structured(body)
    attributes = _attributes(headers)
    if attributes:
        return _binary(attributes, said, body)
    return _plain(said, headers, body)


def _check_format(said: ContentType | None, expected: str) -> None:
    assert said is not None
    if said.media != expected:
        raise UnsupportedTypeError(
            f"expected `{expected}`, the JSON format, found {named(said.media)}"
        )
    said.check_utf8()


# One JSON object.

_decode_object = msgspec.json.Decoder(Annotated[dict[str, Raw], Meta(max_length=1_000)]).decode
_decode_batch = msgspec.json.Decoder(Annotated[list[Raw], Meta(max_length=BATCH_MAX)]).decode
_decode_any = msgspec.json.Decoder().decode
_check_json = msgspec.json.Decoder(Raw).decode
_encode = msgspec.json.Encoder().encode
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


def _structured(body: bytes) -> Publication:
    try:
        fields = _decode_object(body)
        attributes = {
            name: _decode_any(value) for name, value in fields.items() if name not in _DATA
        }
        encoded = _decode_any(fields["data_base64"]) if "data_base64" in fields else None
    except _UNREADABLE as problem:
        raise CloudEventError(f"expected a CloudEvent as a JSON object: {_line(problem)}") from None
    if "data" in fields and encoded is not None:
        raise CloudEventError("a CloudEvent has `data` or `data_base64`: leave one out")
    if encoded is not None:
        _check_base64(encoded)
    # To the JSON format `null` is as if it weren't there.
    _check({name: value for name, value in attributes.items() if value is not None})
    return Publication(body, True, _event_id(attributes["source"], attributes["id"]))


def _check_base64(encoded: object) -> None:
    try:
        msgspec.convert(encoded, bytes)
    except msgspec.MsgspecError:
        raise CloudEventError("expected Base64 in `data_base64`, found something else") from None


def _read_batch(body: bytes) -> Batch:
    try:
        events = _decode_batch(body)
    except _UNREADABLE as problem:
        raise CloudEventError(
            f"expected a JSON array of at most {BATCH_MAX:,} CloudEvents: {_line(problem)}"
        ) from None
    return Batch(tuple(map(_structured_or_refused, events)))


def _structured_or_refused(event: Raw) -> Publication | CloudEventError:
    try:
        return _structured(bytes(event))
    except CloudEventError as refusal:
        return refusal


# Headers and a body.


def _attributes(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The attributes that headers say, by their names."""
    attributes: dict[str, str] = {}
    for header, value in headers:
        if header[:3].lower() != _HEADER:
            continue
        name = header[3:].lower()
        if name in (*_DATA, "datacontenttype"):
            raise CloudEventError(
                f"expected no header {named(header)}: data are in the body, and their type in "
                "`Content-Type`"
            )
        if name in attributes:
            raise CloudEventError(f"the header {named(header)} is there twice: keep one")
        attributes[name] = _header_value(header, value)
    return attributes


def _header_value(header: str, value: str) -> str:
    """The text that a header says: without quotes, and percent-decoded (HTTP binding 3.1.3.2)."""
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    try:
        return unquote_to_bytes(value.encode()).decode()
    except UnicodeError:
        raise CloudEventError(
            f"expected percent-encoded UTF-8 in the header {named(header)}"
        ) from None


def _binary(attributes: dict[str, str], said: ContentType | None, body: bytes) -> Publication:
    _check(attributes)
    event: dict[str, Any] = dict(attributes)
    if said is not None:
        event["datacontenttype"] = said.as_sent
    if body:
        name, data = _data(said, body)
        event[name] = data
    try:
        content = _encode(event)
    except _UNREADABLE as problem:
        raise CloudEventError(f"expected UTF-8 in the headers: {_line(problem)}") from None
    return Publication(content, True, _event_id(attributes["source"], attributes["id"]))


def _data(said: ContentType | None, body: bytes) -> tuple[str, Any]:
    """Under which name the data stand, and as what."""
    if said is not None and said.is_json:
        said.check_utf8()
        try:
            return "data", _check_json(body)
        except _UNREADABLE as problem:
            raise CloudEventError(
                f"expected JSON, as `Content-Type` says: {_line(problem)}"
            ) from None
    if said is not None and said.is_text and said.is_utf8:
        try:
            return "data", body.decode()
        except UnicodeError:
            pass
    return "data_base64", b64encode(body).decode()


# No CloudEvent.


def _plain(
    said: ContentType | None, headers: Sequence[tuple[str, str]], body: bytes
) -> Publication:
    event_id = _idempotency_key(headers)
    if said is None:
        raise UnsupportedTypeError(
            "expected a `Content-Type`: `application/json`, a CloudEvent's, or, for bytes that "
            "are no JSON, whatever they are"
        )
    if said.media == FORM:
        raise UnsupportedTypeError(
            f"expected an event, found a form (`{FORM}`, which curl says where nothing else is "
            "said): name the type, as in `Content-Type: application/json`"
        )
    if said.is_json:
        said.check_utf8()
    return Publication(body, said.is_json, event_id)


def _idempotency_key(headers: Sequence[tuple[str, str]]) -> str:
    keys = [value.strip() for name, value in headers if name.lower() == "idempotency-key"]
    if len(keys) > 1:
        raise CloudEventError("the header `Idempotency-Key` is there twice: keep one")
    key = keys[0] if keys else ""
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if len(key) > ID_CHARS_MAX or not key.isprintable():
        raise CloudEventError(
            f"expected at most {ID_CHARS_MAX} printable characters in `Idempotency-Key`, found "
            f"{len(key):,} characters"
        )
    return key


# What every CloudEvent keeps to.


def _check(attributes: Mapping[str, object]) -> None:
    for name in _NEEDED:
        if name not in attributes:
            raise CloudEventError(f"expected a CloudEvent with `{name}`, found none")
    if attributes["specversion"] != VERSION:
        found = named(str(attributes["specversion"]))
        raise CloudEventError(f"expected CloudEvents `{VERSION}`, found `specversion` {found}")
    for name, value in attributes.items():
        _check_attribute(name, value)


def _check_attribute(name: str, value: object) -> None:
    if _NAME.fullmatch(name) is None:
        raise CloudEventError(
            f"expected attribute names of lower-case letters and digits, found {named(name)}"
        )
    if name in _NOT_EMPTY:
        if not isinstance(value, str) or not value:
            raise CloudEventError(f"expected a text in the attribute `{name}`")
        if name == "source" and any(char.isspace() or not char.isprintable() for char in value):
            raise CloudEventError(
                f"expected a URI without spaces in `source`, found {named(value)}"
            )
        if name == "time":
            _check_time(value)
    elif isinstance(value, bool | str):
        pass
    elif not _is_whole(value) or not -_INTEGER_MAX <= value < _INTEGER_MAX:
        raise CloudEventError(
            f"expected a text, a boolean or an integer of 32 bits in the attribute {named(name)}"
        )


def _is_whole(value: object) -> TypeGuard[int | float]:
    """Whether it is an integer to JSON, which knows no difference between `7` and `7.0`."""
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _check_time(text: str) -> None:
    try:
        parse_timestamp(text[:19] + re.sub(r"(\.\d{6})\d*", r"\1", text[19:]))
    except HeadgateError as problem:
        raise CloudEventError(f"the attribute `time`: {problem}") from None


def _event_id(source: str, number: str) -> str:
    """Source and id together name an event; a source has no spaces, so nothing else comes to it."""
    name = f"{source} {number}"
    return name if len(name) <= ID_CHARS_MAX else f"sha256:{sha256(name.encode()).hexdigest()}"


def _line(problem: Exception) -> str:
    # It may quote what came: that could be long, or several lines.
    return printable(str(problem)[:200])
