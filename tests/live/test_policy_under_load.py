"""Across modules: while the policy changes under load, each gets what its versions say, exactly.

Six broker processes in a tree of five nodes; the policy is changed by the command line, four
clients publish, forty subscribe, and one of the two brokers in the middle is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.live.brokers import HEADGATE, HOSTED, BrokerProcess, network
from tests.live.reference import Reference, received
from tests.live.sockets import HEARD_S, Publisher, Reader, Said

PUBLISHERS = {"q1": "b2", "q2": "b2", "n1": "b3", "n2": "b3"}
READERS = 40
FILTERS = (
    "TRUE", "price < 60", "symbol = 'IBM'", "symbol IN ('HP', 'SUNW') AND price > 20",
    "kind = 'odd' OR price > 90",
)  # fmt: skip
POLICIES = (
    ["price < 50", None],
    ["price < 80 OR symbol = 'IBM'", None],
    ["symbol <> 'HP'", ["kind", "symbol", "end"]],
    ["price >= 10", None],
    ["kind = 'odd'", ["kind", "price", "symbol", "end"]],
)
VERSIONS = 12


def event(random: Random) -> Callable[[int], Said]:
    def make(count: int) -> Said:
        return {
            "symbol": random.choice(("IBM", "HP", "SUNW")),
            "price": random.randrange(100),
            "kind": ("even", "odd")[count % 2],
            "n": count,
        }

    return make


def policy(number: int) -> dict[str, Any]:
    """What a policy file says: half of the readers are under what changes, half are not."""
    filter_, attributes = POLICIES[number % len(POLICIES)]
    changing: dict[str, Any] = {
        "principal": "changing", "action": "subscribe", "filter": f"{filter_} OR end = TRUE",
    }  # fmt: skip
    if attributes is not None:
        changing["attributes"] = attributes
    steady = {"principal": "steady", "action": "subscribe", "filter": "price < 90 OR end = TRUE"}
    # In every other version the first of the readers change their group.
    moved = {f"r{at}" for at in range(0, READERS, 8)} if number % 2 else set[str]()
    groups: dict[str, list[str]] = {"changing": [], "steady": []}
    for at in range(READERS):
        name = f"r{at}"
        groups["changing" if (at % 2 == 0) is not (name in moved) else "steady"].append(name)
    everybody = [*PUBLISHERS, *(f"r{at}" for at in range(READERS))]
    return {
        "groups": groups,
        "rules": [
            *({"principal": name, "action": "connect"} for name in everybody),
            *({"principal": name, "action": "publish"} for name in PUBLISHERS),
            changing,
            steady,
        ],
    }


async def apply(broker: BrokerProcess, number: int) -> dict[str, Any]:
    """Change the policy as an administrator does: with a file, by the command line."""
    file = broker.settings.directory / f"policy-{number}.yaml"
    file.write_text(json.dumps(policy(number)))
    token = broker.settings.directory / "root.token"
    token.touch(mode=0o600)
    token.write_text(broker.settings.token("root"))
    command = await asyncio.create_subprocess_exec(
        HEADGATE, "policy", "apply", str(file), "--json", "--wait", "30",
        "--url", broker.url, "--token-file", str(token),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=dict(os.environ),
    )  # fmt: skip
    out, err = await asyncio.wait_for(command.communicate(), HEARD_S)
    assert command.returncode == 0, err.decode()
    said: dict[str, Any] = json.loads(out)
    return said


def test_the_policy_changes_under_load_and_everybody_gets_exactly_what_is_owed(
    tmp_path: Path,
) -> None:
    asyncio.run(_changes(tmp_path))


async def _changes(directory: Path) -> None:
    brokers = network(directory)
    try:
        for one in brokers.values():
            one.start()
        await asyncio.gather(*(one.ready() for one in brokers.values()))
        answers, publishers, readers = await _under_load(brokers)
        for one in brokers.values():
            assert one.stop() == 0, one.last_words()
    finally:
        for one in brokers.values():
            one.end()
    data = directory / "data"
    reference = Reference([data / name / "log" for name in brokers], data)
    reference.check_logs()
    _judge_starting_points(reference, answers)
    _judge_publications(reference, publishers)
    for reader in readers:
        _judge(reference, reader)


async def _under_load(
    brokers: dict[str, BrokerProcess],
) -> tuple[list[dict[str, Any]], list[Publisher], list[Reader]]:
    random = Random(5)
    host = brokers["b1"]
    answers = [await apply(host, 0)]
    token = host.settings.token
    readers = []
    for at in range(READERS):
        name, wanted = f"r{at}", FILTERS[at % len(FILTERS)]
        there = brokers[("b1", "b2", "b3", "b4")[at % 4]]
        readers.append(
            Reader(name, there.url, token(name), f"({wanted}) OR end = TRUE", durable=False)
        )
    reading = [asyncio.create_task(one.run()) for one in readers]
    for reader in readers:
        await reader.started_on({"quotes", "news"})
    publishers = [
        Publisher(name, brokers[at].url, token(name), HOSTED[at][0])
        for name, at in PUBLISHERS.items()
    ]
    for publisher in publishers:
        publisher.in_flight_max, publisher.pause_s = 8, 0.2
    publishing = [asyncio.create_task(one.run(event(random))) for one in publishers]
    for number in range(1, VERSIONS):
        if number == VERSIONS // 2:
            victim = brokers["m1"]
            changing = asyncio.create_task(apply(host, number))
            await asyncio.sleep(0.05)
            victim.kill()
            answers.append(await changing)
        else:
            answers.append(await apply(host, number))
        if number == VERSIONS - 3:
            victim.start()
    await victim.ready()
    for publisher in publishers:
        publisher.finish()
    await asyncio.wait_for(asyncio.gather(*publishing), HEARD_S)
    await _end(brokers, readers)
    for reader in readers:
        assert reader.ended is None, reader.ended
        reader.finish()
    await asyncio.wait_for(asyncio.gather(*reading), HEARD_S)
    return answers, publishers, readers


async def _end(brokers: dict[str, BrokerProcess], readers: list[Reader]) -> None:
    """Publish a last event on each stream, which everybody is owed, and wait for it."""
    for name, at in (("q1", "b2"), ("n1", "b3")):
        last = Publisher(
            f"last-{name}", brokers[at].url, brokers[at].settings.token(name), HOSTED[at][0]
        )
        last.in_flight_max = 1
        task = asyncio.create_task(last.run(lambda count: {"end": True}))
        while not last.stored:
            await asyncio.sleep(0.02)
        last.finish()
        await task
    async with asyncio.timeout(HEARD_S):
        for reader in readers:
            while {one["stream"] for one in reader.deliveries if one["event"].get("end")} != {
                "quotes", "news",
            }:  # fmt: skip
                await asyncio.sleep(0.05)


def _judge_starting_points(reference: Reference, answers: list[dict[str, Any]]) -> None:
    """What the administrator was told is where the version's marker stands, or a later one's."""
    assert [one["version"] for one in answers] == list(range(1, VERSIONS + 1))
    for answer in answers:
        said = answer["starting_points"]
        for stream in ("quotes", "news"):
            first = next(
                one.offset for one in reference.streams[stream] if one.version >= answer["version"]
            )
            assert said[stream] == first, (answer["version"], stream)
            assert reference.streams[stream][first - 1].is_marker
        kept = dict(reference.starting_points.of_version(answer["version"]))
        assert kept == {**kept, **said}


def _judge_publications(reference: Reference, publishers: list[Publisher]) -> None:
    for publisher in publishers:
        assert not publisher.refused
        assert len(publisher.stored) > 20, "there shall be some load"
        for event_id, (stream, offset, version) in publisher.stored.items():
            record = reference.streams[stream][offset - 1]
            assert (record.event_id, record.version) == (event_id, version)


def _judge(reference: Reference, reader: Reader) -> None:
    assert len(reader.versions) == 1, f"it shall be connected all the time: {reader.troubles}"
    starts = {one["stream"]: one["after"] for one in reader.starts}
    assert starts.keys() == {"quotes", "news"}
    owed = reference.owed(reader.name, reader.filter, starts)
    got = received(reader.deliveries)
    for stream, expected in owed.items():
        assert got[stream] == expected, (reader.name, reader.filter, stream)
