"""Can it be told whose fault it is that a link can't go on?"""

from headgate.model.errors import HeadgateError
from headgate.peering.errors import LocalError, PeerError


def test_the_other_ends_fault_is_told_from_ours_and_both_are_refusals() -> None:
    assert issubclass(PeerError, HeadgateError)
    assert issubclass(LocalError, HeadgateError)
    assert not issubclass(PeerError, LocalError)
    assert not issubclass(LocalError, PeerError)
