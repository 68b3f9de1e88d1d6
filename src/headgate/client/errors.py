"""What can go wrong between a program and its brokers?

`headgate.stores.acl.UnknownOutcomeError` is raised here too: of what was sent and never answered
nobody knows whether it is stored.
"""

from __future__ import annotations

from typing import final

from headgate.model.errors import HeadgateError


class ClientError(HeadgateError):
    """A broker said no, or nothing at all."""


@final
class UnreachableError(ClientError):
    """No broker answered in time."""


@final
class NotAuthenticatedError(ClientError):
    """A broker doesn't know who is asking: the password, token or certificate is not accepted."""


@final
class ClosedError(ClientError):
    """The program itself has closed the connection."""


@final
class RefusedError(ClientError):
    """A broker refused a request, and says why."""

    def __init__(self, because: str, *, temporary: bool = False) -> None:
        super().__init__(because)
        self.because = because
        self.temporary = temporary
        """Whether it is worth trying again later."""


@final
class DroppedError(ClientError):
    """The broker has ended the connection for good, mostly because the right to connect ended."""

    def __init__(self, because: str) -> None:
        super().__init__(f"the broker has ended the connection: {because}")
        self.because = because


@final
class SubscriptionEndedError(ClientError):
    """The broker has ended a subscription."""

    def __init__(self, because: str) -> None:
        super().__init__(f"the broker has ended the subscription: {because}")
        self.because = because
