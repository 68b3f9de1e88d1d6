"""Does an example in the documentation do what the page says it does?"""

import doctest
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS_MAX = 120

FENCE = re.compile(r"^( *)```(python|console)[ ]*\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = "# not run:"
PORT = 7080
"""Where a broker serves by default."""


@dataclass(frozen=True)
class Block:
    """One fenced example and where it stands."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reason_not_run(self) -> str | None:
        """Why the page asks for this block to be left alone; the reason may not be empty."""
        first = self.text.partition("\n")[0].strip()
        if not first.startswith(NOT_RUN):
            return None
        reason = first.removeprefix(NOT_RUN).strip()
        assert reason, f"{self}: expected a reason after `{NOT_RUN}`"
        return reason


@dataclass(frozen=True)
class Step:
    """A command of a console block and the lines that shall follow it."""

    command: str
    expected: list[str]


def pages(root: Path) -> list[Path]:
    """The pages whose examples are promises."""
    return [
        path
        for path in (root / "README.md", *sorted((root / "docs").rglob("*.md")))
        if path.exists()
    ]


def blocks_of(page: Path, root: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield Block(
            page=str(page.relative_to(root)),
            line=text.count("\n", 0, match.start()) + 1,
            language=match[2],
            text=textwrap.dedent(match[3]),
        )


def steps_of(block: Block) -> list[Step]:
    """The commands of a console block; lines that open with `> ` continue the one before."""
    steps: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line.removeprefix("$ "), []))
            continue
        assert steps, f"{block}: expected a line that opens with `$ `, got `{line}`"
        last = steps[-1]
        if line.startswith("> ") and not last.expected:
            steps[-1] = Step(f"{last.command}\n{line.removeprefix('> ')}", [])
        else:
            last.expected.append(line)
    return steps


def output_fits(expected: list[str], output: str) -> bool:
    """Whether the output is these lines, where a line `...` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + "\n"
        for line in expected
    )
    lines = "".join(line.rstrip() + "\n" for line in output.splitlines())
    return re.fullmatch(pattern, lines) is not None


@dataclass(frozen=True)
class Place:
    """Where the broker that a page starts keeps its data and is reached, in place of the default.

    The page shows the default: nobody who reads it has another broker there.
    """

    data: Path
    port: int

    @classmethod
    def fresh(cls, page: str) -> "Place":
        data = ROOT / "build" / "pages" / page.replace("/", "-")
        shutil.rmtree(data, ignore_errors=True)
        data.parent.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as held:
            return cls(data, held.getsockname()[1])

    def clear(self) -> None:
        """End a broker that the page has left, and only that."""
        for lock in self.data.rglob("lock"):
            said = re.search(r"process (\d+)", lock.read_text())
            if said is not None:
                with suppress(ProcessLookupError):
                    os.kill(int(said[1]), signal.SIGKILL)


def run_page(blocks: list[Block], targets: set[str]) -> None:
    """Do what a page says from top to bottom; what one block defines, a later one may use."""
    scope: dict[str, object] = {"__name__": "__main__"}
    place = Place.fresh(blocks[0].page if blocks else "none")
    try:
        for block in blocks:
            if not block.reason_not_run:
                run(block, targets, scope, place)
    finally:
        place.clear()


def run(
    block: Block,
    targets: set[str],
    scope: dict[str, object] | None = None,
    place: Place | None = None,
) -> None:
    """Do what the block says, and fail where the outcome is another."""
    if block.language == "python":
        _run_python(block, {"__name__": "__main__"} if scope is None else scope)
    else:
        for step in steps_of(block):
            _run_step(step, block, targets, place)


def _run_python(block: Block, scope: dict[str, object]) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, str(block), "exec"), scope)
        return
    test = doctest.DocTestParser().get_doctest(block.text, {}, str(block), None, 0)
    test.globs = scope  # the very same one, so that later blocks see what this one defines
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    result = runner.run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)


def _run_step(step: Step, block: Block, targets: set[str], place: Place | None = None) -> None:
    task = re.match(r"make\b(.*)", step.command)
    if task:
        # A task may take minutes, or run the very tests that read this page.
        named = {word for word in task[1].split() if not re.search(r"[=-]", word)}
        assert named <= targets, f"{block}: the Makefile has no target `{min(named - targets)}`"
        return
    done = subprocess.run(
        ["bash", "-c", _at(step.command, place)],
        cwd=ROOT,
        env=_environment(place),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    expected = "\n".join(step.expected)
    # A page that shows `...` would else hide that its command is gone.
    said = done.stdout if place is None else done.stdout.replace(f":{place.port}", f":{PORT}")
    fits = done.returncode not in (126, 127) and output_fits(step.expected, said)
    assert fits, f"{block}: `{step.command}`\nexpected:\n{expected}\ngot:\n{said}"


def _at(command: str, place: Place | None) -> str:
    return (
        command
        if place is None
        else command.replace(f"localhost:{PORT}", f"localhost:{place.port}")
    )


def _environment(place: Place | None) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    if place is None:
        return plain
    return {
        **plain,
        "HEADGATE_DATA": str(place.data),
        "HEADGATE_HTTP_PORT": str(place.port),
        "HEADGATE_URL": f"https://localhost:{place.port}",
    }
