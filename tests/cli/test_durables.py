"""Does an administrator see which durable subscriptions there are, and end one?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from tests.client.running import PASSWORD, Running, Site


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with Running(tmp_path) as running:
        monkeypatch.setenv("HEADGATE_URL", running.url)
        monkeypatch.setenv("HEADGATE_PASSWORD", PASSWORD)
        yield running


def durable(*words: str) -> Result:
    return CliRunner().invoke(main, ["durable", *words])


async def _subscribe(made: Site) -> None:
    async with made.talk() as talk:
        said = {"do": "subscribe", "request": 1, "subscription": 1, "filter": "a > 1"}
        await talk.say({**said, "durable": "desk-7"})
        await talk.next("started")
        await talk.next("started")


def test_they_are_listed_and_ended_when_their_clients_are_gone(running: Running) -> None:
    assert durable("list", "--as", "audrey").stdout == "no durable subscriptions\n"
    running.do(_subscribe)
    listed = durable("list", "--as", "audrey")
    assert (listed.exit_code, listed.stderr) == (0, "")
    head, row = listed.stdout.splitlines()
    assert head.split() == ["principal", "name", "last", "at", "done", "with", "filter"]
    assert row.split()[:3] == ["jane", "desk-7", "b"]
    assert row.endswith("a > 1")
    (one,) = json.loads(durable("list", "--as", "audrey", "--json").stdout)
    assert (one["principal"], one["name"]) == ("jane", "desk-7")
    ended = durable("end", "jane", "desk-7", "--as", "jane")
    assert (ended.exit_code, ended.stdout) == (0, "`desk-7` of `jane` is no more\n")
    again = durable("end", "jane", "desk-7", "--as", "jane")
    assert again.exit_code == 2
    assert "`jane` has no durable subscription `desk-7`" in again.stderr
