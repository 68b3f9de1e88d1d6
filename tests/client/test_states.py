"""Is it said of each state what may happen in it, and does the documentation say the same?"""

from __future__ import annotations

from headgate.client.states import TABLE, Happening, State
from tests.doc_blocks import ROOT


def drawn() -> list[str]:
    """The table as the documentation draws it."""
    states = [state for state in State if state is not State.OVER]
    head = ["what happens", *(state.name.lower() for state in states)]
    rows = [
        [
            happening.value,
            *(
                TABLE[state][happening].name.lower() if happening in TABLE[state] else "-"
                for state in states
            ),
        ]
        for happening in Happening
    ]
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def test_the_page_shows_the_table() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    assert "\n".join(drawn()) in page, "the page should have\n" + "\n".join(drawn())


def test_each_state_is_there_and_can_be_left_or_is_the_last() -> None:
    assert set(TABLE) == set(State)
    reached = {State.APART}
    for _ in State:
        reached |= {after for state in reached for after in TABLE[state].values()}
    assert reached == set(State)
    assert set(TABLE[State.OVER].values()) == {State.OVER}
