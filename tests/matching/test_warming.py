"""Is nothing left to compile once an index is warm?"""

import subprocess
import sys

CODE = """
from headgate.matching.warming import warm_up
from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from numba.core import event
warm_up()
compiled = []
class Listener(event.Listener):
    def on_start(self, e): compiled.append(e.data)
    def on_end(self, e): pass
event.register("numba:compile", Listener())
index = FilterIndex()
texts = ["a = 'x' AND b < 2", "b > 5 OR c LIKE 'x%y'", "'m' IN s", "a NOT IN ('x', 'y')"]
index.update(add=((n, Filter.parse(texts[n % 4])) for n in range(400)))
index.match_events([{"a": "x", "b": 1.5}])
index.match_json(['{"a": "x", "b": 1.5}'], known=[{"$t": "x"}])
index.match_columns({"a": ["x"], "b": [1]})
index.update(remove=range(100))
index.match_json([b"{}", b"[]"])
assert not compiled, compiled
"""


def test_a_warm_process_compiles_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
