"""Does the policy of a file do what its own tests expect?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.gate.delivery import View
from headgate.gate.explaining import Explanation, explain
from headgate.model.events import Event
from headgate.rights.changes import Batch
from headgate.rights.history import PolicyHistory, PolicyVersion
from headgate.rights.policy_diff import PolicyState, diff
from headgate.rights.policy_files import PolicyFile, PolicyTest

_AUTHOR = "headgate"


@dataclass(frozen=True, slots=True)
class TestResult:
    """What a test expected, and what came."""

    __test__ = False

    test: PolicyTest
    explanation: Explanation

    @property
    def got(self) -> Event | None:
        """The view, or nothing where the event was withheld."""
        outcome = self.explanation.outcome
        return outcome.event if isinstance(outcome, View) else None

    @property
    def passed(self) -> bool:
        return self.got == self.test.expected


def run_tests(file: PolicyFile, now: datetime) -> list[TestResult]:
    """Run the tests of a file against its own policy, as it would be at a moment."""
    version = policy_of(file.at(now), now)
    return [
        TestResult(test, explain(test.event, version, test.subscription)) for test in file.tests
    ]


def policy_of(state: PolicyState, now: datetime) -> PolicyVersion:
    """The policy that a state alone makes: the first version of a history of its own."""
    history = PolicyHistory()
    changes = diff(history.current(), state)
    return history.apply(Batch(changes, _AUTHOR, now)) if changes else history.current()
