"""A seeded world: network, clocks, disks, clients, faults, and the promises that must hold."""
