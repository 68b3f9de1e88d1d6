"""Does somebody see at a glance whether a broker is well?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from headgate.cli.status import _print
from headgate.http.shapes import HostedStream, LogStatus, PolicyStatus, Status
from tests.client.running import PASSWORD, Running, Site


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with Running(tmp_path) as running:
        monkeypatch.setenv("HEADGATE_URL", running.url)
        monkeypatch.setenv("HEADGATE_PASSWORD", PASSWORD)
        yield running


def status(*words: str) -> Result:
    return CliRunner().invoke(main, ["status", *words])


def test_a_broker_that_is_well_is_exit_code_0(running: Running) -> None:
    result = status("--as", "audrey")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "ready    yes\n" in result.stdout
    assert json.loads(status("--as", "audrey", "--json").stdout)["broker"] == "b"


def test_one_that_is_not_ready_is_exit_code_1(running: Running) -> None:
    running.do(_make_unready)
    result = status("--as", "audrey")
    assert result.exit_code == 1
    assert "ready    no\n" in result.stdout


async def _make_unready(made: Site) -> None:
    made.reports.ready = False


def test_who_may_not_ask_or_asks_nobody_is_exit_code_2(running: Running) -> None:
    assert status("--as", "jane").exit_code == 2
    nowhere = status("--url", "http://127.0.0.1:1")
    assert (nowhere.exit_code, nowhere.stdout) == (2, "")
    assert nowhere.stderr == "headgate: can't connect to http://127.0.0.1:1: connection refused\n"


def test_everything_that_is_wrong_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _print(
        Status(
            "b1", "boot", 7, False, False, 1_767_225_600_000_000, {"b2": True, "b3": False},
            {"quotes": HostedStream("i", 5, 107, 7)}, ["quotes"], 1_000, 2,
            LogStatus(1_024, 0, "the disk is full"), PolicyStatus("b2", "no answer\x1b[2J"), {},
        )
    )  # fmt: skip
    assert capsys.readouterr().out == (
        "broker          b1, up since 2026-01-01T00:00:00Z\n"
        "ready           no\n"
        "policy          version 7, hosted by b2\n"
        "lease           lost: nothing new is accepted\n"
        "clients         1,000 with 2 subscriptions\n"
        "log             1,024 bytes\n"
        "policy problem  no answer?[2J\n"
        "log problem     the disk is full\n"
        "\n"
        "neighbours\n"
        "  b2  connected\n"
        "  b3  not connected\n"
        "\n"
        "streams\n"
        "  stream  first  last  version\n"
        "  quotes  5      107   7\n"
    )
