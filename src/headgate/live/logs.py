"""What does a broker write down for whoever runs it? Lines on stderr, for people or as JSON.

Whatever stands in a field may come from a stranger: it is cut to a bound and made printable, so
that no line can be forged and no terminal told what to do. Of a secret only its name is written.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, Literal, TextIO

import structlog

from headgate.model.errors import printable

CHARS_MAX: Final = 500
"""Of one field."""
FAULT_CHARS_MAX: Final = 20_000
"""Of where a fault came from: the only field of several lines."""
LEVELS: Final[Mapping[str, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
SECRETS: Final = frozenset({"authorization", "cookie", "password", "secret", "token"})

Format = Literal["text", "json"]


class _Sink:
    """Where lines go; one for the process."""

    def __init__(self) -> None:
        self.level = LEVELS["warning"]
        self.stream: TextIO | None = None
        self.render: Any = _for_people()

    def msg(self, line: str) -> None:
        stream = self.stream or sys.stderr
        with suppress(OSError, ValueError):  # nobody reads: no reason to end a broker
            stream.write(line + "\n")
            stream.flush()

    debug = info = warning = error = exception = critical = msg


def configure(level: str = "info", format: Format = "text", stream: TextIO | None = None) -> None:
    """Say what is written, how and where; what libraries log goes the same way."""
    _SINK.level = LEVELS[level]
    _SINK.stream = stream
    _SINK.render = structlog.processors.JSONRenderer() if format == "json" else _for_people()
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not isinstance(one, _FromLibraries)]
    root.addHandler(_FromLibraries())
    root.setLevel(max(_SINK.level, LEVELS["warning"]))


class _FromLibraries(logging.Handler):
    """What asyncio and others have to say, as lines of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        said = {"exc_info": record.exc_info} if record.exc_info else {}
        level = "error" if record.levelno >= logging.ERROR else "warning"
        getattr(log, level)("from a library", library=record.name, said=record.getMessage(), **said)


def _for_people() -> Any:
    plain = structlog.dev.plain_traceback
    return structlog.dev.ConsoleRenderer(colors=False, pad_event_to=24, exception_formatter=plain)


def _wanted(_: Any, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if LEVELS.get(method, LEVELS["error"]) < _SINK.level:
        raise structlog.DropEvent
    return line


def _bounded(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Each field as it may be shown: short, and on its line."""
    return {name: _shown(name, value) for name, value in line.items()}


def _shown(name: str, value: object) -> object:
    if name in SECRETS:
        return "(secret)"
    if name == "exception":
        return "\n".join(map(printable, str(value)[:FAULT_CHARS_MAX].splitlines()))
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value):,} bytes"
    text = str(value)
    return printable(text[:CHARS_MAX]) + ("…" if len(text) > CHARS_MAX else "")


def _rendered(logger: Any, method: str, line: MutableMapping[str, Any]) -> str:
    return str(_SINK.render(logger, method, line))


_SINK = _Sink()
log: Final[structlog.typing.FilteringBoundLogger] = structlog.wrap_logger(
    _SINK,
    processors=[
        _wanted,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _bounded,
        _rendered,
    ],
    wrapper_class=structlog.stdlib.BoundLogger,
)
"""What every adapter writes to: an event in a few words, and fields."""
