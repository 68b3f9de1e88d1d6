"""Which broker does a command talk to, and who is asking?

A password is never an option: whoever lists the processes of a machine would see it. For a broker
on this machine the administrator's token is found in the default data directory, by those who may
read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

import click

from headgate.model.errors import HeadgateError, named

if TYPE_CHECKING:
    from headgate.client.access import Access

DEFAULT_URL = "https://localhost:7080"
PASSWORD = "HEADGATE_PASSWORD"  # noqa: S105  the name of a variable
DATA = "HEADGATE_DATA"

Command: TypeAlias = Callable[..., Any]
_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Asked:
    """What a person said of brokers and of who is asking."""

    urls: tuple[str, ...]
    name: str | None
    token_file: Path | None
    ca: Path | None
    certificate: Path | None
    key: Path | None

    def access(self) -> Access:
        """Whom the brokers shall take us for, asking for a password if there has to be one."""
        from headgate.client.access import DATA as DEFAULT_DATA
        from headgate.client.access import Access, local_token

        name = self._name()
        password = token = None
        if self.token_file is not None:
            token = _read_token(self.token_file)
        elif name is not None:
            password = _password(name)
        elif self.certificate is None:
            token = local_token(self.addresses()[0], os.environ)
        data = Path(os.environ.get(DATA) or DEFAULT_DATA)
        return Access(name, password, token, self.ca, self.certificate, self.key, data)

    def addresses(self) -> list[str]:
        """The brokers' addresses, without the name that may stand in them."""
        from headgate.client.access import broker_url

        return [broker_url(_without_name(url)) for url in self.urls]

    def _name(self) -> str | None:
        names = {unquote(said) for url in self.urls if (said := _name_in(url)) is not None}
        if self.name is not None:
            names.add(self.name)
        if len(names) > 1:
            raise click.UsageError(f"say who is asking once, not {' and '.join(sorted(names))}")
        if names and self.token_file is not None:
            raise click.UsageError("a token says who is asking: leave out the name")
        return names.pop() if names else None


def who_options(command: Command) -> Command:
    """`--token-file`, `--ca`, `--certificate` and `--key`."""
    for option in reversed((
        click.option(
            "--token-file", metavar="FILE", type=_FILE, envvar="HEADGATE_TOKEN_FILE",
            help="A file with a token that says who is asking; or set HEADGATE_TOKEN_FILE.",
        ),
        click.option(
            "--ca", metavar="FILE", type=_FILE, envvar="HEADGATE_CA",
            help="Whom to trust that a broker is the one; default: the machine's authorities.",
        ),
        click.option(
            "--certificate", metavar="FILE", type=_FILE, help="Your own certificate, as PEM."
        ),
        click.option("--key", metavar="FILE", type=_FILE, help="Its key, if it stands elsewhere."),
    )):  # fmt: skip
        command = option(command)
    return command


def broker_options(*, several: bool) -> Callable[[Command], Command]:
    """`--url`, `--as` and who is asking; the command is given them as `asked`."""

    def with_options(command: Command) -> Command:
        @wraps(command)
        def called(
            url: tuple[str, ...] | str,
            name: str | None,
            token_file: Path | None,
            ca: Path | None,
            certificate: Path | None,
            key: Path | None,
            **more: Any,
        ) -> Any:
            urls = (url,) if isinstance(url, str) else url
            return command(
                asked=Asked(urls or (DEFAULT_URL,), name, token_file, ca, certificate, key), **more
            )

        of_url = click.option(
            "--url", metavar="URL", multiple=several, envvar="HEADGATE_URL",
            default=None if several else DEFAULT_URL,
            help=f"The broker{', or several of one network' if several else ''}; "
            f"or set HEADGATE_URL. Default: {DEFAULT_URL}.",
        )  # fmt: skip
        of_name = click.option(
            "--as", "name", metavar="PRINCIPAL",
            help=f"Who is asking; the password is asked for, or taken from {PASSWORD}.",
        )  # fmt: skip
        return of_url(of_name(who_options(called)))

    return with_options


def _name_in(url: str) -> str | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None  # refused where the address is read
    if parts.password is not None:
        raise click.UsageError(
            f"others would see a password in an address: leave it out, and set {PASSWORD} or "
            "be asked for it"
        )
    return parts.username or None


def _without_name(url: str) -> str:
    scheme, slashes, rest = url.partition("//")
    place, slash, path = rest.partition("/")
    return f"{scheme}{slashes}{place.rpartition('@')[2]}{slash}{path}"


def _password(name: str) -> str:
    said = os.environ.get(PASSWORD)
    if said is not None:
        return said
    try:
        found: str = click.prompt(f"password of {named(name)}", hide_input=True, err=True)
    except click.Abort:
        raise click.UsageError(f"expected a password: set {PASSWORD}, or say it") from None
    return found


def _read_token(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as problem:
        said = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise HeadgateError(f"can't read a token from {named(str(path), 200)}: {said}") from None
    if not token:
        raise HeadgateError(f"expected a token in {named(str(path), 200)}, found nothing")
    return token
