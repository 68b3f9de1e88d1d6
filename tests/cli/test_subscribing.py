"""Does somebody see in a shell what comes, and how it ends?"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headgate import Action, Rule
from headgate.cli import main
from headgate.rights.changes import Batch, Revoke
from tests.client.running import PASSWORD, WAIT_S, Running, Site, aborted
from tests.live.nodes import NOON

HEADGATE = Path(sys.executable).with_name("headgate")


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with Running(tmp_path) as running:
        monkeypatch.setenv("HEADGATE_URL", running.url)
        monkeypatch.setenv("HEADGATE_PASSWORD", PASSWORD)
        yield running


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--as", "jane"])


def publish(*events: dict[str, Any]) -> None:
    lines = "".join(f"{json.dumps(event)}\n" for event in events)
    assert CliRunner().invoke(main, ["pub", "--as", "jane"], input=lines).exit_code == 0


class Sub:
    """`headgate sub` in a process of its own, read line by line."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [HEADGATE, "sub", "--as", "jane", "--json", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

        # What never comes ends with the process.
        self._watchdog = Timer(WAIT_S, self.process.kill)
        self._watchdog.start()

    def __enter__(self) -> Sub:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.communicate()

    def next(self, kind: str) -> Any:
        """The next line of a kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            if said["is"] == kind:
                return said
        raise AssertionError(f"no {kind} came")

    def begun(self) -> None:
        for _ in ("events", "orders"):
            self.next("started")

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_S)


def test_what_is_there_is_printed_for_a_person(running: Running) -> None:
    publish({"price": 23}, {"price": 101})
    result = run("sub", "--from", "start", "--filter", "price > 100", "--count", "1")
    assert result.exit_code == 0
    assert result.stdout == 'events 3  version 1  {"price": 101}\n'
    assert "headgate: connected: b at http://127.0.0.1:" in result.stderr
    assert "headgate: started: events begins after offset 0\n" in result.stderr


def test_and_for_a_program(running: Running) -> None:
    publish({"price": 23})
    result = run("sub", "--from", "start", "--count", "1", "--json")
    kinds = [json.loads(line) for line in result.stdout.splitlines()]
    assert {one["is"] for one in kinds} == {"connected", "started", "delivery"}
    delivery = kinds[-1]
    assert (delivery["stream"], delivery["offset"], delivery["version"]) == ("events", 2, 1)
    assert (delivery["event"], delivery["known"]["$publisher"]) == ({"price": 23}, "jane")
    assert result.stderr == ""


def test_nothing_that_comes_steers_the_terminal(running: Running) -> None:
    publish({"a": "\x1b[2J\x9b31m\u2028\u202e"})
    result = run("sub", "--from", "start", "--count", "1")
    assert result.stdout == ('events 2  version 1  {"a": "\\u001b[2J\\u009b31m\\u2028\\u202e"}\n')


def test_bytes_are_counted_for_a_person_and_encoded_for_a_program(running: Running) -> None:
    from headgate.cli.subscribing import Printer
    from tests.client.test_deliveries import delivery

    @main.command("show-bytes", hidden=True)
    def show_bytes() -> None:
        for as_json in (False, True):
            Printer(as_json).item(delivery(None, b"\xff\xfe"))

    try:
        result = CliRunner().invoke(main, ["show-bytes"])
    finally:
        del main.commands["show-bytes"]
    person, program = result.stdout.splitlines()
    assert person == "s 7  version 3  2 bytes"
    assert json.loads(program)["payload_base64"] == "//4="


def test_a_durable_subscription_goes_on_where_it_was(running: Running) -> None:
    with Sub("--durable", "desk") as sub:
        sub.begun()
        publish({"n": 1}, {"n": 2})
        assert [sub.next("delivery")["event"]["n"] for _ in range(2)] == [1, 2]
        assert sub.end() == 0
    publish({"n": 3}, {"n": 4})
    for n in (3, 4):
        again = run("sub", "--durable", "desk", "--count", "1", "--json")
        came = [json.loads(line) for line in again.stdout.splitlines()]
        assert [one["event"]["n"] for one in came if one["is"] == "delivery"] == [n]


def test_a_connection_that_breaks_is_said_and_nothing_is_lost(running: Running) -> None:
    with Sub("--filter", "n > 0") as sub:
        sub.begun()
        publish({"n": 1})
        assert sub.next("delivery")["event"] == {"n": 1}
        running.do(_abort)
        assert "127.0.0.1" in sub.next("parted")["because"]
        publish({"n": 2})
        sub.next("connected")
        assert sub.next("delivery")["event"] == {"n": 2}
        assert sub.end() == 0


async def _abort(made: Site) -> None:
    aborted(made)


def test_who_may_not_connect_any_more_is_told_why(running: Running) -> None:
    with Sub() as sub:
        sub.begun()
        running.do(_revoke)
        assert "no rule lets `jane` connect at version 2" in sub.next("ended")["because"]
        assert sub.process.wait(WAIT_S) == 1


async def _revoke(made: Site) -> None:
    await made.node.administer(Batch((Revoke(Rule("jane", Action.CONNECT)),), "root", NOON), None)


def test_an_interrupt_before_the_count_is_there_is_exit_code_130(running: Running) -> None:
    with Sub("--count", "1") as sub:
        sub.begun()
        assert sub.end() == 130


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--filter", "a >"), "expected an attribute or a value"),
        (("--durable", "desk", "--from", "start"), "leave out `--from`"),
        (("--from", "nowhere"), "in a cursor"),
        (("--url", "http://127.0.0.1:1"), "can't connect: connection refused"),
        (("--url", "https://jane:x@localhost"), "others would see a password"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    running: Running, words: tuple[str, ...], said: str
) -> None:
    result = run("sub", *words)
    assert result.exit_code == 2
    line = result.stderr.splitlines()[-1]
    assert line.startswith("headgate: ")
    assert said in line
