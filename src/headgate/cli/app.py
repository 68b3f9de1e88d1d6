"""Which commands are there, and what does a person see when one is refused?"""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

import click

from headgate.cli.completion import completion
from headgate.cli.durables import durable_group
from headgate.cli.evaluations import evaluate_group
from headgate.cli.filters import filter_group
from headgate.cli.networks import network_group
from headgate.cli.policies import policy_group
from headgate.cli.publishing import pub
from headgate.cli.serving import up
from headgate.cli.simulations import simulate
from headgate.cli.status import status
from headgate.cli.subscribing import sub
from headgate.cli.users import user_group
from headgate.model.errors import FilterSyntaxError, HeadgateError, printable
from headgate.rights.history import StaleVersionError
from headgate.stores.acl import UnknownOutcomeError

REFUSED = 2
"""The exit code when what came in was refused; nothing was done."""
STALE = 3
"""The exit code when the policy is no longer at the version that was expected."""
UNCERTAIN = 4
"""The exit code when what was asked for may have been done, and nobody could say so."""


class _Commands(click.Group):
    """Refusals become one line on standard error, and a caret below it where a person looks on."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*args, **more)
        except click.UsageError as misuse:
            _say_how(misuse)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as misuse:
            _say_how(misuse)
        except HeadgateError as refusal:
            _refuse(refusal)
        except OSError as problem:
            if problem.errno == errno.EPIPE:
                raise  # whoever read along has seen enough
            _say_what_broke(problem)


def _say_how(misuse: click.UsageError) -> NoReturn:
    """Click would take four lines; but who typed no command at all is shown them all."""
    if isinstance(misuse, click.exceptions.NoArgsIsHelpError):
        raise misuse
    said = printable(" ".join(misuse.format_message().split())).rstrip(".")
    command = misuse.ctx.command_path if misuse.ctx else "headgate"
    click.echo(f"headgate: {said[:1].lower()}{said[1:]} (see `{command} --help`)", err=True)
    sys.exit(REFUSED)


def _refuse(refusal: HeadgateError) -> NoReturn:
    click.echo(f"headgate: {printable(str(refusal))}", err=True)
    if isinstance(refusal, FilterSyntaxError) and sys.stderr.isatty():
        click.echo(refusal.caret(), err=True)
    for kind, code in ((StaleVersionError, STALE), (UnknownOutcomeError, UNCERTAIN)):
        if isinstance(refusal, kind):
            sys.exit(code)
    sys.exit(REFUSED)


def _say_what_broke(problem: OSError) -> NoReturn:
    """Mostly the answer could not be written: then what was asked for is done."""
    said = printable(f"{problem.strerror}{f' ({problem.filename})' if problem.filename else ''}")
    click.echo(f"headgate: {said}: look whether it was done before you try again", err=True)
    sys.exit(UNCERTAIN)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""Examples:

\b
    headgate filter explain "type = 'quote' AND price > 100"
    headgate policy apply policy.yaml

Exit codes: 0 done, 1 a test failed or the answer is no, 2 what came in was refused and nothing was
done, 3 the policy is no longer at the expected version, 4 it may have been done, look before you
try again.
""",
)
@click.version_option(package_name="headgate", message="headgate %(version)s")
def main() -> None:
    """Publish/subscribe for organisations that share event streams, but not everything."""


for command in (
    completion,
    durable_group,
    evaluate_group,
    filter_group,
    network_group,
    policy_group,
    pub,
    simulate,
    status,
    sub,
    up,
    user_group,
):
    main.add_command(command)
