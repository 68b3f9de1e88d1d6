"""Are events read safely, written byte for byte the same, and cut without a trace?"""

import copy
import dataclasses
import json
import math
import pickle
import random
import struct
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import EventError
from headgate.model.events import Event
from headgate.model.limits import EVENT_LIMITS, EventLimits
from headgate.model.values import OPAQUE, Value
from tests.proofs import proof_size

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MEBIBYTE = 1024 * 1024

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4).filter(
    lambda name: "." not in name and name[0] != "$"
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)
OBJECTS = st.dictionaries(NAMES, TREES, max_size=4)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("{}", "{}"),
        (' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}'),
        ('{"b":1,"a":{"d":1,"c":2}}', '{"a":{"c":2,"d":1},"b":1}'),
        ('{"a10":1,"a2":1,"B":1,"é":1}', '{"B":1,"a10":1,"a2":1,"é":1}'),
        # By code point, not as UTF-16 sorts.
        ('{"\U00010000":1,"\uffff":2}', '{"\uffff":2,"\U00010000":1}'),
        ('[{"b":1,"a":2}]', '[{"a":2,"b":1}]'),
        ("100", "100"),
        ("100.0", "100.0"),
        ("1e2", "100.0"),
        ("1E+15", "1000000000000000.0"),
        ("1e16", "1e16"),
        ("10000000000000000.0", "1e16"),
        ("123456789012345680.0", "1.2345678901234568e17"),
        ("0.00001", "0.00001"),
        ("1e-7", "1e-7"),
        ("0.0000001", "1e-7"),
        ("5e-324", "5e-324"),
        ("2e-324", "0.0"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("[true,false,null]", "[true,false,null]"),
        (r'"\u0000\b\t\n\f\r\u001f\"\\\/"', r'"\u0000\b\t\n\f\r\u001f\"\\/"'),
        (r'"\u00e9\u2028\ud83d\ude00\u007f"', '"é\u2028😀\x7f"'),
    ],
)  # fmt: skip
def test_canonical_json_is_this_to_the_byte(text: str, written: str) -> None:
    assert Event.from_json(text).to_json() == written.encode()
    assert Event.from_json(text.encode()).to_bytes() == written.encode()


@given(OBJECTS)
def test_what_is_written_reads_as_the_same_event_and_is_written_the_same(
    tree: dict[str, Any],
) -> None:
    event = Event.of(tree)
    written = event.to_json()
    again = Event.from_json(written)
    assert again == event
    assert hash(again) == hash(event)
    assert again.to_json() == written
    assert again.attributes == event.attributes
    assert again.blanks == event.blanks
    assert json.loads(written) == tree
    assert list(json.loads(written)) == sorted(tree)


@given(TREES, st.randoms(use_true_random=False))
def test_spacing_escapes_and_key_order_make_no_difference(
    tree: object, chance: random.Random
) -> None:
    def shuffled(item: object) -> object:
        if isinstance(item, dict):
            keys = list(item)
            chance.shuffle(keys)
            return {key: shuffled(item[key]) for key in keys}
        return [shuffled(one) for one in item] if isinstance(item, list) else item

    if isinstance(tree, dict) and not all(key[:1] != "$" for key in tree):
        return
    plain = Event.from_json(json.dumps(tree, ensure_ascii=False))
    other = Event.from_json(json.dumps(shuffled(tree), indent=chance.choice([None, 1, 3])))
    assert other == plain
    assert other.to_json() == plain.to_json()


@given(st.integers(0, 2**64 - 1))
def test_every_finite_double_is_read_back_to_the_bit(bits: int) -> None:
    (number,) = struct.unpack(">d", bits.to_bytes(8, "big"))
    if not math.isfinite(number):
        return
    event = Event.of({"a": number})
    again = Event.from_json(event.to_json()).attributes["a"]
    assert type(again) is float
    assert struct.pack(">d", again) == bits.to_bytes(8, "big")
    assert Event.from_json(f'{{"a":{number!r}}}') == event


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('"x"', "x"),
        ("5", 5),
        ("5.0", 5.0),
        ("true", True),
        ('["a","b"]', frozenset("ab")),
        ("[]", frozenset()),
        ('[{"a":1}]', OPAQUE),
    ],
)
def test_a_body_that_is_no_object_is_the_one_attribute_payload(body: str, value: Value) -> None:
    event = Event.from_json(body)
    assert event.attributes == {"payload": value}
    assert type(event.attributes["payload"]) is type(value)
    assert event.to_bytes() == body.encode()


