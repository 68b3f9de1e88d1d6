"""Which attributes does a body have, and what is left of it after a cut?"""

import enum
import json
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.bodies import Fields, cut_object, plain_object
from headgate.model.errors import EventError
from headgate.model.events import Event
from headgate.model.limits import EVENT_LIMITS, EventLimits
from headgate.model.values import OPAQUE, Value

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

NAMES = st.text(st.sampled_from("ab.$é\n"), min_size=1, max_size=3)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES.filter(lambda name: name[0] != "$"), TREES, max_size=4)


def flat(tree: dict[str, Any], limits: EventLimits = EVENT_LIMITS) -> Fields:
    fields = Fields(limits)
    fields.add_object(tree, "", 1)
    fields.check_names(tree)
    return fields


def flattened_slowly(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, object]]:
    """Every leaf with its dotted name, a set for an array of strings."""
    leaves: list[tuple[str, object]] = []
    for key, item in tree.items():
        if isinstance(item, dict) and item:
            leaves += flattened_slowly(item, f"{prefix}{key}.")
        elif isinstance(item, list):
            texts = all(isinstance(one, str) for one in item)
            leaves.append((prefix + key, frozenset(item) if texts else OPAQUE))
        else:
            leaves.append((prefix + key, None if item == {} else item))
    return leaves


@pytest.mark.parametrize(
    ("tree", "values", "blanks"),
    [
        ({}, {}, set()),
        ({"a": 1, "b": {"c": {"d": "x"}, "e": True}}, {"a": 1, "b.c.d": "x", "b.e": True}, set()),
        ({"a.b": 1, "a": {"c": 2}}, {"a.b": 1, "a.c": 2}, set()),
        ({"tags": ["x", "y", "x"]}, {"tags": frozenset("xy")}, set()),
        ({"tags": []}, {"tags": frozenset()}, set()),
        ({"a": [1], "b": ["x", 1], "c": [["x"]], "d": [{}], "e": [None]},
         dict.fromkeys("abcde", OPAQUE), set()),
        ({"a": None, "b": {}, "c": {"d": None}}, {}, {"a", "b", "c.d"}),
        ({"a": {"": 1, "$x": 2}}, {"a.": 1, "a.$x": 2}, set()),
        ({"a": NOON}, {"a": NOON}, set()),
    ],
)  # fmt: skip
def test_a_tree_is_flattened_to_dotted_names_sets_opaque_values_and_blanks(
    tree: dict[str, Any], values: dict[str, Value], blanks: set[str]
) -> None:
    fields = flat(tree)
    assert fields.values == values
    assert fields.blanks == blanks


@given(OBJECTS)
def test_flattening_agrees_with_a_slower_one(tree: dict[str, Any]) -> None:
    leaves = flattened_slowly(tree)
    names = [name for name, _ in leaves]
    if len(set(names)) < len(names):
        with pytest.raises(EventError, match="come to the same attribute name") as refusal:
            flat(tree)
        assert names.count(refusal.value.attribute or "") > 1
        return
    fields = flat(tree)
    found: dict[str, object] = {**fields.values, **dict.fromkeys(fields.blanks)}
    assert found == dict(leaves)
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in leaves
    }


@pytest.mark.parametrize(
    ("tree", "name"),
    [
        ({"a.b": 1, "a": {"b": 2}}, "a.b"),
        ({"a": {"b": 2}, "a.b": 1}, "a.b"),
        ({"a.b": None, "a": {"b": {}}}, "a.b"),
        ({"a.b": 1, "a": {"b": None}}, "a.b"),
        ({"a": {"b": {}}, "a.b": "x"}, "a.b"),
        ({"a": {"b.c": 1, "b": {"c": []}}}, "a.b.c"),
        ({"a.b": {"c": 1}, "a": {"b.c": 1}}, "a.b.c"),
    ],
)
def test_two_fields_that_come_to_the_same_name_are_refused(tree: dict[str, Any], name: str) -> None:
    with pytest.raises(EventError, match="two fields come to the same attribute") as refusal:
        flat(tree)
    assert refusal.value.attribute == name
    assert f"`{name}`" in str(refusal.value)


