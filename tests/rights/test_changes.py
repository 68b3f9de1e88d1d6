"""Is a batch what the administrator wrote, and survives it being stored?"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest

from headgate.rights.changes import (
    WHY_CHARS_MAX,
    Batch,
    Begin,
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
    change_from_json,
    change_to_json,
)
from headgate.rights.rules import PolicyError
from tests.rights.policies import NOON, Chance, batch, rule

SAID = {"principal": "p", "action": "subscribe"}
EVERY_KIND: list[tuple[Change, str, Any, str]] = [
    (Grant(rule("p")), "grant", SAID, "+ [p, subscribe, TRUE]"),
    (Revoke(rule("p")), "revoke", SAID, "- [p, subscribe, TRUE]"),
    (Begin(rule("p")), "begin", SAID, "* [p, subscribe, TRUE] begins"),
    (CreateGroup("g"), "create_group", "g", "+ group g"),
    (DropGroup("g"), "drop_group", "g", "- group g"),
    (Join("g", "m"), "join", {"group": "g", "member": "m"}, "+ m in g"),
    (Leave("g", "m"), "leave", {"group": "g", "member": "m"}, "- m in g"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "word", "said", "shown"), EVERY_KIND)
def test_every_kind_of_change_is_written_read_and_shown(
    change: Change, word: str, said: Any, shown: str
) -> None:
    assert change_to_json(change) == {word: said}
    assert change_from_json({word: said}) == change
    assert str(change) == shown


def test_an_unknown_kind_of_change_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PolicyError, match=r"expected one of grant, revoke, begin, .*found `deny`"):
        change_from_json({"deny": {}})


def test_every_batch_is_read_back_from_its_json_text() -> None:
    for _, made in Chance(Random(5)).history(40).batches():
        assert Batch.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_the_order_of_the_changes_is_kept() -> None:
    changes = [change for change, *_ in EVERY_KIND]
    for order in (changes, changes[::-1]):
        assert list(Batch.from_json(batch(*order).to_json()).changes) == order


def test_the_time_of_a_batch_is_the_same_moment_in_any_zone() -> None:
    abroad = NOON.astimezone(timezone(timedelta(hours=-7)))
    one, other = batch(CreateGroup("g")), batch(CreateGroup("g"), time=abroad)
    assert one == other
    assert one.to_json() == other.to_json()
    moment = NOON + timedelta(microseconds=1)
    assert Batch.from_json(batch(CreateGroup("g"), time=moment).to_json()).time == moment


def test_a_batch_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(PolicyError, match="without changes makes no version"):
        batch()
    with pytest.raises(PolicyError, match="at most 1,000 characters"):
        batch(CreateGroup("g"), why="x" * (WHY_CHARS_MAX + 1))
    with pytest.raises(PolicyError, match="needs a zone"):
        batch(CreateGroup("g"), time=datetime(2026, 1, 1))  # noqa: DTZ001
    for author in ("", "$broker", "a\nb"):
        with pytest.raises(PolicyError):
            Batch((CreateGroup("g"),), author, NOON)
    assert batch(CreateGroup("g"), why="x" * WHY_CHARS_MAX).why
