"""What may be set, in which unit, and what holds where nothing is said?

Each struct is a section of the TOML file, each field a key in it. Units come last in a name; a
choice that gives up safety has `unsafe` in its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from headgate.rights.rules import PRINCIPAL_CHARS_MAX

Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
        description="a name of up to 63 letters, digits, `.`, `_` and `-`",
    ),
]
StreamName = Annotated[
    str,
    Meta(
        pattern=r"^[^$\s/][^\s/]{0,99}$",
        description="the name of a stream: up to 100 characters, not `$` at the start, no spaces",
    ),
]
Principal = Annotated[
    str,
    Meta(max_length=PRINCIPAL_CHARS_MAX, description="the name of a principal"),
]
Port = Annotated[int, Meta(ge=0, le=65_535, description="a port from 0 to 65535")]
Many = Annotated[int, Meta(ge=1, le=2**53, description="an integer from 1 on")]
Some = Annotated[int, Meta(ge=0, le=2**53, description="an integer from 0 on")]
Seconds = Annotated[
    float, Meta(ge=0.001, le=10**9, description="a number of seconds from 0.001 to 1000000000")
]
Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Algorithm = Literal[
    "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
    "ES256", "ES384", "ES512", "EdDSA",
]  # fmt: skip


class Section(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table of the file."""


class HttpSection(Section, frozen=True):
    """Where programs and people are served."""

    host: str = "127.0.0.1"
    port: Port = 7080
    tls: Literal["on", "off", "unsafe_off"] = "on"
    """`off` is for a host that nobody else can reach, `unsafe_off` for any other."""
    metrics: Literal["open", "auditors", "off"] = "open"
    """Who may read them: anybody, administrators and auditors, nobody."""


class LinksSection(Section, frozen=True):
    """Where the neighbouring brokers dial in; needed only where there are some."""

    host: str = "127.0.0.1"
    port: Port = 7081
    tls: Literal["on", "off", "unsafe_off"] = "on"


class TlsSection(Section, frozen=True):
    """PEM files with certificates and keys; the development authority's where none is named."""

    certificate: str = ""
    key: str = ""
    client_authorities: str = ""
    link_certificate: str = ""
    link_key: str = ""
    link_authorities: str = ""
    names: tuple[str, ...] = ()
    """Further names and addresses for the development certificate."""


class PolicySection(Section, frozen=True):
    """Where the policy is kept, and how strictly it is meant."""

    store: str = ""
    advertised_only: bool = False
    replay_strictly: bool = False

    def __repr__(self) -> str:
        # In a URL there may be a password.
        return f"PolicySection(store={'<URL>' if '://' in self.store else self.store!r}, …)"


class JwtSection(Section, frozen=True):
    """Which JSON Web Tokens are believed."""

    key_file: str = ""
    algorithms: tuple[Algorithm, ...] = ()
    issuer: str = ""
    audience: str = ""
    principal_claim: str = "sub"
    leeway_s: Annotated[
        float, Meta(ge=0, le=300, description="a number of seconds from 0 to 300")
    ] = 10


class CertificatesSection(Section, frozen=True):
    """Who is somebody that shows a client certificate?"""

    principal: Literal["common_name", "uri"] = "common_name"


class IdentitiesSection(Section, frozen=True):
    """Who is who, and who administers."""

    anonymous: Principal = ""
    """The principal of those who say nothing of themselves; empty: they are turned away."""
    administrators: tuple[Principal, ...] = ()
    auditors: tuple[Principal, ...] = ()
    token_s: Seconds = 43_200
    jwt: JwtSection = field(default_factory=JwtSection)
    certificates: CertificatesSection = field(default_factory=CertificatesSection)


class LimitsSection(Section, frozen=True):
    """How much is too much."""

    connections: Many = 10_000
    connections_per_address: Many = 10_000
    subscriptions: Many = 1_000
    """Of one client."""
    header_bytes: Many = 16_384
    body_bytes: Many = 8 * 1024 * 1024
    bodies_bytes: Many = 256 * 1024 * 1024
    """Of all bodies that are here at once."""
    frame_bytes: Many = 2 * 1024 * 1024
    in_flight: Many = 1_024
    request_s: Seconds = 30
    idle_s: Seconds = 75
    """How long a connection may wait for its next request."""
    heartbeat_s: Seconds = 15
    """How long a subscriber hears nothing."""
    silent_s: Seconds = 60
    """A subscriber that takes nothing of what waits for it is dropped after this."""
    stop_s: Seconds = 10
    log_in_attempts: Many = 10
    """Wrong passwords for one name within the window."""
    log_in_attempts_per_address: Many = 50
    log_in_window_s: Seconds = 60
    log_ins_at_once: Many = 2
    log_ins_waiting: Many = 64
    users: Many = 100_000
    tokens: Many = 100_000


class LogSection(Section, frozen=True):
    """How the streams are kept on disk."""

    durability: Literal["fsync", "unsafe_no_fsync"] = "fsync"
    segment_bytes: Many = 64 * 1024 * 1024
    segment_s: Seconds = 3_600
    retention_s: Some = 0
    """0: for ever."""
    retention_bytes: Some = 0
    """0: as much as there is."""
    retention_own_s: Some = 0
    """For the broker's own streams, by which deliveries are judged; 0: for ever."""
    owed: Literal["kept", "unsafe_removed"] = "kept"
    """What becomes of old records that durable subscribers haven't got yet."""
    size_max_bytes: Some = 0
    """How large the log may grow before nothing more is taken; 0: until the disk is full."""
    maintenance_s: Seconds = 10


class LoggingSection(Section, frozen=True):
    """What the broker says of its work, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class TracingSection(Section, frozen=True):
    """Where traces are sent; nowhere while no endpoint is named."""

    endpoint: str = ""
    ratio: Share = 0.01


class TuningSection(Section, frozen=True):
    """How the broker's core goes about its work: for those who have measured."""

    lease_s: Seconds = 60
    ask_again_s: Seconds = 1
    silence_ms: Many = 100
    attach_s: Seconds = 5
    redial_s: Seconds = 1
    heartbeat_s: Seconds = 5
    checkpoint_records: Many = 1_000
    checkpoint_s: Seconds = 60
    cache_records: Many = 4_096
    cache_bytes: Many = 16 * 1024 * 1024
    window: Many = 1_024
    window_bytes: Many = 4 * 1024 * 1024
    read_records: Many = 512
    repeat_window: Many = 10_000
    clients: Many = 100_000
    link_frame_bytes: Annotated[
        int, Meta(ge=4_096, le=2**30, description="an integer from 4096 to 1073741824")
    ] = 17 * 1024 * 1024
    filters_at_edge_only: bool = False


class BrokerSection(Section, frozen=True):
    """One broker of a network on one machine or many."""

    link: str = ""
    """`HOST:PORT` at which its neighbours reach it."""
    http: str = ""
    """`HOST:PORT` at which it serves HTTP."""
    streams: tuple[StreamName, ...] = ()
    routes_only: bool = False
    foreign: Mapping[Name, Principal] = field(default_factory=dict)
    """Neighbours of other domains, with the principal that each is bound to."""


class NetworkSection(Section, frozen=True):
    """The tree of nodes, when this broker isn't alone."""

    policy_host: str = ""
    edges: tuple[tuple[Name, Name], ...] = ()
    nodes: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    brokers: Mapping[Name, BrokerSection] = field(default_factory=dict)
