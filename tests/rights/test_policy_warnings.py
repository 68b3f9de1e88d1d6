"""Is a person told of what a file grants and perhaps didn't mean to?"""

from datetime import UTC, datetime

import pytest

from headgate.rights.policy_files import read_policy_file
from headgate.rights.policy_warnings import warnings_about
from tests.rights.policy_corpus import INTERFACE, RULE, SUBSCRIBE

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def warnings(text: str) -> list[str]:
    return warnings_about(read_policy_file(text, "p.yaml"), NOW)


def test_a_right_that_hangs_on_what_it_hides_is_named() -> None:
    assert warnings(
        RULE + SUBSCRIBE + ", filter: secret > 1 AND b = 1 AND x = 2, attributes: [x]}"
    ) == [
        "p.yaml:2:5: the filter names `b`, `secret`, which this rule does not let `a` read: the "
        "content stays hidden, but that an event arrives tells something about it"
    ]


@pytest.mark.parametrize(
    "text",
    [
        INTERFACE,
        RULE + SUBSCRIBE + ", filter: secret > 1}",
        RULE + SUBSCRIBE + ", filter: secret > 1, strict: upper}",
        RULE + "{principal: a, action: publish, filter: secret > 1, attributes: [x]}",
        RULE + "{principal: cardiology-7, action: connect}\ngroups: {cardiology-8: []}",
        RULE + "{principal: jane, action: connect}\ngroups: {janes: [jane]}",
    ],
)
def test_what_is_meant_is_not_warned_about(text: str) -> None:
    assert warnings(text) == []


def test_a_slip_in_a_groups_name_is_asked_about() -> None:
    assert warnings(RULE + "{principal: premum, action: connect}\ngroups: {premium: [jane]}") == [
        "p.yaml:2:5: `premum` is no group and in none: is `premium` meant?"
    ]


def test_a_right_that_grants_nothing_is_named() -> None:
    assert warnings(RULE + SUBSCRIBE + ", filter: x > 5 AND x < 3}") == [
        "p.yaml:2:5: no event matches `x > 5 AND x < 3`: it grants nothing"
    ]
    assert warnings(RULE + SUBSCRIBE + ", validity: {until: 2026-01-01}}") == [
        "p.yaml:2:5: its validity was over on 2026-01-01T00:00:00Z: it grants nothing"
    ]
