"""How does a broker come to serve? Everything that was set becomes one process, and ends as one.

What holds others up comes first, and goes last: the data directory is this broker's alone before
anything is read of it, and is given free when everything is stored.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from headgate.live.certificates import (
    authority,
    broker_of,
    http_context,
    http_files,
    link_contexts,
    reload,
)
from headgate.live.config import (
    Config,
    address_text,
    core_settings,
    is_anywhere,
    read_address,
)
from headgate.live.config_problems import port_problems
from headgate.live.identities import Identities, provide_admin_token
from headgate.live.links import LinkTls, TcpLinks
from headgate.live.logs import log
from headgate.live.metrics import registry_of
from headgate.live.node import Node
from headgate.live.private_files import DirectoryLock, make_directory
from headgate.live.tracing import Tracing, tracing_to
from headgate.live.web.limits import WebLimits
from headgate.live.web.server import WebServer, WebSettings
from headgate.model.errors import HeadgateError
from headgate.stores.accounts import Accounts
from headgate.stores.acl import AclStore
from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions
from headgate.stores.opening import open_acl_store
from headgate.stores.retention import Retention

READY_LOOK_S = 0.02


class ServingError(HeadgateError):
    """The broker can't start here, or didn't end in time."""


@final
class Serving:
    """One broker of this machine, from its lock to its last byte."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.boot = _boot()
        self.admin_token: Path | None = None
        """Where the token of whoever administers on this machine is."""
        self._acl: AclStore | None = None
        self._maintaining: asyncio.Task[None] | None = None
        self._held_back: dict[str, int] = {}
        """What durable subscribers held back of each stream, when that was last said."""

    async def start(self) -> None:
        """Serve; a `HeadgateError` says why that can't be, and leaves nothing behind."""
        config = self.config
        for problem in port_problems(config):
            raise ServingError(problem)
        make_directory(config.shared)
        owner = f"broker `{config.broker}`, process {os.getpid()}"
        self._lock = DirectoryLock(config.directory, owner)
        try:
            self._accounts = Accounts(
                config.shared, users_max=config.limits.users, tokens_max=config.limits.tokens
            )
            try:
                await self._start_on(self._accounts)
            except BaseException:
                self._accounts.close()
                raise
        except BaseException:
            self._lock.release()
            raise

    async def _start_on(self, accounts: Accounts) -> None:
        config = self.config
        self.admin_token = provide_admin_token(config, accounts, time.time_ns() // 1_000)
        self._tls = http_context(config)
        self._identities = Identities(config, accounts)
        links = _links(config)
        self._log = await asyncio.to_thread(DiskLog, config.directory / "log", log_options(config))
        try:
            if config.hosts_policy:
                self._acl = await asyncio.to_thread(open_acl_store, config.policy_store)
            self.node = Node(
                core_settings(config), self._log, self._acl, self.boot,
                links=links, tracing=_tracing(config),
            )  # fmt: skip
            await self.node.start()
            try:
                await self._start_web()
            except BaseException:
                await self.node.stop()
                raise
        except BaseException:
            await self._identities.close()
            await self._close_stores()
            raise
        self._maintaining = asyncio.create_task(self._maintain())

    async def _start_web(self) -> None:
        config = self.config
        self.web = WebServer(
            self.node,
            self.node,
            self._identities,
            web_settings(config),
            tls=self._tls,
            registry=registry_of(self.node),
        )
        await self.web.start()

    @property
    def url(self) -> str:
        """Where it is reached over HTTP."""
        scheme = "http" if self._tls is None else "https"
        host = self.config.http.host
        # A certificate has this name, and people can read it.
        shown = "localhost" if host == "127.0.0.1" or is_anywhere(host) else host
        return f"{scheme}://{address_text(shown, self.web.port)}"

    async def until_ready(self) -> None:
        """Until it knows the policy and may decide by it."""
        while not self.node.status().ready:
            await asyncio.sleep(READY_LOOK_S)

    @property
    def links_port(self) -> int | None:
        """Where neighbours dial in."""
        links = self.node.links
        return links.port if isinstance(links, TcpLinks) else None

    @property
    def authority_file(self) -> Path | None:
        """Whom clients have to trust, where no certificate was configured."""
        if self._tls is None or self.config.tls.certificate:
            return None
        return authority(self.config).certificate_file

    def reload(self) -> None:
        """Take the certificate from its files again, for the connections to come."""
        if self._tls is not None:
            try:
                reload(self._tls, *http_files(self.config))
            except HeadgateError as problem:
                log.error("the certificate stays as it was", problem=str(problem))
            else:
                log.info("the certificate was read again")

    async def stop(self) -> None:
        """End in good order: nobody is taken in, who is there is told, what was accepted is kept.

        Whatever takes longer than it may is cut short, and said so.
        """
        # The web server tells its clients for so long, and the node ends its links after that.
        bound_s = 2 * self.config.limits.stop_s
        try:
            async with asyncio.timeout(bound_s):
                await self._stop()
        except TimeoutError:
            await self.node.crash()
            raise ServingError(
                f"the broker didn't end within {bound_s:g} s and was cut short: what was "
                "acknowledged is stored"
            ) from None
        finally:
            await self._close_stores()
            self._accounts.close()
            self._lock.release()

    async def _stop(self) -> None:
        if self._maintaining is not None:
            self._maintaining.cancel()
            with suppress(asyncio.CancelledError):
                await self._maintaining
        await self.web.stop()
        await self.node.stop()
        await self._identities.close()

    async def _close_stores(self) -> None:
        await asyncio.to_thread(self._log.close)
        if self._acl is not None:
            await asyncio.to_thread(self._acl.close)

    async def _maintain(self) -> None:
        """See to the log again and again, beside everything else."""
        while True:
            await asyncio.sleep(self.config.log.maintenance_s)
            try:
                await self._maintain_once()
            except HeadgateError as problem:
                log.error("the log can't be maintained", problem=str(problem))

    async def _maintain_once(self) -> None:
        owed = await self.node.may_remove()
        done = await asyncio.to_thread(self._log.maintain, time.time_ns() // 1_000, owed)
        for damage in done.damaged:
            log.error("a part of the log is damaged", damage=str(damage))
        if done.problem is not None:
            log.error("the log isn't maintained", problem=done.problem)
        if done.sealed:
            log.info("segments are sealed", files=len(done.sealed))
        held = {one.stream: one.last for one in reversed(done.held_back)}
        if held and held != self._held_back:
            log.warning("durable subscribers hold old records back", first_up_to=held)
        self._held_back = held
        if done.cuts:
            log.info("old records are removed", up_to=done.cuts)
            self.node.remove(done.cuts)


def _tracing(config: Config) -> Tracing | None:
    said = config.tracing
    return tracing_to(said.endpoint, config.broker, said.ratio) if said.endpoint else None


def log_options(config: Config) -> LogOptions:
    """How the log of this broker is kept."""
    said = config.log
    return LogOptions(
        durability=said.durability,
        segment_bytes=said.segment_bytes,
        segment_s=said.segment_s,
        retention=Retention(
            seconds=said.retention_s or None,
            bytes=said.retention_bytes or None,
            own_seconds=said.retention_own_s or None,
            removes_owed=said.owed == "unsafe_removed",
        ),
        bytes_max=said.size_max_bytes or None,
    )


def web_settings(config: Config) -> WebSettings:
    """How HTTP is served."""
    limits = config.limits
    return WebSettings(
        host=config.http.host,
        port=config.http.port,
        metrics=config.http.metrics,
        policy_url=None if config.hosts_policy else url_of(config, config.network.policy_host),
        limits=WebLimits(
            connections=limits.connections,
            connections_per_address=limits.connections_per_address,
            header_bytes=limits.header_bytes,
            body_bytes=limits.body_bytes,
            bodies_bytes=limits.bodies_bytes,
            frame_bytes=limits.frame_bytes,
            in_flight=limits.in_flight,
            request_s=limits.request_s,
            idle_s=limits.idle_s,
            heartbeat_s=limits.heartbeat_s,
            silent_s=limits.silent_s,
            stop_s=limits.stop_s,
        ),
    )


def url_of(config: Config, broker: str) -> str | None:
    """Where another broker of the network serves HTTP, if that was said."""
    address = config.network.brokers[broker].http
    if not address:
        return None
    host, port = read_address(address, f"network.brokers.{broker}.http")
    scheme = "https" if config.http.tls == "on" else "http"
    return f"{scheme}://{address_text('localhost' if host == '127.0.0.1' else host, port)}"


def _links(config: Config) -> TcpLinks | None:
    if not config.in_network:
        return None
    contexts = link_contexts(config)
    tls = LinkTls(*contexts, broker_of) if contexts is not None else None
    return TcpLinks(config.links.host, config.links.port, config.neighbours, tls)


def _boot() -> str:
    """Another name at each start, so that nobody takes what it says now for what it said before."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
