"""Vectors of bytes as values inside kernels: sixteen or more documents an instruction.

numba has no vector types, and loops over bytes keep their running values in memory. These few
intrinsics emit LLVM's own vectors, which stay in registers and which LLVM fits to any processor.
Indices are not checked, and negative ones do not count from the end.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

# Thresholds that `count_below` looks at.
GROUP = 16
# Bytes of a vector register on most processors; `count_below` compares as many at once.
_REGISTER = 32

_I1, _I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))


class ByteVector(types.Type):
    """The numba type of `width` bytes side by side."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"ByteVector({width})")


@register_model(ByteVector)
class _ByteVectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: ByteVector) -> None:
        super().__init__(manager, kind, _bytes(kind.width))


def _bytes(width: int) -> ir.VectorType:
    return ir.VectorType(_I8, width)


def _filled(builder: ir.IRBuilder, element: ir.Value, width: int) -> ir.Value:
    """A vector that holds `element` everywhere."""
    nothing = ir.Constant(ir.VectorType(element.type, width), ir.Undefined)
    first = builder.insert_element(nothing, element, _I32(0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(_I32, width), [0] * width)
    )


def _picked(builder: ir.IRBuilder, one: ir.Value, other: ir.Value, places: list[int]) -> ir.Value:
    """The elements at some places of two vectors, one behind the other."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_I32, len(places)), places))


def _joined(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    """Two vectors of equal width as one."""
    return _picked(builder, one, other, list(range(2 * one.type.count)))


def _element(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, index: Any) -> Any:
    """A pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _load(builder: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
    """Load a vector from anywhere in an array."""
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=1)


def _store(builder: ir.IRBuilder, vector: ir.Value, pointer: ir.Value) -> None:
    builder.store(vector, builder.bitcast(pointer, vector.type.as_pointer()), align=1)


@intrinsic(prefer_literal=True)
def filled(typing_context: Any, byte: Any, width: Any) -> tuple[Any, Callable] | None:
    """A vector of `width` (a constant) times the same byte."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    n = width.literal_value

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _filled(builder, args[0], n)

    return ByteVector(n)(types.uint8, width), emit


@intrinsic(prefer_literal=True)
def cleared(
    typing_context: Any, alive: Any, codes: Any, clears: Any, rows: Any, index: Any, sides: Any
) -> tuple[Any, Callable] | None:
    """`alive` after one clear a side: ``alive & ((last − code > span, signed) | kept)``.

    `alive` holds the documents `sides` times (a constant), one side behind the other. Side j goes
    by the clear ``c = sides·index + j``: ``clears[c]``, of uint32, has the bytes last, span and
    kept from the lowest up, and ``rows[c]`` is 16 times the row of `codes` that it looks at.
    """
    if not isinstance(sides, types.IntegerLiteral):
        return None
    n_sides = sides.literal_value
    kind, n_docs = _bytes(alive.width), alive.width // n_sides

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, codes_kind, clears_kind, rows_kind, _, _ = signature.args
        place = builder.mul(args[4], _I64(n_sides))
        words = _load(
            builder, _element(context, builder, clears_kind, args[2], place), _bytes(4 * n_sides)
        )
        last, span, kept = (
            _picked(builder, words, words, [4 * (i // n_docs) + k for i in range(alive.width)])
            for k in range(3)
        )
        first_row = _element(context, builder, rows_kind, args[3], place)
        code = None
        for side in range(n_sides):
            row = builder.zext(builder.load(builder.gep(first_row, [_I64(side)])), _I64)
            start = builder.mul(row, _I64(n_docs // 16))
            pointer = _element(context, builder, codes_kind, args[1], start)
            own = _load(builder, pointer, _bytes(n_docs))
            code = own if code is None else _joined(builder, code, own)
        untouched = builder.icmp_signed(">", builder.sub(last, code), span)
        mask = builder.or_(builder.sext(untouched, kind), kept)
        return builder.and_(args[0], mask)

    return alive(alive, codes, clears, rows, types.int64, sides), emit


@intrinsic(prefer_literal=True)
def both_sides(typing_context: Any, alive: Any, sides: Any) -> tuple[Any, Callable] | None:
    """What is alive on every side of `cleared`, of which there are one or two."""
    if not isinstance(sides, types.IntegerLiteral):
        return None
    n_sides = sides.literal_value
    n_docs = alive.width // n_sides

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if n_sides == 1:
            return args[0]
        halves = (
            _picked(builder, args[0], args[0], list(range(start, start + n_docs)))
            for start in (0, n_docs)
        )
        return builder.and_(*halves)

    return ByteVector(n_docs)(alive, sides), emit


@intrinsic
def where_any(typing_context: Any, flags: Any, yes: Any, no: Any) -> tuple[Any, Callable]:
    """The bytes of `yes` where `flags` are not 0, else those of `no`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(args[0].type, [0] * flags.width)
        return builder.select(builder.icmp_unsigned("!=", args[0], zero), args[1], args[2])

    return flags(flags, yes, no), emit


