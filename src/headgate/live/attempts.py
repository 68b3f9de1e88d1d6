"""May somebody try another password? So many wrong ones in a while, and no more.

What is counted lies in a table of fixed size, in which several names may share a place: a flood of
names can make the broker stricter, never forgetful, and takes no memory.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from array import array
from typing import final

PLACES = 2**16


@final
class Attempts:
    """A bucket of attempts for each name, which fills up again with time."""

    def __init__(self, attempts_max: int, window_s: float) -> None:
        self._most = float(attempts_max)
        self._per_s = attempts_max / window_s
        self._left = array("d", [self._most]) * PLACES
        self._seen_s = array("d", [0.0]) * PLACES
        # Nobody outside can tell who shares a place with whom.
        self._key = secrets.token_bytes(16)

    def take(self, name: str, now_s: float) -> float | None:
        """Take one attempt; where there is none, say in how many seconds there will be."""
        place = self._place(name)
        left = min(
            self._most, self._left[place] + max(0.0, now_s - self._seen_s[place]) * self._per_s
        )
        self._seen_s[place] = now_s
        if left < 1:
            self._left[place] = left
            return (1 - left) / self._per_s
        self._left[place] = left - 1
        return None

    def give_back(self, name: str) -> None:
        """The attempt was right: it doesn't count."""
        self._left[self._place(name)] += 1

    def _place(self, name: str) -> int:
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=4, key=self._key)
        return int.from_bytes(digest.digest()) % PLACES


def household(address: str) -> str:
    """Whose address it is: an IPv6 network of 64 bits is one household's."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
