"""Who may change the policy, and look at it, by a request? What its host keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar, final

import msgspec
from aiohttp import web

from headgate.filters.filter import Filter
from headgate.gate.delivery import View
from headgate.gate.explaining import explain
from headgate.http import shapes
from headgate.http.content_types import YAML, UnsupportedTypeError, read_content_type
from headgate.http.problems import RefusedError
from headgate.live.node import Node
from headgate.live.policy_database import PolicyDatabase
from headgate.live.web.application import Answer
from headgate.live.web.asking import Asked
from headgate.model.errors import named
from headgate.model.values import format_timestamp
from headgate.rights.changes import Batch, Change, change_from_json, change_to_json
from headgate.rights.effective import Granted
from headgate.rights.history import PolicyHistory, PolicyVersion, StaleVersionError
from headgate.rights.policy_files import PolicyFile, read_policy_file
from headgate.rights.policy_plans import Plan, plan
from headgate.rights.rules import Rule
from headgate.rights.stated_events import event_of, fields_of
from headgate.rights.subscriptions import Subscription

T = TypeVar("T")
BATCHES = 1_000
ATTEMPTS_MAX = 20
"""How often others may come first before we give up."""
_LOOK_S = 0.02
_LOOK_S_MAX = 0.5


@final
class Administering:
    """The requests about the policy."""

    def __init__(self, node: Node, policy_url: str | None = None) -> None:
        self._node = node
        self._policy_url = policy_url

    def _database(self) -> PolicyDatabase:
        """The policy; a refusal where another broker has it."""
        if self._node.policy is None:
            host = self._node.settings.policy_host
            raise RefusedError(
                421, f"the policy's host is `{host}`: ask there",
                policy_host=host, url=self._policy_url,
            )  # fmt: skip
        return self._node.policy

    async def _ask(self, about: Callable[[PolicyHistory], T]) -> T:
        return await self._database().consult(about)

    # Looking.

    async def policy(self, asked: Asked) -> Answer:
        number: int | None = asked.said.get("version")
        return await self._ask(lambda history: _policy(_at(history, number)))

    async def batches(self, asked: Asked) -> Answer:
        after: int = asked.said.get("after", 0)
        limit: int = asked.said.get("limit", BATCHES)

        def find(history: PolicyHistory) -> shapes.Batches:
            found = [
                shapes.NumberedBatch(number, _batch(batch))
                for number, batch in history.batches(after)[:limit]
            ]
            return shapes.Batches(history.version, found)

        return await self._ask(find)

    async def versions(self, asked: Asked) -> Answer:
        after: int = asked.said.get("after", 0)
        limit: int = asked.said.get("limit", BATCHES)

        def find(history: PolicyHistory) -> shapes.Versions:
            found = [
                shapes.VersionSummary(
                    number, format_timestamp(one.time), one.author, one.why, len(one.changes)
                )
                for number, one in history.batches(after)[:limit]
            ]
            return shapes.Versions(history.version, found)

        return await self._ask(find)

    async def version(self, asked: Asked) -> Answer:
        number: int = asked.said["version"]

        batch = await self._ask(lambda history: _batch(history.batch(number)))
        points = await self._database().starting_points()
        return shapes.VersionDetail(number, batch, points.of_version(number))

    async def starting_points(self, asked: Asked) -> Answer:
        points = await self._database().starting_points()
        return shapes.StartingPointList([shapes.StartingPoint(*point) for point in points])

    async def explain(self, asked: Asked) -> Answer:
        said = await asked.json(shapes.Question)
        event = event_of(said.event)
        wanted = Filter.parse(said.filter) if said.filter else Filter.everything()
        subscription = Subscription(said.principal, wanted, said.domain)

        def find(history: PolicyHistory) -> shapes.Explanation:
            version = _at(history, said.version)
            found = explain(event, version, subscription)
            outcome = found.outcome
            return shapes.Explanation(
                decision="deliver" if found.delivered else "withhold",
                version=version.number,
                view=fields_of(outcome.event) if isinstance(outcome, View) else None,
                rules=[_held(granted) for granted in found.granting],
                cut=list(found.cut),
                because=found.because,
            )

        return await self._ask(find)

    async def rights(self, asked: Asked) -> Answer:
        principal: str = asked.said["principal"]
        number: int | None = asked.said.get("version")

        def find(history: PolicyHistory) -> shapes.Rights:
            version = _at(history, number)
            granted = version.rights_of(principal).granted
            return shapes.Rights(version.number, principal, [_held(one) for one in granted])

        return await self._ask(find)

    # Changing.

    async def apply_batch(self, asked: Asked) -> Answer:
        self._database()
        said = await asked.json(shapes.NewBatch)
        batch = Batch(tuple(map(_change, said.changes)), asked.identity.principal, _now(), said.why)
        version = await self._node.administer(batch, said.expected)
        return shapes.NewVersion(version, await self._starting_points(version, said.wait_s))

    async def apply_file(self, asked: Asked) -> Answer:
        database = self._database()
        kind = read_content_type(asked.content_type)
        if kind is None or kind.media not in YAML:
            raise UnsupportedTypeError("expected a policy file, of type `application/yaml`")
        kind.check_utf8()
        body = await asked.body()
        file = await asyncio.to_thread(read_policy_file, body, "the policy file")
        said = asked.said
        version, changes = await self._apply_file(
            database, file, asked.identity.principal, said.get("why", ""), said.get("expected")
        )
        points = await self._starting_points(version, said.get("wait_s", 0.0))
        return shapes.NewVersion(
            version, points, [_shape(change_to_json(one), shapes.Change) for one in changes]
        )

    async def _apply_file(
        self,
        database: PolicyDatabase,
        file: PolicyFile,
        author: str,
        why: str,
        expected: int | None,
    ) -> tuple[int, tuple[Change, ...]]:
        """What a file changes holds for one version: where others come first, it is found anew."""
        for attempts_left in reversed(range(ATTEMPTS_MAX)):
            now = _now()
            planned = await database.consult(partial(_planned, file, now, expected))
            batch = Batch(planned.changes, author, now, why) if planned.changes else None
            try:
                version = planned.base
                if planned.due is not None:
                    version = await self._node.administer(planned.due, version)
                    if expected is not None:
                        expected = version
                if batch is not None:
                    version = await self._node.administer(batch, version)
                return version, planned.changes
            except StaleVersionError:
                if expected is not None or not attempts_left:
                    raise
        raise AssertionError("the last attempt returns or raises")

    # Durable subscriptions, which the policy's host keeps.

    async def durables(self, asked: Asked) -> Answer:
        self._database()
        return shapes.DurableSubscriptions(
            [
                shapes.DurableSubscription(
                    one.principal, one.name, one.domain, one.filter, one.causal, one.broker,
                    {stream: offset for stream, (_, offset) in sorted(one.positions.items())},
                )
                for one in self._node.durables()
            ]
        )  # fmt: skip

    async def end_durable(self, asked: Asked) -> Answer:
        self._database()
        principal, name = asked.said["principal"], asked.said["name"]
        identity = asked.identity
        if identity.principal != principal and not identity.administrator:
            raise RefusedError(403, "only its principal, or an administrator, may end it")
        if not await self._node.end_durable(principal, name):
            raise RefusedError(404, f"{named(principal)} has no durable subscription {named(name)}")
        return web.Response(status=204)

    async def _starting_points(self, version: int, wait_s: float) -> dict[str, int]:
        """Where the version began on the streams, once it has on all, or when the time is over."""
        database = self._database()
        wanted = {name for name in self._node.core.streams.names() if not name.startswith("$")}
        deadline = asyncio.get_running_loop().time() + wait_s
        look_s = _LOOK_S
        while True:
            points = (await database.starting_points()).of_version(version)
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or wanted <= points.keys():
                return points
            await asyncio.sleep(min(look_s, left))
            look_s = min(look_s * 2, _LOOK_S_MAX)


def _planned(file: PolicyFile, now: datetime, expected: int | None, history: PolicyHistory) -> Plan:
    history.check_expected(expected)
    return plan(history, file, now)


def _at(history: PolicyHistory, number: int | None) -> PolicyVersion:
    return history.current() if number is None else history.at(number)


def _policy(version: PolicyVersion) -> shapes.Policy:
    groups = {name: sorted(members) for name, members in version.groups().items()}
    return shapes.Policy(version.number, groups, [_rule(rule) for rule in version.rules()])


def _rule(rule: Rule) -> shapes.Rule:
    return _shape(rule.to_json(), shapes.Rule)


def _held(granted: Granted) -> shapes.HeldRule:
    rule = granted.rule
    return _shape(
        {**rule.to_json(), "id": rule.id, "through": list(granted.through)}, shapes.HeldRule
    )


def _batch(batch: Batch) -> shapes.Batch:
    return _shape(batch.to_json(), shapes.Batch)


def _shape(said: Any, shape: type[T]) -> T:
    return msgspec.convert(said, shape)


def _change(said: shapes.Change) -> Change:
    plain = msgspec.to_builtins(said)
    if len(plain) != 1:
        raise RefusedError(422, f"expected one change in each object, found {len(plain)}")
    return change_from_json(plain)


def _now() -> datetime:
    return datetime.now(UTC)
