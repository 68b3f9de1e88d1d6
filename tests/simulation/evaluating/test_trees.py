"""Do the measured networks have the shape that they are named for?"""

from headgate.simulation.evaluating.trees import chain, fan


def test_a_chain_has_as_many_links_as_hops() -> None:
    assert chain(1).brokers == ("p", "s")
    assert chain(1).routers == ()
    four = chain(4)
    assert four.brokers == ("p", "r1", "r2", "r3", "s")
    assert four.links == (("p", "r1"), ("r1", "r2"), ("r2", "r3"), ("r3", "s"))
    assert four.routers == ("r1", "r2", "r3")
    assert four.leaves == ("s",)
    assert four.topology.neighbours("r2") == ("r1", "r3")


def test_a_fan_has_two_levels() -> None:
    tree = fan(routers=2, leaves=3)
    assert tree.routers == ("r1", "r2")
    assert tree.leaves == ("s1", "s2", "s3", "s4", "s5", "s6")
    assert tree.topology.neighbours("p") == ("r1", "r2")
    assert tree.topology.neighbours("r2") == ("p", "s4", "s5", "s6")
