"""What do filters and events cost? Against the same work by hand, or a plain library's.

python -m bench.filters [--quick]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from bench import QUICK, micro, nano, profile, seconds_each, table, times, title
from headgate.filters import boxes, parsing, value_sets
from headgate.filters.compiling import compile_condition
from headgate.filters.filter import Filter
from headgate.filters.syntax import names_in
from headgate.model.events import Event

AIM_MATCHING = 3.0
AIM_COVERING_MICROSECONDS = 200

QUOTE: dict[str, object] = {
    "type": "quote",
    "symbol": "HGT",
    "title": "Headgate opens the sluice",
    "region": "eu-west",
    "price": 120.5,
    "bid": 120.25,
    "ask": 120.75,
    "volume": 300,
    "active": True,
    "venue": "north",
}
SYMBOLS = frozenset(f"S{number}" for number in range(19)) | {"HGT"}
SYMBOL_LIST = ", ".join(f"'{symbol}'" for symbol in sorted(SYMBOLS))
PARTS = re.compile(".*g.te.*sluice", re.DOTALL)

Attributes = Mapping[str, Any]


class Contest(NamedTuple):
    """A filter, what one would write by hand, and the fields that make it fail."""

    label: str
    text: str
    hand: Callable[[Attributes], bool]
    failing: dict[str, object]
    """The quote with these fields doesn't match; a field that is `None` is missing."""


def _five(e: Attributes) -> bool:
    return (
        e.get("type") == "quote"
        and e.get("venue") == "north"
        and (price := e.get("price")) is not None
        and price > 100
        and (volume := e.get("volume")) is not None
        and volume >= 100
        and e.get("active") is True
    )


def _two_parts(e: Attributes) -> bool:
    title: str | None = e.get("title")
    if title is None:
        return False
    at = title.find("gate")
    return at >= 0 and title.find("sluice", at + 4) >= 0


def _one_of_five(e: Attributes) -> bool:
    return (
        e.get("type") == "trade"
        or e.get("region") == "us-east"
        or ((price := e.get("price")) is not None and price < 1)
        or e.get("venue") == "south"
        or ((volume := e.get("volume")) is not None and volume >= 300)
    )


def _negated(e: Attributes) -> bool:
    return ((type_ := e.get("type")) is not None and type_ != "trade") or (
        (price := e.get("price")) is not None and price <= 100
    )


CONTESTS = [
    Contest("equality", "type = 'quote'", lambda e: e.get("type") == "quote", {"type": "trade"}),
    Contest(
        "equality and range",
        "type = 'quote' AND price > 100",
        lambda e: (
            e.get("type") == "quote" and (price := e.get("price")) is not None and price > 100
        ),
        {"price": 99},
    ),
    Contest(
        "5 constraints",
        "type = 'quote' AND venue = 'north' AND price > 100 AND volume >= 100 AND active",
        _five,
        {"active": False},
    ),
    Contest(
        "IN of 20",
        f"symbol IN ({SYMBOL_LIST})",
        lambda e: e.get("symbol") in SYMBOLS,
        {"symbol": None},
    ),
    Contest(
        "LIKE 'x%'",
        "region LIKE 'eu-%'",
        lambda e: (region := e.get("region")) is not None and region.startswith("eu-"),
        {"region": "us-east"},
    ),
    Contest(
        "LIKE '%x%'",
        "title LIKE '%opens%'",
        lambda e: (title := e.get("title")) is not None and "opens" in title,
        {"title": "Headgate is closed"},
    ),
    Contest("LIKE '%x%y%'", "title LIKE '%gate%sluice%'", _two_parts, {"title": "Headgate"}),
    Contest(
        "LIKE 'x_y'",
        "region LIKE 'eu_west'",
        lambda e: (
            (region := e.get("region")) is not None
            and len(region) == 7
            and region.startswith("eu")
            and region.endswith("west")
        ),
        {"region": "eu-east"},
    ),
    Contest(
        "LIKE '%x_y%z%'",
        "title LIKE '%g_te%sluice%'",
        lambda e: (title := e.get("title")) is not None and PARTS.match(title) is not None,
        {"title": "Headgate"},
    ),
    Contest(
        "OR of 5",
        "type = 'trade' OR region = 'us-east' OR price < 1 OR venue = 'south' OR volume >= 300",
        _one_of_five,
        {"volume": None},
    ),
    Contest(
        "NOT",
        "NOT (type = 'trade' AND price > 100)",
        _negated,
        {"type": "trade"},
    ),
    Contest(
        "BETWEEN",
        "price BETWEEN 100 AND 200",
        lambda e: (price := e.get("price")) is not None and 100 <= price <= 200,
        {"price": 201},
    ),
    Contest(
        "price * volume > 1000",
        "price * volume > 1000",
        lambda e: (
            (price := e.get("price")) is not None
            and (volume := e.get("volume")) is not None
            and price * volume > 1000
        ),
        {"volume": 1},
    ),
    Contest(
        "price / volume > 0.1",
        "price / volume > 0.1",
        lambda e: (
            (price := e.get("price")) is not None
            and (volume := e.get("volume")) is not None
            and price / volume > 0.1
        ),
        {"volume": 10_000},
    ),
    Contest(
        "bid < ask",
        "bid < ask",
        lambda e: (
            (bid := e.get("bid")) is not None and (ask := e.get("ask")) is not None and bid < ask
        ),
        {"ask": 1.0},
    ),
]


