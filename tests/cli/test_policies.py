"""Does an administrator get from a file to a policy, and from a policy to an answer?

The groups are those of Figure 1 of Zhao & Sturman: John Doe joins the promotional group, becomes
premium, and expires.
"""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from headgate.stores.acl import UnknownOutcomeError
from headgate.stores.opening import open_acl_store
from headgate.stores.sql import SqlAclStore

ROOT = Path(__file__).parents[2]
LATER = datetime(2099, 6, 1, tzinfo=UTC)
HEADGATE = Path(sys.executable).with_name("headgate")

RULES = """\
rules:
  - {principal: promotional, action: subscribe, filter: "type = 'quote' AND price < 100"}
  - {principal: premium, action: subscribe, filter: "type IN ('quote', 'news')"}
"""
STARTS = f"groups: {{promotional: [], premium: [jane]}}\n{RULES}"
JOINS = f"groups: {{promotional: [john], premium: [jane]}}\n{RULES}"
RISES = f"groups: {{promotional: [], premium: [jane, john]}}\n{RULES}"
DEAR = '{"type": "quote", "symbol": "IBM", "price": 101}'

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a policy file; the store is one of this test alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADGATE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("LOGNAME", "admin")

    def write_file(text: str) -> str:
        (tmp_path / "policy.yaml").write_text(text)
        return "policy.yaml"

    return write_file


def policy(*words: str) -> Result:
    return CliRunner().invoke(main, ["policy", *words])


def output(*words: str) -> str:
    result = policy(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    # The time of day is nobody's promise.
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-31 12:00:00", result.stdout)


def answer(*words: str) -> Any:
    return json.loads(output(*words, "--json"))


def test_the_story_of_john_doe(write: Write) -> None:
    question = ("explain", "--principal", "john", "--event", DEAR)
    assert answer("apply", write(STARTS)) == {"version": 1, "starting_points": {}}
    assert answer(*question)["decision"] == "withhold"
    answer("apply", write(JOINS), "--why", "John joins")
    assert answer(*question)["decision"] == "withhold"
    assert answer("apply", write(RISES), "--expect", "2")["version"] == 3
    assert answer(*question)["decision"] == "deliver"
    assert answer(*question, "--version", "2")["decision"] == "withhold"
    answer("apply", write(STARTS), "--why", "John expires")
    assert answer(*question)["decision"] == "withhold"
    assert [one["why"] for one in answer("history")] == ["", "John joins", "", "John expires"]


def test_apply_says_what_became_of_the_file(write: Write) -> None:
    assert output("apply", write(STARTS)) == (
        "version 1: 5 changes\n  no stream has begun it yet\n"
    )
    assert output("apply", write(STARTS)) == (
        "nothing to change: version 1 stays\n  no stream has begun it yet\n"
    )
    assert answer("apply", write(STARTS)) == {"version": 1, "starting_points": {}}


def test_apply_gives_the_starting_points(write: Write, tmp_path: Path) -> None:
    output("apply", write(STARTS))
    store = open_acl_store(tmp_path / "store")
    store.record_starting_point(1, "quotes", 107)
    store.record_starting_point(1, "news", 9)
    store.close()
    assert output("apply", write(STARTS)) == (
        "nothing to change: version 1 stays\n  starting points\n    news    9\n    quotes  107\n"
    )
    said = json.loads(policy("apply", write(STARTS), "--json").stdout)
    assert said == {"version": 1, "starting_points": {"news": 9, "quotes": 107}}


def test_a_stale_expectation_is_exit_code_3_and_says_what_came_since(write: Write) -> None:
    output("apply", write(STARTS))
    output("apply", write(JOINS), "--why", "John joins", "--as", "ann")
    result = policy("apply", write(RISES), "--expect", "1", "--json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "headgate: expected version 1, but the current one is 2 (since then: 2 by ann: John "
        "joins)\n"
    )
    assert len(answer("history")) == 2


def test_a_refused_file_is_exit_code_2_with_its_line_and_changes_nothing(write: Write) -> None:
    output("apply", write(STARTS))
    for command in ("apply", "diff", "test"):
        result = policy(command, write("rules:\n  - {principal: a, acton: connect}\n"))
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "headgate: policy.yaml:2:20: expected a key of a rule, found `acton`: did you mean "
            "`action`?\n"
        )
    assert len(answer("history")) == 1


def test_a_file_that_is_not_there_is_refused(write: Write) -> None:
    result = policy("apply", "nowhere.yaml")
    assert (result.exit_code, result.stderr) == (
        2,
        "headgate: can't read `nowhere.yaml`: No such file or directory\n",
    )


def test_a_file_may_come_from_standard_input(write: Write) -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["policy", "apply", "-"], input=STARTS).exit_code == 0
    refused = runner.invoke(main, ["policy", "apply", "-"], input="rules: 1")
    assert refused.stderr == ("headgate: standard input:1:8: expected a list of rules, found `1`\n")


