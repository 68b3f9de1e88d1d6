"""Is everything that would stop a broker said before it starts, with what to do?"""

import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.live.config import Config, read_config, with_section
from headgate.live.config_problems import problems
from headgate.live.private_files import DirectoryLock
from headgate.live.sections import JwtSection
from headgate.stores.accounts import FILE as ACCOUNTS_FILE

NETWORK = """
data = "kept"
[network]
policy_host = "b1"
edges = [["left", "middle"]]
[network.nodes]
left = ["b1"]
middle = ["b2", "b3"]
[network.brokers.b1]
link = "127.0.0.1:0"
http = "127.0.0.1:0"
streams = ["quotes"]
[network.brokers.b2]
link = "127.0.0.1:0"
[network.brokers.b3]
link = "127.0.0.1:0"
"""


@pytest.fixture(autouse=True)
def enough_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1_024, resource.RLIM_INFINITY))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return with_section(Config(data=str(tmp_path / "data")), "http", port=0)


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def only(config: Config) -> str:
    found = problems(config)
    assert len(found) == 1, found
    return found[0]


def network(tmp_path: Path, old: str = "", new: str = "") -> Config:
    assert old in NETWORK
    file = tmp_path / "network.toml"
    file.write_text(NETWORK.replace(old, new) if old else NETWORK)
    return read_config(file, {}, "b1")


def test_the_defaults_are_no_problem_and_nothing_is_made_by_looking(
    config: Config, tmp_path: Path
) -> None:
    assert problems(config) == []
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named(config: Config, taken: int) -> None:
    assert only(with_section(config, "http", port=taken)) == (
        f"`http`: `127.0.0.1:{taken}` can't be listened at (address already in use): stop what "
        "uses it, or choose another `http.port` or `http.host`"
    )


def test_a_port_that_one_may_not_take_is_no_port_in_use(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bind(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", bind)
    said = only(with_section(config, "http", port=443))
    assert "(permission denied): ports below 1024 need a permission" in said
    assert "stop what uses it" not in said


def test_a_directory_of_somebody_else_is_told_and_not_looked_into(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = Path.exists

    def looked(path: Path) -> bool:
        if path.suffix == ".sqlite3":
            raise PermissionError(13, "Permission denied", str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", looked)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "can't be written: check who may, or name another one" in only(config)


def test_an_address_that_is_not_here_is_named(config: Config) -> None:
    elsewhere = with_section(config, "http", host="192.0.2.1", port=1)
    assert "can't be listened at" in only(elsewhere)
    assert "can't be found" in only(with_section(config, "http", host="no such host", port=1))


def test_a_network_that_is_whole_is_no_problem(tmp_path: Path) -> None:
    assert problems(network(tmp_path)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('edges = [["left", "middle"]]', "", "`network`: expected a tree: 2 nodes joined by 1"),
        ('policy_host = "b1"', 'policy_host = "b9"', "`network`: expected `policy_host` to be a"),
        ("[network.brokers.b3]", "[network.brokers.b4]", "`network.brokers.b4` stands in no node"),
        (
            '[network.brokers.b2]\nlink = "127.0.0.1:0"',
            '[network.brokers.b2]\nlink = "127.0.0.1:0"\nstreams = ["quotes"]',
            "the stream `quotes` is hosted by `b1` and by `b2`: a stream has one host",
        ),
        (
            'link = "127.0.0.1:0"',
            "",
            "neither `b1` nor `b2` can be dialled: give one of them a `link` address",
        ),
        ('http = "127.0.0.1:0"', 'http = "127.0.0.1:1"', "`http`: `127.0.0.1:1` can't be"),
        ('"127.0.0.1:0"', '"127.0.0.1:9999"', "`http` and `links` have the same address"),
    ],
)
def test_a_network_that_is_not_whole_is_named(
    tmp_path: Path, old: str, new: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refused)
    found = problems(network(tmp_path, old, new))
    assert any(problem.startswith(said) for problem in found), found


def test_a_data_directory_has_to_be_one(config: Config, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "is no directory: name another one" in only(config)


def test_a_data_directory_has_to_be_writable(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *asked: False)
    assert "can't be written: check who may" in only(config)


def test_a_data_directory_is_nobody_elses_to_write_into(config: Config, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o777)
    assert only(config).endswith("data`: `chmod go-w` it")


def test_a_broker_that_is_there_already_is_named(config: Config, tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path / "data", "broker `headgate`, process 7")
    said = only(config)
    assert said.startswith("`data`: another broker works on ")
    assert "(broker `headgate`, process 7)" in only(config)
    lock.release()
    assert problems(config) == []


def test_a_store_that_can_not_be_read_is_named(config: Config, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "policy.sqlite3").write_text("nothing" * 1_000)
    assert only(config).startswith("`policy.store`: the policy in ")
    elsewhere = with_section(config, "policy", store="mysql://ann:geheim@db")
    assert "expected a directory or a URL" in only(elsewhere)
    assert "geheim" not in only(elsewhere)


def test_who_does_not_host_the_policy_does_not_look_for_it(tmp_path: Path) -> None:
    file = tmp_path / "network.toml"
    file.write_text(f'{NETWORK}[policy]\nstore = "mysql://db"\n')
    changed = read_config(file, {"HEADGATE_HTTP_PORT": "0"}, "b2")
    assert problems(changed) == []


def test_accounts_that_can_not_be_read_are_named(config: Config, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ACCOUNTS_FILE).write_text("nothing" * 1_000)
    assert only(config).startswith("the accounts in ")


def test_a_key_for_tokens_is_looked_at(config: Config, tmp_path: Path) -> None:
    key = tmp_path / "secret"
    jwt = JwtSection(key_file=str(key), algorithms=("HS256",), audience="headgate")
    config = with_section(config, "identities", jwt=jwt)
    assert only(config).startswith("`identities.jwt`: the key of `identities.jwt.key_file`")
    key.write_bytes(b"x" * 32)
    key.chmod(0o644)
    assert only(config) == f"`identities.jwt.key_file`: others may read `{key}`: `chmod 600` it"
    key.chmod(0o600)
    assert problems(config) == []


def test_an_endpoint_for_traces_is_a_url(config: Config) -> None:
    found = problems(with_section(config, "tracing", endpoint="localhost:4318"))
    assert any("expected a URL like" in said for said in found)


def test_without_opentelemetry_there_are_no_traces(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.live.config_problems.find_spec", lambda name: None)
    said = only(with_section(config, "tracing", endpoint="http://localhost:4318"))
    assert said == "`tracing` needs OpenTelemetry: `pip install 'headgate[tracing]'`"


def test_more_connections_than_the_process_may_have_are_too_many(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1_024, 4_096))
    assert "this process may open 4096 files: raise `ulimit -n` to 10200" in only(config)


def test_a_lease_outlasts_a_lost_question(config: Config) -> None:
    assert "more than twice" in only(with_section(config, "tuning", lease_s=2, ask_again_s=1))
