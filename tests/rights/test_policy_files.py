"""Does a policy file say what it seems to say, and is every other one refused where it fails?"""

import pickle
from datetime import UTC, datetime

import pytest

from headgate.filters import value_sets
from headgate.filters.filter import Filter
from headgate.model.events import Event
from headgate.rights.policy_files import PolicyFileError, read_policy_file
from headgate.rights.rules import Action, OnExcess, PolicyError, Rule, Strict
from headgate.rights.subscriptions import Subscription
from tests.rights.policy_corpus import BAD, GOOD, INTERFACE, RULE, SUBSCRIBE, TEST, WIDE, Bad


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.refusal[:40])
def test_a_file_that_fails_is_refused_whole_with_its_line(bad: Bad) -> None:
    with pytest.raises(PolicyFileError) as caught:
        read_policy_file(bad.text, "policy.yaml")
    assert str(caught.value) == f"policy.yaml:{bad.refusal}"
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", GOOD)
def test_every_other_file_is_read(text: str) -> None:
    assert read_policy_file(text) == read_policy_file(text.encode())


def test_the_spelling_of_the_interface_says_what_it_seems_to_say() -> None:
    file = read_policy_file(INTERFACE)
    assert file.groups == {"premium": {"jane", "james"}}
    assert [one.rule for one in file.rules] == [
        Rule("premium", Action.CONNECT),
        Rule(
            "premium",
            Action.SUBSCRIBE,
            Filter.parse("type = 'quote' OR type = 'news' OR type = 'report'"),
            lower=Filter.parse("EXISTS(type)"),
            strict=Strict.UPPER,
            on_excess=OnExcess.RESTRICT,
            attributes=frozenset({"type", "symbol", "price"}),
        ),
        Rule("ward-7", Action.SUBSCRIBE, topics=frozenset({"cardiology", "billing"})),
    ]
    assert [one.place.line for one in file.rules] == [4, 5, 12]
    assert file.tests == ()


def test_what_a_rule_writes_a_file_reads() -> None:
    rule = Rule(
        "a",
        Action.SUBSCRIBE,
        Filter.parse("x = 'it''s' OR y LIKE '%:#'"),
        lower=Filter.parse("x IS STRING"),
        strict=Strict.BOTH,
        on_excess=OnExcess.REFUSE,
        attributes=frozenset({"x", "no"}),
        topics=frozenset({"t"}),
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        valid_until=datetime(2027, 1, 1, 12, 30, 0, 5, tzinfo=UTC),
    )
    import json

    text = json.dumps({"rules": [rule.to_json()]})
    assert [one.rule for one in read_policy_file(text).rules] == [rule]


def test_a_filter_that_is_too_wide_is_refused_where_it_stands() -> None:
    with pytest.raises(PolicyFileError, match=r"^p:2:47: a filter's ANDs and ORs take too many"):
        read_policy_file(f"{RULE}{SUBSCRIBE}, filter: '{WIDE}'}}", "p")


@pytest.mark.parametrize("bound", ["filter", "lower"])
def test_a_bound_too_entangled_to_be_decided_is_refused_where_it_stands(bound: str) -> None:
    value_sets.forget()
    rest = "_" * 20
    text = f"s LIKE '%a{rest}' AND s LIKE '%b{rest}'"
    with pytest.raises(PolicyFileError, match=r"^p:2:4[67]: these LIKE patterns are too entangled"):
        read_policy_file(f'{RULE}{SUBSCRIBE}, {bound}: "{text}"}}', "p")


def test_a_group_may_be_a_member_of_several_groups() -> None:
    file = read_policy_file("rules: []\ngroups: {a: [b, c], b: [d], c: [d], d: [x]}")
    assert file.groups["a"] == {"b", "c"}


def test_many_groups_are_checked_for_cycles_in_one_go() -> None:
    chain = "\n".join(
        f"  g{n}: [g{n + 1}, {', '.join(f'm{m}' for m in range(9))}]" for n in range(9_000)
    )
    assert len(read_policy_file(f"rules: []\ngroups:\n{chain}").groups) == 9_000


def test_a_long_cycle_of_groups_is_shown_in_part() -> None:
    ring = "\n".join(f"  g{n}: [g{(n + 1) % 9_000}]" for n in range(9_000))
    with pytest.raises(PolicyFileError, match="without a cycle") as refusal:
        read_policy_file(f"rules: []\ngroups:\n{ring}", "p")
    assert str(refusal.value) == (
        "p:9002:11: expected groups without a cycle, found `g0` in `g8999` in `g8998` in `g8997` "
        "in `g8996` in `g8995` in `g8994` in `g8993` in … in `g0`"
    )


def test_a_test_says_who_subscribes_to_what_and_what_shall_come() -> None:
    first, second = read_policy_file(
        TEST
        + "domain: d, filter: x > 0, event: {x: 1, $topic: a}, expect: {x: 1}}\n"
        + "  - {name: none, who: b, event: {x: 1}, expect: withheld}"
    ).tests
    assert first.name == "test 1"
    assert first.subscription == Subscription("a", Filter.parse("x > 0"), "d")
    assert first.event == Event.of({"x": 1}).with_known({"$topic": "a"})
    assert first.expected == Event.of({"x": 1})
    assert (second.name, second.expected, second.place) == ("none", None, (4, 5))


def test_a_view_may_have_a_field_named_withheld() -> None:
    (test,) = read_policy_file(TEST + "event: {}, expect: {withheld: 1}}").tests
    assert test.expected == Event.of({"withheld": 1})


def test_a_rule_whose_validity_is_over_is_not_what_shall_be() -> None:
    file = read_policy_file(f"{RULE}{SUBSCRIBE}, validity: {{until: 2026-01-01}}}}")
    end = datetime(2026, 1, 1, tzinfo=UTC)
    assert file.at(end).rules == ()
    assert file.ended(end) == list(file.rules)
    assert len(file.at(datetime(2025, 12, 31, tzinfo=UTC)).rules) == 1


def test_a_refusal_survives_a_pickle_and_is_a_policy_error() -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy_file("", "a\nb")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert str(copy).startswith("a?b:1:1: ")
