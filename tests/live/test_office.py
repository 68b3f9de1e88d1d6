"""An administrator is told what became of a batch, and by what the database raised if not."""

import asyncio
from pathlib import Path

import pytest

from headgate.broker.effects import ApplyBatch, BatchApplied, BatchRefused
from headgate.live.office import Office
from headgate.live.policy_database import PolicyDatabase
from headgate.rights.changes import CreateGroup
from headgate.rights.history import StaleVersionError
from headgate.stores.acl import StoreError, UnknownOutcomeError
from headgate.stores.opening import open_acl_store
from tests.live.nodes import batch, run


def office_in(directory: Path) -> Office:
    store = open_acl_store(directory / "policy")
    return Office(PolicyDatabase(store, grew=lambda batches: None))


def test_a_version_is_the_answer(tmp_path: Path) -> None:
    async def work() -> None:
        office = office_in(tmp_path)
        request, answer = office.open()
        assert await office.apply(ApplyBatch(1, batch(CreateGroup("a")), 0)) is None
        office.hear(BatchApplied(request, 1))
        office.hear(BatchApplied(request, 2))  # once is enough
        assert await answer == 1

    run(work())


def test_each_is_refused_by_an_error_of_its_own(tmp_path: Path) -> None:
    async def work() -> None:
        office = office_in(tmp_path)
        await office.apply(ApplyBatch(1, batch(CreateGroup("a")), 0))
        stale = ApplyBatch(2, batch(CreateGroup("b")), 0)
        refused = [await office.apply(stale) for _ in range(2)]
        assert refused[0] == refused[1] is not None
        answers = []
        for because in refused:
            request, answer = office.open()
            office.hear(BatchRefused(request, str(because), 1))
            answers.append(answer)
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(one) for one in found] == [StaleVersionError] * 2
        assert found[0] is not found[1]

    run(work())


def test_a_refusal_of_the_core_itself_is_told_as_it_is(tmp_path: Path) -> None:
    async def work() -> None:
        office = office_in(tmp_path)
        request, answer = office.open()
        office.hear(BatchRefused(request, "not now", 0))
        with pytest.raises(StoreError, match="not now"):
            await answer

    run(work())


def test_what_is_under_way_at_the_end_is_unknown(tmp_path: Path) -> None:
    async def work() -> None:
        office = office_in(tmp_path)
        request, answer = office.open()
        gone_request, gone = office.open()
        gone.cancel()
        office.close()
        office.hear(BatchApplied(request, 1))
        office.hear(BatchApplied(gone_request, 1))
        with pytest.raises(UnknownOutcomeError, match="newest version"):
            await answer

    run(work())
