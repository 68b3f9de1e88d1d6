"""Is the policy changed and shown over HTTP as it is by the command line?"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.http.problems import RefusedError
from headgate.live.node import Node
from headgate.live.web.administering import Administering
from headgate.log.memory import MemoryLog
from tests.live.web.servers import ADMIN, AUDITOR, JANE, Site, site

FILE = b"""\
rules:
  - {principal: jane, action: connect}
  - {principal: jane, action: subscribe, filter: a > 1}
"""
YAML = {"Content-Type": "application/yaml"}
JOIN = {"changes": [{"create_group": "g"}, {"join": {"group": "g", "member": "jane"}}]}


async def ask(made: Site, method: str, path: str, **more: Any) -> tuple[int, Any]:
    return await made.ask(method, path, **{"who": ADMIN, **more})


def test_a_batch_makes_a_version_and_says_where_it_begins(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            status, said = await ask(
                made, "POST", "/v1/policy/batches", json={**JOIN, "why": "news", "wait_s": 20}
            )
            assert (status, said["version"]) == (200, 2)
            assert {"events", "orders"} <= set(said["starting_points"])
            status, detail = await ask(made, "GET", "/v1/policy/versions/2")
            assert detail["batch"]["author"] == "ann"
            assert detail["batch"]["changes"] == JOIN["changes"]
            # Where it begins on the broker's own streams may be known a little later.
            assert said["starting_points"].items() <= detail["starting_points"].items()
            _, points = await ask(made, "GET", "/v1/policy/starting-points")
            assert {"version": 2, "stream": "events", "offset": 3} in points[
                "starting_points"
            ] or any(
                one["version"] == 2 and one["stream"] == "events"
                for one in points["starting_points"]
            )

    asyncio.run(play())


def test_a_file_becomes_the_policy(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            path = "/v1/policy?why=a+file&expected=1"
            status, said = await ask(made, "PUT", path, headers=YAML, data=FILE)
            assert (status, said["version"]) == (200, 2)
            assert {
                "grant": {"principal": "jane", "action": "subscribe", "filter": "a > 1"}
            } in said["changes"]
            status, stale = await ask(made, "PUT", path, headers=YAML, data=FILE)
            assert (status, stale["current"]) == (409, 2)
            status, same = await ask(made, "PUT", "/v1/policy", headers=YAML, data=FILE)
            assert (status, same["version"], same["changes"]) == (200, 2, [])
            _, policy = await ask(made, "GET", "/v1/policy")
            assert [rule["action"] for rule in policy["rules"]] == ["connect", "subscribe"]
            _, before = await ask(made, "GET", "/v1/policy?version=1")
            assert len(before["rules"]) == 8

    asyncio.run(play())


def test_what_is_refused_leaves_the_version_and_says_why(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            refused: dict[str, tuple[int, str]] = {
                '{"changes":[{}]}': (422, "one change in each object"),
                '{"changes":[{"drop_group":"g"}]}': (422, "g"),
                '{"changes":[{"grant":{"principal":"x","action":"subscribe","filter":"a >"}}]}': (
                    422, "(filter",
                ),
                '{"changes":[{"grant":{"principal":"x"}}]}': (400, "action"),
                '{"changes":[]}': (400, "length"),
                '{"changes":[{"create_group":"g"}],"expected":7}': (409, "expected version 7"),
            }  # fmt: skip
            for body, (status, because) in refused.items():
                said = await ask(
                    made, "POST", "/v1/policy/batches", data=body.encode(),
                    headers={"Content-Type": "application/json"},
                )  # fmt: skip
                assert said[0] == status, said
                assert because in said[1]["detail"]
            assert (await ask(made, "PUT", "/v1/policy", headers=YAML, data=b"rules: 7"))[0] == 422
            assert (await ask(made, "PUT", "/v1/policy", json={}))[0] == 415
            _, versions = await ask(made, "GET", "/v1/policy/versions")
            assert versions["version"] == 1
            assert versions["versions"][0]["author"] == "root"

    asyncio.run(play())


def test_batches_come_in_pages(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            for name in "abc":
                await ask(
                    made, "POST", "/v1/policy/batches", json={"changes": [{"create_group": name}]}
                )
            _, page = await ask(made, "GET", "/v1/policy/batches?after=1&limit=2")
            assert page["version"] == 4
            assert [one["version"] for one in page["batches"]] == [2, 3]

    asyncio.run(play())


def test_an_explanation_is_the_command_lines(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            await ask(made, "PUT", "/v1/policy", headers=YAML, data=FILE)
            said = {"principal": "jane", "event": {"a": 1, "$stream": "events"}}
            _, found = await ask(made, "POST", "/v1/policy/explain", json=said)
            assert (found["decision"], found["version"], found["view"]) == ("withhold", 2, None)
            assert "`a > 1` is not true" in found["because"]
            _, found = await ask(made, "POST", "/v1/policy/explain", json={**said, "version": 1})
            assert found["decision"] == "deliver"
            assert found["view"] == {"$stream": "events", "a": 1}
            assert found["rules"][0]["through"] == []
            status, _ = await ask(made, "POST", "/v1/policy/explain", json={**said, "version": 9})
            assert status == 404
            _, rights = await ask(made, "GET", "/v1/principals/jane/rights")
            assert [one["action"] for one in rights["rights"]] == ["connect", "subscribe"]
            _, nobody = await ask(made, "GET", "/v1/principals/no%2Fbody/rights?version=1")
            assert (nobody["principal"], nobody["rights"]) == ("no/body", [])

    asyncio.run(play())


def test_who_may_look_and_who_may_change(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            looking, changing = "/v1/policy", "/v1/policy/batches"
            assert (await made.ask("GET", looking, who=AUDITOR))[0] == 200
            assert (await made.ask("GET", looking, who=JANE))[0] == 403
            assert (await made.ask("POST", changing, who=AUDITOR, json=JOIN))[0] == 403
            assert (await made.ask("POST", changing, who={}, json=JOIN))[0] == 401

    asyncio.run(play())


def test_another_broker_says_where_the_policy_is() -> None:
    async def play() -> None:
        topology = Topology(
            {"left": ("b",), "right": ("c",)}, frozenset({frozenset({"left", "right"})})
        )
        node = Node(Settings("b", topology, "c"), MemoryLog(), None, "boot")
        with pytest.raises(RefusedError) as refused:
            await Administering(node, "https://c:7080").policy(type("A", (), {"said": {}})())
        problem = refused.value.problem
        assert (problem.status, problem.policy_host, problem.url) == (421, "c", "https://c:7080")

    asyncio.run(play())


def test_durable_subscriptions_are_listed_and_ended(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            async with made.talk() as talk:
                for number, name in enumerate(("desk 7", "desk/8", "desk-9")):
                    said = {"do": "subscribe", "request": number, "subscription": number}
                    await talk.say({**said, "durable": name, "filter": "a > 1"})
                    await talk.next("started")
                    await talk.next("started")
                _, said = await ask(made, "GET", "/v1/durables", who=AUDITOR)
                assert [one["name"] for one in said["durables"]] == ["desk 7", "desk-9", "desk/8"]
                first = said["durables"][0]
                assert (first["principal"], first["filter"], first["broker"]) == (
                    "jane", "a > 1", "b",
                )  # fmt: skip
                assert set(first["positions"]) == {"events", "orders"}
                path = "/v1/durables/jane/desk%207"
                assert (await ask(made, "DELETE", path))[0] == 204
                ended = await talk.next("ended")
                assert (ended["subscription"], ended["because"]) == (0, "it was ended for good")
                assert (await ask(made, "DELETE", path))[0] == 404
                assert (await ask(made, "DELETE", "/v1/durables/jane/desk%2F8", who=JANE))[0] == 204
                # Nobody but its principal and an administrator ends it.
                status, said = await ask(made, "DELETE", "/v1/durables/ann/x", who=JANE)
                assert (status, said["detail"]) == (
                    403, "only its principal, or an administrator, may end it",
                )  # fmt: skip
            _, said = await ask(made, "GET", "/v1/durables")
            assert [one["name"] for one in said["durables"]] == ["desk-9"]

    asyncio.run(play())
