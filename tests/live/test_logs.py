"""A line says what happened in fields that can be read, and never more than that."""

import json
import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from headgate.live import logs
from headgate.live.logs import CHARS_MAX, FAULT_CHARS_MAX, Format, configure, log


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    kept = (logs._SINK.level, logs._SINK.stream, logs._SINK.render)
    yield
    logs._SINK.level, logs._SINK.stream, logs._SINK.render = kept
    logging.getLogger().handlers = handlers
    logging.getLogger().setLevel(level)


def written(level: str = "info", form: Format = "json") -> StringIO:
    stream = StringIO()
    configure(level, form, stream)
    return stream


def said(stream: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_for_machines_is_json() -> None:
    stream = written()
    log.info("link up", broker="b2", link=3)
    (line,) = said(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "link up", "level": "info", "broker": "b2", "link": 3}


def test_a_line_for_people_can_be_read() -> None:
    stream = written(form="text")
    log.warning("link refused", who="10.0.0.1", because="too many")
    (line,) = stream.getvalue().splitlines()
    assert "warning" in line
    assert line.split("link refused")[1].split() == ["because='too", "many'", "who=10.0.0.1"]


def test_only_what_is_grave_enough_is_written() -> None:
    stream = written("warning")
    log.debug("one")
    log.info("two")
    log.warning("three")
    log.error("four")
    assert [line["event"] for line in said(stream)] == ["three", "four"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_nobody_forges_a_line_or_commands_a_terminal(form: Format) -> None:
    stream = written(form=form)
    log.info("client dropped", because="\x1b[2J\r\n2026 error\x00\u202e\u2028", who=b"\x1b[2J")
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert all(char.isprintable() for char in text.rstrip("\n"))


def test_a_field_is_no_longer_than_its_bound() -> None:
    stream = written()
    log.info("client dropped", because="x" * 10_000_000, said=["y"] * 1_000_000)
    (line,) = said(stream)
    assert line["because"] == "x" * CHARS_MAX + "…"
    assert len(line["said"]) == CHARS_MAX + 1


def test_of_a_secret_only_the_name_is_written() -> None:
    stream = written()
    log.info("log-in", name="jane", password="hunter2", token="t0k3n", authorization="Basic x")
    assert "hunter2" not in stream.getvalue()
    assert [said(stream)[0][name] for name in ("name", "password")] == ["jane", "(secret)"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_where_a_fault_came_from_is_written_in_its_lines(form: Format) -> None:
    stream = written(form=form)
    try:
        raise ValueError("\x1b[2J" + "x" * 100_000)
    except ValueError as fault:
        log.error("a fault", exc_info=fault)
    text = stream.getvalue()
    assert "test_logs.py" in text
    assert "\x1b" not in text
    assert len(text) < FAULT_CHARS_MAX + 1_000


def test_what_a_library_has_to_say_becomes_a_line() -> None:
    stream = written()
    logging.getLogger("asyncio").error("task %s is lost", "x\n")
    logging.getLogger("asyncio").info("not that")
    try:
        raise ValueError("oh dear")
    except ValueError:
        logging.getLogger("aiohttp").exception("a fault")
    first, second = said(stream)
    assert (first["library"], first["said"]) == ("asyncio", "task x? is lost")
    assert "oh dear" in second["exception"]


def test_to_configure_again_writes_each_line_once() -> None:
    written()
    stream = written()
    logging.getLogger("asyncio").error("once")
    assert len(said(stream)) == 1


def test_nobody_reading_is_no_reason_to_end() -> None:
    stream = written()
    stream.close()
    log.error("into the void")
