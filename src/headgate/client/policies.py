"""How does a program read and change the policy of a running network? As it would a store's.

`HttpAclStore` keeps what `AclStore` promises over the REST interface of the policy's host; another
broker says where that is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar, final
from urllib.parse import quote

import msgspec

from headgate.client.rest import Rest, StatusError
from headgate.http import shapes
from headgate.rights.changes import Batch, change_to_json
from headgate.rights.history import PolicyHistory, StaleVersionError
from headgate.rights.rules import PolicyError
from headgate.rights.starting_points import StartingPoints
from headgate.stores.acl import StoreError

TOGETHER: Final = 1_000
"""So many batches are asked for at once."""
LOOK_AGAIN_S: Final = 0.05

T = TypeVar("T")


class _Numbered(msgspec.Struct, frozen=True):
    version: int
    batch: dict[str, Any]


class _Batches(msgspec.Struct, frozen=True):
    """As `shapes.Batches`, with batches as `Batch.from_json` reads them."""

    version: int
    batches: list[_Numbered]


@final
class HttpAclStore:
    """The policy of a running network, kept by the policy's host."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._history = PolicyHistory()

    def history(self) -> PolicyHistory:
        """The policy with all versions by now. It is one object, which grows with the versions."""
        while True:
            after = self._history.version
            found = self._at_host(
                lambda rest: rest.get(
                    "/v1/policy/batches",
                    _Batches,
                    after=after,  # noqa: B023  called at once
                    limit=TOGETHER,
                )
            )
            for one in found.batches:
                self._take(one)
            if self._history.version >= found.version:
                return self._history
            if not found.batches:
                raise StoreError(
                    f"{self._rest.url} is at version {found.version}, and has nothing after "
                    f"{after} to show for it"
                )

    def _take(self, one: _Numbered) -> None:
        expected = self._history.version + 1
        if one.version != expected:
            raise StoreError(f"expected version {expected} from the broker, got {one.version}")
        try:
            self._history.apply(Batch.from_json(one.batch))
        except (PolicyError, LookupError, TypeError, ValueError) as problem:
            raise StoreError(
                f"version {one.version} of the broker can't be read: {problem!r}"
            ) from None

    def apply(self, batch: Batch, expected: int | None = None) -> int:
        """Make the next version; its author is who is logged in, and its time the broker's."""
        body = {
            "changes": [change_to_json(change) for change in batch.changes],
            "why": batch.why,
            "expected": expected,
        }
        try:
            return self._at_host(
                lambda rest: rest.ask("POST", "/v1/policy/batches", shapes.NewVersion, body)
            ).version
        except StatusError as refusal:
            if refusal.status == 409 and expected is not None:
                history = self.history()
                since = history.batches(expected) if 0 <= expected <= history.version else []
                raise StaleVersionError(expected, history.version, since) from None
            if refusal.status == 422:
                raise PolicyError(str(refusal)) from None
            raise

    def record_starting_point(self, version: int, stream: str, offset: int) -> None:
        raise StoreError("a running network reports its starting points itself")

    def starting_points(self) -> StartingPoints:
        found = self._at_host(
            lambda rest: rest.get("/v1/policy/starting-points", shapes.StartingPointList)
        )
        points = StartingPoints()
        for one in found.starting_points:
            points.begin(one.version, one.stream, one.offset)
        return points

    def wait_for_starting_points(self, version: int, wait_s: float) -> dict[str, int]:
        """Wait until a version holds on all streams that are known; give where it does by then."""
        until = time.monotonic() + wait_s
        while True:
            points = self.starting_points().of_version(version)
            known = self._at_host(lambda rest: rest.get("/v1/streams", shapes.Streams)).known
            missing = {one for one in known if not one.startswith("$")} - points.keys()
            if not missing or time.monotonic() >= until:
                return points
            time.sleep(LOOK_AGAIN_S)

    def durables(self) -> list[shapes.DurableSubscription]:
        """All durable subscriptions of the network: the policy's host keeps them, too."""
        found = self._at_host(lambda rest: rest.get("/v1/durables", shapes.DurableSubscriptions))
        return found.durables

    def end_durable(self, principal: str, name: str) -> None:
        """End one for good; what it was still owed needn't be kept for it any more."""
        path = f"/v1/durables/{quote(principal, safe='')}/{quote(name, safe='')}"
        self._at_host(lambda rest: rest.ask("DELETE", path, type(None)))

    def close(self) -> None:
        """Nothing is open between two requests."""

    def _at_host(self, ask: Callable[[Rest], T]) -> T:
        """Ask, and where this broker doesn't host the policy, ask the one that does."""
        try:
            return ask(self._rest)
        except StatusError as refusal:
            host = refusal.problem.url
            if refusal.status != 421 or host is msgspec.UNSET:
                raise
            self._rest = self._rest.elsewhere(host)
            return ask(self._rest)
