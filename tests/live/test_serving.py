"""Does a broker come up whole, alone on its directory, and end with everything stored?"""

import asyncio
import dataclasses
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from headgate.broker.effects import Connected, Published
from headgate.live.config import Config, read_config, with_section
from headgate.live.node import Node
from headgate.live.serving import Serving, ServingError, log_options, url_of, web_settings
from headgate.model.errors import HeadgateError
from headgate.rights.changes import Batch, Grant
from headgate.rights.rules import Action, Rule
from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions
from headgate.stores.retention import Retention

BOUND_S = 60


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return with_section(Config(data=str(tmp_path / "data")), "http", port=0)


def play(config: Config, act: Callable[[Serving], Awaitable[Any]]) -> Serving:
    """Serve while something is done."""

    async def run() -> Serving:
        async with asyncio.timeout(BOUND_S):
            serving = Serving(config)
            await serving.start()
            try:
                await act(serving)
            finally:
                await serving.stop()
            return serving

    return asyncio.run(run())


async def nothing(serving: Serving) -> None:
    pass


async def fetch(serving: Serving, path: str, **headers: str) -> tuple[int, Any]:
    trusted = ssl.create_default_context(cafile=serving.authority_file)
    async with (
        aiohttp.ClientSession() as session,
        session.get(serving.url + path, ssl=trusted, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


class Publisher:
    """A client that says when it was heard."""

    def __init__(self) -> None:
        self.published: asyncio.Future[Published] = asyncio.get_running_loop().create_future()
        self.connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def hear(self, message: object) -> None:
        if isinstance(message, Connected):
            self.connected.set_result(None)
        elif isinstance(message, Published):
            self.published.set_result(message)

    def dropped(self, because: str) -> None:
        pass


async def publish(serving: Serving, event_id: str) -> Published:
    if serving.node.policy is not None and (await serving.node.policy.history()).version == 0:
        may = [Grant(Rule("jane", action)) for action in (Action.CONNECT, Action.PUBLISH)]
        await serving.node.administer(Batch(tuple(may), "ann", datetime.now(UTC)), None)
    listener = Publisher()
    client = serving.node.connect("jane", listener)
    await listener.connected
    client.publish(1, b'{"price": 1}', event_id)
    return await listener.published


def test_it_serves_over_tls_from_the_first_start(config: Config) -> None:
    async def ask(serving: Serving) -> None:
        assert serving.url.startswith("https://localhost:")
        assert (await fetch(serving, "/health/live"))[0] == 200
        assert serving.admin_token is not None
        token = serving.admin_token.read_text().strip()
        status, said = await fetch(serving, "/v1/whoami", Authorization=f"Bearer {token}")
        assert (status, said["principal"], said["administrator"]) == (200, "administrator", True)
        assert (await fetch(serving, "/v1/whoami"))[0] == 401

    play(config, ask)


def test_it_says_when_it_is_ready(config: Config) -> None:
    async def wait(serving: Serving) -> None:
        await serving.until_ready()
        assert (await fetch(serving, "/health/ready"))[0] == 200

    play(config, wait)


def test_what_was_published_is_on_the_disk_and_there_after_a_restart(config: Config) -> None:
    found: list[Published] = []

    async def first(serving: Serving) -> None:
        assert isinstance(serving.node.log, DiskLog)
        found.append(await publish(serving, "e1"))

    async def again(serving: Serving) -> None:
        found.append(await publish(serving, "e1"))

    one, two = play(config, first), play(config, again)
    assert [msgspec.structs.replace(said, repeated=False) for said in found] == [found[0]] * 2
    assert [said.repeated for said in found] == [False, True]
    assert one.boot != two.boot


def test_a_directory_is_one_brokers_alone(config: Config) -> None:
    async def start_another(serving: Serving) -> None:
        with pytest.raises(HeadgateError, match="another broker works on"):
            await Serving(config).start()
        assert (await fetch(serving, "/health/live"))[0] == 200

    play(config, start_another)
    play(config, nothing)


def test_a_port_that_is_taken_is_said_before_anything_is_made(
    config: Config, tmp_path: Path
) -> None:
    async def start_another(serving: Serving) -> None:
        other = with_section(Config(data=str(tmp_path / "other")), "http", port=serving.web.port)
        with pytest.raises(ServingError, match="can't be listened at"):
            await Serving(other).start()
        assert not (tmp_path / "other").exists()

    play(config, start_another)


@pytest.mark.parametrize("broken", ["DiskLog", "open_acl_store", "WebServer", "http_context"])
def test_a_start_that_fails_leaves_nothing_behind(
    config: Config, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*said: object, **more: object) -> None:
        raise HeadgateError("it is broken")

    with monkeypatch.context() as patched:
        patched.setattr(f"headgate.live.serving.{broken}", fail)
        with pytest.raises(HeadgateError, match="it is broken"):
            play(config, nothing)
    play(config, nothing)


def test_an_end_that_takes_too_long_is_cut_short_and_said_so(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Node) -> None:
        await asyncio.Event().wait()

    crashed: list[Node] = []
    crash = Node.crash

    async def seen(self: Node) -> None:
        crashed.append(self)
        await crash(self)

    with monkeypatch.context() as patched:
        patched.setattr(Node, "stop", never)
        patched.setattr(Node, "crash", seen)
        with pytest.raises(ServingError, match=r"didn't end within 2 s and was cut short"):
            play(with_section(config, "limits", stop_s=1), nothing)
    assert [node.is_running for node in crashed] == [False]
    play(config, nothing)


def test_a_certificate_is_read_again_when_told_to(config: Config) -> None:
    async def renew(serving: Serving) -> None:
        file = serving.config.directory / "tls" / "http.pem"
        file.unlink()
        serving.reload()
        assert file.exists()
        assert (await fetch(serving, "/health/live"))[0] == 200
        (serving.config.shared / "tls" / "ca.pem").write_text("nothing")
        serving.reload()  # it stays as it was
        (serving.config.shared / "tls" / "ca.pem").unlink()

    play(config, renew)


def test_the_log_is_maintained(config: Config) -> None:
    async def maintain(serving: Serving) -> None:
        await publish(serving, "e1")
        while not list((serving.config.directory / "log").rglob("*.parquet")):
            await serving._maintain_once()
        await publish_again(serving)

    async def publish_again(serving: Serving) -> None:
        assert (await publish(serving, "e2")).offset > 1

    play(with_section(config, "log", segment_s=0.001), maintain)


def test_without_tls_it_says_so_in_its_address(config: Config) -> None:
    async def ask(serving: Serving) -> None:
        assert serving.url.startswith("http://localhost:")
        assert serving.authority_file is None
        async with aiohttp.ClientSession() as session:
            answer = await session.get(f"{serving.url}/health/live")
            assert answer.status == 200

    play(with_section(config, "http", tls="off"), ask)


def test_zero_sets_no_bound_on_the_log() -> None:
    assert log_options(Config()) == LogOptions()
    config = with_section(
        Config(), "log", retention_s=5, retention_bytes=6, retention_own_s=7, size_max_bytes=8,
        owed="unsafe_removed",
    )  # fmt: skip
    options = log_options(config)
    assert options.retention == Retention(5, 6, 7, True)
    assert options.bytes_max == 8


def test_the_limits_of_the_web_server_are_those_that_were_set() -> None:
    config = Config()
    settings = web_settings(config)
    for field in dataclasses.fields(settings.limits):
        if field.name == "headers":
            continue  # nobody needs to choose how many there may be
        changed = with_section(config, "limits", **{field.name: 7})
        assert getattr(web_settings(changed).limits, field.name) == 7
        default = getattr(settings.limits, field.name)
        assert default == getattr(config.limits, field.name)


def test_the_host_of_the_policy_is_pointed_to(tmp_path: Path) -> None:
    file = tmp_path / "network.toml"
    file.write_text(
        '[network]\npolicy_host = "b1"\n[network.nodes]\na = ["b1", "b2", "b3"]\n'
        '[network.brokers.b1]\nhttp = "127.0.0.1:7201"\n[network.brokers.b2]\n'
        '[network.brokers.b3]\nhttp = "[::1]:7203"\n'
    )
    assert web_settings(read_config(file, {}, "b1")).policy_url is None
    config = read_config(file, {}, "b2")
    assert web_settings(config).policy_url == "https://localhost:7201"
    assert url_of(config, "b2") is None
    assert url_of(config, "b3") == "https://[::1]:7203"
