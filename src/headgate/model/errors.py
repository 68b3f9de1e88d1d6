"""What went wrong, where, what was expected, and what to do?

Every refusal of Headgate is a `HeadgateError`. Its text is one line.
"""

from __future__ import annotations


class HeadgateError(Exception):
    """Something was refused; the text says what was expected and what came."""


def printable(text: str) -> str:
    """The text with `?` for what would move the cursor, end the line or can't be written."""
    return "".join(char if char.isprintable() else "?" for char in text)


def named(name: str, chars_max: int = 60) -> str:
    """A name from outside as it may stand in a line of text: short, and printable."""
    shown = printable(name[: chars_max + 1])
    return f"`{shown}`" if len(shown) <= chars_max else f"`{shown[:chars_max]}…`"


class EventError(HeadgateError, ValueError):
    """An event was refused; `attribute` names the field at fault where there is one."""

    def __init__(self, message: str, attribute: str | None = None) -> None:
        super().__init__(message)
        self.attribute = attribute


class FilterError(HeadgateError, ValueError):
    """A filter was refused."""


class FilterSyntaxError(FilterError):
    """A filter's text can't be read: `position` is the offset of the first character at fault."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        self.problem = printable(problem)
        self.text = text
        self.position = max(0, min(position, len(text)))
        before = text[: self.position]
        self.line = before.count("\n") + 1
        self.column = self.position - (before.rfind("\n") + 1) + 1
        line = f"line {self.line}, " if "\n" in text else ""
        super().__init__(f"{self.problem} (filter, {line}column {self.column})")

    def __reduce__(self) -> tuple[type[FilterSyntaxError], tuple[str, str, int]]:
        return FilterSyntaxError, (self.problem, self.text, self.position)

    def caret(self, width: int = 76) -> str:
        """Two lines for a person: the text around the fault, and a caret below it."""
        line = self.text.split("\n")[self.line - 1]
        at = self.column - 1
        start = max(0, min(at - width // 2, len(line) - width))
        return f"{printable(line[start : start + width])}\n{' ' * (at - start)}^"


class FilterTooComplexError(FilterError):
    """A filter, or a decision about filters, is beyond a stated bound."""
