"""Is the policy of a running network read and changed as a store's is?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from headgate.client.access import Access
from headgate.client.errors import ClientError
from headgate.client.policies import TOGETHER, HttpAclStore
from headgate.client.rest import Rest, StatusError
from headgate.http import shapes
from headgate.rights.changes import Batch, CreateGroup, Join
from headgate.rights.history import StaleVersionError
from headgate.rights.rules import PolicyError
from headgate.stores.acl import AclStore, StoreError, UnknownOutcomeError
from tests.client.running import PASSWORD, Running
from tests.live.nodes import NOON


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("broker")) as running:
        yield running


def store_of(running: Running, principal: str = "ann") -> HttpAclStore:
    return HttpAclStore(Rest(running.url, Access(principal, password=PASSWORD)))


def adding(group: str, why: str = "") -> Batch:
    return Batch((CreateGroup(group),), "nobody", NOON, why)


def test_it_is_a_store_like_any_other(running: Running) -> None:
    store: AclStore = store_of(running)
    before = store.history().version
    assert store.apply(adding("first", "a reason"), before) == before + 1
    assert store.apply(Batch((Join("first", "jane"),), "nobody", NOON)) == before + 2
    batch = store.history().batch(before + 1)
    assert (batch.author, batch.why, batch.changes) == ("ann", "a reason", (CreateGroup("first"),))
    assert batch.time != NOON
    assert store.history().current().groups()["first"] == {"jane"}
    store.close()


def test_a_stale_batch_is_told_what_came_since(running: Running) -> None:
    one, other = store_of(running), store_of(running)
    seen = one.history().version
    other.apply(adding("theirs", "They were first"))
    with pytest.raises(StaleVersionError) as stale:
        one.apply(adding("ours"), seen)
    assert (stale.value.expected, stale.value.current) == (seen, seen + 1)
    assert f"{seen + 1} by ann: They were first" in str(stale.value)


def test_what_a_store_refuses_is_refused(running: Running) -> None:
    store = store_of(running)
    version = store.history().version
    with pytest.raises(PolicyError, match="change 1"):
        store.apply(Batch((Join("nowhere", "jane"),), "nobody", NOON))
    assert store.history().version == version


def test_who_may_not_ask_is_refused(running: Running) -> None:
    with pytest.raises(StatusError, match="jane"):
        store_of(running, "jane").history()
    with pytest.raises(StatusError):
        store_of(running, "jane").apply(adding("hers"))


def test_it_waits_until_a_version_holds_on_all_streams(running: Running) -> None:
    store = store_of(running)
    version = store.apply(adding("awaited"))
    points = store.wait_for_starting_points(version, 20)
    assert set(points) >= {"events", "orders"}
    assert store.starting_points().of_version(version) == points
    assert store.wait_for_starting_points(version + 1, 0) == {}


def test_only_brokers_report_starting_points(running: Running) -> None:
    with pytest.raises(StoreError):
        store_of(running).record_starting_point(1, "events", 1)


class Answers:
    """A broker that answers from a list."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self._answers = list(answers)
        monkeypatch.setattr(Rest, "ask", lambda rest, *said, **more: self._answer(rest, said[:2]))

    def _answer(self, rest: Rest, said: tuple[str, str]) -> Any:
        self.asked.append((rest.url, *said))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def elsewhere(url: Any) -> StatusError:
    return StatusError(shapes.Problem("", 421, "ask there", policy_host="b2", url=url))


def at(url: str) -> HttpAclStore:
    return HttpAclStore(Rest(url, Access()))


def test_the_policys_host_is_asked_where_another_broker_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = shapes.StartingPointList([shapes.StartingPoint(3, "events", 7)])
    answers = Answers(monkeypatch, elsewhere("https://b2:7080"), points, points)
    store = at("https://b1:7080")
    for _ in range(2):
        assert store.starting_points().of_version(3) == {"events": 7}
    assert [url for url, _, _ in answers.asked] == ["https://b1:7080", *["https://b2:7080"] * 2]
    Answers(monkeypatch, elsewhere(msgspec.UNSET))
    with pytest.raises(ClientError, match="ask there"):
        at("https://b1:7080").starting_points()


def test_an_unknown_outcome_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Answers(monkeypatch, UnknownOutcomeError("no answer"))
    with pytest.raises(UnknownOutcomeError):
        at("https://b1:7080").apply(adding("a"), 1)


@pytest.mark.parametrize(
    "said",
    [
        {"version": 2, "batches": []},
        {"version": 2, "batches": [{"version": 2, "batch": {}}]},
        {"version": 1, "batches": [{"version": 1, "batch": {"author": "ann"}}]},
        {"version": 1, "batches": [{"version": 1, "batch": adding("a").to_json() | {"time": 1}}]},
    ],
)
def test_a_history_that_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    from headgate.client import policies

    Answers(monkeypatch, msgspec.convert(said, policies._Batches))
    with pytest.raises(StoreError):
        at("https://b1:7080").history()
    assert TOGETHER <= 10_000
