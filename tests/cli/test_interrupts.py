"""Does the first interrupt end a command in good order?"""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from headgate.cli.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_one_is_only_noted_and_the_next_one_is_as_ever(number: signal.Signals) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        heard = asyncio.Event()
        before = signal.getsignal(signal.SIGTERM)
        with Interrupts(heard.set) as interrupts:
            assert not interrupts.came
            os.kill(os.getpid(), number)
            await asyncio.wait_for(heard.wait(), 20)
            assert interrupts.came
            assert not loop.remove_signal_handler(number)
        assert signal.getsignal(signal.SIGTERM) == before

    asyncio.run(work())


def test_elsewhere_than_in_the_main_thread_nothing_is_heard() -> None:
    async def work() -> None:
        with Interrupts(lambda: None) as interrupts:
            assert not interrupts.came

    async def beside() -> None:
        await asyncio.to_thread(lambda: asyncio.run(work()))

    asyncio.run(beside())
