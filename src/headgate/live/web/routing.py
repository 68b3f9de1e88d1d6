"""Which request is this? The route that a method and a path name, and the parts of its path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import final
from urllib.parse import unquote_to_bytes

from headgate.http.problems import RefusedError
from headgate.http.routes import Route
from headgate.model.errors import named

_PART = re.compile(r"\{(\w+)\}")


@final
class Router:
    """Finds routes by their paths."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            into = patterns if "{" in route.path else self._fixed
            into.setdefault(route.path, {})[route.method] = route
        self._patterns = [
            (re.compile(_PART.sub(r"(?P<\1>[^/]+)", path)), by_method)
            for path, by_method in patterns.items()
        ]

    def find(self, method: str, raw_path: str) -> tuple[Route, dict[str, str]]:
        """The route, and what stands in the braces of its path; the path as it was sent."""
        by_method, parts = self._at(raw_path)
        if by_method is None:
            raise RefusedError(404, f"there is nothing at {named(raw_path)}: see `/openapi.json`")
        route = by_method.get(method)
        if route is None:
            allowed = ", ".join(sorted(by_method))
            raise RefusedError(
                405, f"expected {allowed}, found {named(method)}", {"Allow": allowed}
            )
        return route, {name: _text(part) for name, part in parts.items()}

    def _at(self, path: str) -> tuple[dict[str, Route] | None, dict[str, str]]:
        fixed = self._fixed.get(path)
        if fixed is not None:
            return fixed, {}
        for pattern, by_method in self._patterns:
            match = pattern.fullmatch(path)
            if match is not None:
                return by_method, match.groupdict()
        return None, {}


def _text(part: str) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeError:
        raise RefusedError(400, f"expected UTF-8 in the path, found {named(part)}") from None
