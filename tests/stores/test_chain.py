"""Does a digest tell that something was changed after it was stored?"""

import hashlib
from dataclasses import replace

import pytest

from headgate.rights.changes import Grant
from headgate.rights.rules import PolicyError, Rule
from headgate.stores.acl import StoreError
from headgate.stores.chain import START, Record
from tests.stores.examples import all_kinds, batch, granting, rule


def test_a_batch_is_read_as_it_was_written() -> None:
    for one in all_kinds():
        assert Record.of(one, 1, START).batch() == one


def test_the_digest_is_the_same_for_ever() -> None:
    record = Record.of(granting("bob", why="hired"), 1, START)
    assert record.changes == (
        '[{"grant":{"action":"subscribe","filter":"price < 100","principal":"bob"}}]'
    )
    sealed = (
        '{"author":"alice",'
        '"changes":"[{\\"grant\\":{\\"action\\":\\"subscribe\\",'
        '\\"filter\\":\\"price < 100\\",\\"principal\\":\\"bob\\"}}]",'
        f'"previous":"{"0" * 64}","time":"2026-01-31T12:00:00.250000Z","version":1,"why":"hired"}}'
    )
    assert record.digest == hashlib.sha256(sealed.encode()).hexdigest()


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 3},
        {"author": "mallory"},
        {"time": "2026-01-31T12:00:00Z"},
        {"why": ""},
        {"changes": "[]"},
        {"changes": None},
        {"digest": START},
        {"digest": b"x"},
        # What stands in one column can't move into the next one.
        {"author": "alice2026-01-31T12:00:00.250000Z", "time": ""},
    ],
)
def test_a_changed_record_is_found(changed: dict[str, object]) -> None:
    record = Record.of(granting("bob", why="hired"), 2, START)
    assert record.follows(START)
    assert not replace(record, **changed).follows(START)  # type: ignore[arg-type]


def test_a_record_follows_only_what_it_was_written_after() -> None:
    first = Record.of(granting("bob"), 1, START)
    second = Record.of(granting("carol"), 2, first.digest)
    assert second.follows(first.digest)
    assert not second.follows(START)


@pytest.mark.parametrize(
    "changes",
    ["", "{", "[]", "[1]", "[{}]", '[{"shun":"bob"}]', '[{"join":{"group":"x"}}]', '{"a":1}'],
)
def test_what_only_a_newer_headgate_understands_is_named(changes: str) -> None:
    record = replace(Record.of(granting("bob"), 7, START), changes=changes)
    with pytest.raises(StoreError, match="version 7 can't be read"):
        record.batch()


def test_half_a_character_is_refused() -> None:
    half = Rule("bob", rule("bob").action, attributes=frozenset({"\ud800"}))
    with pytest.raises(PolicyError, match="half a character"):
        Record.of(batch(Grant(half)), 1, START)
