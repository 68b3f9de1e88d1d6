"""Does a rule say one thing only, and is one that can't be meant refused?"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest

from headgate.filters.filter import Filter
from headgate.model.errors import HeadgateError
from headgate.rights.rules import (
    ATTRIBUTES_MAX,
    PRINCIPAL_CHARS_MAX,
    Action,
    OnExcess,
    PolicyError,
    Rule,
    Strict,
    canonical,
    check_principal,
)
from tests.proofs import proof_size
from tests.rights.policies import NOON, PRINCIPALS, Chance, connecting, rule

parse = Filter.parse


def test_a_rule_is_read_back_as_it_was_written() -> None:
    chance = Chance(Random(3))
    for _ in range(proof_size(test=500, soak=5_000)):
        made = chance.rule(chance.random.choice(PRINCIPALS))
        again = Rule.from_json(made.to_json())
        assert again == made
        assert hash(again) == hash(made)
        assert again.id == made.id
        assert again.to_json() == made.to_json()
        assert pickle.loads(pickle.dumps(made)) == made


def test_rules_have_the_same_id_just_when_they_say_the_same() -> None:
    chance = Chance(Random(4))
    made = [chance.rule(chance.random.choice(PRINCIPALS)) for _ in range(500)]
    said = {canonical(one.to_json()): one for one in made}
    assert len(said) == len({one.id for one in made}) == len(set(made)) > 400


def test_the_id_of_a_rule_stays_the_same_for_ever() -> None:
    """Ids stand in stored policies and in people's notes."""
    made = rule("ann", "subscribe", "price<100", attributes=["b", "a"], strict="upper")
    assert made.id == "cfdc554afd0e"
    assert connecting("ann").id == "f9498f8f2992"


EVERY_PART: dict[str, Any] = {
    "filter": parse("a = 1"), "lower": parse("b = 1"), "strict": Strict.BOTH,
    "on_excess": OnExcess.REFUSE, "attributes": frozenset({"a"}), "topics": frozenset({"red"}),
    "valid_from": NOON, "valid_until": NOON + timedelta(days=1), "via": ("digest",),
}  # fmt: skip


def test_rules_that_differ_in_one_part_are_different_rules() -> None:
    full = Rule("ann", Action.SUBSCRIBE, **EVERY_PART)
    others = [
        Rule("bob", Action.SUBSCRIBE, **EVERY_PART),
        Rule("ann", Action.SUBSCRIBE, **{**EVERY_PART, "filter": parse("a = 1.0")}),
        Rule("ann", Action.SUBSCRIBE, **{**EVERY_PART, "strict": Strict.UPPER}),
    ]
    for part in EVERY_PART.keys() - {"lower"}:
        less = {name: value for name, value in EVERY_PART.items() if name != part}
        others.append(Rule("ann", Action.SUBSCRIBE, **less))
    others.append(Rule("ann", Action.SUBSCRIBE, **{**EVERY_PART, "lower": parse("b = 2")}))
    assert len({full, *others}) == len({one.id for one in (full, *others)}) == len(others) + 1
    assert connecting("ann") != connecting("ann", allow=False)
    assert full != "ann"


def test_a_rule_is_the_same_however_it_is_spelled() -> None:
    one = rule("ann", "subscribe", "price<100 and a=1", attributes=["a", "b"])
    other = rule("ann", "subscribe", "(PRICE < 100) AND a = 1".lower(), attributes=["b", "a", "a"])
    assert one == other
    assert one.id == other.id
    abroad = NOON.astimezone(timezone(timedelta(hours=5)))
    rules = [Rule("ann", Action.PUBLISH, valid_from=moment) for moment in (NOON, abroad)]
    assert rules[0] == rules[1]
    assert rules[0].id == rules[1].id


def test_what_may_be_read_is_all_the_list_or_what_a_strict_upper_bound_names() -> None:
    assert rule("p").readable is None
    assert rule("p", filter_="a = 1").readable is None
    assert rule("p", filter_="a = 1 OR b.c IS NULL", strict="upper").readable == frozenset(
        {"a", "b.c"}
    )
    assert rule("p", filter_="a = 1", strict="both", lower="b = 1").readable == frozenset({"a"})
    assert rule("p", filter_="a = 1", strict="lower", lower="b = 1").readable is None
    assert rule("p", filter_="a = 1", strict="upper", attributes=["z"]).readable == frozenset({"z"})