def test_a_right_that_hangs_on_what_it_hides_is_warned_about(write: Write) -> None:
    path = write("rules:\n  - {principal: a, action: subscribe, filter: x > 1, attributes: [y]}")
    for command in ("diff", "apply"):
        result = policy(command, path)
        assert result.exit_code == 0
        assert result.stderr == (
            "headgate: warning: policy.yaml:2:5: the filter names `x`, which this rule does not "
            "let `a` read: the content stays hidden, but that an event arrives tells something "
            "about it\n"
        )


def test_diff_shows_the_batch_and_changes_nothing(write: Write, tmp_path: Path) -> None:
    assert output("diff", write(STARTS)) == (
        "from version 0 to `policy.yaml`\n"
        "+ group premium\n"
        "+ group promotional\n"
        "+ jane in premium\n"
        "+ promotional subscribe: type = 'quote' AND price < 100\n"
        "+ premium subscribe: type IN ('quote', 'news')\n"
    )
    assert not (tmp_path / "store").exists()
    output("apply", write(JOINS))
    assert output("diff", write(RISES)) == (
        "from version 1 to `policy.yaml`\n- john in promotional\n+ john in premium\n"
    )
    assert answer("diff", write(RISES)) == {
        "version": 1,
        "due": [],
        "changes": [
            {"leave": {"group": "promotional", "member": "john"}},
            {"join": {"group": "premium", "member": "john"}},
        ],
    }
    assert output("diff", write(JOINS)) == "nothing to change in version 1\n"


def test_diff_tells_a_script_whether_there_is_something_to_change(write: Write) -> None:
    assert policy("diff", write(STARTS), "--exit-code").exit_code == 1
    output("apply", write(STARTS))
    assert policy("diff", write(STARTS), "--exit-code").exit_code == 0


def test_a_person_at_a_terminal_sees_colours(write: Write) -> None:
    write(STARTS)
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}

    def shown(**more: str) -> str:
        ours, theirs = pty.openpty()
        try:
            subprocess.run(
                [HEADGATE, "policy", "diff", "policy.yaml"],
                stdout=theirs,
                env={**environment, **more},
                check=True,
            )
            return os.read(ours, 10_000).decode()
        finally:
            os.close(theirs)
            os.close(ours)

    assert "\x1b[32m+ group premium\x1b[0m" in shown()
    assert "\x1b" not in shown(NO_COLOR="1")


def test_show_gives_groups_and_rules(write: Write) -> None:
    output("apply", write(JOINS), "--as", "ann", "--why", "John joins")
    assert output("show") == (
        "version 1, 2026-01-31 12:00:00 UTC, by ann: John joins\n"
        "\n"
        "groups\n"
        "  premium      jane\n"
        "  promotional  john\n"
        "\n"
        "rules\n"
        "  premium\n"
        "    subscribe  type IN ('quote', 'news')\n"
        "  promotional\n"
        "    subscribe  type = 'quote' AND price < 100\n"
    )
    assert answer("show") == {
        "version": 1,
        "groups": {"premium": ["jane"], "promotional": ["john"]},
        "rules": [
            {
                "principal": "premium",
                "action": "subscribe",
                "filter": "type IN ('quote', 'news')",
            },
            {
                "principal": "promotional",
                "action": "subscribe",
                "filter": "type = 'quote' AND price < 100",
            },
        ],
    }
    assert output("show", "--version", "0") == "version 0\n\nno rules: nobody may do anything\n"
    result = policy("show", "--version", "2")
    assert (result.exit_code, result.stderr) == (
        2,
        "headgate: expected a version from 0 to 1, found 2\n",
    )


def test_what_show_prints_a_file_may_state(write: Write) -> None:
    output("apply", write(JOINS))
    shown = answer("show")
    del shown["version"]
    assert output("diff", write(json.dumps(shown))) == "nothing to change in version 1\n"


