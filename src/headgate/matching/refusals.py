"""Why was a change of an index, or a batch, refused?"""

from __future__ import annotations

from headgate.model.errors import HeadgateError


class MatchingError(HeadgateError, ValueError):
    """A change of an index, or a batch, was refused; the index is as it was."""
