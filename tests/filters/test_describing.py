"""Are value sets told in words that say exactly what is in them?"""

import pytest

from headgate.filters.describing import describe
from headgate.filters.filter import Filter
from headgate.filters.value_sets import ABSENT, EVERYTHING, NOTHING, VALUES

SAID = {
    "x = 5": "number 5",
    "x IN (3, 1, 2)": "number 1, 2, 3",
    "x <> 5": "number other than 5",
    "x NOT IN (1, 2.5)": "number other than 1, 2.5",
    "x > 100": "number > 100",
    "x >= 0.5 AND x < 10": "number >= 0.5 and < 10",
    "x > 9007199254740993": "number >= 9007199254740994.0",
    "x IS INTEGER AND x > 100": "integer >= 101",
    "x IS DOUBLE AND x <= 100": "double <= 100",
    "x IS NUMBER": "any number",
    "x IS INTEGER": "any integer",
    "x < 5 AND (x IS DOUBLE OR x > 3)": "integer >= 4 and <= 4 or double < 5",
    "x = 'IBM'": "'IBM'",
    "x IN ('b', 'a')": "'a', 'b'",
    "x <> 'it''s'": "text other than 'it''s'",
    "x LIKE 'IB%'": "text beginning with 'IB'",
    "x LIKE 'IB%' OR x = 'a'": "'a' or text beginning with 'IB'",
    "x > 'a' AND x <= 'm'": "text > 'a' and <= 'm'",
    "x >= 'a'": "text >= 'a'",
    "x IS STRING": "any text",
    "x LIKE '%a_c%'": "text LIKE '%a_c%'",
    "x LIKE '%50!%' ESCAPE '!'": "text LIKE '%50\\%'",
    "x LIKE '%a%' AND x NOT LIKE '%b%'": "text LIKE '%a%' and NOT LIKE '%b%'",
    "x LIKE '%a%' AND x >= 'm'": "text >= 'm' LIKE '%a%'",
    "x": "TRUE",
    "NOT x": "FALSE",
    "x IS BOOLEAN": "any boolean",
    "x = TIMESTAMP '2026-01-31'": "TIMESTAMP '2026-01-31T00:00:00Z'",
    "x > TIMESTAMP '2026-01-31'": "timestamp > TIMESTAMP '2026-01-31T00:00:00Z'",
    "x <= TIMESTAMP '2026-01-31'": "timestamp <= TIMESTAMP '2026-01-31T00:00:00Z'",
    "x IS TIMESTAMP": "any timestamp",
    "'a' IN x AND NOT ('b' IN x)": "set with 'a' and without 'b'",
    "x IS NULL": "missing",
    "x IS NULL OR x < 5": "number < 5 or missing",
    "x IS NOT NULL": "any value",
    "x < 5 AND x > 6": "nothing",
    "x IS NOT STRING": (
        "any number or any boolean or any timestamp or any set or any opaque value or missing"
    ),
}


@pytest.mark.parametrize(("text", "said"), SAID.items())
def test_a_value_set_is_told_in_words(text: str, said: str) -> None:
    (box,) = Filter.parse(text).boxes
    assert describe(box.sets["x"]) == said


def test_the_sets_that_every_other_is_made_from_have_words() -> None:
    assert describe(EVERYTHING) == "any value or missing"
    assert describe(VALUES) == "any value"
    assert describe(ABSENT) == "missing"
    assert describe(NOTHING) == "nothing"