def test_show_says_where_a_principal_has_its_rights_from(write: Write) -> None:
    path = write(
        "groups: {premium: [jane], all: [premium]}\n"
        "rules:\n"
        "  - {principal: all, action: connect}\n"
        "  - {principal: premium, action: subscribe, filter: x = 1, attributes: [x]}\n"
        "  - {principal: jane, action: subscribe, validity: {from: 2099-01-01}}\n"
    )
    output("apply", path)
    assert output("show", "--principal", "jane") == (
        "jane at version 1\n"
        "  subscribe  x = 1\n"
        "             reads x; through premium\n"
        "  connect    allowed\n"
        "             through premium in all\n"
    )
    said = answer("show", "--principal", "jane")
    assert said["rights"][1] | {"id": ""} == {
        "id": "",
        "principal": "all",
        "action": "connect",
        "allow": True,
        "through": ["premium", "all"],
    }
    assert output("show", "--principal", "tom") == "tom at version 1\n  no rights\n"
    assert "from 2099-01-01T00:00:00Z; not yet valid" in output("show")


def test_history_lists_the_versions_and_shows_one(write: Write) -> None:
    output("apply", write(STARTS), "--as", "ann")
    output("apply", write(JOINS), "--as", "security-officer", "--why", "John joins")
    assert output("history") == (
        "version  when (UTC)           who               changes  why\n"
        "1        2026-01-31 12:00:00  ann               5\n"
        "2        2026-01-31 12:00:00  security-officer  1        John joins\n"
    )
    assert output("history", "--version", "2") == (
        "version 2, 2026-01-31 12:00:00 UTC, by security-officer: John joins\n"
        "+ john in promotional\n"
    )
    listed = answer("history")
    assert [set(one) for one in listed] == [{"version", "time", "author", "why", "changes"}] * 2
    one = answer("history", "--version", "2")
    assert one == {**listed[1], "batch": [{"join": {"group": "promotional", "member": "john"}}]}
    assert policy("history", "--version", "3").exit_code == 2


def test_explain_says_what_is_seen_and_why(write: Write) -> None:
    output("apply", write(RISES + "  - {principal: tom, action: subscribe, attributes: [price]}"))
    said = answer("explain", "--principal", "john", "--event", DEAR)
    assert set(said) == {"decision", "version", "view", "rules", "cut", "because"}
    (rule,) = said.pop("rules")
    assert said == {
        "decision": "deliver",
        "version": 1,
        "view": json.loads(DEAR),
        "cut": [],
        "because": "granted, and what `john` may read matches the subscription",
    }
    assert re.fullmatch("[0-9a-f]{12}", rule.pop("id"))
    assert rule == {
        "principal": "premium",
        "action": "subscribe",
        "filter": "type IN ('quote', 'news')",
        "through": ["premium"],
    }
    assert output("explain", "--principal", "tom", "--event", DEAR) == (
        "delivered to tom at version 1\n"
        '  view     {"price": 101}\n'
        "  cut      symbol, type\n"
        "  rule     tom subscribe: everything (reads price) [its own]\n"
        "  because  granted, and what `tom` may read matches the subscription\n"
    )


@pytest.mark.parametrize(
    ("words", "because"),
    [
        (("--principal", "eve"), "`eve` has no rule for `subscribe` at version 1"),
        (("--principal", "john", "--domain", "abroad"), "no rule of the domain grants it"),
        (("--principal", "john", "--filter", "price > 500"), "`price > 500` is not true of it"),
        (("--principal", "john", "--version", "0"), "at version 0"),
    ],
)
def test_explain_says_why_nothing_comes(write: Write, words: tuple[str, ...], because: str) -> None:
    output("apply", write(RISES))
    said = answer("explain", "--event", DEAR, *words)
    assert (said["decision"], said["view"]) == ("withhold", None)
    assert because in said["because"]
    assert output("explain", "--event", DEAR, *words).startswith("withheld from ")


def test_an_event_may_say_what_the_broker_knows(write: Write) -> None:
    output("apply", write("rules:\n  - {principal: a, action: subscribe, filter: $topic = 't'}"))
    said = answer("explain", "--principal", "a", "--event", '{"x": 1, "$topic": "t"}')
    assert said["view"] == {"$topic": "t", "x": 1}
    assert answer("explain", "--principal", "a", "--event", '{"x": 1}')["decision"] == "withhold"


def test_a_subscription_that_would_be_refused_is_noted(write: Write) -> None:
    rule = "{principal: a, action: subscribe, filter: x > 1, on_excess: refuse}"
    output("apply", write(f"rules:\n  - {rule}"))
    words = ("explain", "--principal", "a", "--event", '{"x": 2}', "--json", "--filter")
    result = policy(*words, "x > 0")
    assert json.loads(result.stdout)["decision"] == "deliver"
    assert result.stderr == (
        "headgate: note: such a subscription would be refused: no rule of `a` allows this: it is "
        "wider than the upper bound\n"
    )
    assert policy(*words, "x > 1").stderr == ""
    withheld = policy(*words, "x < 0")
    assert json.loads(withheld.stdout)["decision"] == "withhold"
    assert withheld.stderr == ""


