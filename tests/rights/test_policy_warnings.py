"""Is a person told of what a file grants and perhaps didn't mean to?"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest

from headgate.rights.policy_files import PolicyFile, read_policy_file
from headgate.rights.policy_warnings import _GroupNames, warnings_about
from tests.rights.policy_corpus import INTERFACE, RULE, SUBSCRIBE
from tests.steps import steps_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


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


@pytest.mark.parametrize("slip", ["premum", "preemium", "premiun", "permium", "Premium"])
def test_each_kind_of_slip_is_asked_about(slip: str) -> None:
    (warning,) = warnings(RULE + f"{{principal: {slip}, action: connect}}\ngroups: {{premium: []}}")
    assert warning.endswith(f"`{slip}` is no group and in none: is `premium` meant?")


@pytest.mark.parametrize(
    ("name", "group"),
    [("ann", "amn"), ("bob", "bo"), ("desk-71", "desk-17"), ("x" * 300, "x" * 301), ("ma", "max")],
)
def test_two_names_that_happen_to_be_alike_are_no_slip(name: str, group: str) -> None:
    assert _GroupNames([group]).nearly(name) is None


@pytest.mark.parametrize(
    "line",
    [
        "{{principal: person-{0}, action: connect}}",
        "{{principal: group-{0}, action: connect, validity: {{until: 2026-01-01}}}}",
    ],
)
def test_a_file_twice_as_long_takes_about_twice_the_work(line: str) -> None:
    small, large = (long(line, entries) for entries in (100, 200))
    works: list[Callable[[PolicyFile], object]] = [
        lambda file: warnings_about(file, NOW),
        lambda file: file.at(NOW),
    ]
    for work in works:
        assert steps_of(partial(work, large)) <= 2.2 * steps_of(partial(work, small))


def long(line: str, entries: int) -> PolicyFile:
    numbers = [f"{number:x}".translate(LETTERS) for number in range(entries)]
    groups = "".join(f"  group-{number}: []\n" for number in numbers)
    rules = "".join(f"  - {line.format(number)}\n" for number in numbers)
    return read_policy_file(f"groups:\n{groups}rules:\n{rules}")


def test_a_right_that_grants_nothing_is_named() -> None:
    assert warnings(RULE + SUBSCRIBE + ", filter: x > 5 AND x < 3}") == [
        "p.yaml:2:5: no event matches `x > 5 AND x < 3`: it grants nothing"
    ]
    assert warnings(RULE + SUBSCRIBE + ", validity: {until: 2026-01-01}}") == [
        "p.yaml:2:5: its validity was over on 2026-01-01T00:00:00Z: it grants nothing"
    ]
