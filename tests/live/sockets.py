"""Plain WebSocket clients for the tests: they write down all that they say and hear."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import aiohttp

HEARD_S = 60.0
"""What hasn't come by then doesn't come: far more than the slowest machine needs."""

Said = dict[str, Any]


class Talker:
    """One connection, and everything that was heard on it."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._requests = 0
        self.news = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._unsaid: list[Said] = []
        self.heard: list[Said] = []
        self.is_over = False
        self.closed_by: Any = None
        self.on: Callable[[Said], None] = lambda said: None
        """Called with each message as it comes."""

    async def open(self) -> Talker:
        """Connect; raises where the broker isn't there or refuses."""
        self._session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {self._token}"})
        try:
            self._socket = await self._session.ws_connect(
                f"{self._url}/v1/socket", protocols=("headgate.v1",), max_msg_size=0,
                heartbeat=20,
            )  # fmt: skip
        except BaseException:
            await self._session.close()
            raise
        self._reading = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        """Until the end of the connection."""
        try:
            async for message in self._socket:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    break
                said = json.loads(message.data)
                for one in said if isinstance(said, list) else [said]:
                    self.heard.append(one)
                    self.on(one)
                self.news.set()
        except BaseException as fault:
            self.closed_by = fault
            raise
        finally:
            self.is_over = True
            if self.closed_by is None:
                self.closed_by = self._socket.close_code, self._socket.exception()
            self.news.set()

    async def say(self, *messages: Said) -> None:
        """Send these, as one text."""
        if not self.is_over:
            await self._socket.send_str(json.dumps(messages[0] if len(messages) == 1 else messages))

    def request(self) -> int:
        self._requests += 1
        return self._requests

    async def until(self, found: Callable[[Said], bool], after: int = 0) -> Said:
        """The first message, after so many, that is what is looked for."""
        at = after
        async with asyncio.timeout(HEARD_S):
            while True:
                while at < len(self.heard):
                    if found(self.heard[at]):
                        return self.heard[at]
                    at += 1
                assert not self.is_over, f"the connection ended: {self.heard[-3:]}"
                self.news.clear()
                await self.news.wait()

    async def ask(self, do: str, **said: Any) -> Said:
        """One request, and its answer."""
        request = self.request()
        await self.say({"do": do, "request": request, **said})
        return await self.until(lambda one: one.get("request") == request)

    async def over(self) -> None:
        """Wait for the end of the connection."""
        assert self._reading is not None
        await asyncio.wait_for(asyncio.shield(self._reading), HEARD_S)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._socket.close()
        await self._session.close()


async def connected(url: str, token: str, within_s: float = HEARD_S) -> Talker:
    """A connection, as soon as the broker is there and takes it."""
    async with asyncio.timeout(within_s):
        while True:
            talker = Talker(url, token)
            try:
                await talker.open()
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(0.05)
                continue
            while not talker.heard and not talker.is_over:
                talker.news.clear()
                await talker.news.wait()
            if not talker.is_over and talker.heard[0]["is"] == "connected":
                return talker
            await talker.close()
            await asyncio.sleep(0.05)


class Publisher:
    """Publishes one event after the other, and again what had no answer, over any connection."""

    def __init__(self, name: str, url: str, token: str, stream: str | None = None) -> None:
        self.name = name
        self.url, self.token = url, token
        self.stream = stream
        self.stored: dict[str, tuple[str, int, int]] = {}
        """By event id: stream, offset and version, as it was answered."""
        self.refused: dict[str, str] = {}
        self.unanswered: dict[str, Said] = {}
        self.in_flight_max = 64
        self.pause_s = 0.0
        """How long it rests after each text: a test that judges each delivery needs no flood."""
        self.repeated = 0
        self.versions: list[int] = []
        """The versions that it was told when it connected."""
        self._count = 0
        self._wanted = True
        self._asked: dict[int, str] = {}
        self._room = asyncio.Event()

    async def run(self, make: Callable[[int], Said]) -> None:
        """Publish until `finish`; what has no answer then is still tried."""
        while self._wanted or self.unanswered:
            talker = await connected(self.url, self.token)
            self.versions.append(talker.heard[0]["version"])
            self._asked.clear()
            talker.on = self._hear
            try:
                await self._publish(talker, make)
            except (aiohttp.ClientError, OSError):
                pass
            finally:
                await talker.close()

    async def _publish(self, talker: Talker, make: Callable[[int], Said]) -> None:
        await self._send(talker, list(self.unanswered))
        while not talker.is_over and (self._wanted or self.unanswered):
            fresh: list[str] = []
            while self._wanted and len(self.unanswered) < self.in_flight_max:
                self._count += 1
                event_id = f"{self.name}-{self._count}"
                self.unanswered[event_id] = make(self._count)
                fresh.append(event_id)
            await self._send(talker, fresh)
            self._room.clear()
            ended = asyncio.create_task(talker.over())
            room = asyncio.create_task(self._room.wait())
            await asyncio.wait({ended, room}, return_when=asyncio.FIRST_COMPLETED)
            for task in (ended, room):
                task.cancel()
            await asyncio.gather(ended, room, return_exceptions=True)
            await asyncio.sleep(self.pause_s)

    async def _send(self, talker: Talker, event_ids: list[str]) -> None:
        texts: list[Said] = []
        for event_id in event_ids:
            request = talker.request()
            self._asked[request] = event_id
            event = self.unanswered[event_id]
            said: Said = {"do": "publish", "request": request, "event": event, "id": event_id}
            if self.stream is not None:
                said["stream"] = self.stream
            texts.append(said)
        if texts:
            await talker.say(*texts)

    def _hear(self, said: Said) -> None:
        event_id = self._asked.get(said.get("request", -1))
        if event_id is None or event_id not in self.unanswered:
            return
        if said["is"] == "published":
            self.stored[event_id] = said["stream"], said["offset"], said["version"]
            self.repeated += said.get("repeated", False)
            del self.unanswered[event_id]
        elif said["is"] == "refused" and not said["temporary"]:
            self.refused[event_id] = said["because"]
            del self.unanswered[event_id]
        self._room.set()

    def finish(self) -> None:
        self._wanted = False
        self._room.set()


