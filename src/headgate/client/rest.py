"""How is a broker asked over its REST interface, without asyncio?

For commands, which ask one thing and end. Whether a request was sent at all matters when there is
no answer: what was sent may have been done.
"""

from __future__ import annotations

import http.client
import ssl
from typing import Final, TypeVar, final
from urllib.parse import urlencode, urlsplit

import msgspec

from headgate.client.access import Access, about_tls, broker_url, untrusted
from headgate.client.errors import ClientError, NotAuthenticatedError, UnreachableError
from headgate.http.shapes import Problem
from headgate.model.errors import printable
from headgate.stores.acl import UnknownOutcomeError

TIMEOUT_S: Final = 30.0
REPLY_BYTES_MAX: Final = 256 * 1024 * 1024
_SAFE: Final = frozenset({"GET", "HEAD"})

T = TypeVar("T")


@final
class StatusError(ClientError):
    """A broker refused a request; its text is what the broker says."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(printable(problem.detail))
        self.problem = problem

    @property
    def status(self) -> int:
        return self.problem.status


@final
class Rest:
    """One broker, asked over HTTP."""

    def __init__(self, url: str, access: Access, timeout_s: float = TIMEOUT_S) -> None:
        self.url = broker_url(url)
        access.check_for(self.url)
        self._access = access
        self._timeout_s = timeout_s
        self._context = access.context_for(self.url)

    def elsewhere(self, url: str) -> Rest:
        """The same asker, at another broker."""
        return Rest(url, self._access, self._timeout_s)

    def get(self, path: str, shape: type[T], **query: object) -> T:
        said = {name: str(value) for name, value in query.items() if value is not None}
        return self.ask("GET", f"{path}?{urlencode(said)}" if said else path, shape)

    def ask(
        self, method: str, path: str, shape: type[T], body: object = None, more_s: float = 0
    ) -> T:
        """One request, which may take so much longer than usual; the reply in its shape."""
        content = None if body is None else msgspec.json.encode(body)
        status, reply = self._exchange(method, path, content, more_s)
        if status >= 400:
            raise self._refusal(status, reply)
        try:
            return msgspec.json.decode(reply or b"null", type=shape)
        except (msgspec.MsgspecError, ValueError) as problem:
            raise UnreachableError(
                f"{self.url} is no broker that this program understands: {problem}"
            ) from None

    def _exchange(
        self, method: str, path: str, content: bytes | None, more_s: float
    ) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        connection = self._connection(parts.hostname or "", parts.port or 0, more_s)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise UnreachableError(f"can't connect to {self.url}: {_why(problem)}") from None
        headers = {"Accept": "application/json", **self._access.headers()}
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, parts.path + path, content, headers)
            answer = connection.getresponse()
            reply = answer.read(REPLY_BYTES_MAX + 1)
            if answer.length and len(reply) <= REPLY_BYTES_MAX:
                raise http.client.IncompleteRead(reply, answer.length)
        except (OSError, http.client.HTTPException) as problem:
            raise self._no_answer(method, problem) from None
        finally:
            connection.close()
        if len(reply) > REPLY_BYTES_MAX:
            raise UnreachableError(f"{self.url} says more than {REPLY_BYTES_MAX:,} bytes at once")
        return answer.status, reply

    def _connection(self, host: str, port: int, more_s: float) -> http.client.HTTPConnection:
        timeout_s = self._timeout_s + more_s
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=self._context)

    def _no_answer(self, method: str, problem: Exception) -> ClientError | UnknownOutcomeError:
        said = f"no answer from {self.url}: {_why(problem)}"
        if isinstance(problem, http.client.RemoteDisconnected):
            said += about_tls(self.url)
        if method in _SAFE:
            return UnreachableError(said)
        return UnknownOutcomeError(f"it may have been done or not: {said}")

    def _refusal(self, status: int, reply: bytes) -> ClientError:
        try:
            problem = msgspec.json.decode(reply, type=Problem)
        except (msgspec.MsgspecError, ValueError):
            problem = Problem("", status, f"{self.url} answers {status} without a reason")
        if status == 401:
            return NotAuthenticatedError(printable(problem.detail))
        return StatusError(problem)


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return untrusted(problem.verify_message)
    if isinstance(problem, ssl.SSLError):
        return f"it doesn't speak TLS as expected ({problem.reason})"
    if isinstance(problem, TimeoutError):
        return "it takes too long"
    if isinstance(problem, OSError) and problem.strerror:
        return printable(problem.strerror.lower())
    return printable(str(problem)) or problem.__class__.__name__
