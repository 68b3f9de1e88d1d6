"""Whose fault is it that a link can't go on: the other end's, or this one's?"""

from __future__ import annotations

from headgate.model.errors import HeadgateError


class PeerError(HeadgateError):
    """The other end sent what it may not send; the link is closed."""


class LocalError(HeadgateError):
    """This end was asked to send what it may not send; nothing was sent."""