def test_a_body_of_null_is_a_blank_payload() -> None:
    event = Event.from_json("null")
    assert event.attributes == {}
    assert event.blanks == {"payload"}
    assert event.to_json() == b"null"


def test_bytes_that_are_no_json_can_be_handed_on_but_not_filtered_or_written_as_json() -> None:
    event = Event.from_bytes(b"\xff\x00")
    assert event.attributes == {"payload": OPAQUE}
    assert event.to_bytes() == b"\xff\x00"
    assert type(event.to_bytes()) is bytes
    with pytest.raises(EventError, match="no JSON"):
        event.to_json()
    assert event == Event.from_bytes(b"\xff\x00")
    assert Event.from_bytes(b"5") != Event.from_json(b"5")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"a":1,"a":1}', "a"),
        ('{"a":1,"b":2,"a":{"c":1}}', "a"),
        ('{"a":{"c":1},"a":{"d":1}}', "a"),
        (r'{"a":1,"\u0061":2}', "a"),
        ('{"a":{"b":{"c":1,"c":2}}}', "a.b.c"),
        ('{"a":[1,{"b":1,"b":2}]}', "a.b"),
        ('{"a":[[[{"b":1,"b":2}]]]}', "a.b"),
        ('[{"b":1,"b":2}]', "b"),
        ('{"x":":","a":1,"a":":\\":\\\\"}', "a"),
        ('{"a":{},"a":{}}', "a"),
        ('{"a:":null,"a:":null}', "a:"),
        ('{"\\n":1,"\\n":1}', "\n"),
    ],
)
def test_a_key_written_twice_is_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(EventError, match="is written twice") as refusal:
        Event.from_json(text)
    assert refusal.value.attribute == name
    assert str(refusal.value).isprintable()


@given(OBJECTS, st.text(st.sampled_from(':"\\{}[],é\n'), min_size=1, max_size=6))
def test_colons_and_quotes_in_texts_are_not_taken_for_keys(tree: dict[str, Any], text: str) -> None:
    nested = {**tree, "x" + text.replace(".", ""): [text, {text or "t": text}], "y": text}
    event = Event.from_json(json.dumps(nested))
    assert event.attributes["y"] == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"a":NaN}', "a"),
        ('{"a":{"b":Infinity}}', "a.b"),
        ('{"a":[1,-Infinity]}', "a"),
        ('{"a":1e999}', "a"),
        ('{"a":{"b":[-1e400]}}', "a.b"),
        ('{"a":1e99999999999999999999}', "a"),
        ('{"a":9223372036854775808}', "a"),
        ('{"a":-9223372036854775809}', "a"),
        ('{"a":18446744073709551616}', "a"),
        ('{"a":[{"b":18446744073709551615}]}', "a"),
        ('{"a":' + "9" * 400 + "}", "a"),
        ('{"a":' + "9" * 10_000 + "}", "a"),
        ('{"a":-' + "9" * 100_000 + "}", "a"),
        ("NaN", "payload"),
        ("1e999", "payload"),
        ("99999999999999999999", "payload"),
        ("[99999999999999999999]", "payload"),
        (r'{"a":"\ud800"}', "a"),
        (r'{"a":{"b":["x\udc00\ud800"]}}', "a.b"),
        ('{"a\\n\\u202e' + "x" * 300 + '":1e999}', "a\n\u202e" + "x" * 300),
    ],
)
def test_a_value_that_no_event_holds_is_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(EventError) as refusal:
        Event.from_json(text)
    assert refusal.value.attribute == name
    assert len(str(refusal.value)) < 250
    assert str(refusal.value).isprintable()
    if "999" in text and "e" not in text:
        assert "integer beyond 64 bits" in str(refusal.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        "{}".encode("utf-32-le"),
        b'{"a":"\xff"}',
        b'{"a":"\xc0\x80"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xf4\x90\x80\x80"}',
        b'{"\xff":1}',
        b"{} {}",
        b"{}x",
        b"{}\x00",
        b"{'a':1}",
        b'{"a":1,}',
        b"[1,]",
        b"{a:1}",
        b'{"a" 1}',
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":.5}',
        b'{"a":1.}',
        b'{"a":0x10}',
        b'{"a":1_000}',
        b'{"a":undefined}',
        b'{"a":True}',
        b'{"a":"\n"}',
        b'{"a":"\\x41"}',
        b'{"a":"\\u12"}',
        b"/* */{}",
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b"[" * 500_000 + b"]" * 500_000,
    ],
    ids=lambda data: repr(data[:16]),
)
def test_what_is_no_json_is_refused_in_one_short_line(data: bytes) -> None:
    with pytest.raises(EventError) as refusal:
        Event.from_json(data)
    assert len(str(refusal.value)) < 200
    assert str(refusal.value).isprintable()


