"""Does a proof take the size that its profile asks for?"""

import pytest

from tests.proofs import PROFILE_VARIABLE, proof_size


@pytest.mark.parametrize(("name", "size"), [(None, 3), ("test", 3), ("soak", 500)])
def test_a_proof_takes_the_size_of_its_profile(
    name: str | None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROFILE_VARIABLE, raising=False)
    if name is not None:
        monkeypatch.setenv(PROFILE_VARIABLE, name)
    assert proof_size(test=3, soak=500) == size


def test_a_misspelt_profile_is_refused_rather_than_passing_for_a_soak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PROFILE_VARIABLE, "soka")
    with pytest.raises(ValueError, match="expected `HEADGATE_PROOFS` to be `test` or `soak`"):
        proof_size(test=3, soak=500)
