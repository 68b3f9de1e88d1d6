"""Are parameters and bodies of the kinds that their route says, or refused with a sentence?"""

from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from headgate.http import shapes
from headgate.http.problems import RefusedError
from headgate.http.routes import ROUTES
from headgate.live.web.asking import Bodies, decoded, parameters_of

BY_NAME = {route.name: route for route in ROUTES}


def parameters(name: str, query: str, headers: dict[str, str] | None = None, **parts: str) -> Any:
    request = make_mocked_request("GET", f"/?{query}", headers or {})
    return parameters_of(request, BY_NAME[name], parts)


def test_parameters_have_their_kinds() -> None:
    assert parameters("batches", "after=3&limit=10") == {"after": 3, "limit": 10}
    assert parameters("apply_file", "wait_s=1.5&why=a+b%20c") == {"wait_s": 1.5, "why": "a b c"}
    assert parameters("apply_file", "wait_s=2") == {"wait_s": 2.0}
    assert parameters("apply_file", "wait_s=1e-05") == {"wait_s": 0.00001}
    assert parameters("log_in", "cookie=true") == {"cookie": True}
    assert parameters("subscribe", "order=causal", {"last-event-id": "a@b.1"}) == {
        "order": "causal",
        "Last-Event-ID": "a@b.1",
    }
    assert parameters("version", "", version="7") == {"version": 7}


@pytest.mark.parametrize(
    ("name", "query", "because"),
    [
        ("batches", "after=x", "the parameter `after`: Expected `int`"),
        ("batches", "after=1.5", "the parameter `after`: Expected `int`"),
        ("batches", "after=-1", "the parameter `after`: Expected `int` >= 0"),
        ("batches", "after=", "the parameter `after`: Expected `int`"),
        ("batches", "after=99999999999999999999", "the parameter `after`"),
        ("batches", "after=1&after=2", "is there twice"),
        ("batches", "befor=1", "there is no parameter `befor` here"),
        ("batches", "after=%ff", "the query can't be read"),
        ("batches", "&".join(f"a{n}=" for n in range(100)), "the query can't be read"),
        ("log_in", "cookie=1", "the parameter `cookie`: Expected `bool`"),
        ("apply_file", "wait_s=nan", "the parameter `wait_s`: Expected `float`"),
        ("apply_file", "wait_s=1e9", "the parameter `wait_s`"),
        ("subscribe", "order=random", "the parameter `order`: Invalid enum value"),
    ],
)
def test_other_parameters_are_refused(name: str, query: str, because: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parameters(name, query)
    assert refused.value.status == 400
    assert because in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"name":1}', b"\xff", b"[" * 1_000_000, b'{"name":"a","password":"b","x":1}'],
)
def test_a_body_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        decoded(body, shapes.Login)
    assert refused.value.status == 400
    assert len(str(refused.value)) <= 500


def test_all_bodies_together_have_a_bound() -> None:
    bodies = Bodies(100)
    bodies.take(60)
    with pytest.raises(RefusedError) as refused:
        bodies.take(41)
    assert refused.value.status == 503
    bodies.give_back(60)
    bodies.take(100)
