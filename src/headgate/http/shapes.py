"""Which requests and replies has the administrative interface? One struct for each JSON object.

What stands here is the interface: `openapi.py` describes it to others from these structs, the
broker writes them and the Python client reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from headgate.model.limits import FILTER_LIMITS
from headgate.rights.changes import WHY_CHARS_MAX
from headgate.rights.rules import ATTRIBUTES_MAX, PRINCIPAL_CHARS_MAX

CHANGES_MAX = 10_000
WAIT_S_MAX = 60.0

Name = Annotated[str, Meta(min_length=1, max_length=PRINCIPAL_CHARS_MAX)]
FilterText = Annotated[str, Meta(max_length=FILTER_LIMITS.text_chars)]
Names = Annotated[
    list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1, max_length=ATTRIBUTES_MAX)
]
Why = Annotated[str, Meta(max_length=WHY_CHARS_MAX)]
Version = Annotated[int, Meta(ge=0, le=2**62)]
Offset = Annotated[int, Meta(ge=0, le=2**62)]
WaitS = Annotated[float, Meta(ge=0, le=WAIT_S_MAX)]


# Errors.


class Problem(Struct, frozen=True):
    """Why a request was refused (RFC 9457)."""

    title: str
    status: int
    detail: str
    """What was expected, what came, what to do."""
    type: str = "about:blank"
    current: int | UnsetType = UNSET
    """Of a stale version: the current one."""
    policy_host: str | UnsetType = UNSET
    """The broker that has the policy, where this one hasn't."""
    url: str | UnsetType = UNSET
    """Where that broker is to be reached, if it is known here."""


# Who is asking.


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """A name and its password, where they aren't in the `Authorization` header."""

    name: Name
    password: Annotated[str, Meta(max_length=1_024)]


class Token(Struct, frozen=True):
    """What stands for a name and a password until it expires, in `Authorization: Bearer`."""

    token: str
    expires: str


class WhoAmI(Struct, frozen=True):
    """Whom the broker takes the asker for, and how it knows."""

    principal: str
    how: str
    administrator: bool
    auditor: bool
    expires: str | None = None


# Publishing.


class Published(Struct, frozen=True):
    """Where the event stands, and the version that decided about it."""

    stream: str
    offset: int
    version: int
    repeated: bool = False
    """It was published before under the same id."""


class Outcome(Struct, frozen=True, omit_defaults=True):
    """What became of one event of a batch: where it stands, or with which status it was refused."""

    stream: str | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    version: int | UnsetType = UNSET
    repeated: bool | UnsetType = UNSET
    status: int | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class PublishedBatch(Struct, frozen=True):
    """What became of each event of a batch, in its order."""

    published: list[Outcome]


# Subscribing.


