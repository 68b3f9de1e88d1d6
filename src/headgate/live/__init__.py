"""Where the cores meet the world: sockets, disk, clock, threads. Nothing is decided here."""
