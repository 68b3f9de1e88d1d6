"""How is a function compiled, once for all processes of a machine?

Compiled code is kept on disk beside the source, or where the user's caches are. Where nothing can
be written, every process compiles for itself: slower to start, otherwise the same.

Compiled functions that match take addresses instead of dozens of arrays: to hand those over costs
more than to match an event. Whoever fills in an address keeps the array. Texts have seven octets of
room behind them, and lists of ids as many ids, so that compiled code may read and write in larger
steps. It keeps the interpreter's lock, so that what it sees is not changed under it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from hashlib import sha256
from types import ModuleType
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Octets = NDArray[np.uint8]
LINE_SHORTS: Final = 8
OCTETS_BEHIND: Final = 8
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile at the first call, and keep the code on disk where that is possible."""
    stamp = _stamp(sys.modules[function.__module__])
    try:
        dispatcher = numba.njit(function, cache=True)
        # What is kept would otherwise count as fresh when only a function that it calls changed.
        dispatcher._cache._cache_file._source_stamp = stamp
    except RuntimeError:  # no place for a cache
        dispatcher = numba.njit(function)
    _stamps[dispatcher] = stamp
    return cast("F", dispatcher)


_stamps: dict[object, str] = {}
_module_stamps: dict[str, str] = {}
_OURS: Final = inspect.getsource(sys.modules[__name__]).encode()
"""How memory is read is part of all that is compiled."""


def _stamp(module: ModuleType) -> str:
    """A digest of all that the code of a module is compiled from.

    That is its text, for a function may call one that is defined further down, the constants that
    it has got from elsewhere, and what the functions are compiled from that it has got.
    """
    known = _module_stamps.get(module.__name__)
    if known is None:
        said = sha256(_OURS + inspect.getsource(module).encode())
        for name, read in sorted(vars(module).items()):
            if isinstance(read, ModuleType):
                constants = {key: one for key, one in vars(read).items() if _is_constant(one)}
                said.update(f"{name}={sorted(constants.items())};".encode())
            elif _is_constant(read) or (callable(read) and read in _stamps):
                said.update(f"{name}={_stamps.get(read, read)!r};".encode())
        known = _module_stamps[module.__name__] = said.hexdigest()
    return known


def _is_constant(read: object) -> bool:
    return isinstance(read, int | float)


def address_of(array: NDArray[Any]) -> int:
    return cast("int", array.__array_interface__["data"][0])


def _loader(bits: int) -> Any:
    """A function that reads so many bits at an address, as a signed integer (octets: unsigned)."""

    @intrinsic  # type: ignore[untyped-decorator]
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.IntType(bits)
            pointer = builder.inttoptr(arguments[0], kind.as_pointer())
            read = builder.load(pointer, align=1, typ=kind)
            if bits == 64:
                return read
            return (builder.zext if bits == 8 else builder.sext)(read, ir.IntType(64))

        return types.int64(types.int64), generate

    return load


