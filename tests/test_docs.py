"""Does the documentation keep its word, and leave nothing out?"""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.doc_blocks import ROOT, Block, blocks_of, output_fits, pages, run, run_page, steps_of

PAGES = pages(ROOT)
TEXT = "\n".join(page.read_text() for page in PAGES)
MAKEFILE = (ROOT / "Makefile").read_text()


def targets(makefile: str) -> set[str]:
    """The tasks a person may ask for."""
    return set(re.findall(r"^([a-z][\w-]*):(?!=)", makefile, re.MULTILINE))


def undescribed(makefile: str) -> set[str]:
    return targets(makefile) - set(re.findall(r"^([\w-]+):.*## \S", makefile, re.MULTILINE))


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """The command and everything under it, each with what a person types to reach it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from commands(inner, f"{path} {name}")


def without_example(root: click.Command) -> list[str]:
    """The commands whose help has no line that opens with the command itself."""
    return [
        path
        for path, command in commands(root, "headgate")
        if not re.search(
            rf"^[ \t\b]*(?:\$ )?{path}\b",
            f"{command.help or ''}\n{command.epilog or ''}",
            re.MULTILINE,
        )
    ]


def unmentioned(root: click.Command, text: str) -> list[str]:
    return [
        path for path, _ in commands(root, "headgate") if not re.search(rf"{path}(?![\w-])", text)
    ]


def the_program() -> click.Command:
    main = importlib.import_module("headgate.cli").main
    assert isinstance(main, click.Group)
    return main


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_the_documentation_are_true(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run_page(list(blocks_of(page, ROOT)), targets(MAKEFILE))


def test_every_command_is_mentioned_in_the_documentation() -> None:
    assert unmentioned(the_program(), TEXT) == []


def test_the_help_of_every_command_shows_an_example() -> None:
    assert without_example(the_program()) == []


def test_every_task_is_described_in_the_list_of_tasks() -> None:
    assert undescribed(MAKEFILE) == set()


def test_every_task_is_mentioned_in_the_documentation() -> None:
    missing = {name for name in targets(MAKEFILE) if not re.search(rf"make {name}\b", TEXT)}
    assert missing == set()


def block(language: str, text: str) -> Block:
    return Block("page.md", 1, language, text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "x = 1\nassert x == 1\n"),
        ("python", ">>> 1 + 1\n2\n"),
        ("console", "$ echo one; echo two >&2\none\ntwo\n$ true\n"),
        ("console", "$ printf 'a\\nb\\nc\\n'\n...\nc\n"),
        ("console", "$ cat <<END\n> text\n> END\ntext\n"),
        ("console", "$ make test KEEP=1\nanything\n"),
        ("console", "$ command -v python | xargs dirname | xargs basename\nbin\n"),
    ],
)
def test_a_true_example_passes(language: str, text: str) -> None:
    run(block(language, text), {"test"})


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "assert 1 == 2\n"),
        ("python", ">>> 1 + 1\n3\n"),
        ("console", "$ echo one\ntwo\n"),
        ("console", "$ echo one\n"),
        ("console", "$ true\none\n"),
        ("console", "$ printf 'a\\nb\\n'\n...\na\n"),
        ("console", "$ no-such-command-anywhere\n...\n"),
        ("console", "$ make tset\n"),
        ("console", "no command\n"),
    ],
)
def test_a_false_example_fails(language: str, text: str) -> None:
    with pytest.raises(AssertionError):
        run(block(language, text), {"test"})


def test_examples_are_found_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "deep" / "page.md").write_text(
        "text\n\n```python\n1\n```\n- item\n  ```console\n  $ true\n  ```\n```toml\nx = 1\n```\n"
    )
    found = [block for page in pages(tmp_path) for block in blocks_of(page, tmp_path)]
    assert [(str(block), block.language, block.text) for block in found] == [
        ("docs/deep/page.md:3", "python", "1\n"),
        ("docs/deep/page.md:7", "console", "$ true\n"),
    ]


def test_an_example_that_is_not_run_says_why() -> None:
    assert block("python", "1\n").reason_not_run is None
    assert block("python", "# not run: needs a tape drive\n1\n").reason_not_run == (
        "needs a tape drive"
    )
    with pytest.raises(AssertionError, match="expected a reason"):
        _ = block("python", "# not run:\n1\n").reason_not_run


def test_three_dots_stand_for_any_lines() -> None:
    assert output_fits(["a", "...", "z"], "a\nz\n")
    assert output_fits(["a", "...", "z"], "a\nb\nc\nz\n")
    assert output_fits([], "")
    assert not output_fits(["a.c"], "abc\n")
    assert steps_of(block("console", "$ a\n$ b\nc\n"))[1].expected == ["c"]


def test_a_command_without_example_or_mention_is_found() -> None:
    @click.group(help="Do things.\n\n\b\n  headgate sing --loud")
    def program() -> None: ...

    @program.command(help="Sing.", epilog="\b\n  $ headgate sing --loud")
    def sing() -> None: ...

    @program.command("sing-along", help="Sing: what `headgate sing-along` says.")
    def sing_along() -> None: ...

    assert without_example(program) == ["headgate sing-along"]
    assert unmentioned(program, "`headgate sing-along`") == ["headgate sing"]


def test_a_task_without_description_is_found() -> None:
    makefile = "NAME := x\n.PHONY: one\none: ## the first\n\ttrue\ntwo: one\n\ttrue\n$(X): one\n"
    assert targets(makefile) == {"one", "two"}
    assert undescribed(makefile) == {"two"}


def test_what_one_block_of_a_page_defines_a_later_one_may_use(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> x = 1\n```\n\n```python\n>>> x + 1\n2\n```\n")
    run_page(list(blocks_of(page, tmp_path)), set())
    page.write_text("```python\n>>> x = 1\n```\n\n```python\n>>> x + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        run_page(list(blocks_of(page, tmp_path)), set())
