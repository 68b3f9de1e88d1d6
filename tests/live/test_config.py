"""Do the file, the environment and the command line say together what a broker does?"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.broker.settings import Settings
from headgate.broker.topology import Topology, TopologyError
from headgate.live.config import (
    Config,
    address_text,
    core_settings,
    is_loopback,
    read_address,
    read_config,
    with_section,
)
from headgate.live.reading import ConfigError
from headgate.live.sections import Section

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
NETWORK = """
data = "kept"
[network]
policy_host = "b1"
edges = [["left", "middle"]]
[network.nodes]
left = ["b1"]
middle = ["b2", "b3"]
[network.brokers.b1]
link = "127.0.0.1:7101"
http = "127.0.0.1:7201"
streams = ["quotes"]
[network.brokers.b2]
link = "[::1]:7102"
http = "127.0.0.1:7202"
[network.brokers.b3]
routes_only = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "headgate.toml"


def written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_everything_has_a_default() -> None:
    config = read_config(None, {})
    assert config == Config()
    assert core_settings(config) == Settings(
        "headgate", Topology.alone("headgate"), "headgate", ("events",)
    )


def test_the_environment_goes_before_the_file_and_the_command_line_before_both(file: Path) -> None:
    written(file, 'broker = "a"\ndata = "d"\n[http]\nport = 1\nhost = "localhost"\n')
    config = read_config(file, {"HEADGATE_HTTP_PORT": "2", "HEADGATE_BROKER": "b"}, data="other")
    assert (config.http.port, config.http.host, config.broker) == (2, "localhost", "b")
    assert config.data == "other"
    assert read_config(file, {"HEADGATE_BROKER": "b"}, "c").broker == "c"


def test_the_files_that_a_file_names_are_seen_from_its_directory(file: Path) -> None:
    written(file, 'data = "d"\n[tls]\ncertificate = "/etc/c.pem"\nkey = "k.pem"\n')
    config = read_config(file, {"HEADGATE_TLS_CLIENT_AUTHORITIES": "ca.pem"})
    assert config.data == str(file.parent / "d")
    assert config.tls.certificate == "/etc/c.pem"
    assert config.tls.key == str(file.parent / "k.pem")
    assert config.tls.client_authorities == "ca.pem"


def test_a_url_of_the_policy_is_no_file(file: Path) -> None:
    config = read_config(written(file, '[policy]\nstore = "postgresql://db/p"\n'), {})
    assert config.policy_store == "postgresql://db/p"
    assert Config(data="d").policy_store == "d"


def test_a_network_says_of_each_broker_where_it_is(file: Path) -> None:
    config = read_config(written(file, NETWORK), {}, "b1")
    assert (config.http.port, config.links.host, config.links.port) == (7201, "127.0.0.1", 7101)
    assert config.streams == ("quotes",)
    assert config.directory == file.parent / "kept" / "b1"
    assert config.shared == file.parent / "kept"
    assert config.hosts_policy
    assert config.neighbours == {"b2": ("::1", 7102)}
    settings = core_settings(config)
    assert settings.policy_host == "b1"
    assert settings.topology.neighbours("b1") == ("b2", "b3")


def test_a_broker_of_a_network_hosts_only_what_it_is_said_to(file: Path) -> None:
    config = read_config(written(file, NETWORK), {}, "b3")
    assert config.streams == ()
    assert core_settings(config).routes_only
    assert not config.hosts_policy


