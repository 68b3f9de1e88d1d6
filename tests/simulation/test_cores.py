"""Is the broker's core what the world takes it for?"""

import inspect

from headgate.broker.core import Broker
from headgate.simulation.cores import Core


def test_the_broker_has_every_verb_with_its_arguments() -> None:
    verbs = [
        name
        for name, item in vars(Core).items()
        if inspect.isfunction(item) and not name.startswith("_")
    ]
    assert len(verbs) > 15
    for name in verbs:
        wanted = list(inspect.signature(getattr(Core, name)).parameters)
        assert list(inspect.signature(getattr(Broker, name)).parameters) == wanted, name