def _event(changes: Mapping[str, object]) -> Event:
    fields = {**QUOTE, **changes}
    return Event.of({name: value for name, value in fields.items() if value is not None})


def measure_matching() -> None:
    title("Is it matched? Against a condition written by hand in Python")
    rows = []
    for contest in CONTESTS:
        one = Filter.parse(contest.text)
        for outcome, changes in {"yes": {}, "no": contest.failing}.items():
            event = _event(changes)
            values = dict(event.attributes)
            truths = one.matches(event), one.matches(values), contest.hand(values)
            assert truths == (outcome == "yes",) * 3, contest.text
            each = seconds_each(
                {
                    "hand": "hand(values)",
                    "raw": "raw(values)",
                    "event": "one.matches(event)",
                    "mapping": "one.matches(values)",
                },
                {
                    "hand": contest.hand,
                    "raw": compile_condition(one.condition),
                    "one": one,
                    "event": event,
                    "values": values,
                },
            )
            ratio = each["event"] / each["hand"]
            rows.append(
                [
                    contest.label,
                    outcome,
                    nano(each["hand"]),
                    times(each["raw"] / each["hand"]),
                    times(ratio),
                    _judged(ratio, AIM_MATCHING),
                    times(each["mapping"] / each["hand"]),
                ]
            )
    head = ["filter", "matched", "by hand ns", "compiled", "matches(event)", "aim 3 ×"]
    table([*head, "matches(mapping)"], rows)
    print("A mapping is read and checked as an event first, at every call.")

    print("\nWhere the time of `matches` on a mapping goes:")
    one, values = Filter.parse(CONTESTS[2].text), dict(_event({}).attributes)
    profile(lambda: [one.matches(values) for _ in range(20 if QUICK else 2_000)])


def _judged(figure: float, aim: float) -> str:
    return "kept" if figure <= aim else "MISSED"


def _condition(constraints: int) -> str:
    kinds = (
        "a{0} = 'text{0}'",
        "b{0} > {0}",
        "c{0} BETWEEN {0} AND 1{0}",
        "d{0} LIKE 'text{0}%'",
        "e{0} IN ('x{0}', 'y{0}', 'z{0}')",
    )
    return " AND ".join(kinds[at % len(kinds)].format(at) for at in range(constraints))


def measure_reading() -> None:
    title("Reading a filter, in µs")
    rows = []
    for size in (1, 2, 5, 10, 50):
        text = _condition(size)
        node = parsing.parse(text)
        tokens = len(list(parsing._PARSER.lex(text)))
        each = seconds_each(
            {
                "all": "Filter.parse(text)",
                "parse": "parse(text)",
                "form": "boxes_where_true(node)",
                "names": "names_in(node)",
                "compile": "compile_condition(node)",
            },
            {
                "Filter": Filter,
                "parse": parsing.parse,
                "boxes_where_true": boxes.boxes_where_true,
                "names_in": names_in,
                "compile_condition": compile_condition,
                "text": text,
                "node": node,
            },
        )
        rows.append(
            [
                str(size),
                str(tokens),
                micro(each["all"]),
                micro(each["all"] / tokens),
                *(
                    f"{micro(each[name])} ({100 * each[name] / each['all']:.0f} %)"
                    for name in ("parse", "form", "names")
                ),
                micro(each["compile"]),
            ]
        )
    head = ["constraints", "tokens", "all", "per token", "parse and build", "normal form"]
    table([*head, "names", "compiling, at the first match"], rows)


