"""Does a cursor say exactly how far a reader has come, and is nothing else taken for one?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.http.cursors import CursorError, Position, print_cursor, read_cursor
from headgate.log.records import OFFSET_MAX

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
positions = st.dictionaries(
    names, st.builds(Position, names, st.integers(0, OFFSET_MAX)), max_size=5
)


@given(positions)
def test_a_cursor_gives_back_the_positions_it_was_made_of(said: dict[str, Position]) -> None:
    text = print_cursor(said)
    assert read_cursor(text) == said
    assert text.isascii()
    assert "\n" not in text


def test_a_cursor_looks_as_documented() -> None:
    said = {"quotes": Position("INC", 7), "orders": Position("INC", 12)}
    assert print_cursor(said) == "orders@INC.12,quotes@INC.7"
    assert print_cursor({"a,b@c": Position("1.2", 0)}) == "a%2Cb%40c@1.2.0"
    assert read_cursor("") == {}


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("orders", "expected `stream@incarnation.offset`"),
        ("orders@INC", "expected `stream@incarnation.offset`"),
        ("orders@INC.-1", "expected `stream@incarnation.offset`"),
        ("orders@INC.٣", "expected `stream@incarnation.offset`"),
        ("orders@INC.1,", "expected `stream@incarnation.offset`"),
        ("@INC.1", "expected names of 1 to 256"),
        ("orders@.1", "expected names of 1 to 256"),
        ("%ff@INC.1", "expected UTF-8"),
        ("orders@INC.1,orders@INC.2", "names stream `orders` twice"),
        (f"orders@INC.{OFFSET_MAX + 1}", "expected an offset of at most"),
        ("a" * 70_000, "at most 65,536 characters"),
        (",".join(f"s{n}@I.1" for n in range(2_000)), "at most 1,024 streams"),
    ],
)
def test_what_is_no_cursor_is_refused(text: str, because: str) -> None:
    with pytest.raises(CursorError, match=because):
        read_cursor(text)
