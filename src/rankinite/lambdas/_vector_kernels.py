"""Vectors of float32 and of int32 as values inside kernels: `LANES` documents an instruction.

numba has no vector types, and LLVM does not keep the sums of many documents in registers by itself.
These few intrinsics emit LLVM's own vectors, which it fits to any processor. Every lane is rounded
by itself, so nothing depends on how many lanes a register has. Indices are not checked.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LANES = 16

_I32, _I64 = ir.IntType(32), ir.IntType(64)


class Lanes(types.Type):
    """The numba type of `LANES` numbers of 32 bits side by side."""

    def __init__(self, name: str, element: ir.Type) -> None:
        self.vector = ir.VectorType(element, LANES)
        super().__init__(name=f"{name}x{LANES}")


FLOATS, INTEGERS = Lanes("float32", ir.FloatType()), Lanes("int32", _I32)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, kind.vector)


def _filled(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    kind = ir.VectorType(number.type, LANES)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, _I32(0))
    return builder.shuffle_vector(
        first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    )


def _element(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, index: Any) -> Any:
    """A pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _lanes_of(number: Any) -> Lanes:
    return FLOATS if isinstance(number, types.Float) else INTEGERS


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable]:
    """The numbers of an array from ``array[index]`` on."""
    lanes = _lanes_of(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.load(builder.bitcast(pointer, lanes.vector.as_pointer()), align=4)

    return lanes(array, types.int64), emit


@intrinsic
def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> tuple[Any, Callable]:
    """Write the numbers to an array from ``array[index]`` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(pointer, lanes.vector.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, lanes), emit


@intrinsic
def spread(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable]:
    """``array[index]`` in all lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return _filled(builder, builder.load(pointer))

    return _lanes_of(array.dtype)(array, types.int64), emit


@intrinsic
def fill(typing_context: Any, number: Any) -> tuple[Any, Callable]:
    """A float32 or an int32 in all lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _filled(builder, args[0])

    return _lanes_of(number)(number), emit


def _binary(floats: str, integers: str, what: str) -> Any:
    def typed(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable]:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, floats if a == FLOATS else integers)(*args)

        return a(a, a), emit

    typed.__doc__ = f"The {what}, lane by lane."
    return intrinsic(typed)


plus = _binary("fadd", "add", "sum")
minus = _binary("fsub", "sub", "difference")
times = _binary("fmul", "mul", "product")
over = _binary("fdiv", "sdiv", "quotient")


def _choice(comparison: str, what: str) -> Any:
    def typed(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable]:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            compare = builder.fcmp_ordered if a == FLOATS else builder.icmp_signed
            return builder.select(compare(comparison, *args), *args)

        return a(a, a), emit

    typed.__doc__ = f"The {what} of two numbers, lane by lane; b if one of them is NaN."
    return intrinsic(typed)


larger = _choice(">", "larger")
smaller = _choice("<", "smaller")


def _call(builder: ir.IRBuilder, name: str, result: ir.Type, *args: ir.Value) -> ir.Value:
    kind = ir.FunctionType(result, [each.type for each in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


@intrinsic
def size(typing_context: Any, a: Any) -> tuple[Any, Callable]:
    """|a|, lane by lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if a == FLOATS:
            return _call(builder, f"llvm.fabs.v{LANES}f32", a.vector, args[0])
        return _call(builder, f"llvm.abs.v{LANES}i32", a.vector, args[0], ir.IntType(1)(0))

    return a(a), emit


@intrinsic
def nearest(typing_context: Any, a: Any) -> tuple[Any, Callable]:
    """The nearest integers, halves to the even one."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rounded = _call(builder, f"llvm.rint.v{LANES}f32", FLOATS.vector, args[0])
        return builder.fptosi(rounded, INTEGERS.vector)

    return INTEGERS(FLOATS), emit


@intrinsic
def as_floats(typing_context: Any, a: Any) -> tuple[Any, Callable]:
    """The integers as float32."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sitofp(args[0], FLOATS.vector)

    return FLOATS(INTEGERS), emit


@intrinsic
def bits(typing_context: Any, a: Any) -> tuple[Any, Callable]:
    """The bits of floats as integers: of those that are not negative, in the same order."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], INTEGERS.vector)

    return INTEGERS(FLOATS), emit


@intrinsic
def add_to(typing_context: Any, array: Any, index: Any, a: Any) -> tuple[Any, Callable]:
    """Add the integers to float64 numbers of an array from ``array[index]`` on."""
    doubles = ir.VectorType(ir.DoubleType(), LANES)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        pointer = builder.bitcast(pointer, doubles.as_pointer())
        before = builder.load(pointer, align=8)
        builder.store(builder.fadd(before, builder.sitofp(args[2], doubles)), pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, INTEGERS), emit


@intrinsic
def total(typing_context: Any, a: Any) -> tuple[Any, Callable]:
    """The sum of all lanes as an int64."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = builder.sext(args[0], ir.VectorType(_I64, LANES))
        return _call(builder, f"llvm.vector.reduce.add.v{LANES}i64", _I64, wide)

    return types.int64(INTEGERS), emit


@intrinsic
def largest(typing_context: Any, a: Any) -> tuple[Any, Callable]:
    """The largest lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, f"llvm.vector.reduce.smax.v{LANES}i32", _I32, args[0])

    return types.int32(INTEGERS), emit
