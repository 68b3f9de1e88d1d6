"""Does what is said of damage name the file, the stream, the offsets, and what to do?"""

from headgate.log.records import LogError
from headgate.stores.damage import Damage, DamagedLogError, LogBrokenError

PART = Damage("journal/00000001.log", "its bytes are others", "orders", 3, 5)


def test_damage_names_file_stream_and_offsets() -> None:
    assert str(PART) == "`journal/00000001.log`, `orders` offset 3 to 5: its bytes are others"
    assert "`orders` offset 3: " in str(Damage("file", "why", "orders", 3, 3))
    assert str(Damage("manifest.json", "it is missing")) == "`manifest.json`: it is missing"


def test_a_log_with_much_damage_says_the_first_and_how_much_more() -> None:
    damaged = DamagedLogError([PART] * 7, "restore it")
    assert str(damaged).startswith("the log is damaged: `journal/00000001.log`, `orders` offset")
    assert str(damaged).endswith("; and 2 more: restore it")
    assert len(damaged.damages) == 7


def test_both_are_errors_of_the_log() -> None:
    assert issubclass(DamagedLogError, LogError)
    assert issubclass(LogBrokenError, LogError)