@intrinsic
def store_lowest_bits(typing_context: Any, plane: Any, bits: Any, out: Any) -> tuple[Any, Callable]:
    """Write ``8·plane + the number of the lowest set bit`` of every byte to uint16 `out`."""
    width = plane.width
    wide = ir.VectorType(_I16, width)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = _bytes(width)
        count = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind, _I1]), f"llvm.cttz.v{width}i8"
        )
        lowest = builder.call(count, [args[1], _I1(1)])
        eight = builder.shl(builder.zext(args[0], wide), ir.Constant(wide, [3] * width))
        leaf = builder.add(eight, builder.zext(lowest, wide))
        _store(builder, leaf, _element(context, builder, signature.args[2], args[2], _I64(0)))
        return context.get_dummy_value()

    return types.void(plane, bits, out), emit


@intrinsic
def store_bytes(typing_context: Any, low: Any, high: Any, out: Any) -> tuple[Any, Callable]:
    """Write ``low + 256·high`` of every two bytes to uint16 `out`."""
    wide = ir.VectorType(_I16, low.width)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        upper = builder.shl(builder.zext(args[1], wide), ir.Constant(wide, [8] * low.width))
        both = builder.or_(upper, builder.zext(args[0], wide))
        _store(builder, both, _element(context, builder, signature.args[2], args[2], _I64(0)))
        return context.get_dummy_value()

    return types.void(low, high, out), emit


@intrinsic
def count_below(typing_context: Any, table: Any, start: Any, x: Any) -> tuple[Any, Callable]:
    """How many of 16 elements of a table from `start` on are below x (none if x is NaN).

    Elements of a table of several rows count through from the first.
    """
    lanes = _REGISTER * 8 // table.dtype.bitwidth

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table_kind = signature.args[0]
        repeated = _filled(builder, args[2], lanes)
        below = _I32(0)
        for part in range(0, GROUP, lanes):
            index = builder.add(args[1], _I64(part))
            pointer = _element(context, builder, table_kind, args[0], index)
            values = _load(builder, pointer, repeated.type)
            mask = builder.bitcast(builder.fcmp_ordered("<", values, repeated), ir.IntType(lanes))
            below = builder.or_(below, builder.shl(builder.zext(mask, _I32), _I32(part)))
        return builder.zext(builder.ctpop(below), _I64)

    return types.uint64(table, types.uint64, table.dtype), emit


@intrinsic
def transpose_tile(
    typing_context: Any, rows: Any, first: Any, out: Any, start: Any, stride: Any
) -> tuple[Any, Callable]:
    """Turn sixteen rows of sixteen bytes into columns.

    Byte c of row ``first + r`` of `rows` goes to ``out[start + c·stride + r]``.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows_kind, _, out_kind, _, _ = signature.args
        tile = []
        for r in range(16):
            index = builder.mul(builder.add(args[1], _I64(r)), _I64(16))
            tile.append(
                _load(builder, _element(context, builder, rows_kind, args[0], index), _bytes(16))
            )
        # Each pass moves one bit of the row number into the place of a byte in its vector.
        halves = [
            ir.Constant(
                ir.VectorType(_I32, 16), [i // 2 + 16 * (i % 2) + 8 * half for i in range(16)]
            )
            for half in range(2)
        ]
        for _ in range(4):
            tile = [
                builder.shuffle_vector(tile[i], tile[i + 8], halves[half])
                for i in range(8)
                for half in range(2)
            ]
        for c in range(16):
            index = builder.add(args[3], builder.mul(args[4], _I64(c)))
            _store(builder, tile[c], _element(context, builder, out_kind, args[2], index))
        return context.get_dummy_value()

    return types.void(rows, types.int64, out, types.int64, types.int64), emit


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable]:
    """Begin to bring an element into the cache."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        pointer = builder.bitcast(pointer, _I8.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, _I32, _I32, _I32])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (pointer.type,), kind)
        builder.call(fetch, [pointer, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), emit
