"""Are trees of every size and shape tried?"""

from collections import Counter
from random import Random

from headgate.broker.topology import Topology
from headgate.simulation.scenarios.trees import chain, size_of_tree, tree


def test_trees_of_1_to_15_nodes_with_1_to_3_brokers_come_up_and_are_trees() -> None:
    chance = Random(1)
    sizes: Counter[int] = Counter()
    members: Counter[int] = Counter()
    depths: Counter[int] = Counter()
    for _ in range(2_000):
        nodes, edges = tree(chance, size_of_tree(chance))
        topology = Topology(nodes, frozenset(map(frozenset, edges)))
        sizes[len(nodes)] += 1
        members.update(map(len, nodes.values()))
        depths[max(topology._distances("n1").values())] += 1
    assert set(sizes) >= {1, 2, 3, 5, 9, 15}
    assert set(members) == {1, 2, 3}
    assert max(depths) >= 8
    assert sum(count for size, count in sizes.items() if size <= 3) > 1_000


def test_a_chain_names_its_brokers_in_order() -> None:
    assert chain(2, members=2) == ({"n1": ("b1", "b2"), "n2": ("b3", "b4")}, (("n1", "n2"),))
