"""What is said to whom a request is refused? One JSON object (RFC 9457) for each refusal."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from headgate.http.shapes import Problem
from headgate.model.errors import HeadgateError, printable

CONTENT_TYPE: Final = "application/problem+json"
DETAIL_CHARS_MAX: Final = 2_000
AUTHENTICATE: Final = 'Basic realm="headgate", charset="UTF-8", Bearer realm="headgate"'


class RefusedError(HeadgateError):
    """A request is refused, with a status, and headers that say more."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        *,
        current: int | None = None,
        policy_host: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = dict(headers or {})
        self.problem = Problem(
            HTTPStatus(status).phrase,
            status,
            printable(detail[:DETAIL_CHARS_MAX]),
            current=msgspec.UNSET if current is None else current,
            policy_host=msgspec.UNSET if policy_host is None else policy_host,
            url=msgspec.UNSET if url is None else url,
        )


def body_of(problem: Problem) -> bytes:
    return msgspec.json.encode(problem)


def temporary(detail: str, retry_after_s: int = 1) -> RefusedError:
    """Nothing is wrong with the request: it may be repeated."""
    return RefusedError(503, detail, {"Retry-After": str(retry_after_s)})


def unauthenticated(detail: str, retry_after_s: float | None = None) -> RefusedError:
    """Who is asking isn't known; or, with a time, asks too often."""
    if retry_after_s is not None:
        return RefusedError(429, detail, {"Retry-After": str(max(1, round(retry_after_s)))})
    return RefusedError(401, detail, {"WWW-Authenticate": AUTHENTICATE})