def _rule(number: int, constraints: int = 5) -> str:
    """One rule of a right: a topic, a region, a range, a prefix, a list, and further ranges."""
    tests = [
        f"topic = 'topic{number}'",
        f"region IN ('eu-{number}', 'us-{number}', 'asia')",
        f"level BETWEEN {number} AND {number + 100}",
        f"path LIKE 'plant/{number}/%'",
        "severity >= 3",
        *(f"extra{at} > {at}" for at in range(5, constraints)),
    ]
    return " AND ".join(tests[:constraints])


def _right(rules: int, constraints: int = 5) -> Filter:
    return Filter.parse(" OR ".join(f"({_rule(at, constraints)})" for at in range(rules)))


def _covering_row(label: str, outer: Filter, inner: Filter, covered: bool) -> list[str]:
    assert outer.covers(inner) is covered, label
    each = seconds_each(
        {"again": "outer.covers(inner)", "first": "forget()\nouter.covers(inner)"},
        {"outer": outer, "inner": inner, "forget": _forget},
    )
    slowest = each["first"] * 1e6
    return [
        label,
        "yes" if covered else "no",
        micro(each["again"]),
        micro(each["first"]),
        _judged(slowest, AIM_COVERING_MICROSECONDS),
    ]


COVERING_HEAD = ["covered", "again", "first time", f"aim {AIM_COVERING_MICROSECONDS} µs"]


def _forget() -> None:
    """Texts that fit LIKE patterns are remembered; without that it is as at the first time."""
    value_sets.forget()


def _ranges(rules: int) -> Filter:
    """A right of ranges of one attribute, of which a subscription may need several."""
    return Filter.parse(
        " OR ".join(
            f"(topic = 'meter' AND region LIKE 'eu-%' AND site = 'plant'"
            f" AND severity >= {at} AND level >= {10 * at} AND level < {10 * at + 12})"
            for at in range(rules)
        )
    )


METER = "topic = 'meter' AND region = 'eu-1' AND severity > 100 AND site = 'plant'"


def measure_covering() -> None:
    title("Does a right cover a subscription? In µs; a right is 10 rules of 5 constraints")
    right, ranges = _right(10), _ranges(10)
    narrow = "topic = 'topic7' AND region = 'asia' AND level = 50 AND path = 'plant/7/a'"
    same = Filter.parse(_rule(7))
    cases: list[tuple[str, Filter, str, bool]] = [
        ("by one rule, 5 constraints", right, f"{narrow} AND severity > 4", True),
        ("by one rule, the same text", right, str(same), True),
        ("by a union of 3 rules", ranges, f"{METER} AND level BETWEEN 21 AND 41", True),
        ("by a union of 10 rules", ranges, f"{METER} AND level BETWEEN 0 AND 101", True),
        ("not, 1 constraint", right, "topic = 'topic7'", False),
        ("not, 2 constraints", right, "topic = 'topic7' AND severity = 4", False),
        ("not, 3 constraints", right, "topic = 'topic7' AND severity = 4 AND level = 50", False),
        ("not, 5 constraints", right, f"{narrow} AND severity > 1", False),
        ("not, another topic", right, narrow.replace("topic7", "other"), False),
        ("not by a union: one gap", ranges, f"{METER} AND level BETWEEN 21 AND 120", False),
        ("not by a union: no topic", ranges, "site = 'plant' AND severity > 100", False),
    ]
    rows = [
        _covering_row(label, outer, Filter.parse(text), covered)
        for label, outer, text, covered in cases
    ]
    table(["subscription", *COVERING_HEAD], rows)

    print("\nWhere the time goes:")
    pairs = [(outer, Filter.parse(text)) for _, outer, text, _ in cases]
    turns = 3 if QUICK else 200
    profile(lambda: [outer.covers(inner) for _ in range(turns) for outer, inner in pairs], 12)


