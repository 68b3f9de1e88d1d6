"""Are the tests of a policy file run against that file's own policy?"""

from datetime import UTC, datetime

import pytest

from headgate.gate.policy_tests import policy_of, run_tests
from headgate.model.events import Event
from headgate.rights.policy_diff import PolicyState
from headgate.rights.policy_files import read_policy_file

NOW = datetime(2026, 6, 1, tzinfo=UTC)
POLICY = """\
groups: {premium: [jane]}
rules:
  - {principal: premium, action: subscribe, filter: type = 'quote', attributes: [type, price]}
  - {principal: tom, action: subscribe, validity: {from: 2026-03-01, until: 2026-09-01}}
tests:
  - who: jane
    event: {type: quote, price: 1.0, secret: 7, $topic: q}
"""


def passed(expect: str, *, at: datetime = NOW, policy: str = POLICY) -> list[bool]:
    file = read_policy_file(f"{policy}    expect: {expect}\n")
    return [result.passed for result in run_tests(file, at)]


@pytest.mark.parametrize(
    ("expect", "passes"),
    [
        ("{type: quote, price: 1.0}", True),
        ("{price: 1.0, type: quote}", True),
        ("{type: quote, price: 1}", False),
        ("{type: quote, price: 1.0, secret: 7}", False),
        ("{type: quote, price: 1.0, $topic: q}", False),
        ("{type: quote}", False),
        ("{}", False),
        ("withheld", False),
    ],
)
def test_the_view_is_compared_to_the_letter(expect: str, passes: bool) -> None:
    assert passed(expect) == [passes]


def test_the_filter_is_evaluated_on_the_view() -> None:
    policy = POLICY + "    filter: secret = 7\n"
    assert passed("withheld", policy=policy) == [True]
    (result,) = run_tests(read_policy_file(f"{policy}    expect: {{}}\n"), NOW)
    assert result.got is None
    assert "`secret = 7` is not true of it" in result.explanation.because


def test_a_domain_has_to_have_the_right_too() -> None:
    policy = POLICY + "    domain: abroad\n"
    assert passed("withheld", policy=policy) == [True]
    policy = policy.replace("tests:", "  - {principal: abroad, action: subscribe}\ntests:")
    assert passed("{type: quote, price: 1.0}", policy=policy) == [True]


@pytest.mark.parametrize(("month", "delivered"), [(2, False), (3, True), (8, True), (9, False)])
def test_a_validity_is_that_of_the_moment(month: int, delivered: bool) -> None:
    policy = POLICY.replace("who: jane", "who: tom")
    view = "{type: quote, price: 1.0, secret: 7, $topic: q}"
    at = datetime(2026, month, 1, tzinfo=UTC)
    assert passed(view if delivered else "withheld", at=at, policy=policy) == [True]


def test_what_came_is_the_view() -> None:
    file = read_policy_file(f"{POLICY}    expect: withheld\n")
    (result,) = run_tests(file, NOW)
    assert not result.passed
    assert result.got == Event.of({"type": "quote", "price": 1.0})


def test_an_empty_policy_is_one_too() -> None:
    assert policy_of(PolicyState({}, ()), NOW).number == 0
    assert passed("withheld", policy=f"rules: []\n{POLICY[POLICY.index('tests:') :]}") == [True]
