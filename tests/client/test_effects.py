"""Is every effect of a conversation carried out?"""

from typing import get_args

from headgate.client.effects import Effect
from headgate.client.network import _PERFORM


def test_the_network_has_something_to_do_for_each() -> None:
    assert set(_PERFORM) == set(get_args(Effect))
