"""Is a `Content-Type` read as RFC 9110 writes it?"""

import pytest

from headgate.http.content_types import UnsupportedTypeError, read_content_type


@pytest.mark.parametrize(
    ("header", "media", "charset"),
    [
        ("application/json", "application/json", None),
        ("Application/JSON; charset=UTF-8", "application/json", "utf-8"),
        ('text/plain;format=flowed; charset="iso-8859-1"', "text/plain", "iso-8859-1"),
        ("text/plain; notcharset=x", "text/plain", None),
        ("application/cloudevents+json;", "application/cloudevents+json", None),
    ],
)
def test_a_media_type_is_read_with_its_charset(
    header: str, media: str, charset: str | None
) -> None:
    said = read_content_type(header)
    assert said is not None
    assert (said.media, said.charset) == (media, charset)


@pytest.mark.parametrize("header", [None, "", "json", "/json", "text/", "a b/c", "text/plain x"])
def test_what_is_no_media_type_is_none(header: str | None) -> None:
    assert read_content_type(header) is None


def test_json_and_text_are_told_by_their_endings() -> None:
    kinds = {}
    for media in ("application/json", "a/b+json", "text/csv", "image/svg+xml", "a/json"):
        said = read_content_type(media)
        assert said is not None
        kinds[media] = (said.is_json, said.is_text)
    assert kinds == {
        "application/json": (True, False),
        "a/b+json": (True, False),
        "text/csv": (False, True),
        "image/svg+xml": (False, True),
        "a/json": (False, False),
    }


def test_another_charset_than_utf_8_is_refused() -> None:
    said = read_content_type("application/json; charset=utf-16")
    assert said is not None
    with pytest.raises(UnsupportedTypeError, match=r"expected UTF-8, found .*utf-16"):
        said.check_utf8()
