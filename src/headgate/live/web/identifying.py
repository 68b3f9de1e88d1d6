"""Who sends this request? What its headers, its cookie and its TLS connection say of that."""

from __future__ import annotations

import binascii
from base64 import b64decode
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import urlsplit

from aiohttp import web

from headgate.http.openapi import COOKIE
from headgate.http.problems import RefusedError, unauthenticated
from headgate.http.routes import Needs
from headgate.live.identities import Credentials, Identity, NotAuthenticatedError, Token
from headgate.model.errors import named


class Identities(Protocol):
    """Everybody that the broker knows; `live.identities.Identities` is one."""

    async def from_credentials(self, said: Credentials, address: str) -> Identity: ...
    async def log_in(self, name: str, password: str, address: str) -> Token: ...
    async def log_out(self, token: str) -> None: ...


def address_of(request: web.BaseRequest) -> str:
    """The other end's address, by which attempts are counted."""
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return str(peer[0]) if peer else "unknown"


def credentials_of(request: web.BaseRequest) -> Credentials:
    """What a request says of its sender; it may be nothing."""
    basic, bearer = _authorization(request)
    if basic is None and bearer is None:
        bearer = _cookie(request)
    return Credentials(basic=basic, bearer=bearer, certificate=_certificate(request))


def _authorization(request: web.BaseRequest) -> tuple[tuple[str, str] | None, str | None]:
    said = request.headers.getall("Authorization", [])
    if not said:
        return None, None
    if len(said) > 1:
        raise RefusedError(400, "the header `Authorization` is there twice: keep one")
    scheme, _, content = said[0].partition(" ")
    content = content.strip()
    if scheme.lower() == "bearer" and content:
        return None, content
    if scheme.lower() == "basic":
        return _name_and_password(content), None
    raise unauthenticated(f"expected `Basic` or `Bearer` in `Authorization`, found {named(scheme)}")


def _name_and_password(content: str) -> tuple[str, str]:
    try:
        name, colon, password = b64decode(content, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        colon = ""
    if not colon:
        # What was sent isn't said again: there may be a password in it.
        raise unauthenticated("expected `name:password` in UTF-8 and Base64 after `Basic`")
    return name, password


def _cookie(request: web.BaseRequest) -> str | None:
    said = request.headers.get("Cookie")
    if said is None:
        return None
    try:
        found = SimpleCookie(said).get(COOKIE)
    except CookieError:
        return None
    return found.value if found is not None and found.value else None


def _certificate(request: web.BaseRequest) -> bytes | None:
    connection = request.transport.get_extra_info("ssl_object") if request.transport else None
    if connection is None:
        return None
    certificate: bytes | None = connection.getpeercert(binary_form=True)
    return certificate


def check_origin(request: web.BaseRequest) -> None:
    """Refuse what a page of another site made a browser send, with a cookie or a certificate.

    Nobody but a browser sends an `Origin`, and then for pages of other origins in any case.
    """
    origin = request.headers.get("Origin")
    site = request.headers.get("Sec-Fetch-Site", "none")
    if origin is not None and urlsplit_or_nothing(origin) != request.headers.get("Host", ""):
        raise RefusedError(403, f"pages of {named(origin)} may not send requests here")
    if site not in ("same-origin", "none"):
        raise RefusedError(403, f"requests that are {named(site)} to this page are refused")


def urlsplit_or_nothing(url: str) -> str | None:
    """Host and port of a URL; nothing if it is none."""
    try:
        return urlsplit(url).netloc or None
    except ValueError:
        return None


async def identify(request: web.BaseRequest, needs: Needs, identities: Identities) -> Identity:
    """Whom the request is from, if it may ask for this."""
    try:
        found = await identities.from_credentials(credentials_of(request), address_of(request))
    except NotAuthenticatedError as refusal:
        raise unauthenticated(str(refusal), refusal.retry_after_s) from None
    if needs is Needs.ADMINISTRATOR and not found.administrator:
        raise RefusedError(403, f"{named(found.principal)} is no administrator")
    if needs is Needs.AUDITOR and not (found.auditor or found.administrator):
        raise RefusedError(403, f"{named(found.principal)} is neither administrator nor auditor")
    return found