def test_half_a_character_in_a_text_to_read_is_refused() -> None:
    with pytest.raises(EventError, match="half a character"):
        Event.from_json('{"a":"\ud800"}')


def test_an_event_has_a_mebibyte_at_most_however_it_is_made() -> None:
    text = "x" * (MEBIBYTE - 8)
    assert len(Event.of({"a": text}).to_json()) == MEBIBYTE
    Event.from_json(b'{"a":"%b"}' % text.encode())
    Event.from_bytes(b"\xff" * MEBIBYTE)
    too_large: list[Callable[[], Event]] = [
        lambda: Event.of({"a": text + "x"}),
        lambda: Event.from_json(b'{"a":"%bx"}' % text.encode()),
        lambda: Event.from_json(b'{"a":"%b"} ' % text.encode()),
        lambda: Event.from_bytes(b"\xff" * (MEBIBYTE + 1)),
        lambda: Event.of({"a": "é" * (MEBIBYTE // 2)}),
    ]
    for made in too_large:
        with pytest.raises(EventError, match="at most 1,048,576 bytes"):
            made()


@pytest.mark.parametrize("levels", [1, 30])
def test_a_long_name_around_many_fields_takes_no_memory_beyond_the_bound(levels: int) -> None:
    around = "a" * (900_000 // levels)
    body: object = {f"k{at}": at for at in range(900)}
    for _ in range(levels):
        body = {around: body}
    text = json.dumps(body)
    tracemalloc.start()
    makers: list[Callable[[], Event]] = [
        lambda: Event.from_json(text),
        lambda: Event.of(json.loads(text)),
    ]
    for make in makers:
        with pytest.raises(EventError, match="too long a name for what is nested in it") as caught:
            make()
        assert caught.value.attribute is not None
        assert len(str(caught.value)) < 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40_000_000


def test_an_event_that_would_be_too_large_once_written_is_refused_when_read() -> None:
    short = b"[" + b",".join([b"1e15"] * 100_000) + b"]"
    with pytest.raises(EventError, match="at most 1,048,576 bytes"):
        Event.from_json(short)
    barely = EventLimits(event_bytes=len(b"[1000000000000000.0]"))
    assert Event.from_json(b"[1e15]", barely).to_json() == b"[1000000000000000.0]"


def test_booleans_integers_doubles_timestamps_and_texts_make_different_events() -> None:
    values = [True, 1, 1.0, "1", "true", None, {}, [], ["1"], [1], [1.0], [True], False, 0, 0.0]
    values += [-0.0, "2026-01-31T12:00:00Z", NOON, [NOON], ["2026-01-31T12:00:00Z"], "", [""]]
    events = [Event.of({"a": value}) for value in values]
    for at, event in enumerate(events):
        assert [other == event for other in events].index(True) == at
        assert event == Event.of({"a": values[at]})
        assert hash(event) == hash(Event.of({"a": values[at]}))
    assert len(set(events)) == len(events)
    known = [True, 1, 1.0, "1", ["1"], [1], NOON, "2026-01-31T12:00:00Z"]
    assert len({Event.of({}).with_known({"$a": value}) for value in known}) == len(known)
    assert Event.of({"a": 1}) != {"a": 1}


def test_what_the_broker_knows_is_in_the_attributes_but_not_in_the_body() -> None:
    event = Event.of({"a": 1}).with_known(
        {"$publisher": "p", "$time": NOON, "$user": {"NAME": "x"}, "$tags": {"b", "c"}}
    )
    assert event.attributes == {
        "a": 1,
        "$publisher": "p",
        "$time": NOON,
        "$user.NAME": "x",
        "$tags": frozenset("bc"),
    }
    assert event.to_json() == b'{"a":1}'
    assert event.with_known({"$time": 2}).attributes == {**event.attributes, "$time": 2}
    assert event.with_known({}) == event != Event.of({"a": 1})
    assert event.cut({"$time", "a"}).attributes == {"a": 1, "$time": NOON}
    assert event.cut({"$time"}).with_known({"$x": 1}).attributes == {"$time": NOON, "$x": 1}


@pytest.mark.parametrize("name", ["a", "", "a.$b", "\n"])
def test_what_the_broker_knows_has_a_name_that_no_sender_can_make(name: str) -> None:
    with pytest.raises(EventError, match=r"must begin with `\$` to be") as refusal:
        Event.of({}).with_known({name: 1})
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("value", [object(), float("nan"), 2**63, "\ud800"])
def test_what_the_broker_knows_is_checked_like_a_body(value: object) -> None:
    with pytest.raises(EventError):
        Event.of({}).with_known({"$a": value})


def test_a_cut_event_is_as_if_the_rest_had_never_been_there() -> None:
    event = Event.from_json('{"a":1,"b":{"c":2,"d":{"e":3}},"f":null,"g":{},"h":[1]}')
    cut = event.cut({"a", "b.d.e", "g"})
    assert cut == Event.from_json('{"a":1,"b":{"d":{"e":3}},"g":{}}')
    assert cut.to_json() == b'{"a":1,"b":{"d":{"e":3}},"g":{}}'
    assert cut.blanks == {"g"}
    assert event.cut(set()) == Event.from_json("{}")
    assert event.cut({"b"}) == Event.from_json("{}")
    assert event.to_json().startswith(b'{"a":1,"b"')


@pytest.mark.parametrize(
    "event",
    [
        Event.from_bytes(b"\xff"),
        Event.from_bytes(b""),
        Event.from_json("5"),
        Event.from_json("null"),
        Event.from_json("[]"),
        Event.from_json('{"payload":1}'),
        Event.from_json('{"other":{"x":1}}'),
        Event.from_json("{}"),
    ],
    ids=lambda event: repr(event.to_bytes()),
)
def test_a_cut_body_does_not_show_what_it_was(event: Event) -> None:
    cut, nothing = event.cut({"x"}), Event.of({})
    assert cut == nothing
    assert hash(cut) == hash(nothing)
    assert repr(cut) == repr(nothing)
    assert pickle.dumps(cut) == pickle.dumps(Event.from_json("{}").cut({"x"}))
    assert cut.to_bytes() == b"{}"


def test_a_set_with_some_members_left_is_as_if_the_others_had_never_been_there() -> None:
    event = Event.of({"a": 1, "topics": ["x", "y", "z", "x"]}).with_known({"$time": NOON})
    left = event.with_members("topics", {"x", "z", "w"})
    assert left == Event.of({"a": 1, "topics": ["x", "z", "x"]}).with_known({"$time": NOON})
    assert left.to_json() == b'{"a":1,"topics":["x","z","x"]}'
    assert event.with_members("topics", ()).attributes["topics"] == frozenset()
    assert event.attributes["topics"] == frozenset("xyz")


def test_a_readable_payload_stays_whole() -> None:
    for event in (Event.from_bytes(b"\xff"), Event.from_json('["a"]'), Event.from_json("null")):
        assert event.cut({"payload"}) == event


@given(OBJECTS, OBJECTS, OBJECTS, OBJECTS)
def test_events_that_differ_only_in_what_is_unreadable_are_cut_to_the_same(
    readable: dict[str, Any], inner: dict[str, Any], secret: dict[str, Any], other: dict[str, Any]
) -> None:
    shown = Event.of({"r": readable, "m": {"r": inner}})
    names = set(shown.attributes) | shown.blanks
    if not inner:
        names.discard("m.r")
    views = []
    for hidden in (secret, other, {}):
        tree: dict[str, Any] = {"r": readable, "m": {"r": inner} if inner else {}, "s": hidden}
        tree["m"] = {**tree["m"], "s": hidden} if hidden or inner else hidden
        event = Event.of(tree).with_known({"$secret": len(hidden)})
        views.append(event.cut(names))
    for view in views:
        assert view == views[0]
        assert hash(view) == hash(views[0])
        assert repr(view) == repr(views[0])
        assert view.to_json() == views[0].to_json()
        assert view.blanks == views[0].blanks
        assert view.cut(names) == view
        assert set(view.attributes) | view.blanks <= names


def test_an_event_can_be_pickled_and_copied_but_not_changed() -> None:
    event = Event.of({"a": 1, "b": [1], "c": {"d": "x"}, "e": None}).with_known({"$time": NOON})
    for other in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert other == event
        assert other.attributes == event.attributes
        assert other.attributes["b"] is OPAQUE
        assert other.blanks == event.blanks
    with pytest.raises(AttributeError, match="immutable"):
        event.blanks = frozenset()  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        event.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        event.attributes["a"] = 2  # type: ignore[index]


def read_or_refused(data: bytes) -> Event | None:
    refusal = ""
    try:
        return Event.from_json(data)
    except EventError as problem:
        refusal = str(problem)
    assert refusal.isprintable()
    assert len(refusal) < 250
    return None


@pytest.mark.proof
def test_whatever_bytes_come_they_give_an_event_or_a_refusal_in_one_line() -> None:
    chance = random.Random(20260131)
    seeds = [
        b'{"a":{"b":[1,2.5e3,"x\\u0041",true,null]},"c.d":"\xc3\xa9"}',
        b'[{"a":1e15},{"a":-0.0},"\\ud83d\\ude00",[[[]]]]',
        b'{"a":9223372036854775807,"":{},"$b":1,"c":NaN}',
    ]
    pieces = [b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\\u", b"d800", b"1e", b"999",
              b"-", b"\xff", b"\xed\xa0\x80", b"null", b"NaN", b'"a":', b"\x00", b" "]  # fmt: skip
    read = 0
    for _ in range(proof_size(test=8_000, soak=1_000_000)):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.choice([0, 0, 1, 3])] = chance.choice(pieces)
        event = read_or_refused(bytes(data))
        if event is not None:
            read += 1
            again = Event.from_json(event.to_json())
            assert again == event
            assert again.to_json() == event.to_json()
    assert read > 0


def test_the_bounds_of_an_event_are_its_callers_to_choose() -> None:
    with pytest.raises(EventError, match="at most 2 attributes"):
        Event.of({"a": 1, "b": 2, "c": 3}, dataclasses.replace(EVENT_LIMITS, attributes=2))


def test_events_that_are_equal_are_not_unequal() -> None:
    one, other = Event.of({"a": 1, "b": 2}), Event.of({"b": 2, "a": 1})
    assert one == other
    assert not one != other  # noqa: SIM202  # the operator itself is what is asked
    assert one != Event.of({"a": 1})


@pytest.mark.parametrize("value", [[1], "price", 5, None])
def test_what_is_no_mapping_is_refused_as_such(value: Any) -> None:
    with pytest.raises(EventError, match="expected a mapping from names to values, found a value"):
        Event.of(value)
