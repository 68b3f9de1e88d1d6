"""Are answers laid out so that a person, or a program, can read them?"""

import json

import pytest

from headgate.cli.output import (
    as_text,
    counted,
    print_coloured,
    print_json,
    print_line,
    print_note,
    print_numbers,
    print_rows,
    print_table,
    yes_or_no,
)


def test_rows_stand_in_two_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([("a", "one"), ("long", "two")], indent=2)
    assert capsys.readouterr().out == "  a     one\n  long  two\n"


def test_numbers_end_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    print_numbers([("link", "bytes", ""), ("a", "1,024", "1%"), ("bc", "9", "99%")], indent=1)
    assert capsys.readouterr().out == " link  bytes\n a     1,024   1%\n bc        9  99%\n"
    print_numbers([("what", "link", "n"), ("rights", "p-s", "10")], words=2)
    assert capsys.readouterr().out == "what    link   n\nrights  p-s   10\n"


def test_no_rows_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], indent=2)
    assert capsys.readouterr().out == ""


def test_json_is_one_line_that_a_program_reads_back(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"z": ["é", 1.5, None], "a": {"b": True}}
    print_json(answer)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert json.loads(line) == answer
    assert list(json.loads(line)) == ["z", "a"]


def test_an_answer_that_is_neither_yes_nor_no_is_shown_as_it_is() -> None:
    assert yes_or_no(True) == "yes"
    assert yes_or_no(False) == "no"
    assert yes_or_no("too wide") == "too wide"


def test_a_table_has_aligned_columns_and_no_blanks_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table([("a", "b", "c"), ("long", "x", "")], indent=1)
    assert capsys.readouterr().out == " a     b  c\n long  x\n"


def test_a_file_or_a_pipe_gets_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    print_coloured("+ a", "green")
    assert capsys.readouterr().out == "+ a\n"


def test_a_note_stands_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    print_note("warning", "look")
    assert capsys.readouterr() == ("", "headgate: warning: look\n")


def test_things_are_counted() -> None:
    assert [counted(number, "change") for number in (0, 1, 1_000)] == [
        "0 changes",
        "1 change",
        "1,000 changes",
    ]
    assert as_text({"é": [1]}) == '{"é": [1]}'


HOSTILE = "a\nb\x1b[2J\x9b31m\u2028\u202ec\t"


def test_nothing_that_is_repeated_ends_a_line_or_steers_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_line(HOSTILE)
    print_rows([(HOSTILE, HOSTILE)], indent=1)
    print_coloured(HOSTILE, None)
    print_note("warning", HOSTILE)
    print_json({HOSTILE: HOSTILE})
    written, noted = capsys.readouterr()
    for line in [*written.removesuffix("\n").split("\n"), noted.removesuffix("\n")]:
        assert line.isprintable()
    assert written.count("\n") == 4
    assert json.loads(written.split("\n")[3]) == {HOSTILE: HOSTILE}


def test_what_cannot_be_printed_reads_the_same_in_json() -> None:
    for char in map(chr, [*range(0x3000), 0xFEFF, 0xFFFE, 0x1F600, 0xE0001, 0x10FFFF]):
        assert json.loads(as_text({char: char})) == {char: char}
        assert as_text(char).isprintable()