class Reader:
    """Keeps one subscription over all its connections, and what it received."""

    def __init__(
        self, name: str, url: str, token: str, filter_: str = "", *, durable: bool = True,
        acknowledge_every: int = 7,
    ) -> None:  # fmt: skip
        self.name = name
        self.url, self.token = url, token
        self.filter = filter_
        self.durable = durable
        self.every = acknowledge_every
        self.deliveries: list[Said] = []
        self.starts: list[Said] = []
        self.acknowledged: dict[str, int] = {}
        """By stream: the broker said that it keeps this."""
        self.again: list[Said] = []
        """What came although the broker had said that it is done with."""
        self.versions: list[int] = []
        self.ended: str | None = None
        self.troubles: list[str] = []
        """Why it had to begin again."""
        self.after: Any = None
        self._wanted = True
        self._done = asyncio.Event()
        self._unacknowledged: deque[Said] = deque()
        self._first = asyncio.Event()

    async def run(self) -> None:
        while self._wanted:
            talker = await connected(self.url, self.token)
            self.versions.append(talker.heard[0]["version"])
            self._unacknowledged.clear()
            talker.on = self._hear
            try:
                await self._subscribe(talker)
            except (aiohttp.ClientError, OSError) as problem:
                self.troubles.append(repr(problem))
            except AssertionError as problem:
                self.troubles.append(repr(problem))
                if not talker.is_over:
                    raise
            finally:
                self.troubles.append(f"{talker.closed_by} {talker.heard[-1:]}")
                await talker.close()

    async def _subscribe(self, talker: Talker) -> None:
        said: Said = {"subscription": 1, "filter": self.filter}
        if self.durable:
            said["durable"] = self.name
        if self.after is not None:
            said["after"] = self.after
        answer = await talker.ask("subscribe", **said)
        if answer["is"] == "refused":
            assert answer["temporary"], answer
            self.troubles.append(answer["because"])
            return
        while not talker.is_over and self._wanted:
            if len(self._unacknowledged) >= self.every or self._done.is_set():
                await self._acknowledge(talker)
            talker.news.clear()
            try:
                await asyncio.wait_for(talker.news.wait(), 0.2)
            except TimeoutError:
                await self._acknowledge(talker)

    async def _acknowledge(self, talker: Talker) -> None:
        if not self.durable:
            return
        newest = {one["stream"]: one["offset"] for one in self._unacknowledged}
        self._unacknowledged.clear()
        for stream, offset in newest.items():
            await talker.say(
                {"do": "acknowledge", "subscription": 1, "stream": stream, "offset": offset}
            )

    def _hear(self, said: Said) -> None:
        kind = said["is"]
        if kind == "delivery":
            if said["offset"] <= self.acknowledged.get(said["stream"], 0):
                self.again.append(said)
            self.deliveries.append(said)
            self._unacknowledged.append(said)
        elif kind == "acknowledged":
            before = self.acknowledged.get(said["stream"], 0)
            assert said["offset"] >= before, "positions only grow"
            self.acknowledged[said["stream"]] = said["offset"]
        elif kind == "started":
            self.starts.append(said)
            self._first.set()
        elif kind in ("ended", "dropped"):
            self.ended = said["because"]

    async def started(self) -> None:
        await asyncio.wait_for(self._first.wait(), HEARD_S)

    async def started_on(self, streams: set[str]) -> None:
        async with asyncio.timeout(HEARD_S):
            while {one["stream"] for one in self.starts} < streams:
                await asyncio.sleep(0.02)

    def finish(self) -> None:
        self._wanted = False
        self._done.set()
