"""Which commands are there, and what does a person see when one is refused?"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from headgate.cli.filters import filter_group
from headgate.model.errors import FilterSyntaxError, HeadgateError

REFUSED = 2
"""The exit code when what came in was refused; nothing was done."""


class _Commands(click.Group):
    """Refusals become one line on standard error, and a caret below it where a person looks on."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HeadgateError as refusal:
            _refuse(refusal)


def _refuse(refusal: HeadgateError) -> NoReturn:
    click.echo(f"headgate: {refusal}", err=True)
    if isinstance(refusal, FilterSyntaxError) and sys.stderr.isatty():
        click.echo(refusal.caret(), err=True)
    sys.exit(REFUSED)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""Example:

    headgate filter explain "type = 'quote' AND price > 100"

Exit codes: 0 done, 2 what came in was refused and nothing was done.
""",
)
@click.version_option(package_name="headgate", message="headgate %(version)s")
def main() -> None:
    """Publish/subscribe for organisations that share event streams, but not everything."""


main.add_command(filter_group)
