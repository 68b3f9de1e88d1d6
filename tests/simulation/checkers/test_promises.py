"""Is a broken promise told in words, and does each checker see only what it takes up?"""

import pickle

from headgate.simulation.checkers.promises import Checker, Observers, PromiseBroken


def test_a_broken_promise_says_which_when_who_and_what() -> None:
    broken = PromiseBroken("be_kind", "ann at b1", "a word", "none", 1_500_000)
    assert str(broken) == "be_kind at 1.500000 s: ann at b1: expected a word, came none"


def test_a_broken_promise_travels_between_processes() -> None:
    broken = PromiseBroken("be_kind", "ann", "a word", "none", 7)
    again = pickle.loads(pickle.dumps(broken))
    assert (str(again), again.at_us) == (str(broken), 7)


def test_observers_call_those_who_look_and_nobody_else() -> None:
    class Looks(Checker):
        def at_rest(self) -> None: ...

    observers = Observers()
    looks = Looks()
    observers.add(looks)
    assert observers.at_rest == [looks.at_rest]
    assert observers.told == []
