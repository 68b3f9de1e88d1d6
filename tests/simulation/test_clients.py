"""Does a client come, go, move, and try again where it was turned away?"""

from headgate.broker.core import Broker
from headgate.simulation.schedules import Advertise, ClientPlan, Connect, Disconnect, Kill
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from tests.simulation.small import CLIENTS, READING, busy, small

MOVING = {**CLIENTS, "reader": ClientPlan("ann", ("b2", "b1"))}


def test_a_client_that_moves_takes_its_wishes_along() -> None:
    world = World(busy((0.75, Connect("reader", "b1")), clients=MOVING), Broker, trace=True)
    world.run()
    assert world.counts["client moved"] == 1
    session = world.clients["reader"].session
    assert session is not None
    assert session.host.name == "b1"
    assert len(session.attachments) == 1


def test_who_loses_its_broker_goes_to_the_next_one() -> None:
    world = World(busy((0.75, Kill("b2", 100 * SECOND)), clients=MOVING), Broker)
    world.run()
    session = world.clients["reader"].session
    assert session is not None
    assert session.host.name == "b1"


def test_who_went_stays_away_until_it_comes_again() -> None:
    world = World(busy((0.75, Disconnect("reader"))), Broker)
    world.run()
    assert world.clients["reader"].session is None
    again = World(busy((0.75, Disconnect("reader")), (0.9, Connect("reader"))), Broker)
    again.run()
    assert again.clients["reader"].is_connected


def test_who_may_not_connect_tries_in_vain_and_harms_nobody() -> None:
    clients = {**CLIENTS, "reader": ClientPlan("stranger", ("b2",))}
    world = World(small(READING, clients=clients), Broker)
    world.run()
    assert not world.clients["reader"].is_connected
    assert world.counts["deliveries"] == 0


def test_what_was_advertised_is_advertised_after_each_connection() -> None:
    world = World(
        small((0.2, Advertise("writer", "TRUE")), (1.0, Kill("b1", SECOND // 10))),
        Broker,
        trace=True,
    )
    world.run()
    session = world.clients["writer"].session
    assert session is not None
    assert [type(asked).__name__ for asked in session.asked.values()] == ["AdvertisementAsked"]
