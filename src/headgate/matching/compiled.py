"""How is a function compiled, once for all processes of a machine?

Compiled code is kept on disk beside the source, or where the user's caches are. Where nothing can
be written, every process compiles for itself: slower to start, otherwise the same.

Compiled functions take tables of addresses instead of dozens of arrays: to hand an array over costs
as much as to match an event. Whoever fills in an address keeps the array; `ints`, `shorts` and
`octets` see the memory behind one. Compiled code keeps the interpreter's lock, so that what it sees
is not changed under it.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Octets = NDArray[np.uint8]
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile at the first call, and keep the code on disk where that is possible."""
    stamp = _stamp(function)
    try:
        dispatcher = numba.njit(function, cache=True)
        # What is kept would otherwise count as fresh when only a function that it calls changed.
        dispatcher._cache._cache_file._source_stamp = stamp
    except RuntimeError:  # no place for a cache
        dispatcher = numba.njit(function)
    _stamps[dispatcher] = stamp
    return cast("F", dispatcher)


_stamps: dict[object, str] = {}


def _stamp(function: Callable[..., Any]) -> str:
    """A digest of what is compiled: the function, the constants it reads, and what it calls."""
    code = function.__code__
    said = sha256(code.co_code + repr(code.co_consts).encode())
    for name in code.co_names:
        read = function.__globals__.get(name)
        said.update(f"{name}={_stamps.get(read) if callable(read) else read!r};".encode())
    return said.hexdigest()


def address_of(array: NDArray[Any]) -> int:
    return cast("int", array.__array_interface__["data"][0])


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _first_octet(typing_context: Any, data: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(array.data, context.get_value_type(types.int64))

    return types.int64(data), generate


@compiled
def address_of_bytes(data: bytes) -> int:
    """Where the octets of a `bytes` object are."""
    address: int = _first_octet(data)
    return address


@compiled
def ints(address: int) -> Ints:
    memory: Ints = numba.carray(_pointer(address), (1 << 40,), np.int64)
    return memory


@compiled
def shorts(address: int) -> Shorts:
    memory: Shorts = numba.carray(_pointer(address), (1 << 40,), np.int32)
    return memory


@compiled
def octets(address: int) -> Octets:
    memory: Octets = numba.carray(_pointer(address), (1 << 40,), np.uint8)
    return memory
