"""Is a delivery beyond a revocation seen, and a broker that clings to an old version?"""

import pytest

from headgate.simulation.checkers.nothing_after_the_starting_point_of_a_revocation import (
    SLACK_US,
    NothingAfterTheStartingPointOfARevocation,
)
from headgate.simulation.checkers.promises import PromiseBroken
from tests.simulation.scenes import ANN_NO_LONGER, ANN_READS, Scene


def make_scene() -> Scene:
    return Scene(NothingAfterTheStartingPointOfARevocation)


def test_a_record_decided_by_an_old_version_behind_a_reported_start_breaks_the_promise() -> None:
    scene = make_scene()
    scene.version(ANN_READS)
    scene.version(ANN_NO_LONGER)
    scene.log(None)
    scene.log({"price": 1})
    scene.log({"price": 2})
    session = scene.session()
    number = scene.subscribe(session)
    scene.see("starting_point", 2, "orders", 3)
    scene.deliver(session, number, 2)
    with pytest.raises(PromiseBroken, match="nothing of orders 3: version 2 begins there"):
        scene.deliver(session, number, 3)


def test_a_broker_may_go_on_under_an_old_version_for_a_lease_and_no_longer() -> None:
    scene = make_scene()
    lease_us = scene.machine.settings.lease_us
    scene.version(ANN_READS)
    scene.version(ANN_NO_LONGER)
    scene.timeline.run_until(lease_us)
    scene.see("appending", scene.machine, (scene.record({"price": 1}, 1),))
    scene.timeline.run_until(lease_us * 11 // 10 + SLACK_US + 1)
    scene.see("appending", scene.machine, (scene.record({"price": 1}, 2),))
    scene.see("appending", scene.machine, (scene.record(None, 1),))
    own = scene.record({"change": "ended"}, 1, stream="$subscriptions/b1")
    scene.see("appending", scene.machine, (own,))
    with pytest.raises(PromiseBroken, match="version 2 or later of orders 1"):
        scene.see("appending", scene.machine, (scene.record({"price": 1}, 1),))
