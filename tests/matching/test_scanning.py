"""Is a JSON text read as `Event.from_json` reads it, and refused as it refuses?"""

import json
import random
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.matching import layout
from headgate.matching.index import FilterIndex
from headgate.model.errors import EventError
from headgate.model.events import Event
from tests.matching.test_index import index_of
from tests.proofs import proof_size

NAMES = ["a", "b", "a.b", "a.b.c", "é"]
FILTERS = [
    text.format(name)
    for name in NAMES
    for text in (
        '"{}" IS STRING', '"{}" IS INTEGER', '"{}" IS DOUBLE', '"{}" IS BOOLEAN', '"{}" IS NULL',
        '"{}" = \'x\'', '"{}" = \'\'', '"{}" LIKE \'é%\'', '"{}" LIKE \'%/%\'', '"{}" = TRUE',
        '"{}" > 0.5', '"{}" = 5', '"{}" = 0.1', '"{}" >= 9007199254740993', '"{}" < -1e10',
        '"{}" = FALSE', "'x' IN \"{}\"", "'' IN \"{}\"", "'y' NOT IN \"{}\"", '"{}" = -0.25',
        '"{}" = 123456789012345678', '"{}" IS NOT NULL', '"{}" = 1e22', '"{}" <= \'\\n\'',
    )
]  # fmt: skip
INDEX = index_of(*FILTERS)
PARSED = [Filter.parse(text) for text in FILTERS]


def read(text: bytes | str) -> Event | str:
    """The event, or why it is refused."""
    try:
        return Event.from_json(text)
    except EventError as refusal:
        return str(refusal)


def check(text: bytes | str) -> None:
    """One text alone, and between two plain ones."""
    refused: dict[int, EventError] = {}
    plain = b'{"a": "x"}'
    found = INDEX.match_json([plain, text, plain], refused=refused)
    event = read(text)
    if isinstance(event, str):
        assert str(refused[1]) == event
        assert found[1].tolist() == []
        with pytest.raises(EventError) as raised:
            INDEX.match_json([text])
        assert str(raised.value) == event
    else:
        assert not refused
        expected = [at for at, one in enumerate(PARSED) if one.matches(event)]
        assert sorted(found[1].tolist()) == expected
    alike = [at for at, one in enumerate(PARSED) if one.matches({"a": "x"})]
    assert sorted(found[0].tolist()) == sorted(found[2].tolist()) == alike


ODD = [
    b"",
    b" ",
    b"{}",
    b" { } ",
    b"{} x",
    b"[]",
    b"5",
    b'"a"',
    b"null",
    b"{",
    b"}",
    b'{"a"}',
    b'{"a":}',
    b'{"a":1,}',
    b'{,"a":1}',
    b'{"a":1 "b":2}',
    b'{"a":1}}',
    b'{"a":{"b":1}',
    b'{"a":{"b":1}}',
    b'{"a":{"b":{"c":"x"}},"b":5}',
    b'{"a":{},"a.b":{"c":5}}',
    b'{"a":1,"a":1}',
    b'{"a.b":1,"a":{"b":1}}',
    b'{"a":{"b":1},"a":{"c":1}}',
    b'{"a.b":1,"a":{"b":{"c":2}}}',
    b'{"":1}',
    b'{"$a":1}',
    b'{"a":{"$a":1}}',
    b'{"a":{"":1}}',
    b'{"a":[{"x":1,"x":2}]}',
    b'{"a":[{"x":1}]}',
    b'{"a":[]}',
    b'{"a":["x"]}',
    b'{"a":["x","y"]}',
    b'{"a":["\\u0078"]}',
    b'{"a":["\\n"]}',
    b'{"a":["x",1]}',
    b'{"a":[1,2.5,null,true,false]}',
    b'{"a":[1,]}',
    b'{"a":[fals]}',
    b'{"a":[tru]}',
    b'{"a":[aalse]}',
    b'{"a":[99999999999999999999]}',
    b'{"a":tru}',
    b'{"a":true}',
    b'{"a":false}',
    b'{"a":falsy}',
    b'{"a":null}',
    b'{"a":nul}',
    b'{"a":truee}',
    b'{"a":-}',
    b'{"a":-0}',
    b'{"a":-0.0}',
    b'{"a":0}',
    b'{"a":01}',
    b'{"a":1.}',
    b'{"a":.5}',
    b'{"a":1e}',
    b'{"a":1e5}',
    b'{"a":1E+5}',
    b'{"a":1e-5}',
    b'{"a":1e400}',
    b'{"a":1e-400}',
    b'{"x":1e400}',
    b'{"x":1e290}',
    b'{"a":123456789012345678}',
    b'{"a":1234567890123456789}',
    b'{"a":9223372036854775808}',
    b'{"a":5.0}',
    b'{"a":-9223372036854775808}',
    b'{"a":0.1}',
    b'{"a":0.10000000000000000000}',
    b'{"a":1e22}',
    b'{"a":1e23}',
    b'{"a":9007199254740993}',
    b'{"a":9007199254740993.0}',
    b'{"a":-0.25}',
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":"x"}',
    b'{"a":"\\u0078"}',
    b'{"a":"\\/"}',
    b'{"a":"\\x"}',
    b'{"x":"\\x"}',
    b'{"x":"\\u00"}',
    b'{"x":"\\n"}',
    b'{"x":"\\ud800"}',
    b'{"a":"\xc3\xa9"}',
    b'{"a":"\xc3"}',
    b'{"x":"\xc3"}',
    b'{"x":"\xed\xa0\x80"}',
    b'{"x":"\xf4\x90\x80\x80"}',
    b'{"x":"\xc0\x80"}',
    b'{"x":"\xe0\x80\x80"}',
    b'{"x":"\xf0\x80\x80\x80"}',
    b'{"x":"\xf0\x9f\x98\x80"}',
    b'{"x":"\xe2\x82\xac"}',
    b'{"x":"\xe2\x82"}',
    b'{"\xc3\xa9":5}',
    b'{"\\u0061":"x"}',
    b'{"a":"\t"}',
    b'{"x":"\x00"}',
    b'{"a\x01":1}',
    b'{"a":"x',
    b'{"a',
    b'{"a":"x\\',
    b'{"a":"x\\"',
    b"\xef\xbb\xbf{}",
    b'\t\r\n{ "a" \n:\t"x" \r, "b" : [ "x" , "y" ] }\n',
    b'{"a" 1}',
    b'{"a":1;}',
    b'{"a":{"b" }}',
    b'{"a": }',
    b'{"a":5}{"a":6}',
    b'{"a":5} ,',
    b'{"x":"a:b","a":5}',
    b'{"a":[["x"]]}',
    b'{"a":[{}]}',
    b'{"a":["x"}',
    b'{"a":["x" "y"]}',
    b'{"a":[,]}',
    b'{"a":[1 2]}',
    b'{"a":["\xc3"]}',
    b'{"a":["x",null,"\xff"]}',
    b'{"a":' + b'{"a":' * 12 + b"1" + b"}" * 13,
    b'{"a":' + b'{"a":' * 40 + b"1" + b"}" * 41,
    b"{" + b",".join(b'"n%d":%d' % (n, n) for n in range(950)) + b',"a":5}',
    b"{" + b",".join(b'"n%d":%d' % (n, n) for n in range(1_050)) + b',"a":5}',
    b'{"' + b"n" * 2_000 + b'":1,"a":5}',
    b'{"a":"' + b"x" * 300_000 + b'"}',
    b'{"x":"' + b"x" * 2_000_000 + b'"}',
    b'{"a":{"b":null}}',
    b'{"b":5,"b ":5,"a":5}',
]


