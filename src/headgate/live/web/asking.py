"""What exactly is asked? Parameters as their route types them, and the body within its limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, final
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

from headgate.http.content_types import JSON, UnsupportedTypeError, read_content_type
from headgate.http.problems import RefusedError, temporary
from headgate.http.routes import Parameter, Route
from headgate.live.identities import Identity
from headgate.live.web.connections import Connection
from headgate.model.errors import named, printable

T = TypeVar("T")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_REAL = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?")
_WORDS: Mapping[str, object] = {"true": True, "false": False}
_QUERY_FIELDS_MAX = 32


@final
class Bodies:
    """How many bytes of bodies are here at once, of all requests together."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.bytes = 0

    def take(self, count: int) -> None:
        if self.bytes + count > self.bytes_max:
            raise temporary("too much is being sent here at once: try again")
        self.bytes += count

    def give_back(self, count: int) -> None:
        self.bytes -= count


@dataclass
class Asked:
    """One request, whom it is from, and what its route takes of it."""

    request: web.BaseRequest
    route: Route
    bodies: Bodies
    body_bytes_max: int
    body_s: float
    known: Identity | None = None
    said: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that are there, by name."""
    taken: int = field(default=0, init=False)

    @property
    def identity(self) -> Identity:
        assert self.known is not None
        return self.known

    @property
    def connection(self) -> Connection:
        connection = self.request.protocol
        assert isinstance(connection, Connection)
        return connection

    @property
    def content_type(self) -> str | None:
        return self.request.headers.get("Content-Type")

    async def body(self) -> bytes:
        """The whole body; a refusal as soon as it is known to be too large, or too slow."""
        encoding = self.request.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise RefusedError(415, f"expected no `Content-Encoding`, found {named(encoding)}")
        length = self.request.headers.get("Content-Length")
        if length is not None and length.isdigit() and int(length) > self.body_bytes_max:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.body_s):
                return await self._read()
        except TimeoutError:
            raise RefusedError(408, f"the body took longer than {self.body_s:g} s") from None
        except (RequestPayloadError, HttpProcessingError, web.PayloadAccessError):
            raise RefusedError(400, "the body ends before its end") from None

    async def _read(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := await self.request.content.readany():
            size += len(part)
            if size > self.body_bytes_max:
                raise self._too_large()
            self.bodies.take(len(part))
            self.taken += len(part)
            parts.append(part)
        return b"".join(parts)

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"expected a body of at most {self.body_bytes_max:,} bytes")

    async def json(self, shape: type[T]) -> T:
        """The body as JSON in a shape."""
        said = read_content_type(self.content_type)
        if said is None or said.media != JSON:
            raise UnsupportedTypeError(f"expected a body of type `{JSON}`")
        said.check_utf8()
        return decoded(await self.body(), shape)

    def done(self) -> None:
        """The body isn't needed any more."""
        self.bodies.give_back(self.taken)
        self.taken = 0


def decoded(body: bytes, shape: type[T]) -> T:
    """JSON in a shape; a refusal says what doesn't fit."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise RefusedError(400, printable(str(problem)[:500])) from None


def parameters_of(
    request: web.BaseRequest, route: Route, parts: Mapping[str, str]
) -> dict[str, Any]:
    """The parameters of a request, each of the kind that its route says, and no others."""
    by_name = {one.name: one for one in route.parameters if one.where != "header"}
    found = {name: _typed(by_name[name], text) for name, text in parts.items()}
    for name, text in _query(request):
        one = by_name.get(name)
        if one is None or one.where != "query":
            raise RefusedError(400, f"there is no parameter {named(name)} here")
        if name in found:
            raise RefusedError(400, f"the parameter `{name}` is there twice: keep one")
        found[name] = _typed(one, text)
    for one in route.parameters:
        if one.where == "header" and one.name in request.headers:
            found[one.name] = _typed(one, request.headers[one.name])
    return found


def _query(request: web.BaseRequest) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            request.rel_url.raw_query_string,
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_QUERY_FIELDS_MAX,
        )
    except ValueError as problem:
        raise RefusedError(400, f"the query can't be read: {problem}") from None


def _typed(one: Parameter, text: str) -> Any:
    plain: object = text
    if one.kind is bool:
        plain = _WORDS.get(text, text)
    elif _is_number(one.kind):
        is_integer = _INTEGER.fullmatch(text) is not None
        plain = int(text) if is_integer else float(text) if _REAL.fullmatch(text) else text
    try:
        return msgspec.convert(plain, one.kind)
    except msgspec.ValidationError as problem:
        line = printable(str(problem))
        raise RefusedError(400, f"the parameter `{one.name}`: {line}") from None


def _is_number(kind: Any) -> bool:
    origin = getattr(kind, "__origin__", kind)
    return origin in (int, float)
