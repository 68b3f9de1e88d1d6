"""Does every request get an answer, whatever happens, and one line in the log?"""

import asyncio
import json
from io import StringIO
from pathlib import Path

import aiohttp
import pytest

from headgate.http import event_streams
from headgate.live import logs
from headgate.live.node import Node
from headgate.stores.acl import StoreError, UnknownOutcomeError
from tests.live.web.servers import ADMIN, site


def lines(said: StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_each_request_is_written_down_without_its_query(tmp_path: Path) -> None:
    async def play() -> list[dict[str, object]]:
        said = StringIO()
        logs.configure("info", "json", said)
        try:
            async with site(tmp_path) as made:
                await made.ask("GET", "/v1/policy?version=1&token=s3cret", who=ADMIN)
        finally:
            logs.configure("warning", "text")
        assert "s3cret" not in said.getvalue()
        return [line for line in lines(said) if line["event"] == "request"]

    (line,) = asyncio.run(play())
    assert (line["method"], line["path"], line["status"]) == ("GET", "/v1/policy", 400)
    assert (line["principal"], line["address"]) == ("ann", "127.0.0.1")


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (StoreError("gone"), 503),
        (UnknownOutcomeError("perhaps"), 503),
        (ZeroDivisionError("s3cret"), 500),
    ],
)
def test_a_fault_is_an_answer_that_says_no_more_than_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, status: int
) -> None:
    async def administer(*_: object) -> int:
        raise fault

    async def play() -> None:
        async with site(tmp_path) as made:
            monkeypatch.setattr(Node, "administer", administer)
            body = {"changes": [{"create_group": "g"}]}
            found, problem = await made.ask("POST", "/v1/policy/batches", who=ADMIN, json=body)
            assert (found, problem["status"]) == (status, status)
            assert "s3cret" not in problem["detail"]
            monkeypatch.undo()
            assert (await made.ask("POST", "/v1/policy/batches", who=ADMIN, json=body))[0] == 200

    said = StringIO()
    logs.configure("error", "json", said)
    try:
        asyncio.run(play())
    finally:
        logs.configure("warning", "text")
    assert len(lines(said)) == (status == 500)


def test_a_fault_within_an_answer_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise ZeroDivisionError

    async def play() -> None:
        async with site(tmp_path) as made:
            monkeypatch.setattr(event_streams, "delivery", fail)
            async with made.listen() as heard:
                await heard.named("started")
                assert (await made.ask("POST", "/v1/events", json={"a": 1}))[0] == 200
                with pytest.raises(aiohttp.ClientPayloadError):
                    await heard.named("message")

    asyncio.run(play())


def test_answers_are_not_kept_and_not_guessed_at(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.http.get(made.url + "/health/live") as answer:
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Server"] == "headgate"
            assert "Access-Control-Allow-Origin" not in answer.headers

    asyncio.run(play())
