"""Does a refusal say what went wrong, in the words and the shape that it should have?"""

import msgspec

from headgate.http.problems import RefusedError, body_of, temporary, unauthenticated


def test_a_refusal_is_one_json_object() -> None:
    refusal = RefusedError(409, "version 3 is current\nnow", current=3)
    assert msgspec.json.decode(body_of(refusal.problem)) == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "version 3 is current?now",
        "current": 3,
    }


def test_a_refusal_is_short() -> None:
    assert len(body_of(RefusedError(400, "x" * 100_000).problem)) < 2_200


def test_who_is_unknown_is_told_how_to_be_known() -> None:
    assert set(unauthenticated("who are you?").headers) == {"WWW-Authenticate"}
    assert unauthenticated("too often", 2.6).headers == {"Retry-After": "3"}
    assert unauthenticated("too often", 0.1).status == 429
    assert temporary("later").headers == {"Retry-After": "1"}
