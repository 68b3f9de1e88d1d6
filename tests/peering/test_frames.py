"""Does each frame come back as it was, and is it explained?"""

from typing import get_args

import msgspec
import pytest

from headgate.peering.frames import Frame
from tests.doc_blocks import ROOT
from tests.peering.pair import EVERY_KIND

KINDS = get_args(Frame)
PAGE = (ROOT / "docs" / "network.md").read_text()
decode = msgspec.msgpack.Decoder(Frame).decode


def test_there_is_an_example_of_each_frame() -> None:
    assert {frame.__class__ for frame in EVERY_KIND} == set(KINDS)


@pytest.mark.parametrize("frame", EVERY_KIND, ids=lambda frame: frame.__class__.__name__)
def test_a_frame_comes_back_as_it_was(frame: Frame) -> None:
    again = decode(msgspec.msgpack.encode(frame))
    assert again == frame
    assert again.__class__ is frame.__class__


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_frame_is_known_by_its_name_in_lower_case(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.tag == kind.__name__.lower()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_frame_is_frozen(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.array_like
    assert kind.__struct_config__.forbid_unknown_fields


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_frame_is_in_the_table_of_the_page_with_its_fields(kind: type[msgspec.Struct]) -> None:
    fields = ", ".join(kind.__struct_fields__)
    assert f"| `{kind.__name__}({fields})` |" in PAGE
