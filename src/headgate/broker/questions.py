"""What do brokers ask each other by name? Questions and answers, typed and bounded.

Every question may be asked again: whoever answers twice has done it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from headgate.log.records import Offset, ShortText
from headgate.peering.errors import PeerError
from headgate.peering.frames import FilterText, Reason
from headgate.rights.effective import Granted, Rights
from headgate.rights.rules import Rule

Positions = dict[ShortText, tuple[ShortText, Offset]]
"""By stream: its incarnation, and the last offset that is done with."""
Through = tuple[ShortText, ...]
Timeline = tuple[tuple[Offset, tuple[tuple[dict[str, Any], Through], ...]], ...]
Principals = Annotated[tuple[ShortText, ...], Meta(max_length=10_000)]


class AskVersion(Struct, frozen=True, forbid_unknown_fields=True, tag="ask version"):
    """Which version is the newest? Its answer renews the lease."""


class VersionIs(Struct, frozen=True, forbid_unknown_fields=True, tag="version is"):
    version: Offset


class AskRights(Struct, frozen=True, forbid_unknown_fields=True, tag="ask rights"):
    """What may these principals do, now and at the versions before?"""

    principals: Principals
    before: Offset | None = None
    """Only what they could do before this version: an answer may not have held all."""


class RightsAre(Struct, frozen=True, forbid_unknown_fields=True, tag="rights are"):
    version: Offset
    """The version at which this was said: later ones come by `$policy`."""
    timelines: dict[ShortText, Timeline]
    too_large: Principals = ()
    """Of these even what they may do now is more than an answer holds."""


class ReportStarts(Struct, frozen=True, forbid_unknown_fields=True, tag="report starts"):
    """These versions have begun at these offsets of a stream."""

    stream: ShortText
    points: dict[Offset, Offset]


class Noted(Struct, frozen=True, forbid_unknown_fields=True, tag="noted"):
    """It is done, and kept."""


class Take(Struct, frozen=True, forbid_unknown_fields=True, tag="take"):
    """Attach a durable subscription here, and make it if there is none of this name."""

    principal: ShortText
    domain: ShortText | None
    name: ShortText
    filter: FilterText
    causal: bool
    broker: ShortText
    boot: ShortText
    nonce: Offset
    """Who asks again with the same one means the same attachment."""
    existing: bool = False
    """Don't make one: what was made when there was a right to it stays."""


class Taken(Struct, frozen=True, forbid_unknown_fields=True, tag="taken"):
    attachment: Offset
    positions: Positions
    refused: Reason = ""


class KeepPositions(Struct, frozen=True, forbid_unknown_fields=True, tag="keep positions"):
    """A durable subscription's client is done with all up to here; positions only grow."""

    principal: ShortText
    name: ShortText
    attachment: Offset
    positions: Positions
    forget: bool = False
    """The subscription is over for good."""


class PositionsKept(Struct, frozen=True, forbid_unknown_fields=True, tag="positions kept"):
    current: bool
    """False: another attachment has taken the name over."""


class AskOwed(Struct, frozen=True, forbid_unknown_fields=True, tag="ask owed"):
    """Up to where is each durable subscription done with these streams?"""

    streams: dict[ShortText, ShortText]
    """With their incarnations."""


class OwedIs(Struct, frozen=True, forbid_unknown_fields=True, tag="owed is"):
    done: dict[ShortText, Offset]
    """Up to here all of them are; of a stream that isn't named no one is owed anything."""


class TakenOver(Struct, frozen=True, forbid_unknown_fields=True, tag="taken over"):
    """A later attachment has this durable subscription now."""

    principal: ShortText
    name: ShortText
    attachment: Offset
    """The later one."""
    broker: ShortText
    ended: bool = False
    """There is no later one: the subscription was ended for good, by somebody else."""


Question = AskVersion | AskRights | ReportStarts | Take | KeepPositions | AskOwed | TakenOver
Answer = VersionIs | RightsAre | Noted | Taken | PositionsKept | OwedIs

_encoder: Final = msgspec.msgpack.Encoder()
_questions: Callable[[bytes], Question] = msgspec.msgpack.Decoder(Question).decode
_answers: Callable[[bytes], Answer] = msgspec.msgpack.Decoder(Answer).decode


def encode(said: Question | Answer) -> bytes:
    return _encoder.encode(said)


def question(body: bytes) -> Question:
    try:
        return _questions(body)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise PeerError(f"expected a question, found something else: {problem}") from None


def answer(body: bytes) -> Answer:
    try:
        return _answers(body)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise PeerError(f"expected an answer, found something else: {problem}") from None


def granted_to_wire(rights: Rights) -> tuple[tuple[dict[str, Any], Through], ...]:
    return tuple((one.rule.to_json(), one.through) for one in rights.granted)


def rights_from_wire(principal: str, since: int, granted: Any) -> Rights:
    return Rights(
        principal,
        since,
        tuple(Granted(Rule.from_json(rule), tuple(through)) for rule, through in granted),
    )
