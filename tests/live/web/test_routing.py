"""Is each request led to its route, and to no other?"""

import pytest

from headgate.http.problems import RefusedError
from headgate.http.routes import ROUTES
from headgate.live.web.routing import Router

ROUTER = Router(ROUTES)


@pytest.mark.parametrize(
    ("method", "path", "name", "parts"),
    [
        ("GET", "/v1/policy", "policy", {}),
        ("PUT", "/v1/policy", "apply_file", {}),
        ("GET", "/v1/policy/versions/7", "version", {"version": "7"}),
        ("POST", "/v1/streams/a%2Fb%20c/events", "publish_on", {"stream": "a/b c"}),
    ],
)
def test_a_path_leads_to_its_route(
    method: str, path: str, name: str, parts: dict[str, str]
) -> None:
    route, found = ROUTER.find(method, path)
    assert (route.name, found) == (name, parts)


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/policy/", "/v1/streams//events", "/v1/streams/a/b/events"]
)
def test_where_nothing_is_that_is_said(path: str) -> None:
    with pytest.raises(RefusedError) as refused:
        ROUTER.find("GET", path)
    assert refused.value.status == 404


def test_another_method_is_told_which_ones_there_are() -> None:
    with pytest.raises(RefusedError) as refused:
        ROUTER.find("DELETE", "/v1/policy")
    assert (refused.value.status, refused.value.headers) == (405, {"Allow": "GET, PUT"})


def test_a_path_is_utf_8() -> None:
    with pytest.raises(RefusedError, match="expected UTF-8"):
        ROUTER.find("GET", "/v1/principals/%ff/rights")
