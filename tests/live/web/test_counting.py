"""Are requests counted, with how long they took?"""

from prometheus_client import CollectorRegistry

from headgate.live.web.counting import WebCounts


def test_requests_are_counted_by_route_and_status() -> None:
    registry = CollectorRegistry()
    counts = WebCounts(registry)
    counts.answered("publish", 200, 0.01)
    counts.answered("publish", 200, 0.01)
    counts.answered("subscribe", 200, 3_600)
    labels = {"route": "publish", "status": "200"}
    assert registry.get_sample_value("headgate_http_requests_total", labels) == 2
    assert registry.get_sample_value("headgate_http_seconds_count", {"route": "publish"}) == 2
    assert registry.get_sample_value("headgate_log_ins_failed_total", {"how": "unknown"}) == 0
    counts.answered("log_in", 401, 0.01)
    counts.answered("log_in", 429, 0.01)
    for how in ("unknown", "too often"):
        assert registry.get_sample_value("headgate_log_ins_failed_total", {"how": how}) == 1
    # What lasts as long as somebody listens says nothing of how quick the broker is.
    assert registry.get_sample_value("headgate_http_seconds_count", {"route": "subscribe"}) is None
