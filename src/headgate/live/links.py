"""How do bytes get from broker to broker? Over TCP with TLS, where both ends show who they are.

Nothing is decided here: what comes is given to the core as it comes, so that TCP holds back an end
that sends faster than the core takes it; what an end doesn't read soon is told to the core, which
offers it nothing more until it does.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, cast, final

from headgate.live.logs import log
from headgate.model.errors import printable

MEBIBYTE = 1024 * 1024
ACCEPTED_AT_ONCE = 64
RETRY_S = 1.0


class Station(Protocol):
    """A broker, as its links see it."""

    def link_up(self, link: int, dialled: str | None, named: str | None) -> None: ...
    def link_down(self, link: int) -> None: ...
    def dial_failed(self, broker: str) -> None: ...
    def receive(self, link: int, data: bytes) -> None: ...
    def set_writable(self, link: int, *, writable: bool) -> None: ...
    def has_met(self, link: int) -> bool: ...


@dataclass(frozen=True)
class LinkLimits:
    """How much is put up with."""

    strangers: int = 64
    """Connections whose other end hasn't said yet who it is."""
    strangers_per_address: int = 8
    handshake_s: float = 10.0
    """So long TLS may take, and a dial."""
    close_s: float = 5.0
    """So long an end that is closed may take what was sent to it before."""
    buffer_bytes: int = 1 * MEBIBYTE
    """With more than this waiting to be sent, the core offers no more."""
    buffer_bytes_max: int = 64 * MEBIBYTE
    """With more than this, answers and the like, the other end is given up."""


@dataclass(frozen=True)
class LinkTls:
    """How an end shows who it is, and sees who the other one is."""

    listening: ssl.SSLContext
    dialling: ssl.SSLContext
    broker_of: Callable[[bytes], str | None]
    """Which broker a certificate (DER) names."""