def test_a_validity_that_is_over_is_noted_until_a_version_says_so(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        f"{STARTS}  - {{principal: tom, action: connect, validity: {{until: 2099-01-01}}}}"
    )
    output("apply", path)
    monkeypatch.setattr("headgate.cli.policies._now", lambda: LATER)
    result = policy("show", "--principal", "tom")
    assert "until 2099-01-01" in result.stdout
    assert result.stderr == (
        "headgate: note: 1 validity change since version 1 will be a version with the next "
        "`headgate policy apply`\n"
    )
    shown = policy("diff", path, "--exit-code")
    assert "- tom connect" in shown.stdout
    assert shown.exit_code == 1  # for there is something to do, if only the validity's end
    applied = policy("apply", path)
    assert applied.stdout == (
        "version 2: 1 validity change\n"
        "nothing to change: version 2 stays\n"
        "  no stream has begun it yet\n"
    )
    assert "its validity was over on 2099-01-01T00:00:00Z" in applied.stderr


TESTS = """\
tests:
  - {who: jane, event: {type: news, n: 1}, expect: {type: news, n: 1}}
  - name: no news for promotional customers
    who: john
    event: {type: news}
    expect: withheld
"""


def test_the_tests_of_a_file_pass_or_fail_with_its_line(write: Write) -> None:
    assert output("test", write(JOINS + TESTS)) == (
        "passed  test 1\npassed  no news for promotional customers\n2 tests passed, 0 failed\n"
    )
    result = policy("test", write(RISES + TESTS))
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout == (
        "passed  test 1\n"
        "FAILED  policy.yaml:7:5: no news for promotional customers\n"
        "        expected  withheld\n"
        '        got       {"type": "news"}\n'
        "        because   granted, and what `john` may read matches the subscription\n"
        "1 test passed, 1 failed\n"
    )
    said = json.loads(policy("test", write(RISES + TESTS), "--json").stdout)
    assert (said["passed"], said["failed"]) == (1, 1)
    assert said["tests"][1] == {
        "name": "no news for promotional customers",
        "line": 7,
        "passed": False,
        "expected": "withheld",
        "got": {"type": "news"},
        "because": "granted, and what `john` may read matches the subscription",
    }


def test_tests_ask_no_store_and_may_be_run_as_of_a_moment(write: Write, tmp_path: Path) -> None:
    path = write(
        "rules:\n  - {principal: a, action: subscribe, validity: {from: 2090-01-01}}\n"
        "tests:\n  - {who: a, event: {}, expect: {}}\n"
    )
    assert policy("test", path).exit_code == 1
    assert policy("test", path, "--at", "2090-01-01").exit_code == 0
    assert policy("test", path, "--at", "soon").exit_code == 2
    assert not (tmp_path / "store").exists()
    assert output("test", write("rules: []")) == "0 tests passed, 0 failed\n"


@pytest.mark.parametrize("command", [["show"], ["history"]])
def test_looking_at_a_store_makes_none(write: Write, tmp_path: Path, command: list[str]) -> None:
    for store in ("nowhere", "."):
        result = policy(*command, "--store", store)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f"headgate: there is no store in `{store}`: `headgate policy apply` makes one, and "
            "`--store` or HEADGATE_STORE names another\n"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["show"], ["history"], ["diff", "policy.yaml"]])
def test_a_store_that_cannot_be_looked_for_is_not_taken_for_none(
    write: Write, command: list[str]
) -> None:
    write(STARTS)
    for store, problem in (("policy.yaml", "Not a directory"), ("x" * 300, "File name too long")):
        result = policy(*command, "--store", store)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("headgate: can't look for a store in `")
        assert result.stderr.endswith(f": {problem}\n")


