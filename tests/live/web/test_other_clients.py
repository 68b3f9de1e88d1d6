"""Across modules: do the programs and libraries of others get on with the broker?

curl, the CloudEvents SDK and the `websockets` library of PyPI, and a browser with its EventSource.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import websockets
from cloudevents.core.bindings import http as binding
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from headgate.http.socket_messages import PROTOCOL
from headgate.live.web.connections import Connection
from tests.live.web.servers import JANE, PASSWORD, Site, site, until
from tests.packages import needed

POLICY = """\
rules:
  - {principal: jane, action: connect}
  - {principal: jane, action: publish}
  - {principal: jane, action: subscribe, filter: "price > 100"}
"""


async def run(*command: str, given: bytes = b"") -> bytes:
    running = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        said, _ = await running.communicate(given)
    assert running.returncode == 0, said
    return said


def test_curl_publishes_subscribes_and_changes_the_policy(tmp_path: Path) -> None:
    curl = needed("curl", "curl")

    async def play() -> None:
        async with site(tmp_path) as made:

            async def ask(who: str, *words: str, given: bytes = b"") -> Any:
                said = await run(
                    curl, "-sS", "--fail-with-body", "-u", f"{who}:{PASSWORD}", *words, given=given
                )
                return json.loads(said)

            applied = await ask(
                "ann", "-T", "-", "-H", "Content-Type: application/yaml",
                f"{made.url}/v1/policy?why=a+file&wait_s=10", given=POLICY.encode(),
            )  # fmt: skip
            assert applied["version"] == 2
            assert applied["starting_points"]["events"] == 2
            listening = await asyncio.create_subprocess_exec(
                curl, "-sSN", "-u", f"jane:{PASSWORD}", f"{made.url}/v1/subscribe",
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert listening.stdout is not None
            async with asyncio.timeout(30):
                while await listening.stdout.readline() != b"event: started\n":
                    pass
                for price in (50, 101):
                    await ask("jane", "--json", f'{{"price":{price}}}', f"{made.url}/v1/events")
                while not (line := await listening.stdout.readline()).startswith(
                    b'data: {"stream":"events","incarnation":"boot1","offset"'
                ):
                    pass
            assert json.loads(line[6:])["event"] == {"price": 101}
            listening.terminate()
            await listening.wait()
            explained = await ask(
                "ann", "--json", '{"principal":"jane","event":{"price":50}}',
                f"{made.url}/v1/policy/explain",
            )  # fmt: skip
            assert explained["decision"] == "withhold"

    asyncio.run(play())


ATTRIBUTES = {
    "id": "e 1",
    "source": "/exchange",
    "type": "quote",
    "subject": 'Euro € "quoted" 100%',
    "desk": "seven",
}


@pytest.mark.parametrize("mode", ["binary", "structured"])
@pytest.mark.parametrize(
    ("media", "data"),
    [
        ("application/json", {"price": 101, "symbol": "IBM"}),
        ("text/plain", "Zürich"),
        ("application/octet-stream", b"\x00\xff"),
    ],
)
def test_the_cloudevents_sdk_publishes_in_both_modes(
    tmp_path: Path, mode: str, media: str, data: Any
) -> None:
    event = CloudEvent(
        attributes={**ATTRIBUTES, "datacontenttype": media, "specversion": "1.0"}, data=data
    )
    write = binding.to_binary if mode == "binary" else binding.to_structured
    message = write(event, JSONFormat())

    async def play() -> None:
        async with site(tmp_path) as made:
            status, place = await made.ask(
                "POST", "/v1/events", headers=message.headers, data=message.body
            )
            assert (status, place["repeated"]) == (200, False), place
            (body,) = [
                one.body for one in made.node.log.read("events", 0, 9) if one.body is not None
            ]
            # What the SDK reads of it is what it wrote.
            headers = {"content-type": "application/cloudevents+json"}
            back = binding.from_http(binding.HTTPMessage(headers, body), JSONFormat(), CloudEvent)
            expected = {**ATTRIBUTES, "specversion": "1.0", "datacontenttype": media}
            assert dict(back.get_attributes()) == {**dict(event.get_attributes()), **expected}
            assert back.get_data() == data
            status, place = await made.ask(
                "POST", "/v1/events", headers=message.headers, data=message.body
            )
            assert place["repeated"]

    asyncio.run(play())


def test_the_websockets_library_publishes_and_subscribes(tmp_path: Path) -> None:
    async def play() -> None:
        async with (
            site(tmp_path) as made,
            websockets.connect(
                made.url.replace("http", "ws") + "/v1/socket",
                additional_headers=JANE,
                subprotocols=[websockets.Subprotocol(PROTOCOL)],
            ) as socket,
            asyncio.timeout(30),
        ):
            assert socket.subprotocol == PROTOCOL
            assert json.loads(await socket.recv())["is"] == "connected"
            await socket.send('{"do":"subscribe","request":1,"subscription":1}')
            await socket.ping()
            told: list[Any] = []
            await socket.send('{"do":"publish","request":2,"event":{"a":1}}')
            while not any(one["is"] == "published" for one in told):
                said = json.loads(await socket.recv())
                told += said if isinstance(said, list) else [said]
            await socket.close()
            assert socket.close_code == 1000

    asyncio.run(play())


def cut_all(made: Site) -> None:
    """End all connections without a word, as a network would."""
    for connection in made.server._server.connections:
        assert isinstance(connection, Connection)
        connection.cut()


LISTEN = """
const [name, password, done] = arguments;
(async () => {
  const said = await fetch('/v1/token?cookie=true', {
    method: 'POST', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({name: name, password: password}),
  });
  window.got = []; window.begun = 0;
  window.source = new EventSource('/v1/subscribe?filter=a+%3E+1');
  source.onmessage = (event) => got.push(JSON.parse(event.data).event.a);
  source.addEventListener('started', () => { begun += 1; });
  source.onopen = () => { window.opened = (window.opened || 0) + 1; };
  done([said.status, document.cookie]);
})();
"""


def test_a_browser_listens_with_a_cookie_and_goes_on_after_a_break(tmp_path: Path) -> None:
    chromium = needed("chromium", "chromium", "chromium-driver")
    driver_path = needed("chromedriver", "chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.add_argument(f"--user-data-dir={tmp_path / 'browser'}")

    async def play(made: Site, driver: Any) -> None:
        async def do(script: str) -> Any:
            return await asyncio.to_thread(driver.execute_script, script)

        async def told(script: str, expected: object) -> None:
            async with asyncio.timeout(60):
                while await do(script) != expected:
                    await asyncio.sleep(0.01)

        await asyncio.to_thread(driver.get, made.url + "/health/live")
        status, cookie = await asyncio.to_thread(
            driver.execute_async_script, LISTEN, "jane", PASSWORD
        )
        # The cookie is the browser's, and no script's.
        assert (status, cookie) == (200, "")
        await told("return begun", 2)
        for number in (1, 2, 3):
            assert (await made.ask("POST", "/v1/events", json={"a": number}))[0] == 200
        await told("return got", [2, 3])
        cut_all(made)
        async with aiohttp.ClientSession() as made.http:  # of the one before nothing is left
            assert (await made.ask("POST", "/v1/events", json={"a": 4}))[0] == 200
        await told("return got", [2, 3, 4])
        assert await do("return opened") == 2

    async def whole() -> None:
        async with site(tmp_path) as made:
            service = Service(executable_path=driver_path)
            driver = await asyncio.to_thread(webdriver.Chrome, options, service)
            try:
                await play(made, driver)
            finally:
                await asyncio.to_thread(driver.quit)
            await until(lambda: made.server.connections <= 1)

    asyncio.run(whole())
