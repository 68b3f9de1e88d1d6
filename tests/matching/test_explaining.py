"""Does the explanation say how a filter is indexed, and never call a slow one quick?"""

import subprocess
import sys

from headgate.filters.filter import Filter
from headgate.matching.explaining import Indexing, explain_indexing


def explained(text: str) -> Indexing:
    return explain_indexing(Filter.parse(text))


def test_what_is_looked_up_compared_and_checked_is_named() -> None:
    indexing = explained("a = 'x' AND b LIKE 'p%' AND c > 5 AND 'm' IN s AND d <> 'y' AND e = 5")
    assert indexing.looked_up == ("a = 'x' and e = 5 and b beginning with 'p'",)
    assert indexing.compared == ("c as number",)
    assert indexing.checked == ("d", "s")
    assert indexing.verified == 0
    assert indexing.cost.startswith("exact")


def test_every_kind_of_mark_has_its_words() -> None:
    text = "a = TRUE OR a = 1.5 OR a = 7 OR a = TIMESTAMP '2026-01-01' OR 'm' IN a"
    assert set(explained(text).looked_up) == {
        "a = TRUE",
        "a = 1.5",
        "a = 7",
        "a = TIMESTAMP '2026-01-01T00:00:00Z'",
        "'m' in a",
    }
    assert explained("a > 5").looked_up == ("a present",)
    many = explained(f"a IN ({', '.join(map(str, range(9)))})").looked_up
    assert len(many) == 6
    assert many[-1] == "4 more"


def test_a_filter_that_every_event_is_verified_with_is_called_slow() -> None:
    assert explained("a * b > 5").cost.startswith("slow")
    assert explained("a LIKE '%x'").cost.startswith("candidates are verified")
    assert explained("a = 1 AND b < c").cost.startswith("candidates are verified")
    assert explained("a IS NULL AND a = 1").cost.startswith("never")
    assert explained("TRUE").cost.startswith("exact")


def test_who_only_asks_waits_for_no_compiler() -> None:
    code = "import headgate.matching.explaining, sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
