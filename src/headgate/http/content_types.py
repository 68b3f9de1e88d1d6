"""What kind of bytes is a body? The media type that a `Content-Type` names, and its charset."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headgate.model.errors import HeadgateError, named

JSON = "application/json"
CLOUDEVENT = "application/cloudevents"
CLOUDEVENT_JSON = "application/cloudevents+json"
CLOUDEVENT_BATCH = "application/cloudevents-batch"
CLOUDEVENT_BATCH_JSON = "application/cloudevents-batch+json"
FORM = "application/x-www-form-urlencoded"
YAML = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, 5.6.2
_MEDIA = re.compile(rf"[ \t]*({_WORD}/{_WORD})[ \t]*(?:;(.*))?", re.DOTALL)
_CHARSET = re.compile(rf'(?:^|[;\s])charset="?({_WORD})', re.IGNORECASE)


class UnsupportedTypeError(HeadgateError, ValueError):
    """A body is of a type that isn't taken here."""


@dataclass(frozen=True, slots=True)
class ContentType:
    """A media type without its parameters, in lower case, and the charset if one is named."""

    media: str
    charset: str | None
    as_sent: str

    @property
    def is_json(self) -> bool:
        return self.media == JSON or self.media.endswith("+json")

    @property
    def is_text(self) -> bool:
        return self.media.startswith("text/") or self.media.endswith(("/xml", "+xml"))

    @property
    def is_utf8(self) -> bool:
        return self.charset in (None, "utf-8", "utf8", "us-ascii")

    def check_utf8(self) -> None:
        if not self.is_utf8:
            raise UnsupportedTypeError(f"expected UTF-8, found {named(self.as_sent)}")


def read_content_type(header: str | None) -> ContentType | None:
    """What a header says; nothing where there is none, or what it says is no media type."""
    match = _MEDIA.fullmatch(header) if header is not None else None
    if header is None or match is None:
        return None
    media, parameters = match.groups()
    charset = _CHARSET.search(parameters or "")
    return ContentType(
        media.lower(), charset.group(1).lower() if charset is not None else None, header.strip()
    )