def test_an_empty_object_beside_its_dotted_name_is_no_collision() -> None:
    assert flat({"a": {}, "a.b": 1}).values == {"a.b": 1}


@pytest.mark.parametrize("name", ["$", "$publisher", "$user.NAME", "$\n" + "x" * 500])
def test_a_name_that_only_the_broker_may_give_is_refused(name: str) -> None:
    with pytest.raises(EventError, match="kept for what the broker knows") as refusal:
        flat({"a": 1, name: 1})
    assert refusal.value.attribute == name
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 200
    with pytest.raises(EventError, match="kept for what the broker knows"):
        flat({name: {"inner": 1}})


def test_a_field_without_a_name_is_refused() -> None:
    with pytest.raises(EventError, match="empty name") as refusal:
        flat({"": 1})
    assert refusal.value.attribute == ""


def objects_deep(depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {"a": 1}
    for _ in range(depth - 1):
        tree = {"a": tree}
    return tree


def arrays_deep(depth: int, inner: object) -> dict[str, Any]:
    tree: Any = inner
    for _ in range(depth):
        tree = [tree]
    return {"a": tree}


@pytest.mark.parametrize(
    ("accepted", "refused", "name"),
    [
        (objects_deep(32), objects_deep(33), ".".join("a" * 32)),
        (arrays_deep(31, 1), arrays_deep(32, 1), "a"),
        (arrays_deep(31, "x"), arrays_deep(32, "x"), "a"),
        (arrays_deep(30, {"b": 1}), arrays_deep(31, {"b": 1}), "a"),
        (arrays_deep(30, {}), arrays_deep(31, {}), "a"),
        (arrays_deep(29, {"b": [1]}), arrays_deep(30, {"b": [1]}), "a"),
    ],
    ids=["objects", "arrays", "arrays of texts", "an object inside", "an empty one", "mixed"],
)
def test_a_body_is_32_levels_deep_at_most(
    accepted: dict[str, Any], refused: dict[str, Any], name: str
) -> None:
    flat(accepted)
    plain_object(accepted, "", 1, EVENT_LIMITS)
    Event.from_json(json.dumps(accepted))
    for read in (
        flat,
        lambda tree: plain_object(tree, "", 1, EVENT_LIMITS),
        lambda tree: Event.from_json(json.dumps(tree)),
    ):
        with pytest.raises(EventError, match="nested deeper than 32 levels") as refusal:
            read(refused)
        assert (refusal.value.attribute or "").startswith(name)
        assert len(str(refusal.value)) < 200


def test_an_event_that_holds_itself_is_refused() -> None:
    tree: dict[str, Any] = {}
    tree["a"] = tree
    with pytest.raises(EventError, match="nested deeper"):
        Event.of(tree)
    items: list[Any] = []
    items.append(items)
    with pytest.raises(EventError, match="nested deeper"):
        Event.of({"a": items})


def test_an_event_has_a_thousand_attributes_at_most_blanks_among_them() -> None:
    thousand: dict[str, Any] = {
        **{f"a{number}": number for number in range(500)},
        "b": {f"c{number}": None for number in range(500)},
    }
    assert len(flat(thousand).values) == 500
    extras: list[object] = [1, None, {}, []]
    for extra in extras:
        with pytest.raises(EventError, match="at most 1,000 attributes") as refusal:
            flat({**thousand, "z": extra})
        assert refusal.value.attribute == "z"


def test_an_array_counts_as_one_attribute() -> None:
    assert flat({"a": list(range(5_000))}).values == {"a": OPAQUE}


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**400])
@pytest.mark.parametrize("place", ["plain", "array", "object in an array"])
def test_an_integer_beyond_64_bits_is_refused_wherever_it_stands(number: int, place: str) -> None:
    item: Any = {"plain": number, "array": [1, [number]], "object in an array": [{"x": number}]}[
        place
    ]
    for read in (flat, Event.of):
        with pytest.raises(EventError, match="integer beyond 64 bits") as refusal:
            read({"a": {"b": item}})
        assert refusal.value.attribute == "a.b"


