"""Are answers laid out so that a person, or a program, can read them?"""

import json

import pytest

from headgate.cli.output import print_json, print_rows, yes_or_no


def test_rows_stand_in_two_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([("a", "one"), ("long", "two")], indent=2)
    assert capsys.readouterr().out == "  a     one\n  long  two\n"


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
