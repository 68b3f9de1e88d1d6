"""How does somebody come in once, and stay known for a while? By a token."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import final

import msgspec
from aiohttp import web

from headgate.http import shapes
from headgate.http.openapi import COOKIE
from headgate.http.problems import unauthenticated
from headgate.live.identities import NotAuthenticatedError, Token
from headgate.live.web.application import Answer
from headgate.live.web.asking import Asked
from headgate.live.web.identifying import Identities, address_of, credentials_of
from headgate.model.values import format_timestamp


def _moment(time_us: int | None) -> str | None:
    if time_us is None:
        return None
    return format_timestamp(datetime.fromtimestamp(time_us // 1_000_000, UTC))


@final
class Tokens:
    """The requests about who somebody is."""

    def __init__(self, identities: Identities, *, is_tls: bool) -> None:
        self._identities = identities
        self._is_tls = is_tls

    async def log_in(self, asked: Asked) -> Answer:
        basic = credentials_of(asked.request).basic
        if asked.request.body_exists:
            said = await asked.json(shapes.Login)
            basic = said.name, said.password
        if basic is None:
            raise unauthenticated("expected a name and a password, found neither")
        try:
            token = await self._identities.log_in(*basic, address_of(asked.request))
        except NotAuthenticatedError as refusal:
            raise unauthenticated(str(refusal), refusal.retry_after_s) from None
        return self._answer(token, with_cookie=bool(asked.said.get("cookie")))

    def _answer(self, token: Token, *, with_cookie: bool) -> Answer:
        expires = _moment(token.identity.expires_us)
        assert expires is not None
        answer = shapes.Token(token.token, expires)
        if not with_cookie:
            return answer
        response = web.Response(body=msgspec.json.encode(answer), content_type="application/json")
        response.set_cookie(
            COOKIE, token.token, httponly=True, samesite="Strict", secure=self._is_tls, path="/"
        )
        return response

    async def log_out(self, asked: Asked) -> Answer:
        bearer = credentials_of(asked.request).bearer
        if bearer is not None:
            await self._identities.log_out(bearer)
        response = web.Response(status=204)
        response.del_cookie(COOKIE, path="/")
        return response

    async def who_am_i(self, asked: Asked) -> Answer:
        found = asked.identity
        return shapes.WhoAmI(
            found.principal, found.how, found.administrator, found.auditor,
            _moment(found.expires_us),
        )  # fmt: skip
