"""Which policy files are refused, where, and with which words? And which are read?"""

from __future__ import annotations

from typing import NamedTuple

RULE = "rules:\n  - "
SUBSCRIBE = "{principal: a, action: subscribe"
TEST = "rules: []\ntests:\n  - {who: a, "


class Bad(NamedTuple):
    """A file that the reader refuses; whether a schema can see why."""

    text: str
    refusal: str
    by_schema: bool = True


WIDE = " AND ".join(f"(a{n} = 1 OR b{n} = 1)" for n in range(12))
MANY = ", ".join(f"a{n}" for n in range(1001))

BAD = [
    # the whole
    Bad("", "1:1: expected `groups`, `rules` and `tests`, found nothing"),
    Bad("# only this\n", "1:1: expected `groups`, `rules` and `tests`, found nothing"),
    Bad("[]", "1:1: expected a policy file, a mapping, found a list"),
    Bad("groups: {}", "1:1: expected `rules` in a policy file, found none"),
    Bad("rules:\n", "1:7: expected a list of rules, found nothing: write `[]` for none"),
    Bad("rules: {}", "1:8: expected a list of rules, found a mapping"),
    Bad(
        "rules: []\nrulez: 1",
        "2:1: expected a key of a policy file, found `rulez`: did you mean `rules`?",
    ),
    Bad(
        "rules: []\nversion: 1",
        "2:1: expected a key of a policy file, found `version`: "
        "it has `groups`, `rules` or `tests`",
    ),
    # rules
    Bad(RULE + "a", "2:5: expected a rule, a mapping, found `a`"),
    Bad(RULE + "{action: connect}", "2:5: expected `principal` in a rule, found none"),
    Bad(RULE + "{principal: a}", "2:5: expected `action` in a rule, found none"),
    Bad(
        RULE + "{principal: a, acton: subscribe}",
        "2:20: expected a key of a rule, found `acton`: did you mean `action`?",
    ),
    Bad(
        RULE + "{principal: a, action: subscibe}",
        "2:28: expected `connect`, `publish`, `advertise` or `subscribe`, found `subscibe`: "
        "did you mean `subscribe`?",
    ),
    Bad(
        RULE + "{principal: , action: subscribe}",
        "2:17: expected the name of a principal, found nothing",
    ),
    Bad(
        RULE + "{principal: ~, action: subscribe}",
        "2:17: expected the name of a principal, found `~` (in quotes it is a text: `'~'`)",
    ),
    Bad(
        RULE + "{principal: '', action: subscribe}",
        "2:17: expected the name of a principal (1 to 256 printable characters), found ``",
    ),
    Bad(
        RULE + "{principal: [a], action: subscribe}",
        "2:17: expected the name of a principal, found a list",
    ),
    Bad(
        RULE + "{principal: $x, action: subscribe}",
        "2:17: `$x` begins with `$`, which is kept for the broker itself",
    ),
    Bad(
        RULE + "{principal: 'a ', action: subscribe}",
        "2:17: expected the name of a principal (1 to 256 printable characters), found `a `",
    ),
    Bad(
        RULE + "{principal: a, action: connect, allow: yes}",
        "2:44: expected `true` or `false`, found `yes`",
    ),
    Bad(
        RULE + "{principal: a, action: connect, allow: 'true'}",
        "2:44: expected `true` or `false`, found `true` in quotes",
    ),
    Bad(
        RULE + "{principal: a, action: connect, allow: 1}",
        "2:44: expected `true` or `false`, found `1`",
    ),
    Bad(
        RULE + "{principal: a, action: connect, filter: x = 1}",
        "2:5: a rule for `connect` takes `allow` and no bounds",
    ),
    Bad(
        RULE + SUBSCRIBE + ", allow: false}",
        "2:5: only a rule for `connect` takes `allow: false`: rights are positive",
    ),
    Bad(RULE + SUBSCRIBE + ", filter: [a]}", "2:47: expected a filter, found a list"),
    Bad(
        RULE + SUBSCRIBE + ", filter: ''}",
        "2:47: expected an attribute or a value, found the end (filter, column 1)",
    ),
    Bad(
        RULE + SUBSCRIBE + ", filter: 'price >'}",
        "2:47: expected an attribute or a value, found the end (filter, column 8)",
        by_schema=False,
    ),
    Bad(
        RULE + SUBSCRIBE + ", lower: 'x ='}",
        "2:46: expected an attribute or a value, found the end (filter, column 4)",
        by_schema=False,
    ),
    Bad(
        "rules:\n  - principal: a\n    action: subscribe\n"
        "    filter: |\n      type = 'q' AND\n      price >\n",
        "4:13: expected an attribute or a value, found the end (filter, line 3, column 1)",
        by_schema=False,
    ),
    Bad(
        RULE + SUBSCRIBE + ", filter: 'a + b > 5'}",
        "2:47: expected a filter that can be analysed, found arithmetic or a comparison of "
        "attributes in `a + b > 5`",
        by_schema=False,
    ),
    Bad(
        RULE + SUBSCRIBE + ", lower: 'a < b'}",
        "2:46: expected a filter that can be analysed, found arithmetic or a comparison of "
        "attributes in `a < b`",
        by_schema=False,
    ),
    Bad(
        RULE + SUBSCRIBE + f", attributes: [{MANY}]}}",
        "2:51: expected at most 1,000 attributes, found 1,001",
    ),
    Bad(
        RULE + SUBSCRIBE + ", attributes: []}",
        "2:51: expected a list of attributes, found an empty one, which names nothing",
    ),
    Bad(RULE + SUBSCRIBE + ", attributes: a}", "2:51: expected a list of attributes, found `a`"),
    Bad(RULE + SUBSCRIBE + ", attributes: }", "2:51: expected a list of attributes, found nothing"),
    Bad(
        RULE + SUBSCRIBE + ", attributes: [a, a]}",
        "2:55: expected each name once, found `a` again",
    ),
    Bad(
        RULE + SUBSCRIBE + ", attributes: ['']}",
        "2:52: expected one of the attributes, found an empty text",
    ),
    Bad(
        RULE + SUBSCRIBE + ", topics: []}",
        "2:47: expected a list of topics, found an empty one, which names nothing",
    ),
    Bad(
        RULE + SUBSCRIBE + ", strict: uper}",
        "2:47: expected `neither`, `upper`, `lower` or `both`, found `uper`: did you mean `upper`?",
    ),
    Bad(
        RULE + SUBSCRIBE + ", strict: lower}",
        "2:5: `strict: lower` needs a lower bound: give it with `lower`",
    ),
    Bad(
        RULE + SUBSCRIBE + ", on_excess: drop}",
        "2:50: expected `restrict` or `refuse`, found `drop`",
    ),
    Bad(
        RULE + "{principal: a, action: publish, on_excess: refuse}",
        "2:5: `on_excess` is for `subscribe`: other requests are refused anyway",
    ),
    Bad(
        RULE + "{principal: a, action: advertise, attributes: [x]}",
        "2:5: a rule for `advertise` takes no `attributes` or `topics`",
    ),
    Bad(
        RULE + SUBSCRIBE + ", validity: 2026}",
        "2:49: expected a validity, a mapping, found `2026`",
    ),
    Bad(
        RULE + SUBSCRIBE + ", validity: {till: 2026-01-01}}",
        "2:50: expected a key of a validity, found `till`: it has `from` or `until`",
    ),
    Bad(
        RULE + SUBSCRIBE + ", validity: {from: tomorrow}}",
        "2:56: expected a timestamp like `2026-01-31T12:00:00Z`, found `tomorrow`",
    ),
    Bad(
        RULE + SUBSCRIBE + ", validity: {from: 2026-02-30}}",
        "2:56: `2026-02-30` is no moment in time: day is out of range for month",
        by_schema=False,
    ),
    Bad(
        RULE + SUBSCRIBE + ", validity: {from: 2026-02-01, until: 2026-01-01}}",
        "2:5: `validity` ends before it begins",
        by_schema=False,
    ),
    Bad(
        RULE + SUBSCRIBE + ", via: [abc]}",
        "2:39: expected no `via`: certificates write it, not people",
    ),
    Bad(
        RULE + SUBSCRIBE + "}\n  - {action: subscribe, principal: a, filter: TRUE}",
        "3:5: expected each rule once, found that of line 2 again",
        by_schema=False,
    ),
    # groups
    Bad("rules: []\ngroups: [a]", "2:9: expected groups with their members, found a list"),
    Bad(
        "rules: []\ngroups:\n  a:\n",
        "3:5: expected a list of members, found nothing: write `[]` for none",
    ),
    Bad("rules: []\ngroups: {a: b}", "2:13: expected a list of members, found `b`"),
    Bad("rules: []\ngroups: {a: [b, b]}", "2:17: expected each name once, found `b` again"),
    Bad(
        "rules: []\ngroups: {a: [{b: c}]}",
        "2:14: expected the name of a principal, found a mapping",
    ),
    Bad(
        "rules: []\ngroups: {$a: []}",
        "2:10: `$a` begins with `$`, which is kept for the broker itself",
    ),
    Bad(
        "rules: []\ngroups: {a: [a]}",
        "2:14: expected groups without a cycle, found `a` in `a`",
        by_schema=False,
    ),
    Bad(
        "rules: []\ngroups:\n  d: [b]\n  a: [x, b]\n  b: [c]\n  c: [y, a]\n",
        "4:10: expected groups without a cycle, found `b` in `a` in `c` in `b`",
        by_schema=False,
    ),
    # tests
    Bad("rules: []\ntests: {}", "2:8: expected a list of tests, found a mapping"),
    Bad(
        "rules: []\ntests:\n  - {event: {}, expect: {}}",
        "3:5: expected `who` in a test, found none",
    ),
    Bad(TEST + "event: {}}", "3:5: expected `expect` in a test, found none"),
    Bad(TEST + "expect: {}}", "3:5: expected `event` in a test, found none"),
    Bad(
        TEST + "event: {}, expect: null}",
        "3:33: expected the view, a mapping, or `withheld`, found `null`",
    ),
    Bad(
        TEST + "event: {}, expect: witheld}",
        "3:33: expected the view, a mapping, or `withheld`, found `witheld`",
    ),
    Bad(
        TEST + "event: {}, expects: withheld}",
        "3:25: expected a key of a test, found `expects`: did you mean `expect`?",
    ),
    Bad(
        TEST + "event: [], expect: withheld}",
        "3:21: expected an event, a mapping, found a list",
    ),
    Bad(
        TEST + "event: {}, filter: 'x >', expect: {}}",
        "3:33: expected an attribute or a value, found the end (filter, column 4)",
        by_schema=False,
    ),
    *(
        Bad(
            TEST + f"event: {{x: {value}}}, expect: withheld}}",
            f"3:25: expected a value as in JSON, or a text in quotes, found `{value}`",
            by_schema=False,
        )
        for value in ("no", "On", "010", "0o17", "0x1F", "1_000", "+1", ".5", "12:30", ".nan")
    ),
    Bad(
        TEST + "event: {x: 2026-01-31}, expect: withheld}",
        "3:25: expected a value as in JSON, or a text in quotes, found `2026-01-31`",
        by_schema=False,
    ),
    Bad(
        TEST + "event: {x: 9223372036854775808}, expect: withheld}",
        "3:21: `x` is an integer beyond 64 bits: send it as a string",
        by_schema=False,
    ),
    Bad(
        TEST + f"event: {{x: {'9' * 5000}}}, expect: withheld}}",
        f"3:25: expected an integer of 64 bits, found `{'9' * 60}…`",
        by_schema=False,
    ),
    Bad(
        TEST + "event: {x: 1e999}, expect: withheld}",
        "3:21: `x` is inf: an event holds finite numbers only",
        by_schema=False,
    ),
    Bad(
        TEST + "event: {a.b: 1, a: {b: 2}}, expect: withheld}",
        "3:21: two fields come to the same attribute name `a.b`: rename one",
        by_schema=False,
    ),
    Bad(
        TEST + "event: {$time: now}, expect: withheld}",
        "3:21: expected a timestamp like `2026-01-31T12:00:00Z`, found `now`",
        by_schema=False,
    ),
]