def measure_covering_growth() -> None:
    title("How does `covers` grow? In µs")
    cases: list[tuple[str, Filter, Filter, bool]] = [
        (
            f"last of {rules} rules of 5 constraints",
            _right(rules),
            Filter.parse(_rule(rules - 1)),
            True,
        )
        for rules in (1, 3, 10, 30, 100)
    ]
    for rules in (3, 10, 30, 100):
        inner = Filter.parse(f"{METER} AND level BETWEEN 0 AND {10 * rules}")
        cases.append((f"all of {rules} rules together", _ranges(rules), inner, True))
    cases += [
        (
            f"last of 10 rules of {size} constraints",
            _right(10, size),
            Filter.parse(_rule(9, size)),
            True,
        )
        for size in (1, 2, 5, 10, 20)
    ]
    for length in (5, 50, 500):
        listed = ", ".join(f"'v{at}'" for at in range(length))
        outer = Filter.parse(f"value IN ({listed}, 'w')")
        cases.append((f"IN of {length}", outer, Filter.parse(f"value IN ({listed})"), True))
    for count in (1, 2, 3):
        likes = Filter.parse(" OR ".join(f"text LIKE '%word{at}%'" for at in range(count)))
        within, beside = (Filter.parse(f"text LIKE '{one}'") for one in ("%a word0 b%", "%word%"))
        cases.append((f"OR of {count} LIKE '%x%'", likes, within, True))
        cases.append((f"OR of {count} LIKE '%x%'", likes, beside, False))
    for count in (1, 20):
        listed = ", ".join(f"'text {at} with word0 inside'" for at in range(count))
        inner = Filter.parse(f"text IN ({listed})")
        for text, covered in (("%word0%", True), ("%t_xt%word0%", True), ("%word1%", False)):
            outer = Filter.parse(f"text LIKE '{text}'")
            cases.append((f"LIKE '{text}', of {count} texts", outer, inner, covered))
    table(
        ["right", *COVERING_HEAD],
        [_covering_row(*case) for case in cases],
    )

    print("\nThe four relations, on the right of 10 rules and one of its rules:")
    right, inner = _right(10), Filter.parse(_rule(7))
    relations = {
        "filter": "right.covers(inner)",
        "filter, strict": "right.covers_strictly(inner)",
        "advertisement": "right.covers_advertisement(inner)",
        "advertisement, strict": "right.covers_advertisement_strictly(inner)",
    }
    each = seconds_each(relations, {"right": right, "inner": inner})
    rows = [
        [name, micro(seconds), times(seconds / each["filter"])] for name, seconds in each.items()
    ]
    table(["relation", "µs", "of the first"], rows)


def _body(attributes: int) -> dict[str, object]:
    """A body with about so many attributes, a quarter of them nested."""
    body: dict[str, object] = {}
    for at in range(attributes):
        values = (f"text number {at}", at, at + 0.5, at % 2 == 0)
        if at % 4 == 3:
            inner = body.setdefault(f"group{at % 3}", {})
            assert isinstance(inner, dict)
            inner[f"inner{at}"] = values[at // 4 % 4]
        else:
            body[f"field{at}"] = values[at // 4 % 4]
    body["tags"] = ["one", "two"]
    return body


def measure_events() -> None:
    title("Reading and writing events, against msgspec alone")
    rows = []
    for size in (5, 20, 100, 900):
        body = _body(size)
        data = msgspec.json.encode(body)
        event = Event.from_json(data)
        half = frozenset(list(event.attributes)[::2])
        each = seconds_each(
            {
                "decode": "decode(data)",
                "from_json": "Event.from_json(data)",
                "of": "Event.of(body)",
                "encode": "encode(body)",
                "to_json": "event.to_json()",
                "cut": "event.cut(half)",
                "cut_json": "event.cut(half).to_json()",
            },
            {
                "decode": msgspec.json.Decoder().decode,
                "encode": msgspec.json.Encoder().encode,
                "Event": Event,
                "data": data,
                "body": body,
                "event": event,
                "half": half,
            },
        )
        rows.append(
            [
                str(len(event.attributes)),
                str(len(data)),
                micro(each["decode"]),
                times(each["from_json"] / each["decode"]),
                times(each["of"] / each["decode"]),
                micro(each["encode"]),
                times(each["to_json"] / each["encode"]),
                times(each["cut"] / each["encode"]),
                times(each["cut_json"] / each["encode"]),
            ]
        )
    head = ["attributes", "bytes", "decode µs", "from_json", "of", "encode µs", "to_json", "cut"]
    table([*head, "cut, to_json"], rows)
    print("Reading is in multiples of msgspec's decode, writing and cutting of its encode.")

    print("\nWhere the time of `from_json` goes, 20 attributes:")
    data = msgspec.json.encode(_body(20))
    profile(lambda: [Event.from_json(data) for _ in range(20 if QUICK else 2_000)])


def main() -> None:
    if QUICK:
        print("A quick run: it shows that everything runs, not how fast.")
    measure_matching()
    measure_reading()
    measure_covering()
    measure_covering_growth()
    measure_events()


if __name__ == "__main__":
    main()
