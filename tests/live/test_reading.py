"""Is what nobody understands refused, with its place and with what would do?"""

from typing import Any

import pytest

from headgate.live.config import Config
from headgate.live.reading import (
    ConfigError,
    environment_names,
    leaves,
    read_section,
    read_text,
    variable,
)


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        (
            {"http": {"prot": 1}},
            "there is no setting `http.prot`: did you mean `http.port`? (here)",
        ),
        ({"htpp": {}}, "there is no setting `htpp`: did you mean `http`? (here)"),
        (
            {"http": {"port": "7080"}},
            "`http.port` in here: expected a port from 0 to 65535, found ",
        ),
        ({"http": {"port": True}}, "`http.port` in here: expected a port from 0 to 65535, found "),
        ({"http": {"port": 65536}}, "`http.port` in here: expected a port from 0 to 65535, found "),
        ({"http": 7080}, "`http` in here: expected a table `[http]`, found `7080`"),
        ({"log": {"durability": "none"}}, "`log.durability` in here: expected one of `fsync`, "),
        ({"streams": "events"}, "`streams` in here: expected a list, each of it the name of a str"),
        ({"streams": ["$policy"]}, "`streams` in here: expected a list, each of it the name of a"),
        ({"limits": {"body_bytes": 0}}, "`limits.body_bytes` in here: expected an integer from 1"),
        ({"network": {"nodes": []}}, "`network.nodes` in here: expected a table `[network.nodes]`"),
        ({"network": {"edges": [["a"]]}}, "`network.edges` in here: expected a list, each of it a"),
        (
            {"network": {"brokers": {"b1": {"lnk": "x"}}}},
            "there is no setting `network.brokers.b1.lnk`: did you mean `network.brokers.b1.link`?",
        ),
        ({"zzz": 1}, "there is no setting `zzz`: expected one of `data`, `broker`, `streams`, "),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(said: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_section(Config, said, "here")
    assert str(refused.value).startswith(refusal)


def test_a_refusal_repeats_no_url_with_a_password() -> None:
    with pytest.raises(ConfigError) as refused:
        read_section(Config, {"policy": {"store": ["postgresql://ann:geheim@db"]}}, "here")
    assert str(refused.value) == "`policy.store` in here: expected text"


def test_every_setting_has_a_variable_of_its_own() -> None:
    places = [place for place, _ in leaves(Config)]
    assert len({variable(place) for place in places}) == len(places)
    assert variable("identities.jwt.key_file") == "HEADGATE_IDENTITIES_JWT_KEY_FILE"


def test_the_environment_names_settings_and_nothing_else() -> None:
    environ = {"HEADGATE_HTTP_PORT": "1", "HEADGATE_STORE": "x", "HEADGATE_HOME": "y", "PATH": "z"}
    assert [place for _, place, _ in environment_names(Config, environ)] == ["http.port"]


def test_a_slip_in_the_environment_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean `HEADGATE_HTTP_PORT`"):
        list(environment_names(Config, {"HEADGATE_HTTP_PROT": "1"}))


@pytest.mark.parametrize(
    ("place", "text", "value"),
    [
        ("http.port", "99", 99),
        ("policy.advertised_only", "false", False),
        ("identities.token_s", "1.5", 1.5),
        ("streams", "a, b,", ["a", "b"]),
        ("broker", "7", "7"),
    ],
)
def test_a_variable_is_read_as_its_setting_is_meant(place: str, text: str, value: object) -> None:
    assert read_text(dict(leaves(Config))[place], text, variable(place)) == value


def test_a_variable_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        read_text(dict(leaves(Config))["http.port"], "tcp://10.0.0.1", "HEADGATE_HTTP_PORT")
    assert str(refused.value) == (
        "`HEADGATE_HTTP_PORT` in the environment: expected a port from 0 to 65535, found "
        '`"tcp://10.0.0.1"`'
    )
