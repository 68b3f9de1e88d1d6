"""How is an answer written for a person, and how for a program?"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import click


def print_json(answer: Any) -> None:
    """One line of JSON with its keys in the order of the answer."""
    click.echo(json.dumps(answer, ensure_ascii=False))


def print_rows(rows: Sequence[tuple[str, str]], indent: int) -> None:
    """Two columns, the first as wide as its widest word."""
    print_table(rows, indent)


def print_table(rows: Sequence[Sequence[str]], indent: int = 0) -> None:
    """Columns, each but the last as wide as its widest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=False)]
        click.echo(f"{' ' * indent}{'  '.join([*cells, row[-1]])}".rstrip())


def print_coloured(line: str, colour: str | None) -> None:
    """A line in a colour, for those who look at a terminal and didn't ask for none."""
    wanted = False if os.environ.get("NO_COLOR") else None
    click.secho(line, fg=colour, color=wanted)


def print_note(kind: str, text: str) -> None:
    """A line on standard error beside the answer."""
    click.echo(f"headgate: {kind}: {text}", err=True)


def yes_or_no(answer: bool | str) -> str:
    """`yes`, `no`, or why there is no answer."""
    return answer if isinstance(answer, str) else "yes" if answer else "no"


def counted(number: int, noun: str) -> str:
    """`1 change`, `2 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_text(fields: Any) -> str:
    """JSON within a line for people."""
    return json.dumps(fields, ensure_ascii=False)
