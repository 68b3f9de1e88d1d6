"""From which message on does a version hold on a stream?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import final

from headgate.rights.rules import PolicyError


@final
class StartingPoints:
    """For each stream the versions that began on it and their first offsets, both growing."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[list[int], list[int]]] = {}

    def begin(self, version: int, stream: str, offset: int) -> None:
        """Record that a version holds on a stream from an offset on."""
        versions, offsets = self._streams.setdefault(stream, ([], []))
        if versions and (version <= versions[-1] or offset < offsets[-1]):
            raise PolicyError(
                f"on `{stream}` version {versions[-1]} began at {offsets[-1]}: version {version} "
                f"can't begin at {offset}, for versions and starting points only grow"
            )
        versions.append(version)
        offsets.append(offset)

    def version_at(self, stream: str, offset: int) -> int:
        """The version in force at an offset: the latest that began at it or before; else 0."""
        versions, offsets = self._streams.get(stream, ([], []))
        index = bisect_right(offsets, offset)
        return versions[index - 1] if index else 0

    def __iter__(self) -> Iterator[tuple[int, str, int]]:
        """Version, stream and offset of each, stream by stream, growing."""
        for stream, (versions, offsets) in sorted(self._streams.items()):
            for version, offset in zip(versions, offsets, strict=True):
                yield version, stream, offset

    def of_version(self, version: int) -> dict[str, int]:
        """Where a version began, by stream: a stream that skipped it began it with a later one."""
        found: dict[str, int] = {}
        for stream, (versions, offsets) in sorted(self._streams.items()):
            later = [offset for at, offset in zip(versions, offsets, strict=True) if at >= version]
            if later:
                found[stream] = later[0]
        return found
