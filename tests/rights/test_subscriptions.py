"""Is a subscription in the name of somebody who can have rights?"""

import pytest

from headgate.rights.rules import EVERYTHING, PolicyError
from headgate.rights.subscriptions import Subscription
from tests.rights.policies import subscription


def test_a_subscription_without_a_filter_asks_for_everything() -> None:
    assert Subscription("p").filter == EVERYTHING
    assert Subscription("p").domain is None
    assert subscription("p", "a=1", "d") == subscription("p", "(a = 1)", "d")


@pytest.mark.parametrize("name", ["", "$broker", "a\n", "x" * 257])
def test_a_name_that_can_have_no_rights_can_not_subscribe_nor_be_a_domain(name: str) -> None:
    for principal, domain in ((name, None), ("p", name)):
        with pytest.raises(PolicyError):
            Subscription(principal, domain=domain)
