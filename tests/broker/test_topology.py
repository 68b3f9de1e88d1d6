"""Does whoever walks the tree arrive, whichever of the interchangeable brokers it meets?"""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.broker.topology import Topology, TopologyError
from headgate.model.errors import HeadgateError


def tree(nodes: Mapping[str, tuple[str, ...]], *edges: str) -> Topology:
    """A topology whose edges are written `one-other`."""
    return Topology(nodes, frozenset(frozenset(edge.split("-")) for edge in edges))


#   a - b - d
#       |
#       c - e
NODES = {
    "a": ("a1",),
    "b": ("b2", "b1"),
    "c": ("c1", "c3", "c2"),
    "d": ("d1",),
    "e": ("e1", "e2"),
}
NETWORK = tree(NODES, "a-b", "b-c", "d-b", "c-e")


def distances(network: Topology, start: str) -> dict[str, int]:
    """How many edges each node is away: edges are followed until no way gets shorter."""
    far = len(network.nodes)
    found = {node: 0 if node == start else far for node in network.nodes}
    for _ in network.nodes:
        for one, other in map(tuple, network.edges):
            found[one] = min(found[one], found[other] + 1)
            found[other] = min(found[other], found[one] + 1)
    return found


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Trees of 1 to 15 nodes of 1 to 3 brokers."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 15)))]
    edges = {
        frozenset({name, names[draw(st.integers(0, number))]})
        for number, name in enumerate(names[1:])
    }
    nodes = {
        name: tuple(f"{name}/{member}" for member in range(draw(st.integers(1, 3))))
        for name in draw(st.permutations(names))
    }
    return Topology(nodes, frozenset(edges))


def test_one_process_with_one_broker_is_a_network() -> None:
    network = Topology.alone("b")
    assert network.neighbours("b") == ()
    assert network.towards("b", "b") == ()
    assert dict(network.node_of) == {"b": "b"}


def test_a_broker_keeps_links_to_its_own_node_and_to_all_brokers_of_those_beside_it() -> None:
    assert NETWORK.neighbours("a1") == ("b1", "b2")
    assert NETWORK.neighbours("b1") == ("a1", "b2", "c1", "c2", "c3", "d1")
    assert NETWORK.neighbours("e2") == ("c1", "c2", "c3", "e1")


def test_the_way_leads_through_any_broker_of_the_next_node() -> None:
    assert NETWORK.towards("a1", "e2") == ("b1", "b2")
    assert NETWORK.towards("b2", "e2") == ("c1", "c2", "c3")
    assert NETWORK.towards("d1", "a1") == ("b1", "b2")


def test_beside_the_target_it_is_the_first_choice_and_those_that_stand_in_for_it_follow() -> None:
    assert NETWORK.towards("c3", "e2") == ("e2", "e1")
    assert NETWORK.towards("b1", "c2") == ("c2", "c1", "c3")


def test_in_the_targets_own_node_there_is_only_the_target() -> None:
    assert NETWORK.towards("c1", "c3") == ("c3",)
    assert NETWORK.towards("c1", "c1") == ()


@given(networks())
def test_links_have_two_ends(network: Topology) -> None:
    for broker in network.node_of:
        assert broker not in network.neighbours(broker)
        for other in network.neighbours(broker):
            assert broker in network.neighbours(other)


@given(networks(), st.randoms(use_true_random=False))
def test_whoever_walks_towards_a_broker_arrives_by_links_and_with_one_hop_too_many_at_most(
    network: Topology, random: Random
) -> None:
    brokers = sorted(network.node_of)
    broker, target = random.choice(brokers), random.choice(brokers)
    distance = distances(network, network.node_of[target])[network.node_of[broker]]
    here, hops = broker, 0
    while here != target:
        choices = network.towards(here, target)
        assert set(choices) <= set(network.neighbours(here))
        here, hops = random.choice(choices), hops + 1
        assert hops <= distance + 1
    assert hops >= distance


@given(networks(), st.randoms(use_true_random=False))
def test_the_first_choice_is_a_shortest_way(network: Topology, random: Random) -> None:
    brokers = sorted(network.node_of)
    broker, target = random.choice(brokers), random.choice(brokers)
    distance = distances(network, network.node_of[target])[network.node_of[broker]]
    here, hops = broker, 0
    while here != target:
        here, hops = network.towards(here, target)[0], hops + 1
    assert hops == (distance or int(broker != target))


@given(networks(), st.randoms(use_true_random=False))
def test_the_order_in_which_a_network_is_written_down_changes_nothing(
    network: Topology, random: Random
) -> None:
    names = list(network.nodes)
    random.shuffle(names)
    turned = {name: tuple(reversed(network.nodes[name])) for name in names}
    again = Topology(turned, frozenset(sorted(network.edges, key=lambda _: random.random())))
    for broker in network.node_of:
        assert again.neighbours(broker) == network.neighbours(broker)
        for target in network.node_of:
            assert again.towards(broker, target) == network.towards(broker, target)


ONE = {"a": ("a1",)}
TWO = {"a": ("a1",), "b": ("b1",)}
THREE = {**TWO, "c": ("c1",)}


@pytest.mark.parametrize(
    ("nodes", "edges", "because"),
    [
        ({}, [], "at least one node, and each node a broker"),
        ({"a": ()}, [], "at least one node, and each node a broker"),
        ({"a": ("a1",), "b": ()}, ["a-b"], "at least one node, and each node a broker"),
        ({"a": ("x",), "b": ("x",)}, ["a-b"], "a broker stands in one node only, and once"),
        ({"a": ("x", "x")}, [], "a broker stands in one node only, and once"),
        (TWO, ["a-a"], "expected two nodes of the network as neighbours"),
        (TWO, ["a-z"], "expected two nodes of the network as neighbours"),
        (THREE, ["a-b-c", "a-b"], "expected two nodes of the network as neighbours"),
        (TWO, [], "expected a tree: 2 nodes joined by 1 edges, found 0 edges"),
        (THREE, ["a-b", "b-c", "a-c"], "3 nodes joined by 2 edges, found 3 edges"),
        ({**THREE, "d": ("d1",)}, ["a-b", "b-c", "a-c"], "found 3 edges that join 3 nodes"),
        (ONE, ["a-b"], "expected two nodes of the network as neighbours"),
    ],
)
def test_what_is_no_tree_of_nodes_is_refused(
    nodes: dict[str, tuple[str, ...]], edges: list[str], because: str
) -> None:
    with pytest.raises(TopologyError, match=because):
        tree(nodes, *edges)


@pytest.mark.parametrize("ends", [("zz", "a1"), ("a1", "zz")])
def test_a_broker_that_is_not_in_the_network_is_refused(ends: tuple[str, str]) -> None:
    with pytest.raises(HeadgateError, match="there is no broker `zz` in the network"):
        NETWORK.towards(*ends)
    with pytest.raises(TopologyError, match="there is no broker `zz` in the network"):
        NETWORK.neighbours("zz")