def test_where_a_broker_listens_may_differ_from_where_others_find_it(file: Path) -> None:
    config = read_config(written(file, NETWORK), {"HEADGATE_LINKS_HOST": "0.0.0.0"}, "b1")
    assert (config.links.host, config.links.port) == ("0.0.0.0", 7101)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (NETWORK, "describes a network: say by `--broker NAME` which broker this is, one of `b1`,"),
        (f'broker = "b9"\n{NETWORK}', "there is no broker `b9` in `network.brokers` of "),
        (
            f'broker = "b2"\n{NETWORK}'.replace('"[::1]:7102"', '"::1:7102"'),
            "`network.brokers.b2.link`: expected an address like `127.0.0.1:7081`, found ",
        ),
        (
            f'broker = "b1"\n{NETWORK}'.replace('policy_host = "b1"', ""),
            "`network.policy_host`: expected the broker that keeps the policy",
        ),
        ('streams = ["a", "a"]', "`streams`: expected each stream once"),
        ("x =", "is no TOML: "),
        ('[http]\nhost = "0.0.0.0"\ntls = "off"', "`http.tls` is `off`, and others can reach "),
        ('[tls]\nkey = "k"', "`tls.key` needs `tls.certificate` as well"),
        ('[tls]\nlink_key = "k"', "`tls.link_key` needs `tls.link_certificate` as well"),
        (
            '[identities]\nanonymous = "a"\nadministrators = ["a"]',
            "`identities.anonymous` is `a`, which administrates or audits",
        ),
        ('[identities.jwt]\nissuer = "i"', "`identities.jwt`: expected `key_file`"),
        ('[identities.jwt]\nkey_file = "k"', "`identities.jwt.algorithms`: expected what tokens"),
        (
            '[identities.jwt]\nkey_file = "k"\nalgorithms = ["HS256", "RS256"]',
            "expected algorithms of one kind",
        ),
        (
            '[identities.jwt]\nkey_file = "k"\nalgorithms = ["RS256"]',
            "`identities.jwt.audience`: expected who tokens are made out for",
        ),
    ],
)
def test_what_can_not_be_meant_is_refused_in_words(file: Path, text: str, refusal: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_config(written(file, text), {})
    assert refusal in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"headgate\.toml` can.t be read: No such file"):
        read_config(file, {})


def test_what_is_no_tree_is_no_network(file: Path) -> None:
    written(file, NETWORK.replace('edges = [["left", "middle"]]', ""))
    with pytest.raises(TopologyError, match="expected a tree"):
        core_settings(read_config(file, {}, "b1"))


def test_an_unsafe_choice_is_said_aloud(file: Path) -> None:
    assert Config().unsafe == []
    written(
        file,
        '[log]\ndurability = "unsafe_no_fsync"\nowed = "unsafe_removed"\n'
        '[identities]\nanonymous = "anyone"\n'
        '[http]\nhost = "0.0.0.0"\ntls = "unsafe_off"\n',
    )
    said = read_config(file, {}).unsafe
    assert [sentence.split("`")[1] for sentence in said] == [
        "log.durability", "log.owed", "http.tls", "identities.anonymous",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["a:1", "[::1]:65535", "127.0.0.1:0"])
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert address_text(*read_address(text, "x")) == text


@pytest.mark.parametrize("text", ["", "a", ":1", "a:", "a:65536", "::1:1", "a:1²", "[]:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected an address"):
        read_address(text, "x")


def test_loopback_is_what_nobody_else_can_reach() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "10.0.0.1", "example")))


def test_one_section_may_be_changed() -> None:
    changed = with_section(Config(), "http", port=0)
    assert changed.http.port == 0
    assert changed.links == Config().links


def test_the_documentation_lists_every_setting_with_its_default() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| `([^`]*)` \| ", OPERATIONS.read_text(), re.MULTILINE)
    documented = {place: tomllib.loads(f"x = {default}")["x"] for place, default in rows}
    assert len(documented) == len(rows)
    assert documented == dict(defaults(Config(), Config))


def defaults(section: Any, kind: type[Section], place: str = "") -> Iterator[tuple[str, object]]:
    for key in kind.__struct_fields__:
        value, at = getattr(section, key), f"{place}.{key}" if place else key
        if isinstance(value, Section):
            yield from defaults(value, type(value), at)
        else:
            yield at, list(value) if isinstance(value, tuple) else value
