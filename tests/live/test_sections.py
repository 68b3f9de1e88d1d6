"""Are the settings named so that nobody has to guess their unit?"""

import re

import msgspec
import pytest

from headgate.live.config import Config
from headgate.live.reading import expected, leaves
from headgate.live.sections import PolicySection

UNITS = ("_s", "_ms", "_bytes", "_records")
COUNTED = {
    "http.port", "links.port", "limits.connections", "limits.connections_per_address",
    "limits.subscriptions", "limits.in_flight", "limits.log_in_attempts",
    "limits.log_in_attempts_per_address", "limits.log_ins_at_once",
    "limits.log_ins_waiting", "limits.users", "limits.tokens", "tuning.window",
    "tuning.repeat_window", "tuning.clients", "tracing.ratio",
}  # fmt: skip


def is_number(kind: object) -> bool:
    return bool(re.search(r"\b(int|float)\b", str(kind))) and "Literal" not in str(kind)


def test_a_number_says_its_unit_or_counts_what_it_is_named_for() -> None:
    numbers = {place for place, kind in leaves(Config) if is_number(kind)}
    assert {place for place in numbers if not place.endswith(UNITS)} == COUNTED


def test_every_setting_can_say_what_it_expects() -> None:
    for place, kind in leaves(Config):
        assert "typing" not in expected(kind), place
        assert "<class" not in expected(kind), place


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Config().http.port = 1  # type: ignore[misc]


def test_what_gives_up_safety_says_so_in_its_value() -> None:
    for section, key, value in (
        ("log", "durability", "no_fsync"),
        ("log", "owed", "removed"),
        ("http", "tls", "no"),
        ("links", "tls", "false"),
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({section: {key: value}}, Config)


def test_the_url_of_the_policy_is_shown_to_nobody() -> None:
    assert "geheim" not in repr(PolicySection(store="postgresql://ann:geheim@db/policy"))