@given(OBJECTS, st.data())
def test_a_cut_keeps_exactly_the_readable_leaves_and_no_emptied_object(
    tree: dict[str, Any], data: st.DataObject
) -> None:
    leaves = flattened_slowly(tree)
    names = sorted({name for name, _ in leaves})
    readable = data.draw(st.sets(st.sampled_from(names) if names else st.nothing()))
    left = cut_object(tree, readable)
    assert flattened_slowly(left) == [leaf for leaf in leaves if leaf[0] in readable]
    assert cut_object(tree, set(names)) == tree
    assert cut_object(tree, set()) == {}


def test_a_cut_tells_an_empty_object_from_one_that_it_emptied() -> None:
    tree = {"a": {"b": {}, "c": 1}, "d": {"e": {"f": 1}}, "g": {}}
    assert cut_object(tree, {"a.b"}) == {"a": {"b": {}}}
    assert cut_object(tree, {"a", "d", "d.e"}) == {}
    assert cut_object(tree, {"g", "a.c"}) == {"g": {}, "a": {"c": 1}}


class Shade(enum.StrEnum):
    DARK = "dark"


class Level(enum.IntEnum):
    HIGH = 3


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"


class Exact(float):
    pass


class Moment(datetime):
    pass


@pytest.mark.parametrize(
    ("given_", "plain"),
    [
        (Shade.DARK, "dark"),
        (Loud("quiet"), "quiet"),
        (Level.HIGH, 3),
        (Exact(1.5), 1.5),
        (Moment(2026, 1, 31, 13, tzinfo=timezone(timedelta(hours=1))), NOON),
        ({Shade.DARK}, frozenset({"dark"})),
        ({Loud("quiet"), "b"}, frozenset({"quiet", "b"})),
        ([Shade.DARK], frozenset({"dark"})),
        (("a", "b"), frozenset("ab")),
        (frozenset("ab"), frozenset("ab")),
        ((1, 2), OPAQUE),
        ([NOON], OPAQUE),
        ([[]], OPAQUE),
        (True, True),
        (datetime(2026, 1, 31, 13, tzinfo=timezone(timedelta(hours=1))), NOON),
    ],
)
def test_what_a_program_hands_in_becomes_a_plain_value(given_: object, plain: Value) -> None:
    found = Event.of({"a": given_}).attributes["a"]
    assert found == plain
    assert type(found) is type(plain)
    if isinstance(found, frozenset):
        assert {type(one) for one in found} == {str}


@pytest.mark.parametrize("mapping", [OrderedDict, MappingProxyType, dict])
def test_any_mapping_will_do(mapping: Any) -> None:
    event = Event.of(mapping({"a": mapping({Loud("b"): 1})}))
    assert event.attributes == {"a.b": 1}
    assert {type(name) for name in event.attributes} == {str}
    assert event.to_json() == b'{"a":{"b":1}}'


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "finite numbers only"),
        (float("inf"), "finite numbers only"),
        ([float("-inf")], "finite numbers only"),
        (datetime(2026, 1, 31), "without a zone"),  # noqa: DTZ001
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "beyond what UTC can say"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "beyond what UTC can say"),
        (b"bytes", "holds a bytes"),
        (Decimal(1), "holds a Decimal"),
        (1j, "holds a complex"),
        ({1, 2}, "holds a set"),
        (object(), "holds a object"),
        ([object()], "holds a object"),
        (NOON.date(), "holds a date"),
        (range(3), "holds a range"),
        ("\ud800", "half a character, U[+]D800"),
        (["x", "a\udfff"], "half a character, U[+]DFFF"),
        ({"\ud800"}, "half a character"),
        ({1: 2}, "a field's name is the int `1`"),
        ({None: 2}, "a field's name is the NoneType `None`"),
        ({"\ud800": 2}, "half a character"),
    ],
)
def test_what_an_event_cannot_hold_is_refused_by_name(value: object, said: str) -> None:
    with pytest.raises(EventError, match=said) as refusal:
        Event.of({"a": {"b": value}})
    assert (refusal.value.attribute or "a.b").startswith("a.b")
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 250


def test_what_is_handed_in_is_copied() -> None:
    items = ["x"]
    inner: dict[str, object] = {"b": items}
    event = Event.of({"a": inner})
    items.append("y")
    inner["c"] = 1
    assert event == Event.of({"a": {"b": ["x"]}})
