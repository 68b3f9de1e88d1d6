"""Does a reader of Server-Sent Events get what it is owed, once, and go on where it was?"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from headgate import Action, Batch, Revoke, Rule
from headgate.http.cursors import read_cursor
from headgate.live.web.limits import WebLimits
from tests.live.web.servers import TOM, Heard, Site, may_all, site, stuck, until


async def publish(made: Site, *numbers: int, stream: str = "events") -> None:
    for number in numbers:
        status, _ = await made.ask("POST", f"/v1/streams/{stream}/events", json={"a": number})
        assert status == 200


async def numbers(heard: Heard, count: int) -> list[int]:
    return [(await heard.named("message"))[1]["event"]["a"] for _ in range(count)]


def test_a_reader_is_told_where_it_starts_and_gets_what_matches(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.listen(filter="a > 1") as heard:
            streams = {(await heard.named("started"))[1]["stream"] for _ in range(2)}
            assert streams == {"events", "orders"}
            await publish(made, 1, 2, 3)
            number, said = await heard.named("message")
            assert said.pop("known")["$publisher"] == "jane"
            assert said == {
                "stream": "events",
                "incarnation": "boot1",
                "offset": 3,
                "version": 1,
                "event": {"a": 2},
            }
            assert read_cursor(number)["events"].offset == 3
            assert heard.answer.headers["Content-Type"] == "text/event-stream"

    asyncio.run(play())


def test_a_reader_goes_on_after_the_last_id_that_it_saw(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            await publish(made, 1, 2, 3)
            await publish(made, 4, stream="orders")
            async with made.listen(begin="start") as heard:
                seen: list[tuple[int, str]] = []
                while len(seen) < 2:
                    number, said = await heard.named("message")
                    seen.append((said["event"]["a"], number))
            await publish(made, 5)
            last = {"Last-Event-ID": seen[-1][1]}
            async with made.listen(headers=last, begin="start") as heard:
                rest = await numbers(heard, 3)
            assert sorted([one for one, _ in seen] + rest) == [1, 2, 3, 4, 5]

    asyncio.run(play())


def test_a_stream_that_goes_on_in_another_life_is_read_from_its_beginning(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            await publish(made, 1, 2)
            async with made.listen(begin="events@gone.17,orders@boot1.0") as heard:
                assert await numbers(heard, 2) == [1, 2]

    asyncio.run(play())


def test_a_durable_subscription_is_acknowledged_by_a_request_and_by_coming_back(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            async with made.listen(durable="desk") as heard:
                await heard.named("started")
                await publish(made, 1, 2, 3)
                cursor, _ = await heard.named("message")
                path = "/v1/subscriptions/desk/acknowledge"
                status, kept = await made.ask("POST", path, json={"cursor": cursor})
                assert status == 200
                assert read_cursor(kept["cursor"])["events"].offset == 2
                assert (await made.ask("POST", path, json={"stream": "events", "offset": 2})) == (
                    200,
                    kept,
                )
                seen, _ = await heard.named("message")
            # The second was seen, as its id says, and isn't delivered again.
            async with made.listen(headers={"Last-Event-ID": seen}, durable="desk") as heard:
                assert await numbers(heard, 1) == [3]
            async with made.listen(durable="desk") as heard:
                assert await numbers(heard, 1) == [3]

    asyncio.run(play())


def test_only_who_reads_it_acknowledges_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            await made.grant(*may_all("tom"))
            async with made.listen(durable="desk") as heard:
                await heard.named("started")
                path = "/v1/subscriptions/desk/acknowledge"
                said = {"stream": "events", "offset": 1}
                assert (await made.ask("POST", path, who=TOM, json=said))[0] == 404
                assert (await made.ask("POST", path, json={"stream": "events"}))[0] == 422
                assert (await made.ask("POST", path, json={"cursor": "x"}))[0] == 400

    asyncio.run(play())


def test_a_second_reader_takes_a_durable_subscription_over(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.listen(durable="desk") as first:
            await first.named("started")
            async with made.listen(durable="desk") as second:
                await second.named("started")
                _, said = await first.named("ended")
                assert "again" in said["because"]

    asyncio.run(play())


def test_what_can_not_be_subscribed_to_is_refused_with_a_status(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            for path, status in {
                "/v1/subscribe?filter=a+%3E": 422,
                "/v1/subscribe?order=random": 400,
                "/v1/subscribe?from=nonsense": 400,
                "/v1/subscribe?durable=": 400,
                "/v1/subscribe?filter=a&filter=b": 400,
            }.items():
                assert (await made.ask("GET", path))[0] == status, path
            status, problem = await made.ask("GET", "/v1/subscribe", who=TOM)
            assert (status, "tom" in problem["detail"]) == (403, True)

    asyncio.run(play())


def test_who_may_not_connect_any_more_is_told_why_it_ends(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.listen() as heard:
            await heard.named("started")
            taken = Revoke(Rule("jane", Action.CONNECT))
            await made.node.administer(Batch((taken,), "root", datetime.now(UTC)), None)
            _, said = await heard.named("ended")
            assert "version 2" in said["because"]

    asyncio.run(play())


def test_a_reader_that_hears_nothing_sees_that_somebody_is_there(tmp_path: Path) -> None:
    async def play() -> None:
        limits = WebLimits(heartbeat_s=0.01)
        async with site(tmp_path, limits=limits) as made, made.listen(filter="a > 1") as heard:
            async with asyncio.timeout(20):
                while await heard.answer.content.readline() != b":\n":
                    pass

    asyncio.run(play())


def test_a_reader_that_stops_reading_is_let_go_and_costs_no_more_than_its_window(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        limits = WebLimits(silent_s=0.2)
        async with site(tmp_path, limits=limits, core={"window": 50}) as made:
            quiet = await stuck(made, "/v1/subscribe")
            await until(lambda: made.node.clients == 1)
            for _ in range(100):
                assert (await made.ask("POST", "/v1/events", json={"a": "x" * 50_000}))[0] == 200
            await until(lambda: made.server.connections == 1)
            quiet.close()

    asyncio.run(play())


def test_a_filter_sees_what_its_reader_may_read_and_no_more(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            cut = Rule("tom", Action.SUBSCRIBE, attributes=frozenset({"a"}))
            await made.grant(Rule("tom", Action.CONNECT), cut)
            async with made.listen(who=TOM) as heard:
                await heard.named("started")
                await made.ask("POST", "/v1/events", json={"a": 1, "secret": 2})
                _, said = await heard.named("message")
                assert said["event"] == {"a": 1}
                assert "known" not in said

    asyncio.run(play())
