"""How large may a long proof be today: small for every test run, large for `make soak`?"""

import os
from typing import Final

PROFILE_VARIABLE: Final = "HEADGATE_PROOFS"
PROFILES: Final = ("test", "soak")
COUNTED: Final = "counted"
"""What a test records under this name is shown in the summary."""


def profile() -> str:
    """The name of the profile in force; a misspelt one must not pass for a soak."""
    name = os.environ.get(PROFILE_VARIABLE, "test")
    if name not in PROFILES:
        raise ValueError(f"expected `{PROFILE_VARIABLE}` to be `test` or `soak`, got `{name}`")
    return name


def proof_size(test: int, soak: int) -> int:
    """The number of examples, steps or seeds of one proof under the profile in force."""
    return soak if profile() == "soak" else test
