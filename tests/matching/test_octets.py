"""Do eight octets at a time say what each of them says?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.matching.compiled import OCTETS_BEHIND, Octets, address_of
from headgate.matching.octets import blank_end, is_name, is_utf8, plain_end


def placed(octets: bytes) -> tuple[Octets, int, int]:
    """The octets with quotes behind them, where they start and where they end."""
    data = np.frombuffer(octets + b'"' * OCTETS_BEHIND, np.uint8).copy()
    return data, address_of(data), address_of(data) + len(octets)


@given(st.text("az 09~!", max_size=20), st.binary(max_size=12))
def test_a_plain_stretch_ends_where_one_octet_is_not_plain(plain: str, rest: bytes) -> None:
    octets = plain.encode() + rest
    _, start, end = placed(octets)
    odd = [at for at, one in enumerate(octets) if one in b'"\\' or one < 0x20 or one >= 0x80]
    assert plain_end(start, end) - start == (odd[0] if odd else len(octets))


@given(st.text(" \t\n\r", max_size=6), st.binary(max_size=4))
def test_blanks_are_those_of_json(blanks: str, rest: bytes) -> None:
    octets = blanks.encode() + rest
    _, start, end = placed(octets)
    assert blank_end(start, end) - start == len(octets) - len(octets.lstrip(b" \t\n\r"))


@given(st.binary(max_size=6) | st.text(max_size=6).map(str.encode))
def test_utf8_is_what_python_decodes(octets: bytes) -> None:
    _, start, end = placed(octets)
    assert is_utf8(start, end) is (octets.decode(errors="replace").encode() == octets)


def test_every_lead_of_utf8_with_every_follower_is_as_python_says() -> None:
    for lead in range(0x80, 0x100):
        for follower in range(0x70, 0xD0, 3):
            for rest in (b"", b"\x80", b"\x80\xbf", b"\xbf\x80\x80"):
                octets = bytes([lead, follower]) + rest
                _, start, end = placed(octets)
                try:
                    octets.decode()
                except UnicodeDecodeError:
                    assert not is_utf8(start, end)
                else:
                    assert is_utf8(start, end)


def test_names_of_characters_behind_a_backslash_are_those_of_json() -> None:
    assert bytes(one for one in range(256) if is_name(one)) == b'"/\\bfnrt'
