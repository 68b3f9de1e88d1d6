"""Does what a file or the environment says fit the settings there are, and if not, what would?"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from headgate.live.sections import Section
from headgate.model.errors import HeadgateError, named

PREFIX = "HEADGATE_"
OTHERS = frozenset(
    PREFIX + name
    for name in (
        "STORE",
        "PROOFS",
        "CONFIG",
        "URL",
        "TOKEN",
        "TOKEN_FILE",
        "PASSWORD",
        "PRINCIPAL",
        "CA",
        "KEY",
    )
)
"""Variables of Headgate that are no settings of a broker."""
_SECRET = frozenset({"policy.store"})
"""Settings of which a refusal repeats nothing: there may be a password in them."""
T = TypeVar("T", bound=Section)


class ConfigError(HeadgateError, ValueError):
    """What was set can't be meant, or isn't understood."""


def read_section(kind: type[T], said: Any, where: str, place: str = "") -> T:
    """A section with what was said of it, and of the sections in it."""
    if not isinstance(said, dict):
        raise ConfigError(
            f"`{place}` in {where}: expected a table `[{place}]`, found {_shown(said)}"
        )
    kinds = get_type_hints(kind, include_extras=True)
    read = {}
    for key, value in said.items():
        at = f"{place}.{key}" if place else key
        if key not in kinds:
            raise ConfigError(
                f"there is no setting {named(at)}{_instead(at, kinds, place)} ({where})"
            )
        read[key] = _read(kinds[key], value, where, at)
    return kind(**read)


def _read(kind: Any, said: Any, where: str, place: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, Section):
        return read_section(kind, said, where, place)
    if get_origin(kind) is not None and issubclass(_origin(kind), Mapping):
        if not isinstance(said, dict):
            raise ConfigError(
                f"`{place}` in {where}: expected a table `[{place}]`, found {_shown(said)}"
            )
        names, values = get_args(kind)
        return {
            _read(names, name, where, place): _read(values, value, where, f"{place}.{name}")
            for name, value in said.items()
        }
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError:
        raise _misfit(kind, said, f"{named(place, 100)} in {where}", place in _SECRET) from None


def environment_names(
    kind: type[Section], environ: Mapping[str, str]
) -> Iterator[tuple[str, str, Any]]:
    """The variables that are settings: name, place and type. One that nearly is, is refused."""
    known = {variable(place): (place, one) for place, one in leaves(kind)}
    for name in environ:
        if name in known:
            yield name, *known[name]
        elif name.startswith(PREFIX) and name not in OTHERS:
            near = difflib.get_close_matches(name, known, 1, 0.85)
            if near:
                raise ConfigError(
                    f"there is no setting {named(name)}: did you mean `{near[0]}`? (environment)"
                )


def variable(place: str) -> str:
    """What a setting is called in the environment."""
    return PREFIX + place.replace(".", "_").upper()


def leaves(kind: type[Section], place: str = "") -> Iterator[tuple[str, Any]]:
    """The place and the type of every setting but those that are tables of names."""
    for key, one in get_type_hints(kind, include_extras=True).items():
        at = f"{place}.{key}" if place else key
        if isinstance(one, type) and issubclass(one, Section):
            yield from leaves(one, at)
        elif at.split(".")[0] != "network" or one is str:
            yield at, one


def read_text(kind: Any, text: str, name: str) -> Any:
    """A value from the environment; the members of a list stand between commas."""
    if get_origin(kind) is tuple:
        member, *_ = get_args(kind)
        return [read_text(member, part.strip(), name) for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        place_is_secret = any(variable(place) == name for place in _SECRET)
        raise _misfit(kind, text, f"{named(name)} in the environment", place_is_secret) from None


def _misfit(kind: Any, said: Any, place: str, is_secret: bool) -> ConfigError:
    found = "" if is_secret else f", found {_shown(said)}"
    return ConfigError(f"{place}: expected {expected(kind)}{found}")


def expected(kind: Any) -> str:
    """What a value of this type is, in words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        meta = parts[1]
        return str(meta.description)
    if origin is Literal:
        return f"one of {', '.join(f'`{one}`' for one in parts)}"
    if origin is tuple:
        size = "a pair" if parts[-1] is not Ellipsis else "a list"
        return f"{size}, each of it {expected(parts[0])}"
    return {str: "text", bool: "`true` or `false`", NoneType: "nothing"}.get(kind, str(kind))


def _origin(kind: Any) -> type:
    origin = get_origin(kind)
    return origin if isinstance(origin, type) else object


def _instead(at: str, kinds: Mapping[str, Any], place: str) -> str:
    known = [f"{place}.{key}" if place else key for key in kinds]
    near = difflib.get_close_matches(at, known, 1, 0.7)
    if near:
        return f": did you mean `{near[0]}`?"
    return f": expected one of {', '.join(f'`{one}`' for one in known)}"


def _shown(said: Any) -> str:
    if isinstance(said, dict):
        return "a table"
    if isinstance(said, str | bool | int | float | list):
        return named(json.dumps(said, ensure_ascii=False, default=str))
    return named(str(said))
