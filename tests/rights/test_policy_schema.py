"""Do the schema and the reader agree on what a policy file is?"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from headgate.rights.policy_files import FILE_KEYS, RULE_KEYS, TEST_KEYS
from headgate.rights.policy_schema import policy_schema
from tests.rights.policy_corpus import BAD, GOOD, Bad

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "policy.schema.json"


class Yaml12(yaml.SafeLoader):
    """What an editor reads: the core schema of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012


for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), first)
Yaml12.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])

validator = Draft202012Validator(policy_schema())


def accepts(text: str) -> bool:
    return bool(validator.is_valid(yaml.load(text, Loader=Yaml12)))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(policy_schema())


def test_the_published_schema_is_the_one_in_the_package() -> None:
    assert json.loads(PUBLISHED.read_text()) == policy_schema()


@pytest.mark.parametrize("text", GOOD)
def test_what_is_read_fits_the_schema(text: str) -> None:
    problems = [error.message for error in validator.iter_errors(yaml.load(text, Loader=Yaml12))]
    assert problems == []


# Python itself refuses to read a number of 5,000 digits.
READABLE = [bad for bad in BAD if "9" * 5000 not in bad.text]


@pytest.mark.parametrize("bad", READABLE, ids=lambda bad: bad.refusal[:40])
def test_what_is_refused_does_not_fit_where_a_schema_can_say_so(bad: Bad) -> None:
    assert accepts(bad.text) is not bad.by_schema


def test_the_schema_has_the_keys_that_the_reader_knows() -> None:
    schema = policy_schema()
    rule, test = schema["$defs"]["rule"], schema["$defs"]["test"]
    assert set(schema["properties"]) == set(FILE_KEYS)
    assert set(rule["properties"]) == set(RULE_KEYS)
    assert set(test["properties"]) == set(TEST_KEYS)


def test_every_key_says_what_it_is_for() -> None:
    schema = policy_schema()
    parts = [schema, schema["$defs"]["rule"], schema["$defs"]["test"]]
    silent = [
        name
        for part in parts
        for name, said in part["properties"].items()
        if "description" not in said and said != {"$ref": "#/$defs/event"}
    ]
    assert silent == []
