"""The promises of the network, each with a checker of its name."""
