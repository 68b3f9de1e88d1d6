"""How is a policy file spelled, in the words of JSON Schema? For editors, and for other programs.

What a schema can't say is left to the reader: the filters' own language, groups without a cycle.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from headgate.rights.policy_files import WITHHELD
from headgate.rights.rules import ATTRIBUTES_MAX, PRINCIPAL_CHARS_MAX, Action, OnExcess, Strict

Schema = dict[str, Any]

# A text may stand without quotes, so that editors may take it for something else.
_AS_WRITTEN = ["string", "number", "boolean"]


def policy_schema() -> Schema:
    """The schema of policy files (2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headgate policy file",
        "description": "Who may do what with which events: all groups and rules as they shall be.",
        "type": "object",
        "required": ["rules"],
        "additionalProperties": False,
        "properties": {
            "groups": _groups(),
            "rules": _list(_ref("rule"), "What is granted. What no rule grants is denied."),
            "tests": _list(_ref("test"), "What this policy is for, as examples that are run."),
        },
        "$defs": {
            "principal": _principal(),
            "filter": _filter(),
            "names": _names(),
            "moment": _moment(),
            "event": _event(),
            "rule": _rule(),
            "test": _test(),
        },
    }


def _ref(name: str, description: str | None = None) -> Schema:
    ref = {"$ref": f"#/$defs/{name}"}
    return ref if description is None else {**ref, "description": description}


def _list(items: Schema, description: str, **more: Any) -> Schema:
    return {"description": description, "type": "array", "items": items, **more}


def _words(choice: type[Enum], description: str) -> Schema:
    return {"description": description, "enum": [one.value for one in choice]}


def _groups() -> Schema:
    return {
        "description": "Each group with its members: individuals, or other groups of this file.",
        "type": "object",
        "propertyNames": _principal(),
        "additionalProperties": _list(
            _ref("principal"), "The direct members; `[]` for none.", uniqueItems=True
        ),
    }


def _principal() -> Schema:
    return {
        "description": "An individual, a group, a domain, or a public key.",
        "type": _AS_WRITTEN,
        "minLength": 1,
        "maxLength": PRINCIPAL_CHARS_MAX,
        "pattern": r"^[^\s$](.*\S)?$",
    }


def _filter() -> Schema:
    return {
        "description": "A condition like the WHERE of SQL: type = 'quote' AND price > 100",
        "type": _AS_WRITTEN,
        "minLength": 1,
    }


def _names() -> Schema:
    return {
        "type": "array",
        "items": {"type": _AS_WRITTEN, "minLength": 1},
        "minItems": 1,
        "maxItems": ATTRIBUTES_MAX,
        "uniqueItems": True,
    }


def _moment() -> Schema:
    return {
        "description": "A timestamp with a zone, or a date: its first moment in UTC.",
        "type": "string",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
        r"([Zz]|[+-][0-9]{2}:[0-9]{2}))?$",
    }


def _event() -> Schema:
    return {
        "description": "An event as JSON has it; names with `$` are what the broker knows of it.",
        "type": "object",
        "propertyNames": {"minLength": 1},
    }


def _rule() -> Schema:
    return {
        "type": "object",
        "required": ["principal", "action"],
        "additionalProperties": False,
        "properties": {
            "principal": _ref("principal", "Who is granted this: an individual or a group."),
            "action": _words(Action, "What it may do."),
            "allow": {
                "description": "For `connect`: whether it may.",
                "type": "boolean",
                "default": True,
            },
            "filter": _ref("filter", "The upper bound; default: everything."),
            "attributes": _ref("names", "What may be read, or written; default: all."),
            "lower": _ref("filter", "The lower bound, which a request has to reach."),
            "strict": {
                **_words(Strict, "Which bounds have to name every attribute."),
                "default": Strict.NEITHER.value,
            },
            "on_excess": {
                **_words(OnExcess, "What becomes of a subscription beyond the upper bound."),
                "default": OnExcess.RESTRICT.value,
            },
            "topics": _ref("names", "For events with one of these topics only."),
            "validity": {
                "description": "From when, and until when, it holds.",
                "type": "object",
                "additionalProperties": False,
                "properties": {"from": _ref("moment"), "until": _ref("moment")},
            },
        },
        "allOf": [
            _when({"action": _one(Action.CONNECT)}, _without_bounds()),
            _when(
                {"action": {"not": _one(Action.CONNECT)}, "allow": {"const": False}},
                False,
                needed=["allow"],
            ),
            _when(
                {"action": {"not": _one(Action.SUBSCRIBE)}},
                {"properties": {"on_excess": _one(OnExcess.RESTRICT)}},
            ),
            _when({"action": _one(Action.ADVERTISE)}, _without("attributes", "topics")),
            _when(
                {"strict": {"enum": [Strict.LOWER.value, Strict.BOTH.value]}},
                {"required": ["lower"]},
                needed=["strict"],
            ),
        ],
    }


def _one(word: Enum) -> Schema:
    return {"const": word.value}


def _when(properties: Schema, then: Schema | bool, needed: list[str] | None = None) -> Schema:
    return {"if": {"required": needed or ["action"], "properties": properties}, "then": then}


def _without(*names: str) -> Schema:
    return {"properties": dict.fromkeys(names, False)}


def _without_bounds() -> Schema:
    schema = _without("lower", "attributes", "topics")
    schema["properties"] |= {
        "filter": {"enum": [True, "TRUE"]},
        "strict": _one(Strict.NEITHER),
        "on_excess": _one(OnExcess.RESTRICT),
    }
    return schema


def _test() -> Schema:
    return {
        "type": "object",
        "required": ["who", "event", "expect"],
        "additionalProperties": False,
        "properties": {
            "name": {"description": "What it shows.", "type": _AS_WRITTEN},
            "who": _ref("principal", "Who subscribes."),
            "domain": _ref("principal", "The untrusted domain through which it is connected."),
            "event": _ref("event"),
            "filter": _ref("filter", "What it subscribes to; default: everything."),
            "expect": {
                "description": f"The view that it shall receive, or `{WITHHELD}`.",
                "anyOf": [_ref("event"), {"const": WITHHELD}],
            },
        },
    }
