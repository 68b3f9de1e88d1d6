"""How is an answer written for a person, and how for a program?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click


def print_json(answer: Any) -> None:
    """One line of JSON with its keys in the order of the answer."""
    click.echo(json.dumps(answer, ensure_ascii=False))


def print_rows(rows: Sequence[tuple[str, str]], indent: int) -> None:
    """Two columns, the first as wide as its widest word."""
    width = max((len(first) for first, _ in rows), default=0)
    for first, second in rows:
        click.echo(f"{' ' * indent}{first:<{width}}  {second}")


def yes_or_no(answer: bool | str) -> str:
    """`yes`, `no`, or why there is no answer."""
    return answer if isinstance(answer, str) else "yes" if answer else "no"
