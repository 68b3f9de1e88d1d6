"""Does a network come up by one command and go down by one, and nothing else with it?"""

import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from headgate.live.config import brokers_of, core_settings, read_config
from headgate.live.config_problems import problems
from headgate.live.processes import LOG_FILE, Process, running, tell_to_stop, wait_until_gone

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "network" / "network.toml"
HEADGATE = Path(sys.executable).with_name("headgate")
BOUND_S = 240


def free_ports(count: int) -> list[int]:
    """Ports that nobody has; from below those that the system gives to whoever dials out."""
    found: list[int] = []
    with ExitStack() as stack:
        while len(found) < count:
            port = random.randrange(15_000, 30_000)
            with suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
    return found


class Net:
    """Two brokers on this machine."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "network.toml"
        one, two, three, four = free_ports(4)
        self.file.write_text(
            'data = "kept"\n[network]\npolicy_host = "b1"\nedges = [["left", "right"]]\n'
            '[network.nodes]\nleft = ["b1"]\nright = ["b2"]\n'
            f'[network.brokers.b1]\nlink = "127.0.0.1:{one}"\nhttp = "127.0.0.1:{two}"\n'
            'streams = ["quotes"]\n'
            f'[network.brokers.b2]\nlink = "127.0.0.1:{three}"\nhttp = "127.0.0.1:{four}"\n'
        )
        self.kept = directory / "kept"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HEADGATE, "network", *words, "--config", self.file],
            capture_output=True, text=True, timeout=BOUND_S,
        )  # fmt: skip

    def process(self, name: str) -> Process | None:
        return running(self.kept / name)

    def log(self, name: str) -> str:
        return (self.kept / name / LOG_FILE).read_text()


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Net]:
    made = Net(tmp_path)
    yield made
    for name in ("b1", "b2"):
        process = made.process(name)
        if process is not None:
            tell_to_stop(process, signal.SIGKILL)
            wait_until_gone(process, BOUND_S)


def test_a_network_goes_up_and_down(net: Net) -> None:
    up = net.run("up", "--detach")
    assert up.returncode == 0, (up.stdout, up.stderr, net.log("b1"), net.log("b2"))
    header, first, second, kept, shell, hint = up.stdout.splitlines()
    assert header.split() == ["broker", "node", "http", "streams", "process"]
    assert (first.split()[:2], second.split()[:2]) == (["b1", "left"], ["b2", "right"])
    assert kept == f"policy: kept by `b1`; data: `{net.kept}`"
    assert shell == f"`export HEADGATE_DATA={net.kept}`: for the other commands"
    trusted = ssl.create_default_context(cafile=net.kept / "tls" / "ca.pem")
    for line in (first, second):
        with urllib.request.urlopen(f"{line.split()[2]}/health/ready", context=trusted) as answer:
            assert answer.status == 200
    again = net.run("up", "--detach")
    assert again.returncode == 2
    assert "the broker `b1` runs already" in again.stderr
    assert net.process("b2") is not None
    assert hint == f"`headgate network down --config {net.file}` stops them"
    down = net.run("down")
    assert (down.returncode, down.stdout) == (0, "2 brokers stopped\n")
    assert net.log("b1").endswith("stopped\n")
    assert net.run("down").stdout == "0 brokers stopped\n"


def test_in_the_foreground_it_lasts_until_ctrl_c(net: Net) -> None:
    with subprocess.Popen(
        [HEADGATE, "network", "up", "--config", net.file],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as up:  # fmt: skip
        assert up.stdout is not None
        assert up.stderr is not None
        line = ""
        while line != "Ctrl-C stops them.\n":
            line = up.stdout.readline()
            assert line, up.stderr.read()
        second = net.process("b2")
        assert second is not None
        tell_to_stop(second, signal.SIGKILL)
        assert "headgate: ended: `b2` (exit -9); the end of" in up.stderr.readline()
        assert net.process("b1") is not None
        up.send_signal(signal.SIGINT)
        assert up.wait(BOUND_S) == 0
        assert up.stdout.read() == "stopping\n"
    assert net.process("b1") is None
    assert net.log("b1").endswith("stopped\n")


def test_where_one_can_not_start_none_is_started(net: Net) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = net.file.read_text()
        last = re.findall(r'http = "127.0.0.1:(\d+)"', text)[1]
        net.file.write_text(text.replace(last, str(port)))
        refused = net.run("up", "--detach")
    assert refused.returncode == 2
    assert f"headgate: b2: `http`: `127.0.0.1:{port}` can't be listened at" in refused.stderr
    assert refused.stderr.endswith("nothing was started: 1 problem\n")
    assert not net.kept.exists()


def test_one_that_ends_before_it_is_ready_is_named_and_the_others_are_stopped(net: Net) -> None:
    (net.kept / "b2" / "log").mkdir(parents=True)
    (net.kept / "b2" / "log" / "journal").write_text("no directory")
    failed = net.run("up", "--detach")
    assert failed.returncode == 2
    assert "the broker `b2` ended before it was ready; the end of" in failed.stderr
    assert net.process("b1") is None


def test_only_what_was_started_here_is_stopped(net: Net) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        (net.kept / "b1").mkdir(parents=True)
        (net.kept / "b1" / "process.json").write_text(f'{{"pid":{other.pid},"began":"1"}}')
        assert net.run("down").stdout == "0 brokers stopped\n"
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_file_without_a_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "headgate.toml").write_text('broker = "b1"\n')
    refused = subprocess.run(
        [HEADGATE, "network", "up", "--config", tmp_path / "headgate.toml"],
        capture_output=True, text=True, timeout=BOUND_S,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "for one broker there is `headgate up`" in refused.stderr


def test_the_example_is_a_tree_of_five_nodes_with_two_brokers_in_the_middle() -> None:
    names = brokers_of(EXAMPLE)
    assert len(names) == 6
    for name in names:
        config = read_config(EXAMPLE, {}, name)
        assert [said for said in problems(config) if "can't be listened at" not in said] == []
        core_settings(config)
    nodes = read_config(EXAMPLE, {}, "b1").network.nodes
    assert sorted(map(len, nodes.values())) == [1, 1, 1, 1, 2]
    assert len(nodes["middle"]) == 2
