"""Are policies tried that change every right, and are most batches accepted?"""

from collections import Counter
from random import Random

from headgate.rights.history import PolicyHistory
from headgate.rights.rules import PolicyError
from headgate.simulation.administering import batch_of
from headgate.simulation.scenarios.policies import Churn


def test_most_batches_are_accepted_and_every_kind_of_change_comes_up() -> None:
    counts: Counter[str] = Counter()
    for seed in range(100):
        churn = Churn(Random(seed))
        history = PolicyHistory.of([batch_of(churn.beginning(), "ada", 0)])
        for _ in range(10):
            changes = churn.batch()
            try:
                history.apply(batch_of(changes, "ada", 0))
            except PolicyError:
                counts["refused"] += 1
                continue
            counts["accepted"] += 1
            for change in changes:
                for word, said in change.items():
                    action = "" if isinstance(said, str) else said.get("action", "")
                    counts[f"{word} {action}".strip()] += 1
                    counts.update(key for key in said if key in ("attributes", "topics"))
                    counts["refuse"] += "on_excess" in said
    assert counts["accepted"] > 2 * counts["refused"] > 0
    expected = ["grant subscribe", "revoke subscribe", "join", "leave", "grant publish",
                "attributes", "topics", "refuse"]  # fmt: skip
    assert all(counts[name] > 10 for name in expected), counts
