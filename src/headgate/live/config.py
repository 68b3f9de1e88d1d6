"""What was set for this broker: by its file, by the environment, by nobody?

The environment goes before the file: `HEADGATE_HTTP_PORT` is `port` in `[http]`. Names in a file
are seen from its directory, all others from where the broker was started.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import field, structs

from headgate.broker.settings import SECOND, Settings
from headgate.broker.topology import Topology
from headgate.live import sections
from headgate.live.reading import ConfigError, environment_names, read_section, read_text
from headgate.live.sections import Name, Section, StreamName
from headgate.model.errors import named


class Config(Section, frozen=True):
    """All that was set for one broker."""

    data: str = "headgate-data"
    broker: Name = "headgate"
    streams: tuple[StreamName, ...] = ("events",)
    http: sections.HttpSection = field(default_factory=sections.HttpSection)
    links: sections.LinksSection = field(default_factory=sections.LinksSection)
    tls: sections.TlsSection = field(default_factory=sections.TlsSection)
    policy: sections.PolicySection = field(default_factory=sections.PolicySection)
    identities: sections.IdentitiesSection = field(default_factory=sections.IdentitiesSection)
    limits: sections.LimitsSection = field(default_factory=sections.LimitsSection)
    log: sections.LogSection = field(default_factory=sections.LogSection)
    logging: sections.LoggingSection = field(default_factory=sections.LoggingSection)
    tracing: sections.TracingSection = field(default_factory=sections.TracingSection)
    tuning: sections.TuningSection = field(default_factory=sections.TuningSection)
    network: sections.NetworkSection = field(default_factory=sections.NetworkSection)

    @property
    def in_network(self) -> bool:
        return bool(self.network.nodes)

    @property
    def shared(self) -> Path:
        """What the brokers of one machine have in common: accounts, the authority, the policy."""
        return Path(self.data)

    @property
    def directory(self) -> Path:
        """What is this broker's alone."""
        return self.shared / self.broker if self.in_network else self.shared

    @property
    def policy_store(self) -> str:
        """A directory or a URL, as `open_acl_store` takes it."""
        return self.policy.store or str(self.shared)

    @property
    def hosts_policy(self) -> bool:
        return not self.in_network or self.broker == self.network.policy_host

    @property
    def topology(self) -> Topology:
        if not self.in_network:
            return Topology.alone(self.broker)
        return Topology(self.network.nodes, frozenset(map(frozenset, self.network.edges)))

    @property
    def neighbours(self) -> dict[str, tuple[str, int]]:
        """Where each neighbouring broker can be dialled; those without an address dial in."""
        brokers = self.network.brokers
        return {
            name: read_address(brokers[name].link, f"network.brokers.{name}.link")
            for name in self.topology.neighbours(self.broker)
            if name in brokers and brokers[name].link
        }

    @property
    def unsafe(self) -> list[str]:
        """What was given up by choice, in words."""
        found = []
        if self.log.durability == "unsafe_no_fsync":
            found.append(
                "`log.durability` is `unsafe_no_fsync`: what was acknowledged may be lost when the "
                "power fails"
            )
        if self.log.owed == "unsafe_removed":
            found.append(
                "`log.owed` is `unsafe_removed`: durable subscribers lose what they didn't get in "
                "time"
            )
        for name, section in (("http", self.http), ("links", self.links)):
            if section.tls == "unsafe_off":
                found.append(
                    f"`{name}.tls` is `unsafe_off`: whoever is on the way reads and changes all"
                )
        if self.identities.anonymous:
            found.append(
                f"`identities.anonymous` lets anybody in as {named(self.identities.anonymous)}"
            )
        return found


def read_config(
    path: Path | None,
    environ: Mapping[str, str],
    broker: str | None = None,
    data: str | None = None,
) -> Config:
    """What the file and the environment say; `broker` and `data` go before both.

    A `ConfigError` says what is wrong with what was said, and where; `config_problems.problems`
    finds what is wrong with the machine.
    """
    said, where = (
        ({}, "the settings") if path is None else (_read_file(path), named(str(path), 200))
    )
    if path is not None:
        _seen_from(said, path.parent)
    _overlay(said, environ)
    if data is not None:
        said["data"] = data
    if broker is not None:
        said["broker"] = broker
    _resolve(said, where)
    config = read_section(Config, said, where)
    _check(config)
    return config


