"""Is what comes over HTTP published as it was meant, once, or refused with the right status?"""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate import Action, Filter, Rule
from headgate.live.web.limits import WebLimits
from tests.live.web.servers import JANE, TOM, Site, site, until

CLOUDEVENT = {"specversion": "1.0", "id": "e1", "source": "/x", "type": "quote", "data": {"a": 1}}
STRUCTURED = {"Content-Type": "application/cloudevents+json"}
BATCHED = {"Content-Type": "application/cloudevents-batch+json"}


def records(made: Site, stream: str = "events") -> list[Any]:
    return [one for one in made.node.log.read(stream, 0, 100) if not one.is_marker]


def test_an_event_is_published_and_its_place_is_answered(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            assert await made.ask("POST", "/v1/events", json={"a": 1}) == (
                200,
                {"stream": "events", "offset": 2, "version": 1, "repeated": False},
            )
            status, place = await made.ask("POST", "/v1/streams/orders/events", json={"a": 2})
            assert (status, place["stream"]) == (200, "orders")
            assert [one.body for one in records(made)] == [b'{"a":1}']
            assert records(made)[0].publisher == "jane"

    asyncio.run(play())


def test_each_mode_of_cloudevents_gives_the_same_event(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            body = msgspec.json.encode(CLOUDEVENT)
            assert (await made.ask("POST", "/v1/events", headers=STRUCTURED, data=body))[0] == 200
            binary = {
                "ce-specversion": "1.0",
                "ce-id": "e2",
                "ce-source": "/x",
                "ce-type": "quote",
                "Content-Type": "application/json",
            }
            answer = await made.ask("POST", "/v1/events", headers=binary, data=b'{"a":1}')
            assert answer[0] == 200
            first, second = (msgspec.json.decode(one.body) for one in records(made))
            assert first == CLOUDEVENT
            assert second == {**CLOUDEVENT, "id": "e2", "datacontenttype": "application/json"}

    asyncio.run(play())


def test_what_is_repeated_is_answered_again_and_not_stored_twice(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            key = {"Idempotency-Key": "k1"}
            first = await made.ask("POST", "/v1/events", headers=key, json={"a": 1})
            second = await made.ask("POST", "/v1/events", headers=key, json={"a": 1})
            assert second == (200, {**first[1], "repeated": True})
            assert len(records(made)) == 1

    asyncio.run(play())


def test_a_batch_says_what_became_of_each(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            good = [{**CLOUDEVENT, "id": f"e{n}"} for n in range(3)]
            status, answer = await made.ask(
                "POST", "/v1/events", headers=BATCHED, data=msgspec.json.encode(good)
            )
            assert status == 200
            assert [one["offset"] for one in answer["published"]] == [2, 3, 4]
            mixed = [
                {**CLOUDEVENT, "id": "x"},
                {"id": 1},
                {**CLOUDEVENT, "data": {"$a": 1}},
                good[0],
            ]
            mixed[2] = {**CLOUDEVENT, "id": "y", "data": 2**70}
            status, answer = await made.ask(
                "POST", "/v1/events", headers=BATCHED, data=msgspec.json.encode(mixed)
            )
            assert status == 207
            first, second, third, fourth = answer["published"]
            assert first["offset"] == 5
            assert (second["status"], third["status"]) == (400, 422)
            assert fourth["repeated"]
            assert await made.ask("POST", "/v1/events", headers=BATCHED, data=b"[]") == (
                200,
                {"published": []},
            )

    asyncio.run(play())


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        ("/v1/events", {"Content-Type": "application/json"}, b"{", 400),
        ("/v1/events", {"Content-Type": "application/json"}, b"", 400),
        ("/v1/events", {"Content-Type": "application/json"}, b'{"a":"\xff"}', 400),
        ("/v1/events", {"Content-Type": "application/json"}, b"[" * 1_000_000, 422),
        ("/v1/events", {"Content-Type": "application/json"}, b'{"$a":1}', 422),
        ("/v1/events", {"Content-Type": "application/json"}, b'{"a":1,"a":2}', 422),
        ("/v1/events", {"Content-Type": "application/json"}, b'"' + b"x" * 2**20 + b'"', 413),
        ("/v1/events", {"Content-Type": "application/x-www-form-urlencoded"}, b"{}", 415),
        ("/v1/events", {"Content-Type": "application/cloudevents+xml"}, b"<a/>", 415),
        ("/v1/events", {**STRUCTURED, "Content-Encoding": "gzip"}, b"", 415),
        ("/v1/events", STRUCTURED, b"{}", 400),
        ("/v1/events", BATCHED, b"{}", 400),
        ("/v1/streams/none/events", {"Content-Type": "application/json"}, b"{}", 404),
        ("/v1/streams/%ff/events", {"Content-Type": "application/json"}, b"{}", 400),
        ("/v1/events?x=1", {"Content-Type": "application/json"}, b"{}", 400),
    ],
)
def test_what_can_not_be_published_is_refused(
    tmp_path: Path, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            found, problem = await made.ask("POST", path, headers=headers, data=body)
            assert (found, problem["status"]) == (status, status), problem
            assert records(made) == []

    asyncio.run(play())


def test_the_policy_decides_who_publishes_what(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            status, problem = await made.ask("POST", "/v1/events", who=TOM, json={"a": 1})
            assert status == 403
            assert "`tom`" in problem["detail"]
            low = Rule("tom", Action.PUBLISH, Filter.parse("a < 5"))
            version = await made.grant(Rule("tom", Action.CONNECT), low)
            await until(lambda: made.node.core.policy.known >= version)
            assert (await made.ask("POST", "/v1/events", who=TOM, json={"a": 1}))[0] == 200
            assert (await made.ask("POST", "/v1/events", who=TOM, json={"a": 9}))[0] == 403

    asyncio.run(play())


def test_bytes_that_are_no_json_are_published_as_they_are(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            picture = {"Content-Type": "image/png"}
            assert (await made.ask("POST", "/v1/events", headers=picture, data=b"\x89"))[0] == 200
            (record,) = records(made)
            assert (record.body, record.is_json) == (b"\x89", False)

    asyncio.run(play())


def test_a_body_that_is_too_large_is_cut_off_while_it_comes(tmp_path: Path) -> None:
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"x" * 65_536

    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(body_bytes=100_000)) as made:
            headers = {"Content-Type": "application/json"}
            status, _ = await made.ask("POST", "/v1/events", headers=headers, data=endless())
            assert status == 413
            # Told beforehand, it isn't read at all.
            status, _ = await made.ask("POST", "/v1/events", headers=headers, data=b"x" * 200_000)
            assert status == 413
            assert made.server.bodies_bytes == 0

    asyncio.run(play())


def test_bodies_have_a_bound_together(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(bodies_bytes=1_000)) as made:
            large = b'"' + b"x" * 2_000 + b'"'
            headers = {"Content-Type": "application/json"}
            status, problem = await made.ask("POST", "/v1/events", headers=headers, data=large)
            assert status == 503
            assert "at once" in problem["detail"]
            assert (await made.ask("POST", "/v1/events", json={"a": 1}))[0] == 200

    asyncio.run(play())


def test_a_broker_without_streams_says_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, streams=()) as made:
            assert (await made.ask("POST", "/v1/events", json={"a": 1}))[0] == 404

    asyncio.run(play())


def test_somebody_unknown_is_told_how_to_be_known(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            async with made.http.post(made.url + "/v1/events", json={}) as answer:
                assert answer.status == 401
                assert answer.headers["WWW-Authenticate"].startswith("Basic")
            assert JANE["Authorization"].split()[1] not in str(await made.ask("GET", "/metrics"))

    asyncio.run(play())


def test_the_span_of_whoever_publishes_is_passed_on(tmp_path: Path) -> None:
    span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    async def play() -> None:
        async with site(tmp_path) as made:
            seen: list[str | None] = []
            made.node.trace = lambda client, request, traceparent: seen.append(traceparent)  # type: ignore[method-assign]
            headers = {**JANE, "traceparent": span}
            assert (await made.ask("POST", "/v1/events", headers=headers, json={}))[0] == 200
            async with made.talk() as talk:
                said = {"do": "publish", "request": 1, "event": {}, "traceparent": span}
                await talk.say(said)
                await talk.next("published")
            assert seen == [span, span]

    asyncio.run(play())