GOOD_NAMES = [
    "a",
    "John Doe",
    "Ω",
    "ann@example.com",
    "a$",
    "ed25519:abc",
    "x" * 256,
    "team/x",
    "π–1",
]
BAD_NAMES = [
    "", " ", "a ", " a", "\ta", "a\nb", "a\x00", "\u202eb", "a\u200bb", "x" * 257, "$policy", "$",
    "\ud800", "\ufeffa", "a\u00a0b", "a\u2028b", "\x1b[31m",
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_a_printable_name_is_a_principal(name: str) -> None:
    check_principal(name)
    assert rule(name).principal == name


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_would_mislead_is_refused_in_one_printable_line(name: str) -> None:
    with pytest.raises(PolicyError, match=r"principal|kept for the broker") as refusal:
        check_principal(name)
    assert str(refusal.value).isprintable()
    with pytest.raises(PolicyError):
        rule(name)


def test_names_are_compared_by_the_letter() -> None:
    """Look-alikes are different principals; to tell them apart is for who enters them."""
    alike = ["Ann", "ann", "Аnn", "Ａnn", "A\u0301nn", "\u00c1nn"]
    assert len({rule(name).id for name in alike}) == len(alike)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"action": "connect", "filter": "a = 1"}, "`connect` takes `allow` and no bounds"),
    ({"action": "connect", "lower": "a = 1"}, "`connect` takes `allow` and no bounds"),
    ({"action": "connect", "attributes": ["a"]}, "`connect` takes `allow` and no bounds"),
    ({"action": "connect", "topics": ["a"]}, "`connect` takes `allow` and no bounds"),
    ({"action": "connect", "strict": "upper"}, "`connect` takes `allow` and no bounds"),
    ({"action": "connect", "on_excess": "refuse"}, "`connect` takes `allow` and no bounds"),
    ({"action": "subscribe", "allow": False}, "rights are positive"),
    ({"action": "publish", "on_excess": "refuse"}, "`on_excess` is for `subscribe`"),
    ({"action": "advertise", "attributes": ["a"]}, "takes no `attributes` or `topics`"),
    ({"action": "advertise", "topics": ["a"]}, "takes no `attributes` or `topics`"),
    ({"strict": "lower"}, "needs a lower bound: give it with `lower`"),
    ({"strict": "both", "filter": "a = 1"}, "needs a lower bound: give it with `lower`"),
    ({"attributes": []}, "`attributes` of a rule for `p` names nothing"),
    ({"attributes": ["a", ""]}, "`attributes` of a rule for `p` names nothing"),
    ({"topics": []}, "`topics` of a rule for `p` names nothing"),
    ({"attributes": [str(n) for n in range(ATTRIBUTES_MAX + 1)]}, "at most 1,000 names"),
    ({"filter": "a + 1 > 5"}, "`filter` of a right can't do arithmetic"),
    ({"filter": "a = 1 AND b < c"}, "compare attributes"),
    ({"lower": "a * b = 2"}, "`lower` of a right can't do arithmetic"),
    ({"validity": {"from": "2026-02-01", "until": "2026-01-01"}}, "ends before it begins"),
    ({"validity": {"from": "2026-02-01", "until": "2026-02-01"}}, "ends before it begins"),
    ({"validity": {"from": "soon"}}, "expected a timestamp"),
    ({"filter": "a ="}, "column 4"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "problem"), REFUSED)
def test_a_rule_that_cannot_be_meant_is_refused(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(HeadgateError, match=problem) as refusal:
        Rule.from_json({"principal": "p", "action": "subscribe", **said})
    assert "\n" not in str(refusal.value)


def test_validity_without_a_zone_is_refused_for_nobody_knows_which_moment_is_meant() -> None:
    vague = datetime(2026, 1, 31, 12)  # noqa: DTZ001
    for begin, end in ((vague, None), (None, vague), (vague, NOON)):
        with pytest.raises(PolicyError, match="needs moments with a zone"):
            Rule("p", Action.SUBSCRIBE, valid_from=begin, valid_until=end)


def test_the_bounds_of_a_rule_are_what_they_say() -> None:
    assert PRINCIPAL_CHARS_MAX == 256
    names = frozenset(str(number) for number in range(ATTRIBUTES_MAX))
    assert len(Rule("p", Action.SUBSCRIBE, attributes=names).attributes or ()) == 1_000


def test_a_rule_reads_as_the_papers_write_it() -> None:
    assert str(connecting("John Doe")) == "[John Doe, connect, allow: True]"
    assert str(rule("John Doe", filter_="type = 'quote'")) == (
        "[John Doe, subscribe, type = 'quote']"
    )
    full = rule("p", filter_="a = 1", attributes=["b", "a"], strict="upper")
    assert str(full) == "[p, subscribe, a = 1, strict: upper, attributes: a b]"
    assert str(rule("p")) == "[p, subscribe, TRUE]"


def test_only_what_is_not_the_default_is_written_down() -> None:
    assert rule("p").to_json() == {"principal": "p", "action": "subscribe"}
    assert connecting("p").to_json() == {"principal": "p", "action": "connect", "allow": True}
    until = datetime(2027, 1, 1, tzinfo=UTC)
    assert Rule("p", Action.PUBLISH, valid_until=until).to_json()["validity"] == {
        "until": "2027-01-01T00:00:00Z"
    }


def test_sets_of_names_are_written_in_their_order_wherever_it_is_done() -> None:
    names = [f"{letter}{number}" for letter in "zyxabc" for number in range(4)]
    said = rule("p", attributes=names, topics=names).to_json()
    assert said["attributes"] == said["topics"] == sorted(names)


def test_a_filter_that_could_not_be_read_again_is_refused() -> None:
    moments = ", ".join(["timestamp'2026-01-31'"] * 2_800)
    long = Filter.parse(f"t IN ({moments})")
    assert len(long.as_written) <= 65_536 < len(str(long))
    with pytest.raises(PolicyError, match="at most 65,536 characters"):
        Rule("p", Action.SUBSCRIBE, long)
