"""Does a plan say what a file would change, and change nothing itself?"""

from datetime import UTC, datetime, timedelta

from headgate.rights.changes import Batch, Grant
from headgate.rights.history import PolicyHistory
from headgate.rights.policy_files import read_policy_file
from headgate.rights.policy_plans import plan
from headgate.rights.rules import Action, Rule

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TOM = Rule("tom", Action.SUBSCRIBE)
FILE = read_policy_file("rules:\n  - {principal: tom, action: subscribe}\n")


def test_a_plan_leaves_the_history_as_it_is() -> None:
    ending = Rule("ann", Action.SUBSCRIBE, valid_until=NOW + timedelta(days=1))
    history = PolicyHistory.of([Batch((Grant(ending),), "somebody", NOW)])
    planned = plan(history, FILE, NOW + timedelta(days=2))
    assert planned.base == history.version == 1
    assert planned.due is not None
    assert planned.changes == (Grant(TOM),)


def test_where_the_file_says_what_is_there_is_nothing_to_do() -> None:
    history = PolicyHistory.of([Batch((Grant(TOM),), "somebody", NOW)])
    planned = plan(history, FILE, NOW)
    assert (planned.base, planned.due, planned.changes) == (1, None, ())
