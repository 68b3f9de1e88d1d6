"""Where is a broker, how do we know that it is the one, and who are we there?

Of a broker on the same machine the certificate authority that it made for itself on its first start
is found in the default data directory, where no other one is named.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, final
from urllib.parse import SplitResult, urlsplit

from headgate.client.errors import ClientError
from headgate.model.errors import named

DEFAULT_URL: Final = "https://localhost:7080"
DATA: Final = "headgate-data"
"""Where a broker keeps what is its own, unless its configuration says otherwise."""
AUTHORITY: Final = Path("tls", "ca.pem")
TOKEN: Final = Path("admin.token")
_PORT: Final = 7080


@final
@dataclass(frozen=True, slots=True)
class Access:
    """Who is asking, and whom to trust; texts that are secret are not shown."""

    principal: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    """The authorities that brokers' certificates come from; else those of the machine."""
    certificate: Path | None = None
    """Our own certificate (PEM), which says who we are; the key may stand in the same file."""
    key: Path | None = None
    data: Path = Path(DATA)
    """Where the authority of a broker on this machine is looked for."""

    def __post_init__(self) -> None:
        if self.token is not None and self.password is not None:
            raise ClientError("expected a token or a password, found both")
        if self.password is not None and not self.principal:
            raise ClientError("expected the name that the password belongs to, found none")
        if self.principal and ":" in self.principal:
            raise ClientError(
                f"expected a name without `:` (RFC 7617), found {named(self.principal)}: log in "
                "with a token or a certificate"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ClientError("expected a token in printable ASCII, found something else")

    def headers(self) -> dict[str, str]:
        """What a request says of who we are."""
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token}"}
        if self.password is not None:
            said = b64encode(f"{self.principal}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {said}"}
        return {}

    def check_for(self, url: str) -> None:
        """What says who we are doesn't leave the machine where others can read it."""
        parts = urlsplit(url)
        if parts.scheme == "http" and self.headers() and not is_local(parts):
            raise ClientError(
                f"expected `https` where a password or token is sent to another machine, found "
                f"{named(url, 200)}"
            )

    def context_for(self, url: str) -> ssl.SSLContext | None:
        """How the broker proves who it is; nothing where it needn't."""
        parts = urlsplit(url)
        if parts.scheme == "http":
            return None
        ca = self.ca
        if ca is None and is_local(parts) and _is_there(self.data / AUTHORITY):
            ca = self.data / AUTHORITY
        try:
            context = ssl.create_default_context(cafile=ca)
        except (OSError, ssl.SSLError) as problem:
            raise ClientError(
                f"can't read certificates from {named(str(ca), 200)}: {_why(problem)}"
            ) from None
        if self.certificate is not None:
            try:
                # Without a password of its own, an encrypted key would ask at the terminal.
                context.load_cert_chain(self.certificate, self.key, password=_no_password)
            except (OSError, ssl.SSLError, ClientError) as problem:
                raise ClientError(
                    f"can't read a certificate and its key from "
                    f"{named(str(self.certificate), 200)}: {_why(problem)}"
                ) from None
        return context


def broker_url(text: str) -> str:
    """The address of a broker without a slash at its end; refused if it is none."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
        raise ClientError(f"expected an address such as `{DEFAULT_URL}`, found {named(text, 200)}")
    if "@" in parts.netloc:
        raise ClientError("expected no name and no password in an address: say them apart")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or _PORT}{parts.path.rstrip('/')}"


def is_local(parts: SplitResult) -> bool:
    """Whether an address is on this very machine."""
    host = parts.hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def local_token(url: str, environment: Mapping[str, str]) -> str | None:
    """The administrator's token of a broker on this machine, if we may read it."""
    path = Path(environment.get("HEADGATE_DATA") or DATA, TOKEN)
    if not is_local(urlsplit(url)):
        return None
    try:
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


def _is_there(path: Path) -> bool:
    """Whether there is such a file, as far as we may look."""
    try:
        return path.is_file()
    except OSError:
        return False


def untrusted(why: str) -> str:
    """What to do about a broker that can't prove who it is."""
    return (
        f"its certificate is not to be trusted ({why}): name the authority that it comes from with "
        "`ca`; in a shell by `--ca`, or for a broker on this machine by its directory in "
        "HEADGATE_DATA"
    )


def about_tls(url: str) -> str:
    """What may be amiss where a broker hangs up on a request without TLS."""
    if urlsplit(url).scheme != "http":
        return ""
    return ": brokers speak TLS unless they are told not to, try `https`"


def _no_password() -> str:
    raise ClientError("the key is encrypted: expected one that isn't")


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return (problem.reason or "it is not what was expected").lower().replace("_", " ")
    return problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
