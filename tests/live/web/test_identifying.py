"""Is what a request says of its sender read as it was meant, and nothing else believed?"""

from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from headgate.http.problems import RefusedError
from headgate.live.web.identifying import check_origin, credentials_of
from tests.live.web.servers import basic


def request(**headers: str) -> Any:
    return make_mocked_request("GET", "/", {k.replace("_", "-"): v for k, v in headers.items()})


def test_the_header_goes_before_the_cookie() -> None:
    cookie = "a=b; headgate_token=hgt_1"
    assert credentials_of(request(Cookie=cookie)).bearer == "hgt_1"
    said = credentials_of(request(Cookie=cookie, Authorization="Bearer hgt_2"))
    assert said.bearer == "hgt_2"
    said = credentials_of(request(Cookie=cookie, **basic("jane", "a:b")))
    assert (said.basic, said.bearer) == (("jane", "a:b"), None)
    assert credentials_of(request()).basic is None


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic ???", "Basic amFuZQ==", "Basic /w==", "Bearer", "Digest x"]
)
def test_a_header_that_says_nobody_is_refused(header: str) -> None:
    with pytest.raises(RefusedError) as refused:
        credentials_of(request(Authorization=header))
    assert refused.value.status == 401
    assert "amFuZQ" not in str(refused.value)


@pytest.mark.parametrize(
    ("origin", "site", "is_refused"),
    [
        (None, None, False),
        ("https://broker.example:7080", "same-origin", False),
        ("https://broker.example:7080", "none", False),
        ("https://broker.example", None, True),
        ("https://evil.example", None, True),
        ("null", None, True),
        ("https://[", None, True),
        (None, "cross-site", True),
        (None, "same-site", True),
    ],
)
def test_pages_of_others_are_refused(
    origin: str | None, site: str | None, is_refused: bool
) -> None:
    headers = {"Host": "broker.example:7080"}
    if origin is not None:
        headers["Origin"] = origin
    if site is not None:
        headers["Sec_Fetch_Site"] = site
    found = request(**headers)
    if not is_refused:
        check_origin(found)
        return
    with pytest.raises(RefusedError) as refused:
        check_origin(found)
    assert refused.value.status == 403
