"""Does `headgate up` say what it serves, and end as it is told?"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli import main

BOUND_S = 120
LAST_LINE = "Ctrl-C stops it.\n"


class Up:
    """A broker in a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.child: subprocess.Popen[str] | None = None

    def start(self, *words: str, before: str = "", ready_fd: int | None = None) -> None:
        """Run it; `before` is Python that runs first, to break something."""
        program = f"{before}\nfrom headgate.cli import main\nmain(prog_name='headgate')"
        fds = () if ready_fd is None else (ready_fd,)
        self.child = subprocess.Popen(
            [sys.executable, "-c", program, "up", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory,
            pass_fds=fds,
            env={**os.environ, "HEADGATE_HTTP_PORT": "0", "HEADGATE_LOGGING_LEVEL": "warning"},
        )  # fmt: skip

    def lines(self, last: str = LAST_LINE) -> str:
        """What it says, up to a line."""
        assert self.child is not None
        assert self.child.stdout is not None
        said = ""
        while not said.endswith(last):
            line = self.child.stdout.readline()
            assert line, (said, self.child.communicate())
            said += line
        return said

    def tell(self, number: int) -> None:
        assert self.child is not None
        self.child.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        assert self.child is not None
        said, complained = self.child.communicate(timeout=BOUND_S)
        return self.child.returncode, said, complained


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    made = Up(tmp_path)
    yield made
    if made.child is not None and made.child.poll() is None:
        made.child.kill()
        made.child.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_what_is_served_where_and_stops_as_told(
    up: Up, tmp_path: Path, number: int
) -> None:
    up.start()
    said = up.lines()
    assert said.startswith("the broker `headgate` serves (process ")
    words = {line.split()[0]: line.split(maxsplit=1)[1] for line in said.splitlines()[1:-1]}
    assert words["http"].startswith("https://localhost:")
    assert words["data"] == "`headgate-data`"
    assert words["streams"] == "events"
    assert "`headgate-data/tls/ca.pem`" in words["tls"]
    assert words["administrator"] == "whoever has the token in `headgate-data/admin.token`"
    token = (tmp_path / "headgate-data" / "admin.token").read_text().strip()
    up.tell(number)
    code, rest, complained = up.end()
    assert (code, rest.splitlines()[-1], complained) == (0, "stopped", "")
    assert token not in said + rest + complained


def test_an_unsafe_choice_is_said_at_the_start(up: Up, tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text('[log]\ndurability = "unsafe_no_fsync"\n')
    up.start("--config", "headgate.toml")
    assert "unsafe         `log.durability` is `unsafe_no_fsync`" in up.lines()


def test_a_second_signal_ends_it_at_once(up: Up) -> None:
    up.start(
        before="import asyncio\nfrom headgate.live.serving import Serving\n"
        "async def never(self): await asyncio.Event().wait()\nServing.stop = never"
    )
    up.lines()
    up.tell(signal.SIGTERM)
    up.lines("stopping: what was accepted is stored first (Ctrl-C again: at once)\n")
    up.tell(signal.SIGINT)
    assert up.end()[0] == 130


def test_a_broker_that_is_not_wanted_any_more_does_not_start(up: Up) -> None:
    up.start(
        before="import asyncio\nfrom headgate.live.serving import Serving\n"
        "async def never(self):\n    print('starting', flush=True)\n"
        "    await asyncio.Event().wait()\nServing.start = never"
    )
    up.lines("starting\n")
    up.tell(signal.SIGTERM)
    assert up.end()[0] == 0


def test_a_broker_that_can_not_go_on_says_why_and_ends(up: Up) -> None:
    up.start(
        before="import asyncio\nfrom headgate.live.serving import Serving\n"
        "from headgate.live.node import NodeError\nstart = Serving.start\n"
        "async def fails(self):\n    await start(self)\n"
        "    self.node.ended.set_exception(NodeError('the disk is gone'))\nServing.start = fails"
    )
    code, _, complained = up.end()
    assert (code, complained) == (1, "headgate: the disk is gone\n")


def test_whoever_started_it_is_told_when_it_is_ready(up: Up) -> None:
    ours, theirs = os.pipe()
    up.start("--ready-fd", str(theirs), ready_fd=theirs)
    os.close(theirs)
    with open(ours) as pipe:
        ready = json.loads(pipe.read())
    assert ready["url"] in up.lines()


def test_settings_that_nobody_understands_are_refused(tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text("[http]\nprot = 1\n")
    refused = CliRunner().invoke(main, ["up", "--config", str(tmp_path / "headgate.toml")])
    assert refused.exit_code == 2
    assert refused.output.startswith(
        "headgate: there is no setting `http.prot`: did you mean `http.port`?"
    )


def test_a_check_says_what_is_wrong_and_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "headgate.toml"
    file.write_text('data = "data"\n[http]\nport = 0\n[log]\nowed = "unsafe_removed"\n')
    good = CliRunner().invoke(main, ["up", "--config", str(file), "--check"])
    assert good.exit_code == 0
    assert good.stdout == "the broker `headgate` can start with these settings\n"
    assert good.stderr.startswith("headgate: unsafe: `log.owed` is `unsafe_removed`")
    file.write_text('data = "headgate.toml"\n[http]\nport = 0\n')
    bad = CliRunner().invoke(main, ["up", "--config", str(file), "--check"])
    assert bad.exit_code == 1
    assert "is no directory" in bad.stdout
    bad = CliRunner().invoke(main, ["up", "--config", str(file), "--check", "--json"])
    assert len(json.loads(bad.stdout)["problems"]) == 1
    assert sorted(os.listdir(tmp_path)) == ["headgate.toml"]


def test_a_path_in_the_environment_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "headgate.toml"
    file.write_text('broker = "b7"\n[http]\nport = 0\n')
    monkeypatch.setenv("HEADGATE_CONFIG", str(file))
    good = CliRunner().invoke(main, ["up", "--check"])
    assert "`b7`" in good.output


def test_json_is_for_the_check_alone() -> None:
    assert CliRunner().invoke(main, ["up", "--json"]).exit_code == 2
