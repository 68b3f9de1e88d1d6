"""How does a client publish? Each event under its own id, until there is an answer that stands."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from headgate.broker.effects import Published, RequestRefused
from headgate.simulation.schedules import Answer, Publish
from headgate.simulation.sessions import PublicationAsked

if TYPE_CHECKING:
    from headgate.simulation.clients import Client


@final
class Outbox:
    """What a client still has to publish, and what is under way."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: deque[Publish] = deque()
        self._answers: deque[Answer] = deque()
        self._asked: dict[int, Publish] = {}
        self._resting = 0
        """Publications that wait before they are tried again."""
        self.published_count = 0
        self.refused_count = 0

    @property
    def is_empty(self) -> bool:
        return not self._waiting and not self._asked and not self._resting

    def add(self, publication: Publish) -> None:
        self._waiting.append(publication)
        self.connected()

    def answer(self, answer: Answer) -> None:
        self._answers.append(answer)

    def heard(self) -> None:
        """A delivery: what was to be its answer goes out."""
        if self._answers:
            one = self._answers.popleft()
            self._client.counts["answer published"] += 1
            self.add(Publish(one.client, one.event_id, one.body, one.stream))

    def connected(self) -> None:
        """Send what may be sent."""
        client = self._client
        while client.is_connected and self._waiting and len(self._asked) < client.plan.in_flight:
            self._send(self._waiting.popleft())

    def disconnected(self) -> None:
        """What has no answer is asked again, under the same event id, wherever that will be."""
        if self._asked:
            self._client.counts["publication without answer"] += len(self._asked)
        self._waiting.extendleft(reversed(self._asked.values()))
        self._asked.clear()

    def published(self, answer: Published) -> None:
        if answer.repeated:
            self._client.counts["publication known already"] += 1
        if self._asked.pop(answer.request, None) is not None:
            self.published_count += 1
        self.connected()

    def refused(self, answer: RequestRefused) -> None:
        publication = self._asked.pop(answer.request, None)
        if publication is None:
            return
        if answer.temporary:
            self._client.counts["publication refused for now"] += 1
            self._resting += 1
            self._client.timeline.after(self._client.backoff(), self._again, publication)
        else:
            self._client.counts["publication refused"] += 1
            self.refused_count += 1
        self.connected()

    def _again(self, publication: Publish) -> None:
        self._resting -= 1
        self._waiting.appendleft(publication)
        self.connected()

    def _send(self, publication: Publish) -> None:
        body = publication.body.encode()
        asked = PublicationAsked(
            publication.stream, publication.event_id, body, publication.is_json, publication.known
        )
        request = self._client.ask(
            asked,
            lambda core, client, request, now: core.publish(
                client,
                request,
                body,
                publication.event_id,
                now,
                stream=publication.stream,
                is_json=publication.is_json,
                known=publication.known,
            ),
        )
        self._asked[request] = publication
        self._client.timeline.after(self._client.plan.patience_us, self._lose_patience, request)

    def _lose_patience(self, request: int) -> None:
        """No answer: the same once more, or the same elsewhere."""
        publication = self._asked.get(request)
        session = self._client.session
        if publication is None or session is None:
            return
        if self._client.chance.random() < 0.5:
            self._client.give_up(session, "a publication has no answer")
            return
        self._client.counts["publication repeated"] += 1
        del self._asked[request]
        self._send(publication)
