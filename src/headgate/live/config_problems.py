"""Would a broker with these settings work here and now? If not: everything that stands in its way.

Nothing is made or changed by looking.
"""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from headgate.broker.topology import TopologyError
from headgate.live.certificate_problems import certificate_problems, key_file_problems
from headgate.live.config import Config, address_text, core_settings
from headgate.live.json_web_tokens import json_web_tokens
from headgate.live.private_files import FileError, check_unlocked, reason, shown
from headgate.model.errors import HeadgateError, named
from headgate.stores.accounts import FILE as ACCOUNTS_FILE
from headgate.stores.accounts import Accounts
from headgate.stores.acl import StoreError
from headgate.stores.databases import FILE as POLICY_FILE
from headgate.stores.opening import open_acl_store

BUSY_S = 5.0
FILES_BESIDE = 200
"""Open files that a broker needs beside its connections."""


def problems(config: Config) -> list[str]:
    """What is wrong, each in a sentence that says what to do; none where the broker would start."""
    found = [*_network_problems(config)]
    if not found:  # links can't be looked at without a tree
        found += port_problems(config)
    found += _data_problems(config)
    found += certificate_problems(config)
    found += _identity_problems(config)
    found += _store_problems(config)
    found += _tracing_problems(config)
    found += _limit_problems(config)
    return found


def _network_problems(config: Config) -> Iterator[str]:
    network = config.network
    try:
        core_settings(config)
    except TopologyError as problem:
        yield f"`network`: {problem}"
        return
    if not config.in_network:
        return
    members = set(config.topology.node_of)
    for name in sorted(set(network.brokers) - members):
        yield f"`network.brokers.{name}` stands in no node: add it to one in `network.nodes`"
    for name in sorted(members - set(network.brokers)):
        yield f"the broker {named(name)} of `network.nodes` has no `[network.brokers.{name}]`"
    hosts: dict[str, str] = {}
    for name, broker in network.brokers.items():
        for stream in broker.streams:
            other = hosts.setdefault(stream, name)
            if other != name:
                yield (
                    f"the stream {named(stream)} is hosted by {named(other)} and by {named(name)}: "
                    "a stream has one host"
                )
    own = network.brokers.get(config.broker)
    for name in config.topology.neighbours(config.broker):
        other_side = network.brokers.get(name)
        if own and other_side and not own.link and not other_side.link:
            yield (
                f"neither {named(config.broker)} nor {named(name)} can be dialled: give one of "
                "them a `link` address"
            )


def port_problems(config: Config) -> Iterator[str]:
    """Why the addresses can't be listened at."""
    listening = [("http", config.http.host, config.http.port)]
    if config.in_network:
        listening.append(("links", config.links.host, config.links.port))
    if len({(host, port) for _, host, port in listening if port}) < sum(
        1 for _, _, port in listening if port
    ):
        yield "`http` and `links` have the same address: give them different ports"
        return
    for name, host, port in listening:
        if port:
            yield from _address_problems(name, host, port)


def _address_problems(name: str, host: str, port: int) -> Iterator[str]:
    where = named(address_text(host, port))
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as problem:
        yield f"`{name}.host`: {named(host)} can't be found ({reason(problem)}): check the name"
        return
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                trial.bind(address)
        except OSError as problem:
            yield (
                f"`{name}`: {where} can't be listened at ({reason(problem)}): "
                f"{_remedy(problem)}choose another `{name}.port` or `{name}.host`"
            )
            return


def _remedy(problem: OSError) -> str:
    if problem.errno == errno.EADDRINUSE:
        return "stop what uses it, or "
    if problem.errno == errno.EACCES:
        return "ports below 1024 need a permission (CAP_NET_BIND_SERVICE); give it, or "
    return ""


def _data_problems(config: Config) -> Iterator[str]:
    for directory in dict.fromkeys((config.shared, config.directory)):
        there = _nearest(directory)
        if not there.is_dir():
            yield f"`data`: {shown(there)} is no directory: name another one"
            return
        if not os.access(there, os.W_OK | os.X_OK):
            yield f"`data`: {shown(there)} can't be written: check who may, or name another one"
            return
        if there == directory and there.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            yield f"`data`: others may write into {shown(there)}: `chmod go-w` it"
    try:
        check_unlocked(config.directory)
    except FileError as problem:
        yield f"`data`: {problem}"


def _nearest(path: Path) -> Path:
    """The path itself, or what is there of it."""
    try:
        while not path.exists() and path != path.parent:
            path = path.parent
    except OSError:
        return path
    return path


def _is_there(path: Path) -> bool:
    """Not where one may not look: that is a problem of `data`, and told there."""
    try:
        return path.exists()
    except OSError:
        return False


def _identity_problems(config: Config) -> Iterator[str]:
    jwt = config.identities.jwt
    try:
        json_web_tokens(jwt)
    except HeadgateError as problem:
        yield f"`identities.jwt`: {problem}"
    else:
        if jwt.key_file and jwt.algorithms[0].startswith("HS"):
            yield from key_file_problems("identities.jwt.key_file", Path(jwt.key_file))
    if _is_there(config.shared / ACCOUNTS_FILE):
        try:
            Accounts(config.shared).close()
        except StoreError as problem:
            yield str(problem)


def _store_problems(config: Config) -> Iterator[str]:
    if not config.hosts_policy:
        return
    where = config.policy_store
    if "://" not in where:
        try:
            if not (Path(where) / POLICY_FILE).exists():
                return  # it is made at the start
        except OSError as problem:
            if Path(where) != config.shared:
                yield f"`policy.store`: {named(where, 200)} can't be read: {reason(problem)}"
            return
    try:
        store = open_acl_store(where, create=False, busy_s=BUSY_S)
        try:
            store.history()
        finally:
            store.close()
    except StoreError as problem:
        yield f"`policy.store`: {problem}"


def _tracing_problems(config: Config) -> Iterator[str]:
    endpoint = config.tracing.endpoint
    if not endpoint:
        return
    if urlsplit(endpoint).scheme not in ("http", "https"):
        yield (
            "`tracing.endpoint`: expected a URL like `http://localhost:4318/v1/traces`, found "
            f"{named(endpoint)}"
        )
    if find_spec("opentelemetry") is None:
        yield "`tracing` needs OpenTelemetry: `pip install 'headgate[tracing]'`"


def _limit_problems(config: Config) -> Iterator[str]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = config.limits.connections + FILES_BESIDE
    if most != resource.RLIM_INFINITY and most < wanted:
        yield (
            f"`limits.connections` is {config.limits.connections}, and this process may open "
            f"{most} files: raise `ulimit -n` to {wanted}, or take fewer connections"
        )
    tuning = config.tuning
    if tuning.lease_s <= 2 * tuning.ask_again_s:
        yield (
            "`tuning.lease_s` has to be more than twice `tuning.ask_again_s`: one lost question "
            "would end the lease"
        )
