"""Is a policy written so that a person understands what it grants?"""

import json
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from io import StringIO

import pytest
from click.testing import CliRunner

from headgate.cli import main
from headgate.cli.policy_output import (
    change_line,
    limits,
    moment,
    origin,
    print_version,
    rule_line,
    schema_text,
)
from headgate.filters.filter import Filter
from headgate.rights.changes import (
    Begin,
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
)
from headgate.rights.effective import Granted
from headgate.rights.policy_schema import policy_schema
from headgate.rights.rules import Action, OnExcess, Rule, Strict
from tests.rights.policies import grant, policy
from tests.steps import steps_of

ALL = Rule("ann", Action.SUBSCRIBE)


def test_a_rule_is_one_line_with_all_its_bounds() -> None:
    rule = Rule(
        "desk-7",
        Action.SUBSCRIBE,
        Filter.parse("type='quote'"),
        lower=Filter.parse("EXISTS(type)"),
        strict=Strict.BOTH,
        on_excess=OnExcess.REFUSE,
        attributes=frozenset({"type", "price"}),
        topics=frozenset({"b", "a"}),
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        valid_until=datetime(2027, 1, 1, tzinfo=UTC),
        via=("abc", "def"),
    )
    assert rule_line(rule) == (
        "desk-7 subscribe: type = 'quote' (reads price, type; topics a, b; at least type IS NOT "
        "NULL; strict: both; on excess: refuse; from 2026-01-01T00:00:00Z; until "
        "2027-01-01T00:00:00Z; by certificates abc, def)"
    )


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (ALL, "ann subscribe: everything"),
        (Rule("ann", Action.CONNECT), "ann connect: allowed"),
        (Rule("ann", Action.CONNECT, allow=False), "ann connect: not allowed"),
        (
            Rule("ann", Action.PUBLISH, attributes=frozenset({"x"})),
            "ann publish: everything (writes x)",
        ),
        (
            Rule("ann", Action.SUBSCRIBE, Filter.parse("x = 1"), strict=Strict.UPPER),
            "ann subscribe: x = 1 (reads x; strict: upper)",
        ),
    ],
)
def test_what_is_left_to_the_defaults_is_left_out(rule: Rule, line: str) -> None:
    assert rule_line(rule) == line


def test_a_change_has_a_sign() -> None:
    changes: list[Change] = [
        Grant(ALL), Revoke(ALL), Begin(ALL), CreateGroup("g"), DropGroup("g"), Join("g", "ann"),
        Leave("g", "ann"),
    ]  # fmt: skip
    assert [" ".join(change_line(change)) for change in changes] == [
        "+ ann subscribe: everything",
        "- ann subscribe: everything",
        "* ann subscribe: everything begins",
        "+ group g",
        "- group g",
        "+ ann in g",
        "- ann in g",
    ]


def test_a_right_says_where_it_comes_from() -> None:
    assert origin(Granted(ALL)) == "its own"
    assert origin(Granted(ALL, ("premium", "all"))) == "through premium in all"
    assert limits(ALL) == []


def test_times_are_shown_in_utc() -> None:
    zone = timezone(timedelta(hours=2))
    assert moment(datetime(2026, 1, 1, 1, 0, 0, 999, tzinfo=zone)) == "2025-12-31 23:00:00"


def test_the_schema_is_printed_as_it_is_published() -> None:
    printed = CliRunner().invoke(main, ["policy", "schema"]).output
    assert printed == schema_text()
    assert json.loads(printed) == policy_schema()


def test_a_policy_of_twice_as_many_principals_takes_about_twice_the_work_to_print() -> None:
    small, large = (
        policy(*(grant(f"p{number}") for number in range(many))).current() for many in (100, 200)
    )
    with redirect_stdout(StringIO()):
        steps = [steps_of(partial(print_version, version, "")) for version in (small, large)]
    assert steps[1] <= 2.2 * steps[0]
