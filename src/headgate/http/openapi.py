"""How do others learn what the interface is? By an OpenAPI 3.1 description, made from its routes.

The schemas are those of the structs in `shapes.py`; what no struct can say is written out here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from headgate.http import shapes
from headgate.http.cloudevents import BATCH_MAX
from headgate.http.problems import CONTENT_TYPE as PROBLEM_TYPE
from headgate.http.routes import Body, Needs, Parameter, Route

Schema = dict[str, Any]

COOKIE: Final = "headgate_token"
_REF: Final = "#/components/schemas/"

REASONS: Final[dict[int, str]] = {
    400: "The request isn't what is described here.",
    401: "Who is asking isn't known.",
    403: "The policy, or the settings, don't allow it.",
    404: "There is no such thing.",
    408: "The body took too long to come.",
    409: "Something else happened first.",
    413: "The body is too large.",
    415: "A body of this type isn't taken.",
    421: "Another broker has the policy: it is named.",
    422: "It is written as it should be, but can't be done.",
    426: "This is for WebSockets.",
    429: "Too many attempts: try again after a while.",
    503: "Nothing is wrong with it, but not now: try again after a while.",
}
_ANY: Final = (400,)
_WITH_IDENTITY: Final = (401, 403, 429, 503)
_WITH_BODY: Final = (408, 413, 415)
_AT_POLICY_HOST: Final = (421,)
_HEADERS: Final = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}

_CLOUDEVENT: Schema = {
    "title": "CloudEvent",
    "description": "A CloudEvent 1.0 in its JSON format.",
    "type": "object",
    "required": ["specversion", "id", "source", "type"],
    "properties": {
        "specversion": {"const": "1.0"},
        "id": {"type": "string", "minLength": 1},
        "source": {"type": "string", "pattern": "^[!-~]+$"},
        "type": {"type": "string", "minLength": 1},
        "datacontenttype": {"type": ["string", "null"], "minLength": 1},
        "dataschema": {"type": ["string", "null"], "minLength": 1},
        "subject": {"type": ["string", "null"], "minLength": 1},
        "time": {"type": ["string", "null"], "format": "date-time"},
        "data": {},
    },
    "propertyNames": {"pattern": "^[a-z0-9]+$"},
    "additionalProperties": {
        "anyOf": [
            {"type": ["string", "boolean", "null"]},
            {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
        ]
    },
    "maxProperties": 1_000,
}
_NAMED: Final[dict[str, Schema]] = {
    "any": {"description": "An event: an object, or any JSON as the attribute `payload`."},
    "object": {"type": "object"},
    "text": {"type": "string"},
    "bytes": {"type": "string", "format": "binary"},
    "yaml": {"description": "A policy file, as `docs/policy.schema.json` describes it."},
    "published": {
        "anyOf": [{"$ref": f"{_REF}Published"}, {"$ref": f"{_REF}PublishedBatch"}],
    },
    "CloudEvent": {"$ref": f"{_REF}CloudEvent"},
    "CloudEventBatch": {
        "description": "What is no CloudEvent among them is refused alone.",
        "type": "array",
        "items": {"anyOf": [{"$ref": f"{_REF}CloudEvent"}, {}]},
        "maxItems": BATCH_MAX,
    },
}


def describe(routes: Iterable[Route], version: str) -> Schema:
    """The description of an interface of these routes."""
    routes = tuple(routes)
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headgate",
            "version": version,
            "description": "Publishing, subscribing and the administration of one broker.",
        },
        "paths": paths,
        "components": {"schemas": _schemas(routes), "securitySchemes": _SECURITY},
    }


_SECURITY: Final[Schema] = {
    "password": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    "certificate": {"type": "mutualTLS"},
}


def _schemas(routes: Iterable[Route]) -> Schema:
    found: set[type[Struct]] = {shapes.Problem, shapes.Published, shapes.PublishedBatch}
    for route in routes:
        bodies = [*route.bodies, *(body for _, body in route.replies.values() if body is not None)]
        found |= {body.shape for body in bodies if isinstance(body.shape, type)}
    ordered = sorted(found, key=lambda shape: shape.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REF + "{name}")
    return {**components, "CloudEvent": _CLOUDEVENT}


def _operation(route: Route) -> Schema:
    said: Schema = {
        "operationId": route.name,
        "tags": [route.room],
        "summary": route.about,
        "responses": _responses(route),
    }
    if route.more:
        said["description"] = route.more
    if route.parameters:
        said["parameters"] = [_parameter(one) for one in route.parameters]
    if route.bodies:
        said["requestBody"] = {
            "required": route.body_needed,
            "content": {body.media: _content(body) for body in route.bodies},
        }
    if route.needs is not Needs.NOTHING:
        said["security"] = [{name: []} for name in _SECURITY]
    return said


def _parameter(one: Parameter) -> Schema:
    said: Schema = {
        "name": one.name,
        "in": one.where,
        "description": one.about,
        "required": one.where == "path",
        "schema": msgspec.json.schema(one.kind),
    }
    if one.example is not None:
        said["example"] = one.example
    return said


def _content(body: Body) -> Schema:
    shape = body.shape
    schema = _NAMED[shape] if isinstance(shape, str) else {"$ref": _REF + shape.__name__}
    return (
        {"schema": schema}
        if body.example is None
        else {
            "schema": schema,
            "example": body.example,
        }
    )


def statuses_refused(route: Route) -> list[int]:
    """With which statuses a request of this kind may be refused."""
    found = {*_ANY, *route.refusals}
    if route.needs is not Needs.NOTHING or route.name == "log_in":
        found.update(_WITH_IDENTITY)
    if route.bodies:
        found.update(_WITH_BODY)
    if route.at_policy_host:
        found.update(_AT_POLICY_HOST)
    return sorted(found - set(route.replies))


def _responses(route: Route) -> Schema:
    said: Schema = {}
    for status, (about, body) in route.replies.items():
        said[str(status)] = {"description": about}
        if body is not None:
            said[str(status)]["content"] = {body.media: _content(body)}
    problem = {"schema": {"$ref": f"{_REF}Problem"}}
    for status in statuses_refused(route):
        said[str(status)] = {
            "description": REASONS[status],
            "content": {PROBLEM_TYPE: problem},
        }
        if status in _HEADERS:
            said[str(status)]["headers"] = {
                _HEADERS[status]: {"schema": {"type": "string"}, "required": True}
            }
    return dict(sorted(said.items()))