INTERFACE = """\
groups:
  premium: [jane, james]
rules:
  - {principal: premium, action: connect, allow: true}
  - principal: premium
    action: subscribe
    filter: "type = 'quote' OR type = 'news' OR type = 'report'"
    attributes: [type, symbol, price]        # default: all
    lower: "EXISTS(type)"                    # optional lower bound
    strict: upper                            # upper | lower | both; default neither
    on_excess: restrict                      # restrict | refuse
  - {principal: ward-7, action: subscribe, topics: [cardiology, billing]}
"""

GOOD = [
    INTERFACE,
    "rules: []",
    "rules: []\ngroups: {}\ntests: []\n",
    "# yaml\n%YAML 1.2\n---\nrules: []\n...\n",
    "{rules: [{principal: no, action: connect}]}",
    RULE + "{principal: 007, action: connect, allow: FALSE}",
    RULE + "{principal: a, action: connect, filter: TRUE, strict: neither}",
    RULE + SUBSCRIBE + ", filter: TRUE, allow: true}",
    RULE + SUBSCRIBE + ", filter: urgent, strict: both, lower: urgent, on_excess: refuse}",
    RULE + "{principal: a, action: publish, attributes: [1, yes, x], topics: [t]}",
    RULE + "{principal: a, action: advertise, lower: x > 1, strict: lower}",
    RULE + SUBSCRIBE + ", validity: {from: 2026-01-01, until: 2027-01-01T00:00:00+02:00}}",
    RULE + SUBSCRIBE + ", validity: {}}",
    "rules: []\ngroups: {a: [b, off], b: [], off: [b]}",
    "rules: []\ngroups:\n  a: &people [x, y]\n  b: *people\n",
    TEST + "event: {}, expect: withheld}",
    TEST + "event: {x: 1.5, y: [a], z: {q: null}}, name: it, filter: x < y, expect: {x: true}}",
    TEST + "domain: d, event: {$topic: a/b}, expect: 'withheld'}",
]