@pytest.mark.parametrize("command", [["show"], ["apply", "policy.yaml"], ["diff", "policy.yaml"]])
def test_a_store_without_a_name_is_not_the_directory_that_one_is_in(
    write: Write, tmp_path: Path, command: list[str]
) -> None:
    write(STARTS)
    result = policy(*command, "--store", "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected a directory, found nothing" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["policy.yaml"]


def test_a_version_is_by_nobody_else_where_the_author_is_left_empty(
    write: Write, tmp_path: Path
) -> None:
    result = policy("apply", write(STARTS), "--as", "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected the name of a principal" in result.stderr
    assert not (tmp_path / "store").exists()


def test_an_answer_that_cannot_be_written_is_told_in_one_line_and_by_its_exit_code(
    write: Write,
) -> None:
    words = [str(HEADGATE), "policy", "apply", write(STARTS)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr == (
        "headgate: No space left on device: look whether it was done before you try again\n"
    )
    assert len(answer("history")) == 1


def test_a_version_of_which_nobody_knows_whether_it_was_stored_has_an_exit_code_of_its_own(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(*_: object) -> int:
        raise UnknownOutcomeError("the commit failed")

    monkeypatch.setattr(SqlAclStore, "apply", broken_off)
    result = policy("apply", write(STARTS))
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == "headgate: the commit failed\n"


def test_standard_input_that_cannot_be_read_is_refused_in_one_line(write: Write) -> None:
    for redirected, problem in (
        ("<&-", "it is closed"),
        ("< /proc/self/mem", "Input/output error"),
    ):
        command = f"'{HEADGATE}' policy test - {redirected}"
        done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("headgate: can't read ")
        assert done.stderr.endswith(f"{problem}\n")
        assert done.stderr.count("\n") == 1


def test_the_store_is_that_of_the_option_then_of_the_environment(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output("apply", write(STARTS), "--store", "mine")
    assert (tmp_path / "mine").is_dir()
    assert not (tmp_path / "store").exists()
    monkeypatch.delenv("HEADGATE_STORE")
    output("apply", write(STARTS))
    assert (tmp_path / "headgate-data").is_dir()


def test_of_two_who_expect_the_same_version_one_is_refused(write: Write, tmp_path: Path) -> None:
    output("apply", write(STARTS))
    files = []
    for number in range(4):
        files.append(tmp_path / f"{number}.yaml")
        files[-1].write_text(STARTS + f"  - {{principal: p{number}, action: connect}}\n")

    def race(path: Path) -> int:
        words = [str(HEADGATE), "policy", "apply", str(path), "--expect", "1", "--json"]
        return subprocess.run(words, capture_output=True, check=False).returncode

    with ThreadPoolExecutor(len(files)) as pool:
        codes = sorted(pool.map(race, files))
    assert codes == [0, 3, 3, 3]
    assert len(answer("history")) == 2


def test_the_example_is_a_policy_whose_tests_pass(write: Write) -> None:
    example = ROOT / "examples" / "policy.yaml"
    first = example.read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../docs/policy.schema.json"
    assert (example.parent / first.partition("=")[2]).exists()
    assert output("test", str(example)).endswith("4 tests passed, 0 failed\n")
    assert answer("apply", str(example)) == {"version": 1, "starting_points": {}}


def test_the_other_commands_wait_neither_for_a_database_nor_for_yaml() -> None:
    code = (
        "import sys; import headgate.cli; "
        "print([name for name in ('sqlalchemy', 'alembic', 'yaml', 'psycopg') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


REVIEWED = """\
rules:
  - principal: p
    action: subscribe
    filter: "a >= 'TEXT'"
    attributes: [a, "bTEXT"]
    topics: ["cTEXT"]
tests:
  - {name: "nTEXT", who: p, event: {"aTEXT": 1}, expect: {"aTEXT": 1}}
"""
COMMANDS = [
    ["diff", "policy.yaml"], ["apply", "policy.yaml", "--why", "x\x1b[2Jy\nz"], ["show"],
    ["show", "--principal", "p"], ["history"], ["history", "--version", "1"],
    ["test", "policy.yaml"], ["diff", "policy.yaml", "--json"], ["show", "--json"],
    ["explain", "--principal", "p", "--event", r'{"a": "\u001b[2J\u009b"}', "--filter", "a > 'b'"],
    ["explain", "--principal", "p", "--event", r'{"a\n\u009b": 5}', "--json"],
]  # fmt: skip


def test_a_rule_can_neither_hide_nor_add_a_line_where_it_is_reviewed(write: Write) -> None:
    def shown(text: str, store: str) -> list[int]:
        """How many lines each command prints for a policy with a text in all places."""
        write(REVIEWED.replace("TEXT", text))
        lengths: list[int] = []
        for words in COMMANDS:
            result = CliRunner(env={"HEADGATE_STORE": store}).invoke(
                main, ["policy", *words], color=True
            )
            ours = re.compile(r"\x1b\[(0|31|32|33)m")
            lines = ours.sub("", result.output).split("\n")
            assert all(line.isprintable() for line in lines), lines
            lengths.append(len(lines))
        return lengths

    hostile = r"\n+ eve connect: allowed\e[1A\e[2K\x9b31m\u202e"
    assert shown(hostile, "store1") == shown("plain", "store2")
