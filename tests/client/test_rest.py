"""Is it known, after a request, whether it may have been done?"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from msgspec import Struct

from headgate.client.access import Access
from headgate.client.errors import ClientError, NotAuthenticatedError, UnreachableError
from headgate.client.rest import Rest, StatusError
from headgate.http import shapes
from headgate.stores.acl import UnknownOutcomeError
from tests.client.running import PASSWORD, Running


class Anything(Struct):
    """A reply of which nothing is expected."""


@contextmanager
def saying(reply: bytes) -> Iterator[str]:
    """One connection after the other is read once, answered with this, and closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(reply)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_broker_is_asked_and_answers_in_its_shape(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        rest = Rest(running.url, Access("jane", password=PASSWORD))
        found = rest.get("/v1/whoami", shapes.WhoAmI)
        assert (found.principal, found.administrator) == ("jane", False)
        with pytest.raises(StatusError) as refused:
            rest.get("/v1/policy", shapes.Policy, version=None)
        assert refused.value.status == 403
        with pytest.raises(NotAuthenticatedError):
            Rest(running.url, Access("jane", password="wrong")).get("/v1/whoami", shapes.WhoAmI)
        ann = Rest(running.url, Access("ann", password=PASSWORD))
        assert ann.get("/v1/policy", shapes.Policy, version=0).rules == []


def test_where_nobody_listens_nothing_was_done() -> None:
    rest = Rest("http://127.0.0.1:1", Access())
    for method in ("GET", "POST"):
        with pytest.raises(UnreachableError, match=r"can't connect to .*: connection refused"):
            rest.ask(method, "/", Anything)


def test_what_was_sent_and_not_answered_may_have_been_done() -> None:
    for reply in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"):
        with saying(reply) as url:
            rest = Rest(url, Access())
            with pytest.raises(UnreachableError, match="no answer from"):
                rest.get("/", Anything)
            with pytest.raises(UnknownOutcomeError, match="it may have been done or not"):
                rest.ask("POST", "/", Anything, {"a": 1})


def test_who_does_not_answer_in_time_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        rest = Rest(f"http://127.0.0.1:{server.getsockname()[1]}", Access(), timeout_s=0.01)
        with pytest.raises(UnreachableError, match="it takes too long"):
            rest.get("/", Anything)


def test_what_is_no_broker_is_not_taken_for_one() -> None:
    with saying(b"SSH-2.0-OpenSSH\r\n") as url, pytest.raises(UnreachableError):
        Rest(url, Access()).get("/", Anything)
    with (
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") as url,
        pytest.raises(UnreachableError, match="no broker that this program understands"),
    ):
        Rest(url, Access()).get("/", Anything)


def test_a_refusal_without_a_reason_is_one() -> None:
    with saying(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") as url:
        with pytest.raises(StatusError, match="answers 502 without a reason"):
            Rest(url, Access()).get("/", Anything)
        https = url.replace("http:", "https:")
        with pytest.raises(UnreachableError, match="it doesn't speak TLS"):
            Rest(https, Access()).get("/", Anything)


def test_a_reason_is_one_line() -> None:
    body = b'{"title":"","status":422,"detail":"a\\nb\\u001b[2J"}'
    head = b"HTTP/1.1 422 No\r\nContent-Length: %d\r\n\r\n" % len(body)
    with saying(head + body) as url, pytest.raises(StatusError) as refused:
        Rest(url, Access()).get("/", Anything)
    assert str(refused.value) == "a?b?[2J"


def test_a_secret_is_not_sent_in_the_clear() -> None:
    with pytest.raises(ClientError, match="expected `https`"):
        Rest("http://broker.example", Access("jane", password="x"))
    local = Rest("http://127.0.0.1:1", Access("jane", password="x"))
    with pytest.raises(ClientError, match="expected `https`"):
        local.elsewhere("http://broker.example")
