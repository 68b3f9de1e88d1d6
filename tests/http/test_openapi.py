"""Does the description say all that can happen, and are its examples what it describes?"""

import re
from typing import Any

import jsonschema
import pytest

from headgate.http.openapi import describe, statuses_refused
from headgate.http.routes import ROUTES

DESCRIPTION = describe(ROUTES, "1.2.3")


def resolved(schema: Any) -> Any:
    """The schema with what it refers to beside it."""
    return {**schema, "components": DESCRIPTION["components"]}


def examples() -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            name = f"{method} {path}"
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in contents:
                for body in content.get("content", {}).values():
                    if "example" in body:
                        found.append((name, body["schema"], body["example"]))
            for one in operation.get("parameters", []):
                if "example" in one:
                    found.append((f"{name} {one['name']}", one["schema"], one["example"]))
    return found


@pytest.mark.parametrize(("name", "schema", "example"), examples())
def test_examples_fit_their_schemas(name: str, schema: Any, example: Any) -> None:
    jsonschema.Draft202012Validator(resolved(schema)).validate(example)


def test_everything_that_is_referred_to_is_there() -> None:
    names = set(re.findall(r"'#/components/schemas/(\w+)'", str(DESCRIPTION)))
    assert names <= set(DESCRIPTION["components"]["schemas"])
    assert "RightsOf" not in names


def test_every_request_may_be_malformed_and_most_need_somebody() -> None:
    by_name = {route.name: statuses_refused(route) for route in ROUTES}
    assert by_name["is_ready"] == [400]
    assert by_name["streams"] == [400, 401, 403, 429, 503]
    assert by_name["apply_batch"] == [400, 401, 403, 408, 409, 413, 415, 421, 422, 429, 503]


def test_refusals_that_promise_a_header_say_so() -> None:
    responses = DESCRIPTION["paths"]["/v1/whoami"]["get"]["responses"]
    assert responses["401"]["headers"]["WWW-Authenticate"]["required"]
    assert responses["429"]["headers"]["Retry-After"]["required"]


def test_who_may_ask_is_said() -> None:
    assert "security" not in DESCRIPTION["paths"]["/health/live"]["get"]
    assert {"token": []} in DESCRIPTION["paths"]["/v1/events"]["post"]["security"]
    assert DESCRIPTION["info"]["version"] == "1.2.3"
