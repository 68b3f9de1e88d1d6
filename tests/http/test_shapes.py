"""Do the shapes of the interface fit what the policy says of itself?"""

import msgspec
import pytest

from headgate import Action, Batch, Filter, Rule
from headgate.http import shapes
from headgate.model.values import parse_timestamp
from headgate.rights.changes import (
    Begin,
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
    change_to_json,
)
from headgate.rights.rules import OnExcess, Strict

FULL = Rule(
    "jane",
    Action.SUBSCRIBE,
    Filter.parse("price > 100"),
    lower=Filter.parse("EXISTS(type)"),
    strict=Strict.BOTH,
    on_excess=OnExcess.REFUSE,
    attributes=frozenset({"price", "type"}),
    topics=frozenset({"cardiology"}),
    valid_from=parse_timestamp("2026-01-01"),
    valid_until=parse_timestamp("2027-01-01"),
    via=("abc",),
)
CHANGES: list[Change] = [
    Grant(FULL),
    Grant(Rule("jane", Action.CONNECT, allow=False)),
    Revoke(FULL),
    Begin(FULL),
    CreateGroup("premium"),
    DropGroup("premium"),
    Join("premium", "jane"),
    Leave("premium", "jane"),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_every_change_fits_its_shape_and_comes_back_as_it_was(change: Change) -> None:
    said = change_to_json(change)
    assert msgspec.to_builtins(msgspec.convert(said, shapes.Change)) == said


def test_a_batch_fits_its_shape() -> None:
    said = Batch(tuple(CHANGES), "ann", parse_timestamp("2026-01-01"), "why").to_json()
    assert msgspec.to_builtins(msgspec.convert(said, shapes.Batch)) == said


@pytest.mark.parametrize(
    "said",
    [
        {"grant": {"principal": "jane"}},
        {"grant": {"principal": "", "action": "connect"}},
        {"grant": {"principal": "jane", "action": "dance"}},
        {"grant": {"principal": "jane", "action": "connect", "alow": True}},
        {"grant": {"principal": "jane", "action": "subscribe", "attributes": []}},
        {"join": {"group": "premium"}},
        {"shrink": 1},
    ],
)
def test_a_change_that_is_misspelt_does_not_fit(said: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(said, shapes.Change)


def test_a_problem_says_only_what_it_has_to() -> None:
    assert msgspec.to_builtins(shapes.Problem("Conflict", 409, "stale", current=3)) == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "stale",
        "current": 3,
    }
