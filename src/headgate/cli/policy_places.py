"""Where is the policy that a command is about: in a store, or at a running broker?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from headgate.cli.brokers import Asked, Command, who_options
from headgate.model.errors import HeadgateError, named
from headgate.rights.history import PolicyHistory

if TYPE_CHECKING:
    from headgate.client.policies import HttpAclStore
    from headgate.stores.acl import AclStore

STORE = "headgate-data"


@dataclass(frozen=True)
class PolicyPlace:
    """A store's directory or address; or a broker, and who is asking there."""

    store: str
    asked: Asked | None = None

    def open(self, *, create: bool) -> AclStore:
        """The policy, for as long as the command runs."""
        if self.asked is not None:
            return self.open_broker()
        from headgate.stores.opening import open_acl_store

        kept = open_acl_store(self.store, create=create)
        click.get_current_context().call_on_close(kept.close)
        return kept

    def open_broker(self) -> HttpAclStore:
        from headgate.client.policies import HttpAclStore
        from headgate.client.rest import Rest

        assert self.asked is not None
        return HttpAclStore(Rest(self.asked.addresses()[0], self.asked.access()))

    def history(self, *, missing_is_empty: bool = False) -> PolicyHistory:
        """All versions that there are; looking at a store doesn't make one."""
        if self.asked is None and "://" not in self.store and not _is_there(self.store):
            if missing_is_empty:
                return PolicyHistory()
            raise HeadgateError(
                f"there is no store in {named(self.store, 200)}: `headgate policy apply` makes "
                "one, and `--store` or HEADGATE_STORE names another"
            )
        return self.open(create=False).history()


def place_options(command: Command) -> Command:
    """`--store`, `--url` and who is asking there; the command is given them as `place`."""

    @wraps(command)
    def called(
        store: str,
        url: str | None,
        token_file: Path | None,
        ca: Path | None,
        certificate: Path | None,
        key: Path | None,
        **more: Any,
    ) -> Any:
        asked = None
        if url is not None and _is_meant(click.get_current_context()):
            asked = Asked((url,), None, token_file, ca, certificate, key)
        return command(place=PolicyPlace(store, asked), **more)

    of_store = click.option(
        "--store", metavar="DIR", envvar="HEADGATE_STORE", default=STORE, show_default=True,
        callback=_check_store, help="Where the policy is kept; or set HEADGATE_STORE.",
    )  # fmt: skip
    of_url = click.option(
        "--url", metavar="URL", envvar="HEADGATE_URL",
        help="Ask this broker instead of a store, as `https://NAME@HOST` with a password; or set "
        "HEADGATE_URL.",
    )  # fmt: skip
    return of_store(of_url(who_options(called)))


def _is_meant(context: click.Context) -> bool:
    """Whether the broker is meant: what was typed counts more than the environment."""
    sources = [context.get_parameter_source(name) for name in ("url", "store")]
    said = [source for source in sources if source is not ParameterSource.DEFAULT]
    if len(said) == 2 and said[0] == said[1]:
        typed = said[0] is ParameterSource.COMMANDLINE
        names = "`--url` or `--store`" if typed else "HEADGATE_URL or HEADGATE_STORE"
        raise click.UsageError(f"say {names}, not both")
    return sources[1] is not ParameterSource.COMMANDLINE


def _check_store(_: click.Context, option: click.Parameter, where: str) -> str:
    """No name at all would be the directory that one happens to be in."""
    if not where:
        raise click.BadParameter("expected a directory, found nothing", param=option)
    return where


def _is_there(where: str) -> bool:
    from headgate.stores.databases import FILE

    try:
        Path(where, FILE).stat()
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise HeadgateError(
            f"can't look for a store in {named(where, 200)}: {problem.strerror}"
        ) from None
    return True