@pytest.mark.parametrize("text", ODD, ids=lambda text: repr(text[:40]))
def test_odd_texts_are_read_or_refused_alike(text: bytes) -> None:
    check(text)


def test_text_that_is_no_utf8_is_refused_alike() -> None:
    check('{"a": "\ud800"}')
    check('{"\ud800": 1}')
    check('{"a": "é", "é": "x"}')


SCALARS = (
    st.sampled_from(["", "x", "é", "/", "\n", "y", "\ud83d\ude00", '"'])
    | st.integers(-(2**64), 2**64)
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.1, 0.5, -0.25, 5.0, 1e22, 123456789012345678, True, False, None])
)
KEYS = st.sampled_from(["a", "b", "c", "a.b", "b.c", "é", "n\n"])
TREES: st.SearchStrategy[object] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=proof_size(test=300, soak=20_000))
@given(st.dictionaries(KEYS, TREES, max_size=5), st.booleans(), st.sampled_from([None, 1]))
def test_any_tree_is_read_alike(
    tree: Mapping[str, object], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(tree, ensure_ascii=ascii_only, indent=indent)
    check(text.encode("utf-8", "surrogatepass"))


PIECES = [
    b"", b'"', b",", b"{", b"}", b"[", b"]", b":", b"\\", b"0", b"-", b".", b"e", b" ", b"\x00",
    b"\xff", b"\xc3", b"null", b'"a":1', b"1e5",
]  # fmt: skip


@settings(max_examples=proof_size(test=300, soak=20_000))
@given(st.dictionaries(KEYS, TREES, max_size=4), st.integers(0, 2**32))
@example({"a": ["x", "y"], "b": 5.5}, 3).via("something of everything")
def test_any_text_that_is_nearly_json_is_read_or_refused_alike(
    tree: Mapping[str, object], seed: int
) -> None:
    chance = random.Random(seed)
    octets = bytearray(json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    for _ in range(chance.randrange(1, 3)):
        at = chance.randrange(len(octets) + 1)
        piece = chance.choice(PIECES)
        octets[at : at + chance.randrange(3)] = piece
    check(bytes(octets))


def test_plain_texts_take_the_quick_way() -> None:
    index = FilterIndex()
    index.add(0, Filter.parse("a = 'x' AND b > 5 AND 'm' IN s AND who.desk = 7"))
    texts = [
        b'{"a": "x", "b": 5.25, "s": ["m", "n"], "who": {"desk": 7, "name": "Ann"}, "other": "\\n"}'
    ] * 50
    snapshot = index.snapshot()
    assert snapshot.match_json(texts).ids.tolist() == [0] * 50
    (workspace,) = snapshot._workspaces
    assert workspace.words[layout.UNSURE_COUNT] == 0
