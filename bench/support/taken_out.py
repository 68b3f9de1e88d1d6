"""What does a broker cost without access control, or without a disk? One that lacks these.

python -m bench.support.taken_out COMMAND ARGUMENT ...

Runs a Python command, such as `headgate up …`, with that taken out which `TAKEN_OUT` names. Neither
is a setting of the product: this is for measurements alone.

`access control`: a publication is allowed without asking the publisher's rules, and a delivery is
decided by the subscription's filter alone, without the rules of its principal and without a view
cut to them. What stays: the right to connect and to subscribe, which is asked once; the number of
the version in each record and its comparison; the policy's stream.

`reliability`: the log keeps nothing and syncs nothing, so that an acknowledgement says only that
the broker has had the record. What stays: offsets, digests and repetitions; that a record is
told of after its turn in the thread of the log; windows, and what follows a link that is lost.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

import headgate.broker.clients
import headgate.broker.deliveries
import headgate.live.serving
from headgate.gate.delivery import Outcome, Reason, View, Withheld
from headgate.log.records import Record
from headgate.model.events import Event
from headgate.rights.effective import Rights, VersionOfRights
from headgate.rights.requests import Allowed, Answer
from headgate.rights.subscriptions import Subscription
from headgate.stores.disk_log import DiskLog

ACCESS_CONTROL = "access control"
RELIABILITY = "reliability"


def _asked_for(event: Event, version: VersionOfRights, subscription: Subscription) -> Outcome:
    if subscription.filter.matches(event):
        return View(event, version.number)
    return Withheld(version.number, Reason.NOT_ASKED_FOR)


def _allowed(rights: Rights, event: Event) -> Answer:
    return Allowed(())


def _nothing(*_: object) -> None:
    pass


def _forget(self: DiskLog, records: Sequence[Record]) -> None:
    pass


def take_out(what: str) -> None:
    if ACCESS_CONTROL in what:
        headgate.broker.deliveries.gate = _asked_for  # type: ignore[attr-defined]
        headgate.broker.clients.may_publish = _allowed  # type: ignore[attr-defined]
    if RELIABILITY in what:
        DiskLog.append = _forget  # type: ignore[method-assign]
        DiskLog.keep = DiskLog.sync = _nothing  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    take_out(os.environ["TAKEN_OUT"])
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
