"""Which requests does a broker answer? One table: a server serves it, OpenAPI describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from headgate.http import shapes
from headgate.http.content_types import CLOUDEVENT_BATCH_JSON, CLOUDEVENT_JSON, JSON
from headgate.http.cursors import CURSOR_CHARS_MAX
from headgate.http.event_streams import CONTENT_TYPE as EVENT_STREAM
from headgate.http.event_streams import LAST_EVENT_ID

METRICS_TYPE: Final = "text/plain"
POLICY_TYPE: Final = "application/yaml"


class Needs(Enum):
    """Who may ask."""

    NOTHING = "nothing"
    IDENTITY = "identity"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True)
class Parameter:
    """A part of the path, of the query, or a header."""

    name: str
    kind: Any
    about: str
    where: Literal["path", "query", "header"] = "query"
    example: Any = None


@dataclass(frozen=True)
class Body:
    """What a request or a reply carries: of which media type, in which shape."""

    media: str
    shape: Any
    """A struct; or the name of a schema in `openapi.py` for what no struct says."""
    example: Any = None


@dataclass(frozen=True)
class Route:
    """One kind of request."""

    name: str
    method: str
    path: str
    needs: Needs
    about: str
    replies: Mapping[int, tuple[str, Body | None]]
    more: str = ""
    parameters: tuple[Parameter, ...] = ()
    bodies: tuple[Body, ...] = ()
    body_needed: bool = True
    refusals: tuple[int, ...] = ()
    """Besides those that any request may get."""
    room: str = "broker"
    at_policy_host: bool = field(default=False, kw_only=True)


def _json(shape: Any, example: Any = None) -> Body:
    return Body(JSON, shape, example)


def _ok(about: str, shape: Any, example: Any = None) -> dict[int, tuple[str, Body | None]]:
    return {200: (about, _json(shape, example))}


Text = Annotated[str, Meta(min_length=1, max_length=256)]
Cursor = Annotated[str, Meta(max_length=CURSOR_CHARS_MAX)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
RecordCount = Annotated[int, Meta(ge=1, le=10_000)]

_VERSION = Parameter("version", shapes.Version, "At this version; default: the current one.")
_RULE = {"principal": "jane", "action": "subscribe", "filter": "type = 'quote'"}
_CHANGES = [{"grant": _RULE}]
_STARTS = {"version": 3, "starting_points": {"events": 107}}
_BATCH = {"author": "ann", "time": "2026-01-31T12:00:00Z", "why": "", "changes": _CHANGES}
_EVENT = {"type": "quote", "symbol": "IBM", "price": 101}
_CLOUDEVENT = {
    "specversion": "1.0", "id": "e1", "source": "/exchange", "type": "quote",
    "data": {"symbol": "IBM", "price": 101},
}  # fmt: skip
_POLICY_FILE = "rules:\n  - {principal: jane, action: connect, allow: true}\n"
_PLACE = {"stream": "events", "offset": 108, "version": 3, "repeated": False}

_HEALTH = (
    Route(
        "is_live", "GET", "/health/live", Needs.NOTHING, "Is the process alive?",
        _ok("It is.", shapes.Health, {"status": "ok"}), room="health",
    ),
    Route(
        "is_ready", "GET", "/health/ready", Needs.NOTHING, "Would it serve a client now?",
        {
            200: ("It would.", _json(shapes.Health, {"status": "ok"})),
            503: ("Not yet, or not any more.", _json(shapes.Health, {"status": "not ready"})),
        },
        room="health",
    ),
    Route(
        "metrics", "GET", "/metrics", Needs.NOTHING, "What has it done, in numbers?",
        {200: ("In the text format of Prometheus.", Body(METRICS_TYPE, "text"))}, room="health",
        more="May need an auditor, or be switched off: `http.metrics` in the settings says so.",
        refusals=(401, 403),
    ),
    Route(
        "openapi", "GET", "/openapi.json", Needs.NOTHING, "This description.",
        {200: ("OpenAPI 3.1.", _json("object"))}, room="health",
    ),
)  # fmt: skip

_WHO = (
    Route(
        "log_in", "POST", "/v1/token", Needs.NOTHING, "Get a token for a name and a password.",
        _ok(
            "It stands for them until it expires.", shapes.Token,
            {"token": "…", "expires": "2026-01-31T12:00:00Z"},
        ),
        more="They come in `Authorization: Basic`, or in the body.",
        parameters=(
            Parameter(
                "cookie", bool,
                "Set the token as the cookie `headgate_token` too, for a browser.", example=False,
            ),
        ),
        bodies=(_json(shapes.Login, {"name": "jane", "password": "correct horse"}),),
        body_needed=False, refusals=(401,), room="identity",
    ),
    Route(
        "log_out", "DELETE", "/v1/token", Needs.IDENTITY, "End the token that the request bears.",
        {204: ("It is worth nothing now.", None)}, room="identity",
    ),
    Route(
        "who_am_i", "GET", "/v1/whoami", Needs.IDENTITY, "For whom does the broker take me?",
        _ok(
            "For this one.", shapes.WhoAmI,
            {"principal": "jane", "how": "token", "administrator": False, "auditor": False,
             "expires": "2026-01-31T12:00:00Z"},
        ),
        room="identity",
    ),
)  # fmt: skip

_PUBLISHED: dict[int, tuple[str, Body | None]] = {
    200: ("It is stored; of a batch, all are.", _json("published", _PLACE)),
    207: ("Of a batch some were refused.", _json(shapes.PublishedBatch)),
}
_PUBLISHABLE = (
    _json("any", _EVENT),
    Body(CLOUDEVENT_JSON, "CloudEvent", _CLOUDEVENT),
    Body(CLOUDEVENT_BATCH_JSON, "CloudEventBatch", [_CLOUDEVENT]),
    Body("application/octet-stream", "bytes"),
)
_PUBLISH_MORE = (
    "A CloudEvent in structured or batched mode, or in binary mode with its attributes in `ce-` "
    "headers; an event as plain JSON; or any other bytes. A CloudEvent's `source` and `id` "
    "together, or the header `Idempotency-Key`, name the publication: repeated, it is answered "
    "again and not stored twice."
)
_KEY = Parameter(
    "Idempotency-Key", Annotated[str, Meta(max_length=256, pattern=r"^[!-~]*$")],
    "A name for the publication, where it is no CloudEvent.", "header", "k-17",
)  # fmt: skip

_EVENTS = (
    Route(
        "publish", "POST", "/v1/events", Needs.IDENTITY,
        "Publish on the first stream of the broker.", _PUBLISHED, _PUBLISH_MORE,
        parameters=(_KEY,), bodies=_PUBLISHABLE, refusals=(404, 422), room="events",
    ),
    Route(
        "publish_on", "POST", "/v1/streams/{stream}/events", Needs.IDENTITY,
        "Publish on a stream of the broker.", _PUBLISHED, _PUBLISH_MORE,
        parameters=(Parameter("stream", Text, "Its name.", "path", "events"), _KEY),
        bodies=_PUBLISHABLE, refusals=(404, 422), room="events",
    ),
    Route(
        "subscribe", "GET", "/v1/subscribe", Needs.IDENTITY,
        "Receive what matches a filter, as Server-Sent Events.",
        {200: ("Until either end is tired of it.", Body(EVENT_STREAM, "text"))},
        "The events `started` and `ended`, and one without a name for each delivery; the id of "
        "each is a cursor.",
        parameters=(
            Parameter("filter", shapes.FilterText, "A condition; default: all that you may read.",
                      example="type = 'quote' AND price > 100"),
            Parameter("durable", Text, "Keep it under this name.", example="desk-7"),
            Parameter("order", Literal["stream", "causal"],
                      "`causal`: across streams, nothing before what caused it."),
            Parameter("from", Cursor, "A cursor, or `start`; default: from now on.",
                      example="start"),
            Parameter(LAST_EVENT_ID, Cursor, "The last id seen: go on after it.", "header"),
        ),
        refusals=(422,), room="events",
    ),
    Route(
        "socket", "GET", "/v1/socket", Needs.IDENTITY,
        "Publish and subscribe over a WebSocket, subprotocol `headgate.v1`.",
        {101: ("The WebSocket is open.", None)}, refusals=(426,), room="events",
    ),
    Route(
        "acknowledge", "POST", "/v1/subscriptions/{name}/acknowledge", Needs.IDENTITY,
        "Say up to where a durable subscription was read over Server-Sent Events.",
        _ok("This will not be delivered again.", shapes.AcknowledgedUpTo,
            {"cursor": "events@INC.12"}),
        parameters=(Parameter("name", Text, "That of the subscription.", "path", "desk-7"),),
        bodies=(_json(shapes.Acknowledgement, {"cursor": "events@INC.12"}),),
        refusals=(404, 409, 422), room="events",
    ),
)  # fmt: skip

_CHANGING = (
    Parameter("expected", shapes.Version, "Refuse if another version is the current one."),
    Parameter("why", shapes.Why, "The reason, for the history.", example="Jane joins"),
    Parameter("wait_s", shapes.WaitS, "Wait so long for the starting points.", example=0),
)

_POLICY = (
    Route(
        "policy", "GET", "/v1/policy", Needs.AUDITOR, "All groups and rules of a version.",
        _ok("These.", shapes.Policy, {"version": 3, "groups": {}, "rules": [_RULE]}),
        parameters=(_VERSION,), refusals=(404,), room="policy", at_policy_host=True,
    ),
    Route(
        "apply_file", "PUT", "/v1/policy", Needs.ADMINISTRATOR,
        "Make the policy what a policy file says.",
        _ok("The version that says so; where nothing is to be changed it stays.",
            shapes.NewVersion, {**_STARTS, "changes": _CHANGES}),
        parameters=_CHANGING, bodies=(Body(POLICY_TYPE, "yaml", _POLICY_FILE),),
        refusals=(409, 422), room="policy", at_policy_host=True,
    ),
    Route(
        "batches", "GET", "/v1/policy/batches", Needs.AUDITOR, "The batches after a version.",
        _ok("In their order.", shapes.Batches,
            {"version": 3, "batches": [{"version": 3, "batch": _BATCH}]}),
        parameters=(
            Parameter("after", shapes.Version, "Default: from the first one on.", example=0),
            Parameter("limit", Limit, "At most so many; default: 1,000.", example=100),
        ),
        room="policy", at_policy_host=True,
    ),
    Route(
        "apply_batch", "POST", "/v1/policy/batches", Needs.ADMINISTRATOR,
        "Make the next version of some changes, whole or not at all.",
        _ok("The version, and from where on it holds.", shapes.NewVersion, _STARTS),
        bodies=(_json(shapes.NewBatch, {"changes": _CHANGES, "why": "Jane joins"}),),
        refusals=(409, 422), room="policy", at_policy_host=True,
    ),
    Route(
        "versions", "GET", "/v1/policy/versions", Needs.AUDITOR,
        "When was the policy changed, by whom and why?",
        _ok("In their order.", shapes.Versions),
        parameters=(
            Parameter("after", shapes.Version, "Default: from the first one on.", example=0),
            Parameter("limit", Limit, "At most so many; default: 1,000.", example=100),
        ),
        room="policy", at_policy_host=True,
    ),
    Route(
        "version", "GET", "/v1/policy/versions/{version}", Needs.AUDITOR,
        "What made a version, and from where on does it hold?",
        _ok("This.", shapes.VersionDetail,
            {"version": 3, "batch": _BATCH, "starting_points": {"events": 107}}),
        parameters=(Parameter("version", shapes.Version, "Its number.", "path", 3),),
        refusals=(404,), room="policy", at_policy_host=True,
    ),
    Route(
        "starting_points", "GET", "/v1/policy/starting-points", Needs.AUDITOR,
        "From which offset on does each version hold on each stream?",
        _ok("As far as the streams have begun them.", shapes.StartingPointList,
            {"starting_points": [{"version": 3, "stream": "events", "offset": 107}]}),
        room="policy", at_policy_host=True,
    ),
    Route(
        "explain", "POST", "/v1/policy/explain", Needs.AUDITOR,
        "Does a principal receive an event, what does it see of it, and why?",
        _ok("This is what the broker would do.", shapes.Explanation),
        bodies=(_json(shapes.Question, {"principal": "jane", "event": _EVENT}),),
        refusals=(404, 422), room="policy", at_policy_host=True,
    ),
    Route(
        "rights", "GET", "/v1/principals/{principal}/rights", Needs.AUDITOR,
        "What may a principal do, and where has it that from?",
        _ok("These.", shapes.Rights),
        parameters=(Parameter("principal", shapes.Name, "Its name.", "path", "jane"), _VERSION),
        refusals=(404,), room="policy", at_policy_host=True,
    ),
)  # fmt: skip

_BROKER = (
    Route(
        "streams", "GET", "/v1/streams", Needs.AUDITOR, "The streams that are hosted here.",
        _ok("These.", shapes.Streams),
    ),
    Route(
        "subscriptions", "GET", "/v1/subscriptions", Needs.AUDITOR,
        "Who is subscribed here to what, and how far has each come?",
        _ok("These.", shapes.LiveSubscriptions),
    ),
    Route(
        "durables", "GET", "/v1/durables", Needs.AUDITOR,
        "Which durable subscriptions are there in the network, and how far is each?",
        _ok("These.", shapes.DurableSubscriptions), at_policy_host=True,
        more="Old records that one of them is still owed are not removed.",
    ),
    Route(
        "end_durable", "DELETE", "/v1/durables/{principal}/{name}", Needs.IDENTITY,
        "End a durable subscription for good.",
        {204: ("It is forgotten.", None)}, at_policy_host=True,
        more="For its principal, and for administrators.",
        parameters=(
            Parameter("principal", Text, "Whose it is.", "path", "jane"),
            Parameter("name", Text, "That of the subscription.", "path", "desk-7"),
        ),
        refusals=(403, 404),
    ),
    Route(
        "status", "GET", "/v1/status", Needs.AUDITOR, "How is the broker?",
        _ok("So.", shapes.Status),
    ),
)  # fmt: skip

ROUTES: Final = (*_HEALTH, *_WHO, *_EVENTS, *_POLICY, *_BROKER)
