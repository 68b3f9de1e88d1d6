"""Are the usual settings such that a program gets along with a broker's limits?"""

from headgate.client.settings import Settings
from headgate.live.web.limits import WebLimits
from headgate.model.limits import EVENT_LIMITS


def test_a_broker_takes_what_is_said_together() -> None:
    usual, limits = Settings(("https://localhost",)), WebLimits()
    assert usual.in_flight_max <= limits.in_flight
    largest = EVENT_LIMITS.event_bytes * 4 // 3
    assert usual.text_bytes_max + largest <= limits.frame_bytes


def test_a_silent_broker_is_noticed_later_than_it_says_that_it_is_there() -> None:
    usual, limits = Settings(("https://localhost",)), WebLimits()
    assert usual.silence_us + usual.answer_us > limits.heartbeat_s * 1_000_000