def core_settings(config: Config) -> Settings:
    """What the core of this broker is told; a `TopologyError` says why there is no such network."""
    tuning, own = config.tuning, config.network.brokers.get(config.broker, sections.BrokerSection())
    return Settings(
        broker=config.broker,
        topology=config.topology,
        policy_host=config.network.policy_host if config.in_network else config.broker,
        streams=config.streams,
        routes_only=own.routes_only,
        foreign=own.foreign,
        advertised_only=config.policy.advertised_only,
        replay_strictly=config.policy.replay_strictly,
        filters_at_edge_only=tuning.filters_at_edge_only,
        lease_us=_microseconds(tuning.lease_s),
        ask_again_us=_microseconds(tuning.ask_again_s),
        silence_us=tuning.silence_ms * 1_000,
        attach_us=_microseconds(tuning.attach_s),
        redial_us=_microseconds(tuning.redial_s),
        heartbeat_us=_microseconds(tuning.heartbeat_s),
        checkpoint_records=tuning.checkpoint_records,
        checkpoint_us=_microseconds(tuning.checkpoint_s),
        cache_records=tuning.cache_records,
        cache_bytes=tuning.cache_bytes,
        window=tuning.window,
        window_bytes=tuning.window_bytes,
        read_records=tuning.read_records,
        repeat_window=tuning.repeat_window,
        clients_max=tuning.clients,
        subscriptions_max=config.limits.subscriptions,
        frame_bytes_max=tuning.link_frame_bytes,
    )


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_anywhere(host: str) -> bool:
    """Whether it stands for all addresses of this machine."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def read_address(text: str, place: str) -> tuple[str, int]:
    """`HOST:PORT`, where an IPv6 address stands in brackets."""
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_port = port.isascii() and port.isdigit() and int(port) <= 65_535
    if not (colon and bare and is_port) or (":" in bare and bare == host):
        raise ConfigError(
            f"`{place}`: expected an address like `127.0.0.1:7081`, found {named(text)}"
        )
    return bare, int(port)


def address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_FILES = (
    "data", "policy.store", "identities.jwt.key_file", "tls.certificate", "tls.key",
    "tls.client_authorities", "tls.link_certificate", "tls.link_key", "tls.link_authorities",
)  # fmt: skip
"""The settings that name a file or a directory."""


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as fault:
        raise ConfigError(f"{named(str(path), 200)} is no TOML: {fault}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{named(str(path), 200)} is no TOML: it isn't UTF-8") from None
    except OSError as problem:
        raise ConfigError(
            f"{named(str(path), 200)} can't be read: {problem.strerror}; name a file by `--config`"
        ) from None


def _seen_from(said: dict[str, Any], directory: Path) -> None:
    for place in _FILES:
        *above, key = place.split(".")
        table: Any = said
        for name in above:
            table = table.get(name) if isinstance(table, dict) else None
        value = table.get(key) if isinstance(table, dict) else None
        if isinstance(value, str) and value and "://" not in value:
            table[key] = str(directory / value)


def _overlay(said: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Put what the environment says over what the file says."""
    for name, place, kind in environment_names(Config, environ):
        *above, key = place.split(".")
        table = said
        for one in above:
            table = table.setdefault(one, {})
            if not isinstance(table, dict):
                return  # the file is refused for that, with its place
        table[key] = read_text(kind, environ[name], name)


