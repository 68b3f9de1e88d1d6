"""Which run does a seed stand for? A network, its clients, a policy that changes, and accidents."""

from __future__ import annotations

from random import Random
from typing import final

from msgspec.structs import replace

from headgate.simulation.scenarios.accidents import accidents
from headgate.simulation.scenarios.contents import body, wish
from headgate.simulation.scenarios.policies import ABROAD, FOUNDERS, READERS, WRITERS, Churn
from headgate.simulation.scenarios.trees import size_of_tree, tree
from headgate.simulation.schedules import (
    Administer,
    AdministerElsewhere,
    Advertise,
    Answer,
    BrokerPlan,
    ClientAction,
    ClientPlan,
    Connect,
    Disconnect,
    Publish,
    Schedule,
    Step,
    Subscribe,
    Unsubscribe,
    Weather,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

STREAMS = ("orders", "alarms", "trades")
_FOREIGN = 0.08


def generated(seed: int) -> Schedule:
    """The schedule of a seed, the same at all times and everywhere."""
    return _Generator(seed).schedule()


@final
class _Generator:
    """One schedule in the making."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._chance = chance = Random(f"schedule {seed}")
        self._until_us = chance.choice((SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND))
        self._nodes, self._edges = tree(chance, size_of_tree(chance))
        self._abroad = self._foreign_part()
        self._members = [one for members in self._nodes.values() for one in members]
        self._home = [one for one in self._members if one not in self._abroad]
        self._policy_host = chance.choice(self._home)
        self._hosts: dict[str, str] = {}
        self._settings = settings(chance)
        self._churn = Churn(chance)
        self._clients: dict[str, ClientPlan] = {}
        self._steps: list[Step] = []
        self._events = 0

    def schedule(self) -> Schedule:
        chance = self._chance
        policy = [self._churn.beginning(lend_policy=bool(self._abroad))]
        policy += [self._churn.batch() for _ in range(chance.choice((0, 0, 1)))]
        brokers = self._brokers()
        self._weather = weather(chance)
        self._give_time()
        self._writers()
        self._readers()
        self._administrators()
        schedule = Schedule(
            seed=self._seed,
            nodes=self._nodes,
            edges=self._edges,
            policy_host=self._policy_host,
            brokers=self._with_routers(brokers),
            clients=self._clients,
            policy=tuple(policy),
            settings=self._settings,
            weather=self._weather,
            steps=tuple(self._settled()),
        )
        steps = list(schedule.steps) + accidents(chance, schedule, self._until_us)
        steps.sort(key=lambda step: step.at_us)
        return replace(schedule, steps=tuple(steps), calm_us=self._until_us)

    # Brokers.

    def _foreign_part(self) -> tuple[str, ...]:
        """The brokers behind one edge, sometimes: they belong to another domain."""
        if not self._edges or self._chance.random() >= _FOREIGN:
            return ()
        _, far = self._edges[-1]  # the last node is a leaf
        return self._nodes[far]

    def _brokers(self) -> dict[str, BrokerPlan]:
        chance = self._chance
        hosted: dict[str, list[str]] = {}
        for stream in STREAMS[: chance.choice((1, 1, 2, 2, 3))]:
            host = self._hosts[stream] = chance.choice(self._home)
            hosted.setdefault(host, []).append(stream)
        if self._abroad and chance.random() < 0.6:
            host = self._hosts["goods"] = chance.choice(self._abroad)
            hosted.setdefault(host, []).append("goods")
        neighbours = self._home_neighbours()
        wrong_clocks = chance.random() < 0.5
        return {
            name: BrokerPlan(
                streams=tuple(hosted.get(name, ())),
                clock_us=chance.randrange(-5 * SECOND, 5 * SECOND) if wrong_clocks else 0,
                drift_ppm=chance.randrange(-5_000, 5_000) if wrong_clocks else 0,
                foreign=dict.fromkeys(self._abroad, ABROAD) if name in neighbours else {},
            )
            for name in self._members
        }

    def _with_routers(self, brokers: dict[str, BrokerPlan]) -> dict[str, BrokerPlan]:
        """Some of those whom nobody needs at the moment do nothing but pass on."""
        needed = {broker for plan in self._clients.values() for broker in plan.brokers}
        needed.add(self._policy_host)
        return {
            name: replace(plan, routes_only=True)
            if name not in needed and not plan.streams and self._chance.random() < 0.4
            else plan
            for name, plan in brokers.items()
        }

    def _give_time(self) -> None:
        """No time limit is shorter than the longest way there and back, or nothing would work."""
        hop_us = 2 * self._weather.link_us + self._weather.jitter_us
        least_us = 4 * len(self._nodes) * hop_us
        for name in ("lease_us", "attach_us"):
            self._settings[name] = max(self._settings[name], least_us)

    def _home_neighbours(self) -> tuple[str, ...]:
        return self._nodes[self._edges[-1][0]] if self._abroad else ()

    # Clients.

    def _settled(self) -> list[Step]:
        """What clients do, mostly after the brokers have found each other."""
        later_us = self._chance.choice((0, SECOND, SECOND, 2 * SECOND))
        self._until_us += later_us
        return [Step(step.at_us + later_us, step.action) for step in self._steps]

    def _at(self, at_us: int, action: ClientAction | AdministerElsewhere) -> None:
        self._steps.append(Step(at_us, action))

    def _moment(self, after_us: int = 0) -> int:
        return self._chance.randrange(after_us, max(after_us + 1, self._until_us))

    def _moment_of_others(self) -> int:
        """Some time, or just after somebody else did something."""
        chance = self._chance
        if chance.random() < 0.6:
            return self._moment()
        return chance.choice(self._steps).at_us + chance.randrange(20 * MILLISECOND)

    def _writers(self) -> None:
        chance = self._chance
        for number in range(chance.choice((1, 1, 2, 2, 3))):
            name = f"writer{number + 1}"
            stream = chance.choice(list(self._hosts))
            hosts = [self._hosts[stream]]
            named: str | None = stream
            if chance.random() < 0.3:  # it takes the first stream of wherever it is
                named = None
                hosts = sorted(set(self._hosts.values()))
                chance.shuffle(hosts)
            self._clients[name] = ClientPlan(
                principal=chance.choice(WRITERS),
                brokers=tuple(hosts),
                in_flight=chance.choice((1, 4, 16)),
                patience_us=chance.choice((SECOND // 2, 3 * SECOND)),
            )
            self._at(0, Connect(name))
            if self._settings.get("advertised_only"):
                self._at(0, Advertise(name, "TRUE"))
            self._publications(name, named, chance.choice((5, 10, 20, 40)))
            if chance.random() < 0.3:
                self._at(self._moment(), Connect(name))

    def _publications(self, name: str, stream: str | None, count: int) -> None:
        """Spread out, or in bursts."""
        chance = self._chance
        at_us = self._moment()
        burst = chance.random()
        for _ in range(count):
            if chance.random() >= burst:
                at_us = self._moment()
            self._events += 1
            event_id = f"e{self._events}"
            is_json = chance.random() < 0.97
            text = body(chance) if is_json else "no json"
            self._at(at_us, Publish(name, event_id, text, stream, is_json))
            if chance.random() < 0.05:
                self._at(self._moment(at_us), Publish(name, event_id, text, stream, is_json))

    def _readers(self) -> None:
        chance = self._chance
        for number in range(chance.choice((1, 2, 2, 3, 3, 4, 6))):
            name = f"reader{number + 1}"
            is_abroad = bool(self._abroad) and chance.random() < 0.6
            at = self._abroad if is_abroad else tuple(self._home)
            brokers = chance.sample(at, min(len(at), chance.choice((1, 2, 3))))
            if chance.random() < 0.3 and not is_abroad:  # where something is published
                brokers = list(
                    dict.fromkeys([chance.choice(sorted(self._hosts.values())), *brokers])
                )
            self._clients[name] = ClientPlan(
                principal=chance.choice(READERS),
                brokers=tuple(brokers),
                domain=ABROAD if chance.random() < 0.08 and not is_abroad else None,
                ack_every=chance.choice((1, 1, 3, 10)),
                ack_us=chance.choice((0, 0, MILLISECOND, 100 * MILLISECOND)),
            )
            begin = chance.choice((0, self._moment()))
            self._at(begin, Connect(name))
            self._wishes(name, begin)
            self._comings_and_goings(name, brokers, begin)
            self._answers(name, brokers, begin)

    def _wishes(self, name: str, begin: int) -> None:
        chance = self._chance
        for number in range(chance.choice((1, 1, 2, 3))):
            key = f"{name}-{number + 1}"
            durable = key if chance.random() < 0.45 else None
            wanted = Subscribe(
                name,
                key,
                wish(chance),
                durable=durable,
                causal=chance.random() < 0.25,
                resumed=durable is None and chance.random() < 0.3,
                after=self._beginnings(),
            )
            at_us = chance.choice((begin, self._moment(begin)))
            self._at(at_us, wanted)
            if chance.random() < 0.1:
                self._at(self._moment(at_us), Unsubscribe(name, key))

    def _beginnings(self) -> dict[str, int]:
        """Sometimes a subscription starts in the past: on some streams at their beginning."""
        chance = self._chance
        if chance.random() < 0.7:
            return {}
        return {
            stream: chance.choice((0, 0, 0, 1, 2, 5))
            for stream in self._hosts
            if chance.random() < 0.7
        }

    def _comings_and_goings(self, name: str, brokers: list[str], begin: int) -> None:
        chance = self._chance
        for _ in range(chance.choice((0, 0, 1, 2, 3))):
            at_us = self._moment(begin)
            if chance.random() < 0.4:
                self._at(at_us, Disconnect(name, silently=chance.random() < 0.3))
                at_us = self._moment(at_us)
            self._at(at_us, Connect(name, chance.choice(brokers)))

    def _answers(self, name: str, brokers: list[str], begin: int) -> None:
        """Some readers publish, too: what they publish may be caused by what they heard."""
        chance = self._chance
        here = [stream for stream, host in self._hosts.items() if host in brokers]
        if here and chance.random() < 0.4:
            self._publications(name, chance.choice(here), chance.choice((1, 3, 6)))
        if here and chance.random() < 0.7:
            for _ in range(chance.choice((2, 4, 8))):
                self._events += 1
                answer = Answer(name, f"e{self._events}", body(chance), chance.choice(here))
                self._at(self._moment(begin), answer)

    def _administrators(self) -> None:
        chance = self._chance
        for number in range(chance.choice((0, 1, 1, 1, 2))):
            name = f"admin{number + 1}"
            self._clients[name] = ClientPlan(FOUNDERS[number], (self._policy_host,))
            self._at(0, Connect(name))
            serially = chance.random() < 0.5
            for _ in range(chance.choice((1, 2, 4, 7))):
                action = Administer(name, self._churn.batch(), serially)
                self._at(self._moment_of_others(), action)
        if chance.random() < 0.2:
            self._at(self._moment(), AdministerElsewhere(self._churn.batch()))


def settings(chance: Random) -> dict[str, int | bool]:
    """Limits small enough that a short run meets them."""
    found: dict[str, int | bool] = {
        "lease_us": chance.choice((3, 10, 60)) * SECOND,
        "heartbeat_us": chance.choice((1, 2, 5)) * SECOND,
        "ask_again_us": chance.choice((300, 1_000)) * MILLISECOND,
        "attach_us": chance.choice((1, 5)) * SECOND,
        "redial_us": chance.choice((200, 1_000)) * MILLISECOND,
        "silence_us": chance.choice((20, 100)) * MILLISECOND,
        "cache_records": chance.choice((2, 16, 4_096)),
        "window": chance.choice((1, 4, 32, 1_024)),
        "read_records": chance.choice((1, 4, 512)),
        "checkpoint_records": chance.choice((2, 10, 1_000)),
        "checkpoint_us": chance.choice((1, 60)) * SECOND,
    }
    # In some, a window is full after a delivery or a few, however many it has room for.
    found["window_bytes"] = {2: 1, 10: 200}.get(found["checkpoint_records"], 4 * 1_024 * 1_024)
    if chance.random() < 0.12:
        found["frame_bytes_max"] = chance.choice((8, 32)) * 1_024
    if chance.random() < 0.08:
        found["advertised_only"] = True
    return found


def weather(chance: Random) -> Weather:
    """From one machine room to several continents."""
    link_us = chance.choice((200, MILLISECOND, 5 * MILLISECOND, 40 * MILLISECOND))
    return Weather(
        link_us=link_us,
        jitter_us=chance.choice((0, link_us // 2, 4 * link_us)),
        pieces=chance.choice((0.0, 0.1, 0.5)),
        client_us=chance.choice((100, MILLISECOND, 10 * MILLISECOND)),
        sync_us=chance.choice((100, MILLISECOND, 10 * MILLISECOND)),
        database_us=chance.choice((MILLISECOND, 20 * MILLISECOND)),
    )