class Acknowledgement(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where a durable subscription was read: a cursor, or one stream and offset."""

    cursor: Annotated[str, Meta(max_length=65_536)] | UnsetType = UNSET
    stream: Name | UnsetType = UNSET
    offset: Offset | UnsetType = UNSET


class AcknowledgedUpTo(Struct, frozen=True):
    """What is kept, as a cursor."""

    cursor: str


# The policy.


class Validity(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """From when, and until when, a rule holds."""

    begins: str | UnsetType = field(default=UNSET, name="from")
    until: str | UnsetType = UNSET


class Rule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rule as policy files spell it."""

    principal: Name
    action: Literal["connect", "publish", "advertise", "subscribe"]
    allow: bool | UnsetType = UNSET
    filter: FilterText | UnsetType = UNSET
    lower: FilterText | UnsetType = UNSET
    strict: Literal["neither", "upper", "lower", "both"] | UnsetType = UNSET
    on_excess: Literal["restrict", "refuse"] | UnsetType = UNSET
    attributes: Names | UnsetType = UNSET
    topics: Names | UnsetType = UNSET
    validity: Validity | UnsetType = UNSET
    via: Annotated[list[str], Meta(max_length=64)] | UnsetType = UNSET


class HeldRule(Rule, frozen=True, kw_only=True, omit_defaults=True):
    """A rule that a principal has: its name, and through which groups."""

    id: str
    through: list[str]


class Membership(Struct, frozen=True, forbid_unknown_fields=True):
    """A group and one of its members."""

    group: Name
    member: Name


class Change(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One change of the policy: exactly one of these."""

    grant: Rule | UnsetType = UNSET
    revoke: Rule | UnsetType = UNSET
    begin: Rule | UnsetType = UNSET
    create_group: Name | UnsetType = UNSET
    drop_group: Name | UnsetType = UNSET
    join: Membership | UnsetType = UNSET
    leave: Membership | UnsetType = UNSET


class NewBatch(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes that make one version, or are refused whole."""

    changes: Annotated[list[Change], Meta(min_length=1, max_length=CHANGES_MAX)]
    why: Why = ""
    expected: Version | None = None
    """Refuse if another version is the current one."""
    wait_s: WaitS = 0
    """Wait so long for the starting points of the version on all streams."""


class NewVersion(Struct, frozen=True, omit_defaults=True):
    """The version that was made, and from which offset of each stream on it holds so far."""

    version: int
    starting_points: dict[str, int]
    changes: list[Change] | UnsetType = UNSET
    """What was done to get to a policy file."""


class Batch(Struct, frozen=True):
    """Who changed what, when and why."""

    author: str
    time: str
    why: str
    changes: list[Change]


class NumberedBatch(Struct, frozen=True):
    """The batch that made a version."""

    version: int
    batch: Batch


class Batches(Struct, frozen=True):
    """The batches after a version; `version` is the current one."""

    version: int
    batches: list[NumberedBatch]


class Policy(Struct, frozen=True):
    """All groups and rules of a version."""

    version: int
    groups: dict[str, list[str]]
    rules: list[Rule]


class VersionSummary(Struct, frozen=True):
    """When a version was made, by whom and why."""

    version: int
    time: str
    author: str
    why: str
    changes: int


class Versions(Struct, frozen=True):
    """Versions in their order; `version` is the current one."""

    version: int
    versions: list[VersionSummary]


class VersionDetail(Struct, frozen=True):
    """What made a version, and from which offset of each stream on it holds so far."""

    version: int
    batch: Batch
    starting_points: dict[str, int]


class StartingPoint(Struct, frozen=True):
    """From this offset on a version holds on a stream."""

    version: int
    stream: str
    offset: int


class StartingPointList(Struct, frozen=True):
    """All starting points, stream by stream, growing."""

    starting_points: list[StartingPoint]


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """Would this principal receive this event?"""

    principal: Name
    event: dict[str, Any]
    """Names with `$` are what the broker would know of it."""
    filter: FilterText | None = None
    version: Version | None = None
    domain: Name | None = None


class Explanation(Struct, frozen=True):
    """Whether an event is delivered, what is seen of it, and why."""

    decision: Literal["deliver", "withhold"]
    version: int
    view: dict[str, Any] | None
    rules: list[HeldRule]
    cut: list[str]
    because: str


class Rights(Struct, frozen=True):
    """What a principal may do at a version."""

    version: int
    principal: str
    rights: list[HeldRule]


# The broker.


class Stream(Struct, frozen=True):
    """A stream that is hosted here."""

    stream: str
    incarnation: str
    first: int
    """The first offset that is still kept."""
    last: int
    version: int


class Streams(Struct, frozen=True):
    """The streams that are hosted here, and the names of all that are known."""

    hosted: list[Stream]
    known: list[str]


class SubscriptionPosition(Struct, frozen=True):
    """Where a subscription began on a stream, and how far it has come."""

    incarnation: str
    start: int | None
    """It receives what comes after this; nothing yet where this isn't known."""
    position: int | None
    outstanding: int
    """Deliveries that its client hasn't acknowledged."""


class LiveSubscription(Struct, frozen=True):
    """A subscription of a client that is connected here."""

    client: int
    subscription: int
    principal: str
    domain: str | None
    filter: str
    durable: str | None
    causal: bool
    streams: dict[str, SubscriptionPosition]


class LiveSubscriptions(Struct, frozen=True):
    """The subscriptions of all clients that are connected here."""

    subscriptions: list[LiveSubscription]


class DurableSubscription(Struct, frozen=True):
    """A subscription that is kept by its name, whether its client is here or not."""

    principal: str
    name: str
    domain: str | None
    filter: str
    causal: bool
    broker: str
    """Where it was attached the last time."""
    positions: dict[str, int]
    """Up to where its client has acknowledged each stream: what follows is kept for it."""


class DurableSubscriptions(Struct, frozen=True):
    """All of the network."""

    durables: list[DurableSubscription]


class HostedStream(Struct, frozen=True):
    """Of a stream that is hosted here: its life, its offsets and its version."""

    incarnation: str
    first: int
    last: int
    version: int


class LogStatus(Struct, frozen=True):
    """How the log on disk is."""

    bytes: int | None
    """Its size, where it is known."""
    unsynced: int
    """What waits to be stored."""
    problem: str | None = None


class PolicyStatus(Struct, frozen=True):
    """Which broker hosts the policy, and what keeps its database from being asked."""

    host: str
    problem: str | None = None


class Status(Struct, frozen=True):
    """How a broker is."""

    broker: str
    boot: str
    version: int
    leased: bool
    ready: bool
    since_us: int
    neighbours: dict[str, bool]
    streams: dict[str, HostedStream]
    known_streams: list[str]
    clients: int
    subscriptions: int
    log: LogStatus
    policy: PolicyStatus
    counts: dict[str, int]


class Health(Struct, frozen=True):
    """Whether the broker is well: no more is said to those who aren't known."""

    status: Literal["ok", "not ready"]
