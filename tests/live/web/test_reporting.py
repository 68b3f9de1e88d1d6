"""Does the broker say how it is: little to strangers, more to those who look after it?"""

import asyncio
from pathlib import Path

from tests.live.web.servers import AUDITOR, JANE, site


def test_health_is_told_to_everybody_and_says_little(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            assert await made.ask("GET", "/health/live", who={}) == (200, {"status": "ok"})
            assert await made.ask("GET", "/health/ready", who={}) == (200, {"status": "ok"})
            made.reports.ready = False
            assert await made.ask("GET", "/health/ready", who={}) == (503, {"status": "not ready"})
            assert await made.ask("GET", "/health/live", who={}) == (200, {"status": "ok"})

    asyncio.run(play())


def test_status_streams_and_subscriptions_are_for_auditors(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            _, status = await made.ask("GET", "/v1/status", who=AUDITOR)
            assert (status["broker"], status["version"]) == ("b", 1)
            _, streams = await made.ask("GET", "/v1/streams", who=AUDITOR)
            assert {"events", "orders"} <= {one["stream"] for one in streams["hosted"]}
            assert streams["known"] == ["events", "orders"]
            async with made.listen(filter="a > 1") as heard:
                await heard.named("started")
                await heard.named("started")
                _, found = await made.ask("GET", "/v1/subscriptions", who=AUDITOR)
            (one,) = found["subscriptions"]
            assert (one["principal"], one["filter"], one["durable"]) == ("jane", "a > 1", None)
            assert one["streams"]["events"]["start"] is not None
            for path in ("/v1/status", "/v1/streams", "/v1/subscriptions"):
                assert (await made.ask("GET", path, who=JANE))[0] == 403

    asyncio.run(play())


def test_metrics_are_counted_and_told_to_whom_the_settings_say(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path / "open") as made:
            await made.ask("GET", "/health/live")
            status, said = await made.ask("GET", "/metrics", who={})
            assert status == 200
            assert b'headgate_http_requests_total{route="is_live",status="200"} 1.0' in said
            assert b"headgate_http_connections 1.0" in said
        async with site(tmp_path / "auditors", settings={"metrics": "auditors"}) as made:
            assert (await made.ask("GET", "/metrics", who={}))[0] == 401
            assert (await made.ask("GET", "/metrics", who=JANE))[0] == 403
            assert (await made.ask("GET", "/metrics", who=AUDITOR))[0] == 200
        async with site(tmp_path / "off", settings={"metrics": "off"}) as made:
            assert (await made.ask("GET", "/metrics", who=AUDITOR))[0] == 403

    asyncio.run(play())


def test_the_description_is_served(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            status, said = await made.ask("GET", "/openapi.json", who={})
            assert (status, said["openapi"]) == (200, "3.1.0")

    asyncio.run(play())
