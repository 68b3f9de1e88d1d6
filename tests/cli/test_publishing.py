"""Does somebody publish from a shell, and learn what became of each line?"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from tests.client.running import PASSWORD, WAIT_S, Running

HEADGATE = Path(sys.executable).with_name("headgate")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(autouse=True)
def jane(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_URL", running.url)
    monkeypatch.setenv("HEADGATE_PASSWORD", PASSWORD)


def pub(*words: str, lines: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["pub", "--as", "jane", *words], input=lines)


def offsets(result: Result) -> list[int]:
    return [json.loads(line)["offset"] for line in result.stdout.splitlines()]


def test_one_event_is_published() -> None:
    result = pub('{"price": 23}', "--stream", "orders", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    said = json.loads(result.stdout)
    assert (said["stream"], said["version"], said["repeated"]) == ("orders", 1, False)
    again = pub('{"price": 23}', "--stream", "orders")
    assert again.stdout == f"published 1 event: orders {said['offset'] + 1}\n"


def test_the_same_id_is_stored_once() -> None:
    first = pub('{"a": 1}', "--id", "e1")
    again = pub('{"a": 1}', "--id", "e1")
    assert again.stdout == first.stdout.replace("\n", ", 1 of them before\n")


def test_lines_are_stored_in_their_order() -> None:
    result = pub("--json", lines="".join(f'{{"n": {n}}}\n' for n in range(3_000)))
    assert (result.exit_code, result.stderr) == (0, "")
    found = offsets(result)
    assert found == list(range(found[0], found[0] + 3_000))


def test_empty_lines_and_a_last_one_without_an_end_are_no_trouble() -> None:
    result = pub(lines='{"a": 1}\n\n  \n{"a": 2}')
    assert result.exit_code == 0
    assert result.stdout.startswith("published 2 events: events ")


def test_a_line_that_is_refused_is_named_and_the_others_are_stored() -> None:
    result = pub(lines='{"a": 1}\n{"a":\n{"$a": 1}\n{"a": 2}\n')
    assert result.exit_code == 1
    assert result.stdout.startswith("published 2 events: ")
    first, second = result.stderr.splitlines()
    assert first.startswith("headgate: line 2: expected JSON")
    assert second.startswith("headgate: line 3: `$a` begins with `$`")
    as_json = pub("--json", lines='{"a":\n{"a": 1}\n').stdout.splitlines()
    assert json.loads(as_json[0])["line"] == 1
    assert json.loads(as_json[1])["stream"] == "events"


def test_what_is_refused_alone_is_exit_code_2() -> None:
    for words, said in (
        (('{"a":',), "expected JSON"),
        (('{"a": 1}', "--stream", "nowhere"), "this broker hosts no stream `nowhere`"),
        (("--id", "e1"), "an id belongs to one event"),
        (('{"a": 1}', "--url", "mqtt://localhost"), "expected an address"),
    ):
        result = pub(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr
        assert result.stderr.count("\n") == 1


def test_cloudevents_are_published_under_their_own_ids() -> None:
    event = {"specversion": "1.0", "id": "7", "source": "/exchange", "type": "quote", "data": 1}
    first = pub("--ce", json.dumps(event))
    assert first.exit_code == 0
    assert "1 of them before" in pub("--ce", json.dumps(event)).stdout
    refused = pub("--ce", '{"specversion": "1.0"}')
    assert refused.exit_code == 2
    assert "expected a CloudEvent with `id`, found none" in refused.stderr


def test_nobody_can_steer_a_terminal_by_a_refusal() -> None:
    result = pub(lines='{"\\u001b[2J": {}, "a\x1b[2J": 18446744073709551616}\n')
    assert "\x1b" not in result.stderr


def test_an_interrupt_ends_it_in_good_order(running: Running) -> None:
    with subprocess.Popen(
        [HEADGATE, "pub", "--as", "jane"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(b'{"interrupted": 1}\n')
        process.stdin.flush()
        running.do(_published_interrupted)
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_S)
        assert process.returncode == 130
        assert process.stdout is not None
        assert process.stdout.read().startswith(b"published 1 event: events ")


async def _published_interrupted(made: object) -> None:
    from tests.live.web.servers import Site, until

    assert isinstance(made, Site)
    log = made.node.log

    def is_there() -> bool:
        last = log.last("events")
        return last is not None and last.body == b'{"interrupted":1}'

    await until(is_there)
