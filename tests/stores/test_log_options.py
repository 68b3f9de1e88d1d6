"""Does a log sync unless it is told, by a name that says so, not to?"""

from headgate.stores.files import FilesWithoutSync, RealFiles
from headgate.stores.log_options import LogOptions


def test_a_log_syncs_unless_it_is_told_not_to() -> None:
    assert LogOptions().syncs
    assert type(LogOptions().files()) is RealFiles
    unsafe = LogOptions(durability="unsafe_no_fsync")
    assert not unsafe.syncs
    assert type(unsafe.files()) is FilesWithoutSync


def test_nothing_is_removed_unless_it_is_told_to() -> None:
    retention = LogOptions().retention
    assert (retention.seconds, retention.bytes, retention.own_seconds) == (None, None, None)
    assert not retention.removes_owed
