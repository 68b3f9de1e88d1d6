"""Is a connection told apart from others?"""

from tests.simulation.scenes import Scene


def test_a_connection_is_called_by_who_is_at_its_ends() -> None:
    scene = Scene()
    assert str(scene.session()) == "client1 at b1"
    assert str(scene.session()) == "client2 at b1"