def _resolve(said: dict[str, Any], where: str) -> None:
    """In a network: say of this broker what stands under its name, where nothing else was said."""
    network = said.get("network")
    if not isinstance(network, dict):
        return
    brokers = network.get("brokers")
    names = list(brokers) if isinstance(brokers, dict) else []
    name = said.get("broker")
    if name is None:
        raise ConfigError(
            f"{where} describes a network: say by `--broker NAME` which broker this is, one of "
            f"{', '.join(map(named, names)) or 'those that `network.brokers` names'}"
        )
    own = brokers.get(name) if isinstance(brokers, dict) else None
    if not isinstance(own, dict):
        raise ConfigError(
            f"there is no broker {named(str(name))} in `network.brokers` of {where}: expected one "
            f"of {', '.join(map(named, names)) or 'them to be there'}"
        )
    said.setdefault("streams", own.get("streams", []))
    for section, key in (("http", "http"), ("links", "link")):
        address = own.get(key)
        table = said.setdefault(section, {})
        if isinstance(address, str) and address and isinstance(table, dict):
            host, port = read_address(address, f"network.brokers.{name}.{key}")
            table.setdefault("host", host)
            table.setdefault("port", port)


def _check(config: Config) -> None:
    """Refuse what is well written and can't be meant."""
    _check_tls(config)
    _check_jwt(config.identities.jwt)
    anonymous = config.identities.anonymous
    if anonymous and anonymous in (*config.identities.administrators, *config.identities.auditors):
        raise ConfigError(
            f"`identities.anonymous` is {named(anonymous)}, which administrates or audits: anybody "
            "could; name a principal without such rights"
        )
    if config.in_network and not config.network.policy_host:
        raise ConfigError("`network.policy_host`: expected the broker that keeps the policy")
    if len(set(config.streams)) != len(config.streams):
        raise ConfigError("`streams`: expected each stream once")


def _check_tls(config: Config) -> None:
    for name, section in (("http", config.http), ("links", config.links)):
        if section.tls == "off" and not is_loopback(section.host):
            raise ConfigError(
                f"`{name}.tls` is `off`, and others can reach {named(section.host)}: passwords and "
                "events could be read on the way; leave it `on`, or say `unsafe_off` if you mean it"
            )
    tls = config.tls
    for together in (
        ("certificate", "key"),
        ("link_certificate", "link_key", "link_authorities"),
    ):
        missing = [key for key in together if not getattr(tls, key)]
        if missing and len(missing) < len(together):
            given = [key for key in together if key not in missing]
            raise ConfigError(f"`tls.{given[0]}` needs `tls.{missing[0]}` as well")


def _check_jwt(jwt: sections.JwtSection) -> None:
    if not jwt.key_file:
        if jwt != sections.JwtSection():
            raise ConfigError(
                "`identities.jwt`: expected `key_file`, the key by which tokens are checked"
            )
        return
    kinds = {algorithm[:2] for algorithm in jwt.algorithms}
    if not kinds:
        raise ConfigError(
            '`identities.jwt.algorithms`: expected what tokens may be signed with, as in ["ES256"]'
        )
    if "HS" in kinds and len(kinds) > 1:
        raise ConfigError(
            "`identities.jwt.algorithms`: HS256 and its like take a shared secret, the others a "
            "public key: expected algorithms of one kind"
        )
    if not jwt.audience:
        raise ConfigError(
            "`identities.jwt.audience`: expected who tokens are made out for; without it a token "
            "for any other service would be taken here"
        )


def with_section(config: Config, name: str, **changed: object) -> Config:
    """The same settings, with other values in one section."""
    return structs.replace(config, **{name: structs.replace(getattr(config, name), **changed)})


def _microseconds(seconds: float) -> int:
    return max(1, round(seconds * SECOND))


def brokers_of(path: Path) -> tuple[str, ...]:
    """The brokers of the network that a file describes; none where it describes one broker."""
    network = _read_file(path).get("network")
    brokers = network.get("brokers") if isinstance(network, dict) else None
    return tuple(brokers) if isinstance(brokers, dict) else ()


def shared_directory(path: Path | None, environ: Mapping[str, str], data: str | None) -> Path:
    """Where the accounts are, whichever broker of this machine asks."""
    brokers = brokers_of(path) if path is not None else ()
    return read_config(path, environ, next(iter(brokers), None), data).shared
