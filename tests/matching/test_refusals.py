"""Is a refusal of the index one that callers of Headgate catch?"""

from headgate.matching.refusals import MatchingError
from headgate.model.errors import HeadgateError


def test_a_refusal_is_a_refusal_of_headgate_and_a_wrong_value() -> None:
    assert issubclass(MatchingError, HeadgateError)
    assert issubclass(MatchingError, ValueError)
