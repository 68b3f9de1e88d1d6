"""Are lines read as they come, whatever they come from?"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from headgate.cli import standard_input
from headgate.cli.standard_input import StandardInput
from headgate.model.errors import HeadgateError


async def all_lines(source: StandardInput) -> list[bytes]:
    return [line async for line in source.lines()]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is written here is standard input."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as reading:
        monkeypatch.setattr(sys, "stdin", reading)
        yield theirs


def test_a_file_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(standard_input, "CHUNK_BYTES", 3)
    (tmp_path / "lines").write_bytes(b"one\ntwo, which is longer\n\nlast")
    with (tmp_path / "lines").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        found = asyncio.run(all_lines(StandardInput("reading")))
    assert found == [b"one", b"two, which is longer", b"", b"last"]


def test_what_has_no_file_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"one\ntwo\n")))
    assert asyncio.run(all_lines(StandardInput("reading"))) == [b"one", b"two"]


def test_a_line_comes_when_it_is_written(pipe: int) -> None:
    async def work() -> None:
        lines = StandardInput("reading").lines()
        os.write(pipe, b"one\ntw")
        assert await asyncio.wait_for(anext(lines), 20) == b"one"
        os.write(pipe, b"o\n")
        assert await asyncio.wait_for(anext(lines), 20) == b"two"
        os.close(pipe)
        assert [line async for line in lines] == []

    asyncio.run(work())


def test_who_stops_waits_for_no_line(pipe: int) -> None:
    async def work() -> None:
        source = StandardInput("reading")
        asyncio.get_running_loop().call_later(0.01, source.stop)
        assert await asyncio.wait_for(all_lines(source), 20) == []

    asyncio.run(work())
    os.close(pipe)


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_input, "LINE_BYTES_MAX", 10)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"x" * 11)))
    with pytest.raises(HeadgateError, match="expected lines of at most 10 bytes"):
        asyncio.run(all_lines(StandardInput("reading")))


def test_a_closed_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(HeadgateError, match="it is closed"):
        StandardInput("reading")