@dataclass
class LinkCounts:
    """What went over the links, and what didn't."""

    bytes_in: int = 0
    bytes_out: int = 0
    accepted: int = 0
    dialled: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Connections that became no link, by the reason."""


@final
class TcpLinks:
    """The links of one broker: listens at one address, and dials neighbours at theirs."""

    def __init__(
        self,
        host: str,
        port: int,
        neighbours: Mapping[str, tuple[str, int]],
        tls: LinkTls | None,
        limits: LinkLimits | None = None,
    ) -> None:
        self.limits = limits or LinkLimits()
        self.tls = tls
        self.counts = LinkCounts()
        self.port = port
        """Where it listens; of port 0, the one that was free."""
        self.station: Station
        self._host = host
        self._neighbours = dict(neighbours)
        self._numbers = count(1)
        self._links: dict[int, _Pipe] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listening: list[socket.socket] = []
        self._strangers: Counter[str] = Counter()
        """Connections that were accepted and are no link yet, by address."""
        self._is_over = False

    def place(self, broker: str, host: str, port: int) -> None:
        """A neighbour is found there from now on."""
        self._neighbours[broker] = (host, port)

    async def start(self, station: Station) -> None:
        self.station = station
        if not self._listening:
            await self.listen()
        for listening in self._listening:
            self._listen_to(listening)

    async def listen(self) -> None:
        """Take the address; whoever dials waits until this has started."""
        loop = asyncio.get_running_loop()
        for kind, _, protocol, _, address in await loop.getaddrinfo(
            self._host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            listening = socket.socket(kind, socket.SOCK_STREAM, protocol)
            self._listening.append(listening)
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if kind == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.bind((address[0], self.port, *address[2:]))
            listening.listen(128)
            self.port = listening.getsockname()[1]

    async def stop(self) -> None:
        """Take nobody in any more, and end each link after what was sent on it."""
        self._stop_listening()
        for pipe in list(self._links.values()):
            pipe.close()
        if self._links:
            await asyncio.wait([pipe.gone for pipe in self._links.values()])
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abort(self) -> None:
        self._stop_listening()
        for pipe in list(self._links.values()):
            pipe.abort()

    def _stop_listening(self) -> None:
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        for listening in self._listening:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._listening.clear()

    # What the core wants.

    def send(self, link: int, data: bytes) -> None:
        pipe = self._links.get(link)
        if pipe is not None:
            pipe.send(data)

    def close(self, link: int, because: str) -> None:
        pipe = self._links.get(link)
        if pipe is not None:
            log.info("link closed", link=link, broker=pipe.broker, because=because)
            pipe.close()

    def dial(self, broker: str) -> None:
        self._begin(self._dial(broker))

    # How links come about.

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                made, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                # No more files may be open: there may be again in a while.
                log.warning("can't accept links", because=str(problem))
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                loop.call_later(RETRY_S, self._listen_to, listening)
                return
            because = self._too_many(str(address[0]))
            if because is None:
                self._begin(self._take_in(made, str(address[0])))
            else:
                self._refuse(because, str(address[0]), "whoever connects has to say who it is")
                made.close()

    def _listen_to(self, listening: socket.socket) -> None:
        if not self._is_over:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _too_many(self, address: str) -> str | None:
        strangers = self._strangers.copy()
        for pipe in self._links.values():
            if pipe.address and not self.station.has_met(pipe.number):
                strangers[pipe.address] += 1
        if strangers[address] >= self.limits.strangers_per_address:
            return "too many from one address"
        return "too many" if strangers.total() >= self.limits.strangers else None

    async def _take_in(self, made: socket.socket, address: str) -> None:
        self._strangers[address] += 1
        pipe = _Pipe(self, next(self._numbers), None, address)
        try:
            made.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: pipe,
                made,
                ssl=self.tls.listening if self.tls is not None else None,
                ssl_handshake_timeout=self.limits.handshake_s if self.tls is not None else None,
            )
        except (TimeoutError, OSError) as problem:
            self._refuse("no handshake", address, problem)
            made.close()
        except asyncio.CancelledError:
            pipe.abort()
            made.close()
            raise
        finally:
            self._strangers[address] -= 1
            if not self._strangers[address]:
                del self._strangers[address]

    async def _dial(self, broker: str) -> None:
        pipe = _Pipe(self, next(self._numbers), broker, "")
        place = self._neighbours.get(broker)
        try:
            if place is None:
                raise OSError(f"no address of `{broker}` is known")
            async with asyncio.timeout(self.limits.handshake_s):
                await asyncio.get_running_loop().create_connection(
                    lambda: pipe, *place, ssl=self.tls.dialling if self.tls is not None else None
                )
        except (TimeoutError, OSError) as problem:
            log.debug("neighbour not reached", broker=broker, because=str(problem) or "no answer")
            self.station.dial_failed(broker)
        except asyncio.CancelledError:
            pipe.abort()
            raise
        else:
            if not pipe.is_link:
                self.station.dial_failed(broker)

    def admitted(self, pipe: _Pipe) -> bool:
        """Whether a connection becomes a link: its other end shows the right certificate."""
        if self._is_over:
            return False
        if self.tls is not None:
            shown = pipe.certificate()
            named = self.tls.broker_of(shown) if shown is not None else None
            if named is None or (pipe.dialled is not None and named != pipe.dialled):
                said = "no broker" if named is None else f"the broker `{printable(named)}`"
                expected = "a broker" if pipe.dialled is None else f"the broker `{pipe.dialled}`"
                because = f"expected a certificate of {expected}, got one of {said}"
                self._refuse("wrong certificate", pipe.address or pipe.broker, because)
                return False
            pipe.named = named
        self._links[pipe.number] = pipe
        if pipe.dialled is None:
            self.counts.accepted += 1
        else:
            self.counts.dialled += 1
        self.station.link_up(pipe.number, pipe.dialled, pipe.named)
        return True

    def lost(self, pipe: _Pipe, problem: Exception | None) -> None:
        """A link is down, whoever ended it."""
        if self._links.pop(pipe.number, None) is not None:
            because = str(problem) if problem is not None else "it was closed"
            log.info("link down", link=pipe.number, broker=pipe.broker, because=because)
            self.station.link_down(pipe.number)

    def _refuse(self, reason: str, who: str, problem: object) -> None:
        self.counts.refused[reason] += 1
        log.warning("link refused", reason=reason, who=who, because=str(problem) or "no answer")

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@final
class _Pipe(asyncio.Protocol):
    """One connection, from its beginning to its end."""

    def __init__(self, links: TcpLinks, number: int, dialled: str | None, address: str) -> None:
        self.number = number
        self.dialled = dialled
        self.address = address
        """Where it came from, if it was accepted."""
        self.named: str | None = None
        """Who the other end is, by its certificate."""
        self.is_link = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._links = links
        self._transport: asyncio.Transport | None = None
        self._is_closing = False
        self._patience: asyncio.TimerHandle | None = None

    @property
    def broker(self) -> str:
        return self.dialled or self.named or ""

    def certificate(self) -> bytes | None:
        assert self._transport is not None
        end = self._transport.get_extra_info("ssl_object")
        shown: bytes | None = end.getpeercert(binary_form=True) if end is not None else None
        return shown

    # What the loop says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        made = self._transport = cast(asyncio.Transport, transport)
        made.set_write_buffer_limits(self._links.limits.buffer_bytes)
        with suppress(OSError):  # it may be gone already
            made.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.is_link = self._links.admitted(self)
        if not self.is_link:
            made.abort()

    def data_received(self, data: bytes) -> None:
        if self.is_link and not self._is_closing:
            self._links.counts.bytes_in += len(data)
            self._links.station.receive(self.number, data)

    def pause_writing(self) -> None:
        if self.is_link:
            self._links.station.set_writable(self.number, writable=False)

    def resume_writing(self) -> None:
        if self.is_link and not self._is_closing:
            self._links.station.set_writable(self.number, writable=True)

    def connection_lost(self, problem: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._links.lost(self, problem)
        if not self.gone.done():
            self.gone.set_result(None)

    # What this broker does.

    def send(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or self._is_closing:
            return
        self._links.counts.bytes_out += len(data)
        transport.write(data)
        if transport.get_write_buffer_size() > self._links.limits.buffer_bytes_max:
            self.abort()

    def close(self) -> None:
        """End it after what was sent, in the time there is for that."""
        if self._transport is not None and not self._is_closing:
            self._is_closing = True
            self._transport.close()
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(self._links.limits.close_s, self.abort)

    def abort(self) -> None:
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()
