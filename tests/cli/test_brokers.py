"""Is it clear whom a command asks, and as whom?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from headgate.cli.brokers import DEFAULT_URL, Asked, broker_options
from headgate.client import access
from headgate.model.errors import HeadgateError


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HEADGATE_URL", "HEADGATE_PASSWORD", "HEADGATE_DATA", "HEADGATE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


def asked(*urls: str, **more: Any) -> Asked:
    said = {"name": None, "token_file": None, "ca": None, "certificate": None, "key": None}
    return Asked(urls or (DEFAULT_URL,), **{**said, **more})


def test_the_usual_address_is_that_of_the_client() -> None:
    assert access.DEFAULT_URL == DEFAULT_URL


def test_a_name_may_stand_in_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_PASSWORD", "secret")
    one = asked("https://ann%40desk@broker.example/behind")
    assert one.addresses() == ["https://broker.example:7080/behind"]
    assert (one.access().principal, one.access().password) == ("ann@desk", "secret")
    assert asked("https://broker.example", name="ann").access().principal == "ann"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (asked("https://ann:secret@a"), "others would see a password"),
        (asked("https://ann@a", "https://bob@b"), "say who is asking once"),
        (asked("https://ann@a", name="bob"), "say who is asking once"),
        (asked("https://ann@a", token_file=Path("t")), "leave out the name"),
    ],
)
def test_who_is_asking_is_said_once_and_in_secret(wrong: Asked, words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        wrong.access()


def test_a_password_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = []

    def prompt(text: str, **more: Any) -> str:
        prompts.append((text, more))
        return "secret"

    monkeypatch.setattr(click, "prompt", prompt)
    assert asked(name="ann").access().password == "secret"
    assert prompts == [("password of `ann`", {"hide_input": True, "err": True})]

    def no_terminal(*_: object, **__: object) -> str:
        raise click.Abort

    monkeypatch.setattr(click, "prompt", no_terminal)
    with pytest.raises(click.UsageError, match="set HEADGATE_PASSWORD"):
        asked(name="ann").access()


def test_a_token_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" hgt_1\n")
    assert asked(token_file=tmp_path / "token").access().token == "hgt_1"
    (tmp_path / "token").write_text("\n")
    with pytest.raises(HeadgateError, match="expected a token in"):
        asked(token_file=tmp_path / "token").access()
    with pytest.raises(HeadgateError, match="No such file"):
        asked(token_file=tmp_path / "nowhere").access()


def test_the_administrators_token_is_used_on_this_machine_by_who_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headgate-data").mkdir()
    (tmp_path / "headgate-data" / "admin.token").write_text("hgt_admin\n")
    assert asked().access().token == "hgt_admin"
    assert asked("https://broker.example").access().token is None
    monkeypatch.setenv("HEADGATE_PASSWORD", "secret")
    assert asked(name="ann").access().token is None
    assert asked(certificate=Path("c.pem")).access().token is None
    monkeypatch.setenv("HEADGATE_DATA", str(tmp_path / "elsewhere"))
    assert asked().access().token is None


def test_several_brokers_may_be_named_where_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Asked] = []

    @click.command()
    @broker_options(several=True)
    def several(asked: Asked) -> None:
        found.append(asked)

    @click.command()
    @broker_options(several=False)
    def one(asked: Asked) -> None:
        found.append(asked)

    for command, words in (
        (several, ["--url", "https://a", "--url", "https://b"]),
        (several, []),
        (one, []),
    ):
        command.main(words, standalone_mode=False)
    monkeypatch.setenv("HEADGATE_URL", "https://c https://d")
    several.main([], standalone_mode=False)
    assert [asked.urls for asked in found] == [
        ("https://a", "https://b"), (DEFAULT_URL,), (DEFAULT_URL,), ("https://c", "https://d"),
    ]  # fmt: skip
