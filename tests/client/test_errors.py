"""Can a program tell what went wrong?"""

from __future__ import annotations

import pickle

import pytest

from headgate.client import errors
from headgate.model.errors import HeadgateError


def test_all_of_them_are_refusals_of_headgate() -> None:
    for kind in (
        errors.UnreachableError, errors.NotAuthenticatedError, errors.ClosedError,
        errors.RefusedError, errors.DroppedError, errors.SubscriptionEndedError,
    ):  # fmt: skip
        assert issubclass(kind, errors.ClientError)
        assert issubclass(kind, HeadgateError)


@pytest.mark.parametrize("kind", [errors.DroppedError, errors.SubscriptionEndedError])
def test_the_reason_is_there_alone_too(
    kind: type[errors.DroppedError] | type[errors.SubscriptionEndedError],
) -> None:
    error = kind("no rule lets `jane` connect")
    assert error.because == "no rule lets `jane` connect"
    assert str(error).endswith(": no rule lets `jane` connect")


def test_it_is_known_whether_a_refusal_is_worth_another_try() -> None:
    assert errors.RefusedError("no lease", temporary=True).temporary
    assert not errors.RefusedError("no rule").temporary
    assert str(pickle.loads(pickle.dumps(errors.ClosedError("closed")))) == "closed"
