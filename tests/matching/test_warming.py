"""Is nothing left to compile once an index is warm?"""

import subprocess
import sys

CODE = """
from headgate.matching.warming import warm_up
from headgate.filters.filter import Filter
from headgate.matching import compiled
from headgate.matching.index import FilterIndex
warm_up()

def loaded():
    return {
        (function.__module__, function.__name__): len(function.overloads)
        for function in compiled._stamps
    }

before = loaded()
index = FilterIndex()
texts = [
    "a = 'x' AND b < {n}", "b > {n} OR c LIKE 'x%y'", "'m' IN s", "a NOT IN ('x', 'y')",
    "b BETWEEN {n} AND 9000", "a IS NULL AND t > TIMESTAMP '2026-01-01'",
    "a = 'x{n}' AND b = {n}",
]
def some(start, end):
    return [(n, Filter.parse(texts[n % 7].format(n=n))) for n in range(start, end)]
index.update(add=some(0, 3000))
index.match_events([{"a": "x", "b": 1.5}, {"a": 5, "s": ["m"], "b": True}])
index.match_json(['{"a": "x", "b": 1.5}'], known=[{"$t": "x"}])
index.match_columns({"a": ["x"], "b": [1], "s": [["m"]]})
index.update(remove=range(100), add=some(3000, 3010))
index.match_json([b"{}", b"[]"] * 50)
index.update(remove=range(100, 2900))
index.match_json([b"{}", b"[]"] * 50)
index.update(remove=[n for n in range(2900, 3010)])
index.match_json([b"{}"])
more = {name: count for name, count in loaded().items() if count != before[name]}
assert not more, more
"""


def test_a_warm_process_compiles_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
