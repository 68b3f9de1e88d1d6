"""Does a refusal say what was expected, what came, and what to write instead?"""

import pytest

from headgate.filters.parsing import parse
from headgate.filters.words import RESERVED, WORDS
from headgate.model.errors import FilterSyntaxError

READ = {
    "": "expected an attribute or a value, found the end (filter, column 1)",
    "price": None,
    "price >": "expected an attribute or a value, found the end (filter, column 8)",
    "price => 5": "expected `>=`, found `=>` (filter, column 7)",
    "price == 5": "expected `=`, found `==` (filter, column 7)",
    "price >< 5": "expected `<>`, found `><` (filter, column 7)",
    "a = NULL": (
        "nothing compares with NULL: ask with `IS NULL` or `IS NOT NULL` (filter, column 5)"
    ),
    "a = 'x": "this text has no closing `'` (filter, column 5)",
    'a = "x': 'this name has no closing `"` (filter, column 5)',
    '"" = 1': "a name in quotes holds at least one character (filter, column 1)",
    "a & b": "`&` has no meaning here: write `AND` (filter, column 3)",
    "a ≤ 5": "`≤` has no meaning here: write `<=`, `>=` or `<>` (filter, column 3)",
    "a = \x00": "`U+0000` has no meaning here (filter, column 5)",
    "a = 1\nAND or = 2": (
        "expected an attribute or a value, found `or`, a word of the language: "
        'as a name write `"or"` (filter, line 2, column 5)'
    ),
}


@pytest.mark.parametrize("text", READ)
def test_a_person_reads_what_is_wrong_and_where(text: str) -> None:
    said = READ[text]
    if said is None:
        parse(text)
        return
    with pytest.raises(FilterSyntaxError) as refusal:
        parse(text)
    assert str(refusal.value) == said


def test_words_for_types_may_be_names_and_others_not() -> None:
    assert {"AND", "OR", "NOT", "NULL", "TRUE"} <= RESERVED < set(WORDS)
    assert not RESERVED & {"STRING", "TIMESTAMP", "EXISTS", "ANY"}
