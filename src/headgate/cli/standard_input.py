"""How does a command read lines from standard input while it does something else?"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, suppress
from threading import Semaphore, Thread
from typing import Any, final

import click

from headgate.model.errors import HeadgateError

LINE_BYTES_MAX = 2 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
CHUNKS_MAX = 4
"""So many are read ahead."""


@final
class StandardInput:
    """The lines of standard input as they come, whatever it is connected to."""

    def __init__(self, doing: str) -> None:
        if sys.stdin is None:
            raise HeadgateError("can't read standard input: it is closed")
        self._doing = doing
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = Semaphore(CHUNKS_MAX)
        self._is_stopped = False

    def stop(self) -> None:
        """No more is read; what came is passed on up to the line that is at work."""
        self._is_stopped = True
        self._chunks.put_nowait(None)

    async def lines(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        # A thread that the program doesn't wait for: at a terminal reading may never end.
        Thread(target=self._read, args=(loop,), daemon=True).start()
        rest = b""
        with self._bar() as bar:
            while not self._is_stopped and (chunk := await self._chunks.get()) is not None:
                self._room.release()
                bar.update(len(chunk))
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if self._is_stopped:
                        return
                    yield line
                if len(rest) > LINE_BYTES_MAX:
                    raise HeadgateError(f"expected lines of at most {LINE_BYTES_MAX:,} bytes")
        if rest and not self._is_stopped:
            yield rest

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        for chunk in _chunks():
            self._room.acquire()
            try:
                loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:
                return  # the loop has ended before

    def _bar(self) -> AbstractContextManager[Any]:
        """How far a file is, for those who look on."""
        length = 0
        with suppress(OSError, ValueError):
            found = os.fstat(sys.stdin.fileno())
            length = found.st_size if stat.S_ISREG(found.st_mode) else 0
        hidden = not (length and sys.stderr.isatty())
        return click.progressbar(length=length, label=self._doing, file=sys.stderr, hidden=hidden)


def _chunks() -> Iterator[bytes | None]:
    """What is read, and `None` at the end.

    Not through the buffer of `sys.stdin`: Python would wait at its end for who holds its lock.
    """
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        yield sys.stdin.buffer.read()
    else:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            yield chunk
    yield None
