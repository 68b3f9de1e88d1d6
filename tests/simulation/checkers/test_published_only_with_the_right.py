"""Is a publication that no rule allows seen?"""

import pytest

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.checkers.published_only_with_the_right import PublishedOnlyWithTheRight
from tests.simulation.scenes import PAM_WRITES, Scene


def make_scene() -> Scene:
    scene = Scene(lambda ledger, timeline: PublishedOnlyWithTheRight(ledger))
    scene.version(PAM_WRITES)
    return scene


def test_what_a_rule_of_the_version_allows_may_stand_there() -> None:
    scene = make_scene()
    scene.log(None, 1)
    scene.log({"price": 1}, 1)
    scene.log({"anything": 1}, 1, stream="$subscriptions/b1")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"price": -1}, {}),
        ({"price": 1}, {"publisher": "eve"}),
        ({"price": 1}, {"version": 0}),
    ],
)
def test_what_none_allows_breaks_the_promise(body: object, said: dict[str, object]) -> None:
    with pytest.raises(PromiseBroken) as broken:
        make_scene().log(body, **said)  # type: ignore[arg-type]
    assert broken.value.promise == "published_only_with_the_right"


def test_attributes_that_may_not_be_written_break_the_promise() -> None:
    scene = Scene(lambda ledger, timeline: PublishedOnlyWithTheRight(ledger))
    scene.version({"grant": {"principal": "pam", "action": "publish", "attributes": ["price"]}})
    scene.log({"price": 1})
    with pytest.raises(PromiseBroken):
        scene.log({"price": 1, "secret": 1})
