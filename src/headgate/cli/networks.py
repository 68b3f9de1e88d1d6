"""`headgate network`: all brokers of a network on one machine, up and down by one command."""

from __future__ import annotations

import os
import select
import shlex
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headgate.cli.output import counted, print_line, print_note, print_table
from headgate.model.errors import HeadgateError, named

if TYPE_CHECKING:
    from headgate.live.config import Config
    from headgate.live.processes import Process, Started

BROKEN = 1
READY_S = 120.0
LOG_LINES = 5
BESIDE_STOP_S = 5.0
"""What a process needs to end, beside what its broker may take."""


class NetworkError(HeadgateError):
    """The network can't be started or stopped like this."""


_config_option = click.option(
    "--config", "path", metavar="FILE", type=click.Path(path_type=Path), required=True,
    envvar="HEADGATE_CONFIG", help="The settings of all brokers; or set HEADGATE_CONFIG.",
)  # fmt: skip
_data_option = click.option(
    "--data", metavar="DIR", help="Where everything is kept, in place of the settings."
)


@click.group(
    name="network",
    epilog="""Example:

    headgate network up --config examples/network/network.toml
""",
)
def network_group() -> None:
    """All brokers of a network on this machine."""


@network_group.command(
    name="up",
    epilog="""Examples:

\b
    headgate network up --config examples/network/network.toml
    headgate network up --config examples/network/network.toml --detach

Each broker writes to `broker.log` in its directory. A broker that ends by itself is named, and the
others go on.
""",
)
@_config_option
@_data_option
@click.option("--detach", is_flag=True, help="Return when all are ready, and let them go on.")
def network_up(path: Path, data: str | None, detach: bool) -> None:
    """Start every broker that FILE describes, and wait until all of them are ready.

    Stops them all on Ctrl-C, unless they were detached.
    """
    configs = _read(path, data)
    _check(configs)
    words = [*_said("--config", str(path)), *_said("--data", data)]
    started: dict[str, Started] = {}
    try:
        with _signals_interrupt():
            for name, config in configs.items():
                started[name] = _start(config, words)
            urls = _wait_until_ready(configs, started)
            _show(configs, started, urls)
            kept = next(iter(configs.values())).shared.absolute()
            print_line(f"`export HEADGATE_DATA={shlex.quote(str(kept))}`: for the other commands")
            if detach:
                print_line(f"`{shlex.join(['headgate', 'network', 'down', *words])}` stops them")
                return
            print_line("Ctrl-C stops them.")
            _watch(configs, started)
    except KeyboardInterrupt:
        print_line("stopping")
        _stop(configs)
    except BaseException:
        _stop(configs)
        raise


@network_group.command(
    name="down",
    epilog="""Example:

    headgate network down --config examples/network/network.toml
""",
)
@_config_option
@_data_option
def network_down(path: Path, data: str | None) -> None:
    """Stop every broker of FILE that `headgate network up` started, and nothing else."""
    stopped = _stop(_read(path, data))
    print_line(f"{counted(stopped, 'broker')} stopped")


def _said(option: str, value: str | None) -> tuple[str, ...]:
    return (option, value) if value is not None else ()


def _read(path: Path, data: str | None) -> dict[str, Config]:
    from headgate.live.config import brokers_of, read_config

    names = brokers_of(path)
    if not names:
        raise NetworkError(
            f"expected `[network.brokers.NAME]` in {named(str(path), 200)}, found none: for one "
            "broker there is `headgate up`"
        )
    return {name: read_config(path, os.environ, name, data) for name in names}


def _check(configs: Mapping[str, Config]) -> None:
    """Nothing is started where one of them couldn't."""
    from headgate.live.config_problems import problems
    from headgate.live.processes import running

    for name, config in configs.items():
        process = running(config.directory)
        if process is not None:
            raise NetworkError(
                f"the broker {named(name)} runs already (process {process.pid}): `headgate network "
                "down` stops all that run, `headgate up --broker NAME` starts one that doesn't"
            )
    found = {problem: name for name, config in configs.items() for problem in problems(config)}
    for problem, name in found.items():
        print_note(name, problem)
    if found:
        raise NetworkError(f"nothing was started: {counted(len(found), 'problem')}")


def _start(config: Config, words: list[str]) -> Started:
    from headgate.live.processes import start

    return start(config.directory, ["up", *words, "--broker", config.broker], os.environ)


def _wait_until_ready(
    configs: Mapping[str, Config], started: Mapping[str, Started]
) -> dict[str, str]:
    """Where each of them serves, once all are ready."""
    waiting = {one.ready: name for name, one in started.items()}
    urls: dict[str, str] = {}
    until = time.monotonic() + READY_S
    while waiting:
        left_s = until - time.monotonic()
        heard, _, _ = select.select(list(waiting), [], [], max(0.0, left_s))
        if not heard:
            late = ", ".join(map(named, waiting.values()))
            raise NetworkError(
                f"not ready after {READY_S:g} s: {late}; "
                f"{_log_of(configs[next(iter(waiting.values()))])}"
            )
        for pipe in heard:
            name = waiting.pop(pipe)
            said = os.read(pipe, 65_536)
            os.close(pipe)
            if not said:
                raise NetworkError(
                    f"the broker {named(name)} ended before it was ready; {_log_of(configs[name])}"
                )
            urls[name] = msgspec.json.decode(said)["url"]
    return urls


def _log_of(config: Config) -> str:
    from headgate.live.processes import LOG_FILE

    path = config.directory / LOG_FILE
    try:
        lines = path.read_text("utf-8", "replace").splitlines()[-LOG_LINES:]
    except OSError:
        lines = []
    return f"the end of {named(str(path), 200)}: {' / '.join(lines) or 'nothing'}"


def _show(
    configs: Mapping[str, Config], started: Mapping[str, Started], urls: Mapping[str, str]
) -> None:
    rows = [("broker", "node", "http", "streams", "process")]
    for name, config in configs.items():
        node = config.topology.node_of[name]
        streams = ", ".join(config.streams) or "-"
        rows.append((name, node, urls[name], streams, str(started[name].child.pid)))
    print_table(rows)
    some = next(iter(configs.values()))
    print_line(f"policy: kept by {named(some.network.policy_host)}; data: `{some.shared}`")


def _watch(configs: Mapping[str, Config], started: Mapping[str, Started]) -> None:
    """Until Ctrl-C: name those that end by themselves."""
    left = {name: one.child for name, one in started.items()}
    while left:
        pid, status = os.wait()
        for name, child in list(left.items()):
            if child.pid == pid:
                del left[name]
                child.returncode = os.waitstatus_to_exitcode(status)
                print_note(
                    "ended", f"{named(name)} (exit {child.returncode}); {_log_of(configs[name])}"
                )
    raise NetworkError("no broker is left")


def _stop(configs: Mapping[str, Config]) -> int:
    """End the brokers that were started here, in good order where they can; how many there were."""
    from headgate.live.processes import running, tell_to_stop, wait_until_gone

    found: dict[str, Process] = {}
    for name, config in configs.items():
        process = running(config.directory)
        if process is not None and tell_to_stop(process):
            found[name] = process
    for name, process in found.items():
        bound_s = 2 * configs[name].limits.stop_s + BESIDE_STOP_S
        if not wait_until_gone(process, bound_s):
            print_note("killed", f"{named(name)} didn't end within {bound_s:g} s")
            tell_to_stop(process, signal.SIGKILL)
            wait_until_gone(process, BESIDE_STOP_S)
    return len(found)


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """SIGTERM and a lost terminal end it as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, interrupt) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
