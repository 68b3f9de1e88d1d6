"""What did John Doe get while his rights changed? Figure 1 of Zhao & Sturman, live.

    python examples/market.py URL DATA

The exchange publishes without a pause, while the administrator changes the policy three times. Each
change has one starting point in the stream: before it the old rights hold, from it on the new ones.
`examples/demo.sh` starts the broker.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

import headgate
from headgate.client.network import Network
from headgate.client.subscriptions import Subscription

POLICY = """\
groups:
  promotional: [{promotional}]
  premium: [{premium}]
  customers: [john, jane]
rules:
  - {{principal: exchange, action: connect}}
  - {{principal: exchange, action: publish}}
  - {{principal: customers, action: connect}}
  - {{principal: customers, action: subscribe, filter: "type = 'closing'", on_excess: restrict}}
  - {{principal: promotional, action: subscribe, filter: "type = 'quote'", on_excess: restrict}}
  - principal: premium
    action: subscribe
    filter: type IN ('quote', 'news', 'report')
    on_excess: restrict
"""
ALL = ("quote", "news", "report")
PHASES = (
    ("John is nobody's customer yet", "", "jane", ()),
    ("John joins the promotional group", "john", "jane", ("quote",)),
    ("John becomes premium", "john", "jane, john", ALL),
    ("John's premium subscription expires", "john", "jane", ("quote",)),
)
"""Of each version: why, who is promotional, who is premium, and what John may receive by it."""
ISSUES = ("ibm", "sunw", "msft")
MESSAGES = 9
"""So many are published between two changes, at least."""
PAUSE_S = 0.1


@dataclass
class Story:
    """What happened, by offset of the one stream."""

    published: dict[int, dict[str, object]] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    """The starting point of each version."""
    got: dict[str, set[int]] = field(default_factory=lambda: {"john": set(), "jane": set()})
    is_open: bool = True
    grew: asyncio.Event = field(default_factory=asyncio.Event)


async def play(url: str, data: Path) -> bool:
    """Whether everybody got what was theirs."""
    story = Story()

    def connect(principal: str) -> Network:
        password, ca = f"the password of {principal}", data / "tls" / "ca.pem"
        return headgate.connect(url, principal=principal, password=password, ca=ca)

    print("\n2. Nobody has a right before there is a policy.")
    await change(story, data)
    async with (
        connect("exchange") as exchange,
        connect("john") as john,
        connect("jane") as jane,
        john.subscribe("issue = 'ibm'") as ibm,
        jane.subscribe() as everything,
    ):
        await asyncio.gather(ibm.begun(), everything.begun())
        print("\n3. John asked for issue = 'ibm', Jane for everything. The market opens.")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(read(story, "john", ibm))
            tasks.create_task(read(story, "jane", everything))
            feed = tasks.create_task(market(story, exchange))
            for step in range(4, 7):
                await more(story)
                print(f"\n{step}. {PHASES[step - 3][0]}, while the market goes on.")
                await change(story, data)
            await more(story)
            story.is_open = False
            await feed
            closing = await exchange.publish({"type": "closing", "issue": "ibm"})
    return tell(story, closing.offset)


async def market(story: Story, exchange: Network) -> None:
    """Quotes, news and reports of three issues, in an order that chance decides."""
    chance = random.Random(4)
    price = dict.fromkeys(ISSUES, 100.0)
    while story.is_open:
        day = list(itertools.product(ALL, ISSUES))
        chance.shuffle(day)
        for kind, issue in itertools.takewhile(lambda _: story.is_open, day):
            event: dict[str, object] = {"type": kind, "issue": issue}
            if kind == "quote":
                price[issue] = round(price[issue] * chance.uniform(0.97, 1.03), 2)
                event["price"] = price[issue]
            said = await exchange.publish(event)
            story.published[said.offset] = event
            story.grew.set()
            await asyncio.sleep(PAUSE_S)


async def more(story: Story) -> None:
    """Wait until so many were published since now."""
    enough = len(story.published) + MESSAGES
    while len(story.published) < enough:
        story.grew.clear()
        await story.grew.wait()


async def read(story: Story, who: str, subscription: Subscription) -> None:
    async for delivery in subscription:
        if delivery.body["type"] == "closing":
            return
        story.got[who].add(delivery.offset)


async def change(story: Story, data: Path) -> None:
    """Apply the next version as an administrator would, and keep its starting point."""
    why, promotional, premium, _ = PHASES[len(story.starts)]
    file = data / "policy.yaml"
    file.write_text(POLICY.format(promotional=promotional, premium=premium))
    words = ("policy", "apply", str(file), "--why", why, "--wait", "30", "--json")
    print(f'$ headgate policy apply policy.yaml --why "{why}" --wait 30 --json')
    asked = await asyncio.create_subprocess_exec("headgate", *words, stdout=asyncio.subprocess.PIPE)
    said, _ = await asked.communicate()
    if asked.returncode:
        raise SystemExit(asked.returncode)
    print(said.decode(), end="")
    answer = json.loads(said)
    story.starts[answer["version"]] = answer["starting_points"]["events"]


def tell(story: Story, closing: int) -> bool:
    """Each message with who got it; and whether that is what the policy says."""
    print("\n7. What was published, and who got it:\n")
    right = {"john": set[int](), "jane": set[int]()}
    begins = {offset: version for version, offset in story.starts.items()}
    version = 1
    for offset in range(min(begins), closing):
        if offset in begins:
            version = begins[offset]
            print(f"  {offset:>4}  -- version {version} begins: {PHASES[version - 1][0]}")
        event = story.published.get(offset)
        if event is None:
            continue
        if event["issue"] == "ibm" and event["type"] in PHASES[version - 1][3]:
            right["john"].add(offset)
        right["jane"].add(offset)
        got = " ".join(f"{who if offset in seen else '':4}" for who, seen in story.got.items())
        what = f"{event['type']} {event['issue']} {event.get('price', '')}"
        print(f"  {offset:>4}  {what:<22}  {got}".rstrip())
    print()
    for who, expected in right.items():
        same = "exactly what" if expected == story.got[who] else "NOT what"
        print(f"{who} got {len(story.got[who])} messages, {same} the version of each allows.")
    return right == story.got


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(play(sys.argv[1], Path(sys.argv[2]))) else 1)
