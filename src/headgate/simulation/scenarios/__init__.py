"""Which runs are tried? Those of seeds, and those with a name, registered by being imported."""

from headgate.simulation.scenarios import (  # noqa: F401
    client_rules,
    removal_rules,
    session_rules,
    version_rules,
)
