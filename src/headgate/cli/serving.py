"""`headgate up`: a broker that serves until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headgate.cli.output import print_json, print_line, print_note, print_rows
from headgate.model.errors import named

if TYPE_CHECKING:
    from headgate.live.config import Config
    from headgate.live.serving import Serving

BROKEN = 1
"""The exit code when the broker couldn't go on, or a check found something wrong."""
KILLED = 130
"""The exit code when it was told to stop a second time."""
TURN_S = 0.000_5
"""After so long a thread that waits for the interpreter is let in."""
COLLECTED_AT = (100_000, 50, 100)
"""So many more objects that can be in a cycle, and so many collections of what is younger."""


@click.command(
    name="up",
    epilog="""Examples:

\b
    headgate up
    headgate up --config headgate.toml --check
    headgate up --config network.toml --broker b1

Stops in good order on Ctrl-C or SIGTERM, at once on the second one; SIGHUP makes it read its
certificate again. Exit codes: 0 stopped as told, 1 it couldn't go on or a check found something, 2
it can't start like this, 130 stopped at once.
""",
)
@click.option(
    "--config", "path", metavar="FILE", type=click.Path(path_type=Path), envvar="HEADGATE_CONFIG",
    help="The settings, as TOML; or set HEADGATE_CONFIG. Everything has a default.",
)  # fmt: skip
@click.option("--broker", metavar="NAME", help="Which broker of the settings this is.")
@click.option("--data", metavar="DIR", help="Where everything is kept, in place of the settings.")
@click.option("--check", is_flag=True, help="Say what is wrong with the settings, and don't start.")
@click.option("--json", "as_json", is_flag=True, help="With `--check`: for programs.")
@click.option("--ready-fd", type=int, hidden=True)
def up(
    path: Path | None,
    broker: str | None,
    data: str | None,
    check: bool,
    as_json: bool,
    ready_fd: int | None,
) -> None:
    """Serve as a broker, alone or as one of a network, until told to stop.

    Without settings it serves HTTPS on localhost and keeps everything in `headgate-data`; a
    certificate and an administrator's token are made at the first start.
    """
    from headgate.live.config import read_config

    config = read_config(path, os.environ, broker, data)
    if check:
        sys.exit(_check(config, as_json))
    if as_json:
        raise click.UsageError("`--json` goes with `--check`")
    sys.exit(_run(config, ready_fd))


def _check(config: Config, as_json: bool) -> int:
    from headgate.live.config_problems import problems

    found = problems(config)
    if as_json:
        print_json({"broker": config.broker, "problems": found, "unsafe": config.unsafe})
        return BROKEN if found else 0
    for problem in found:
        print_line(problem)
    for choice in config.unsafe:
        print_note("unsafe", choice)
    if not found:
        print_line(f"the broker {named(config.broker)} can start with these settings")
    return BROKEN if found else 0


def _run(config: Config, ready_fd: int | None) -> int:
    from headgate.live import logs
    from headgate.matching.loading import LOADING

    LOADING.beside(_in_a_thread)
    logs.configure(config.logging.level, config.logging.format)
    _allow_files(config.limits.connections)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(config, ready_fd))


def _in_a_thread(work: Callable[[], None]) -> None:
    """Begin some work for whose end nobody waits, not even the end of the process."""
    Thread(target=work, name="headgate-index", daemon=True).start()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is to be had."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _allow_files(connections: int) -> None:
    """Let the process open as many files as its connections need, as far as it may."""
    from headgate.live.config_problems import FILES_BESIDE

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + FILES_BESIDE
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _collect_seldom() -> None:
    """Look for garbage in cycles seldom, and never among what is there for good.

    A broker keeps thousands of records and leaves few cycles: by default a third of its time goes
    to walking through what it keeps.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AT)


def _take_turns_often() -> None:
    """Let the thread that syncs go on soon after the disk has answered.

    By default Python lets a thread wait for 5 ms while another one is busy; a sync takes less.
    """
    sys.setswitchinterval(TURN_S)


async def _serve(config: Config, ready_fd: int | None) -> int:
    from headgate.live.serving import Serving

    serving = Serving(config)
    told = _told_to_stop()
    starting = asyncio.create_task(serving.start())
    await _first_of(starting, told)
    if not starting.done():  # nobody waits for a broker that isn't wanted any more
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await starting
        return 0
    await starting
    _collect_seldom()
    _take_turns_often()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, serving.reload)
    _introduce(serving)
    announcing = asyncio.create_task(_announce(serving, ready_fd))
    await _first_of(serving.node.ended, told)
    announcing.cancel()
    if told.done():
        print_line("stopping: what was accepted is stored first (Ctrl-C again: at once)")
    await serving.stop()
    if serving.node.ended.done() and (fault := serving.node.ended.exception()) is not None:
        click.echo(f"headgate: {fault}", err=True)
        return BROKEN
    print_line("stopped")
    return 0


def _told_to_stop() -> asyncio.Future[None]:
    """Done with the first signal; the second one ends the process where it stands.

    What was acknowledged is stored: to be killed is nothing that a broker has to be afraid of.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def hear() -> None:
        if told.done():
            os._exit(KILLED)
        told.set_result(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, hear)
    return told


async def _first_of(*waiting: asyncio.Future[Any]) -> None:
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)


def _introduce(serving: Serving) -> None:
    """What is served where, by whom it may be asked, and how it ends."""
    config = serving.config
    rows = [("http", serving.url), ("data", f"`{config.directory}`")]
    if serving.links_port is not None:
        neighbours = config.topology.neighbours(config.broker)
        rows.append(
            ("links", f"port {serving.links_port}, neighbours: {', '.join(neighbours) or 'none'}")
        )
    rows.append(("streams", ", ".join(config.streams) or "none: it serves those of others"))
    rows.append(("policy", _policy_of(config)))
    if serving.authority_file is not None:
        rows.append(
            ("tls", f"a certificate for development: clients trust `{serving.authority_file}`")
        )
    if serving.admin_token is not None:
        rows.append(("administrator", f"whoever has the token in `{serving.admin_token}`"))
    if config.identities.administrators:
        rows.append(("administrators", ", ".join(config.identities.administrators)))
    rows += [("unsafe", choice) for choice in config.unsafe]
    print_line(f"the broker {named(config.broker)} serves (process {os.getpid()})")
    print_rows(rows, 2)
    print_line("Ctrl-C stops it.")


def _policy_of(config: Config) -> str:
    if not config.hosts_policy:
        return f"kept by {named(config.network.policy_host)}"
    # In a URL there may be a password.
    where = "a database" if "://" in config.policy_store else f"`{config.policy_store}`"
    return f"kept here, in {where}"


async def _announce(serving: Serving, ready_fd: int | None) -> None:
    """Tell whoever started this process when it can decide, as `headgate network up` asks."""
    if ready_fd is None:
        return
    await serving.until_ready()
    ready = {"url": serving.url, "links_port": serving.links_port, "boot": serving.boot}
    with suppress(OSError):  # whoever asked is gone
        os.write(ready_fd, msgspec.json.encode(ready) + b"\n")
    os.close(ready_fd)
