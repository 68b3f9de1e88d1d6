"""Does a token stand for its owner until it ends, as a header and as a cookie?"""

import asyncio
from pathlib import Path

from tests.live.web.servers import JANE, PASSWORD, basic, site


def test_a_token_stands_for_a_name_and_a_password(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            for more in ({}, {"json": {"name": "jane", "password": PASSWORD}}):
                who = {} if more else JANE
                status, said = await made.ask("POST", "/v1/token", who=who, **more)
                assert status == 200
                bearer = {"Authorization": f"Bearer {said['token']}"}
                _, found = await made.ask("GET", "/v1/whoami", who=bearer)
                assert (found["principal"], found["how"]) == ("jane", "token")
                assert found["expires"] == said["expires"]
                assert (await made.ask("DELETE", "/v1/token", who=bearer))[0] == 204
                assert (await made.ask("GET", "/v1/whoami", who=bearer))[0] == 401

    asyncio.run(play())


def test_a_cookie_is_for_a_browser_and_for_no_script(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            url = made.url + "/v1/token?cookie=true"
            async with made.http.post(url, headers=JANE) as answer:
                said = answer.headers["Set-Cookie"]
                assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(said.split("; "))
                cookie = {"Cookie": said.partition(";")[0]}
            assert (await made.ask("GET", "/v1/whoami", who=cookie))[1]["principal"] == "jane"
            evil = {**cookie, "Origin": "https://evil.example"}
            assert (await made.ask("GET", "/v1/whoami", who=evil))[0] == 403
            cross = {**cookie, "Sec-Fetch-Site": "cross-site"}
            assert (await made.ask("GET", "/v1/whoami", who=cross))[0] == 403
            own = {**cookie, "Origin": made.url, "Sec-Fetch-Site": "same-origin"}
            assert (await made.ask("GET", "/v1/whoami", who=own))[0] == 200

    asyncio.run(play())


def test_who_says_nothing_or_something_wrong_gets_none(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            assert (await made.ask("POST", "/v1/token", who={}))[0] == 401
            wrong = basic("jane", "guess")
            assert (await made.ask("POST", "/v1/token", who=wrong))[0] == 401
            long = {"name": "jane", "password": "x" * 10_000}
            assert (await made.ask("POST", "/v1/token", who={}, json=long))[0] == 413
            status, problem = await made.ask("POST", "/v1/token", who=basic("flood"))
            assert (status, problem["detail"]) == (429, "too many attempts")

    asyncio.run(play())
