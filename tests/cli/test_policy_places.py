"""Does a policy command go to a store or to a broker, and never to the wrong one?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from tests.client.running import PASSWORD, Running

POLICY = """\
groups: {premium: [jane]}
rules:
  - {principal: jane, action: connect}
  - {principal: premium, action: subscribe, filter: price > 100}
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def at(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The broker's address, with who is asking."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADGATE_PASSWORD", PASSWORD)
    monkeypatch.setenv("LOGNAME", "admin")
    for name in ("HEADGATE_URL", "HEADGATE_STORE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return running.url.replace("//", "//ann@")


def policy(*words: str) -> Result:
    return CliRunner().invoke(main, ["policy", *words])


def test_every_command_asks_a_running_broker_as_it_asks_a_store(at: str) -> None:
    before = json.loads(policy("show", "--url", at, "--json").stdout)["version"]
    diff = policy("diff", "policy.yaml", "--url", at)
    assert f"from version {before} to `policy.yaml`" in diff.stdout
    applied = policy(
        "apply", "policy.yaml", "--url", at, "--why", "Jane joins", "--wait", "20", "--json"
    )
    assert (applied.exit_code, applied.stderr) == (0, "")
    said = json.loads(applied.stdout)
    assert said["version"] == before + 1
    assert set(said["starting_points"]) >= {"events", "orders"}
    again = policy("apply", "policy.yaml", "--url", at)
    assert again.stdout.startswith(f"nothing to change: version {before + 1} stays\n")
    shown = policy("show", "--principal", "jane", "--url", at)
    assert "price > 100" in shown.stdout
    last = json.loads(policy("history", "--url", at, "--json").stdout)[-1]
    assert (last["author"], last["why"]) == ("ann", "Jane joins")
    explained = policy(
        "explain", "--principal", "jane", "--event", '{"price": 101}', "--url", at, "--json"
    )
    assert json.loads(explained.stdout)["decision"] == "deliver"


def test_a_stale_expectation_is_exit_code_3_there_too(at: str) -> None:
    result = policy("apply", "policy.yaml", "--url", at, "--expect", "0")
    assert result.exit_code == 3
    assert result.stderr.startswith("headgate: expected version 0, but the current one is ")


def test_the_broker_knows_the_author(at: str) -> None:
    result = policy("apply", "policy.yaml", "--url", at, "--as", "bob")
    assert result.exit_code == 2
    assert "leave out `--as`, and say `https://NAME@HOST` in `--url`" in result.stderr
    waiting = policy("apply", "policy.yaml", "--wait", "1")
    assert waiting.exit_code == 2
    assert "only a running broker knows all streams" in waiting.stderr
    assert not Path("headgate-data").exists()


def test_a_store_and_a_broker_at_once_are_refused(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = policy("show", "--url", at, "--store", "here")
    assert result.exit_code == 2
    assert "say `--url` or `--store`, not both" in result.stderr
    monkeypatch.setenv("HEADGATE_URL", at)
    monkeypatch.setenv("HEADGATE_STORE", "here")
    result = policy("show")
    assert result.exit_code == 2
    assert "say HEADGATE_URL or HEADGATE_STORE, not both" in result.stderr


def test_what_is_typed_counts_more_than_the_environment(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_URL", at)
    assert policy("show").exit_code == 0
    assert "there is no store in `here`" in policy("show", "--store", "here").stderr
    monkeypatch.delenv("HEADGATE_URL")
    monkeypatch.setenv("HEADGATE_STORE", "here")
    assert policy("show", "--url", at).exit_code == 0
    assert "there is no store in `here`" in policy("show").stderr
    assert "expected a directory, found nothing" in policy("show", "--store", "").stderr
