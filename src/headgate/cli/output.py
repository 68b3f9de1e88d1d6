"""How is an answer written for a person, and how for a program?

What an answer repeats comes from others: nothing of it may end a line or steer a terminal, or a
rule could hide itself from who reviews it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import click

from headgate.model.errors import printable


def print_json(answer: Any) -> None:
    """One line of JSON with its keys in the order of the answer."""
    click.echo(as_text(answer))


def print_line(line: str) -> None:
    """One line, whatever is in it."""
    click.echo(printable(line))


def print_rows(rows: Sequence[tuple[str, str]], indent: int) -> None:
    """Two columns, the first as wide as its widest word."""
    print_table(rows, indent)


def print_table(rows: Sequence[Sequence[str]], indent: int = 0) -> None:
    """Columns, each but the last as wide as its widest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=False)]
        print_line(f"{' ' * indent}{'  '.join([*cells, row[-1]])}".rstrip())


def print_numbers(rows: Sequence[Sequence[str]], indent: int = 0, words: int = 1) -> None:
    """Columns, the first ones of words and the others of numbers, which end below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if at < words else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print_line(f"{' ' * indent}{'  '.join(cells)}".rstrip())


def print_coloured(line: str, colour: str | None) -> None:
    """A line in a colour, for those who look at a terminal and didn't ask for none."""
    wanted = False if os.environ.get("NO_COLOR") else None
    click.secho(printable(line), fg=colour, color=wanted)


def print_note(kind: str, text: str) -> None:
    """A line on standard error beside the answer."""
    click.echo(printable(f"headgate: {kind}: {text}"), err=True)


def yes_or_no(answer: bool | str) -> str:
    """`yes`, `no`, or why there is no answer."""
    return answer if isinstance(answer, str) else "yes" if answer else "no"


def counted(number: int, noun: str) -> str:
    """`1 change`, `2 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_text(fields: Any) -> str:
    """JSON within a line: what can't be printed is written as `\\u009b`, which reads the same."""
    text = json.dumps(fields, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]
