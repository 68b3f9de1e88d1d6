"""How does one broker of the network behave? Everything that its core is told at its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from headgate.broker.topology import Topology, TopologyError
from headgate.model.errors import named

SECOND: int = 1_000_000
"""In microseconds, as all times in the cores."""


@dataclass(frozen=True)
class Settings:
    """What a broker is told; times are in microseconds."""

    broker: str
    topology: Topology
    policy_host: str
    """The broker that hosts `$policy` and keeps the durable subscriptions' positions."""
    streams: tuple[str, ...] = ()
    """The event streams that this broker hosts; publishers that name none get the first."""
    routes_only: bool = False
    """Host no clients and no streams, so that the policy needn't be followed."""
    foreign: Mapping[str, str] = field(default_factory=dict)
    """Neighbouring brokers of untrusted domains, with the principal that each is bound to."""
    advertised_only: bool = False
    """Refuse publications outside of what their publisher advertised."""
    filters_at_edge_only: bool = False
    """Ask upstream for everything of the event streams, and filter it for the clients here."""
    replay_strictly: bool = False
    """What is delivered late must be allowed by the version at publication, and by today's."""
    lease_us: int = 60 * SECOND
    ask_again_us: int = 1 * SECOND
    """After this a question without an answer is asked again."""
    silence_us: int = SECOND // 10
    """A link that was idle so long is told how far its streams have got."""
    attach_us: int = 5 * SECOND
    """An attachment that was not vouched for by then is tried on another path."""
    redial_us: int = 1 * SECOND
    heartbeat_us: int = 5 * SECOND
    checkpoint_records: int = 1_000
    checkpoint_us: int = 60 * SECOND
    cache_records: int = 4_096
    """Records of each stream that are kept in memory."""
    cache_bytes: int = 16 * 1024 * 1024
    window: int = 1_024
    """Deliveries of one subscription that wait for its client's acknowledgement, at most."""
    window_bytes: int = 4 * 1024 * 1024
    """The bytes of these after which no more is delivered."""
    read_records: int = 512
    """Records that are read from the log at once."""
    repeat_window: int = 10_000
    """Event ids of each stream by which a repeated publication is known."""
    clients_max: int = 100_000
    subscriptions_max: int = 1_000
    """Subscriptions of one client."""
    frame_bytes_max: int = 17 * 1024 * 1024
    """Room for the largest answer to a question, 16 MiB, and what is around it."""

    @property
    def record_bytes_max(self) -> int:
        """What fits in a frame, and is no more than an event and what is known of it may need."""
        return min(2 * 1024 * 1024, self.frame_bytes_max - 1_024)

    @property
    def asked_bytes_max(self) -> int:
        """What the filters of one session, or the rights in one answer, may take together."""
        return self.frame_bytes_max // 2

    def __post_init__(self) -> None:
        known = self.topology.node_of
        for what, name in (("broker", self.broker), ("policy_host", self.policy_host)):
            if name not in known:
                raise TopologyError(
                    f"expected `{what}` to be a broker of the network, found {named(name)}"
                )
        strangers = set(self.foreign) - set(self.topology.neighbours(self.broker))
        if strangers:
            raise TopologyError(
                f"expected neighbours of `{self.broker}` in `foreign`, found "
                f"{', '.join(map(named, sorted(strangers)))}"
            )
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value.__class__ is int and value < 1:
                raise TopologyError(f"expected `{setting.name}` to be 1 or more, found {value}")
