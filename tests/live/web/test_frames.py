"""Is a text framed as RFC 6455 has it, whatever its length?"""

import pytest
from websockets.extensions import Extension
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from headgate.live.web.frames import text_frame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_frame_is_read_by_others_as_the_text_that_it_holds(size: int) -> None:
    reader = StreamReader()
    reader.feed_data(text_frame(b"x" * size))
    none: list[Extension] = []
    reading = Frame.parse(reader.read_exact, mask=False, extensions=none)
    frame = None
    try:
        while True:
            next(reading)
    except StopIteration as done:
        frame = done.value
    assert isinstance(frame, Frame)
    assert (frame.opcode, frame.fin, bytes(frame.data)) == (Opcode.TEXT, True, b"x" * size)