def _storer(bits: int) -> Any:
    """A function that writes so many bits at an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.IntType(bits)
            pointer = builder.inttoptr(arguments[0], kind.as_pointer())
            written = arguments[1] if bits == 64 else builder.trunc(arguments[1], kind)
            builder.store(written, pointer, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


_load8, _load32, _load64 = _loader(8), _loader(32), _loader(64)
_store8, _store32, _store64 = _storer(8), _storer(32), _storer(64)


@intrinsic  # type: ignore[untyped-decorator]
def _copy_line(typing_context: Any, target: Any, source: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(32), LINE_SHORTS)
        to, start = (builder.inttoptr(address, kind.as_pointer()) for address in arguments)
        builder.store(builder.load(start, align=1, typ=kind), to, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _lanes_up_to(typing_context: Any, longs: Any, most: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(64), LINE_SHORTS)
        read = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1, typ=kind)
        passes = builder.icmp_signed("<=", read, _in_all_lanes(builder, kind, arguments[1]))
        return builder.zext(builder.bitcast(passes, ir.IntType(LINE_SHORTS)), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def _in_all_lanes(builder: Any, kind: Any, value: Any) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _LANES(0))
    mask = ir.Constant(ir.VectorType(_LANES, LINE_SHORTS), [0] * LINE_SHORTS)
    return builder.shuffle_vector(first, first, mask)


_LANES = ir.IntType(32)


def _packer(counted: bool) -> Any:
    """A function that writes chosen lanes one behind the other: of what it reads, or of a count."""

    @intrinsic  # type: ignore[untyped-decorator]
    def pack(typing_context: Any, target: Any, source: Any, lanes: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(_LANES, LINE_SHORTS)
            mask = ir.VectorType(ir.IntType(1), LINE_SHORTS)
            to = builder.inttoptr(arguments[0], kind.as_pointer())
            if counted:
                first = _in_all_lanes(builder, kind, builder.trunc(arguments[1], _LANES))
                read = builder.add(first, ir.Constant(kind, list(range(LINE_SHORTS))))
            else:
                start = builder.inttoptr(arguments[1], kind.as_pointer())
                read = builder.load(start, align=1, typ=kind)
            octet = builder.trunc(arguments[2], ir.IntType(LINE_SHORTS))
            said = ir.FunctionType(kind, [kind, mask, kind])
            name = f"llvm.experimental.vector.compress.v{LINE_SHORTS}i32"
            compress = builder.module.declare_intrinsic(name, (), said)
            chosen = builder.bitcast(octet, mask)
            packed = builder.call(compress, [read, chosen, ir.Constant(kind, ir.Undefined)])
            builder.store(packed, to, align=1)
            return builder.zext(builder.ctpop(octet), ir.IntType(64))

        return types.int64(types.int64, types.int64, types.int64), generate

    return pack


_pack_read, _pack_counted = _packer(counted=False), _packer(counted=True)


@intrinsic  # type: ignore[untyped-decorator]
def _folded(typing_context: Any, one: Any, other: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return builder.xor(builder.trunc(product, word), high)

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _zeros_below(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _first_octet(typing_context: Any, data: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(array.data, context.get_value_type(types.int64))

    return types.int64(data), generate


@compiled
def octet(address: int, at: int) -> int:
    read: int = _load8(address + at)
    return read


@compiled
def short(address: int, at: int) -> int:
    read: int = _load32(address + 4 * at)
    return read


@compiled
def long(address: int, at: int) -> int:
    read: int = _load64(address + 8 * at)
    return read


@compiled
def eight_octets(address: int) -> int:
    """Octets in a row as one word; some of them may lie beyond the end that counts."""
    read: int = _load64(address)
    return read


@compiled
def put_octet(address: int, at: int, value: int) -> None:
    _store8(address + at, value)


@compiled
def put_short(address: int, at: int, value: int) -> None:
    _store32(address + 4 * at, value)


@compiled
def put_long(address: int, at: int, value: int) -> None:
    _store64(address + 8 * at, value)


@compiled
def copy_shorts(target: int, source: int, count: int) -> None:
    """Copy in lines of eight: up to seven behind the last one are copied with it."""
    for at in range(0, 4 * count, 4 * LINE_SHORTS):
        _copy_line(target + at, source + at)


@compiled
def lanes_up_to(longs: int, most: int) -> int:
    """Which of eight longs in a row are at most so much: the lowest bit speaks of the first."""
    lanes: int = _lanes_up_to(longs, most)
    return lanes


@compiled
def pack_shorts(target: int, source: int, lanes: int) -> int:
    """Write the chosen ones of eight shorts one behind the other; how many are chosen.

    All eight are read, and all eight are written: behind the chosen ones it is anything.
    """
    count: int = _pack_read(target, source, lanes)
    return count


@compiled
def pack_counted(target: int, first: int, lanes: int) -> int:
    """As `pack_shorts`, of eight numbers that count from the first one."""
    count: int = _pack_counted(target, first, lanes)
    return count


@compiled
def folded(one: int, other: int) -> int:
    """Both halves of a product of 128 bits, one over the other: what hashes are made of."""
    word: int = _folded(one, other)
    return word


@compiled
def zeros_below(word: int) -> int:
    """How many zeros are below the lowest one of a word."""
    count: int = _zeros_below(word)
    return count


@compiled
def address_of_bytes(data: bytes) -> int:
    """Where the octets of a `bytes` object are."""
    address: int = _first_octet(data)
    return address


@compiled
def address_in(array: Any) -> int:
    """Where an array is, asked by compiled code."""
    address: Any = np.int64(array.ctypes.data)
    return address
