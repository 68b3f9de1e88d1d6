"""Do the web server's limits agree with each other, and with those of events?"""

from headgate.live.web.limits import CHUNK_BYTES, LOGIN_BYTES_MAX, WebLimits
from headgate.model.limits import EVENT_LIMITS


def test_an_event_fits_where_it_has_to() -> None:
    limits = WebLimits()
    assert limits.body_bytes >= EVENT_LIMITS.event_bytes
    assert limits.frame_bytes >= EVENT_LIMITS.event_bytes * 4 // 3
    assert limits.bodies_bytes >= limits.body_bytes


def test_who_stalls_is_let_go_before_who_answers_no_ping() -> None:
    limits = WebLimits()
    assert limits.heartbeat_s < limits.silent_s < 1.5 * limits.silent_s
    assert LOGIN_BYTES_MAX < CHUNK_BYTES
