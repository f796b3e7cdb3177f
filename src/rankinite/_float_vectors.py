"""Vectors of four float64 as values inside kernels, and multiplication with addition in one step.

numba has no vector types, and LLVM does not keep a block of running sums in registers by itself.
These few intrinsics emit LLVM's own vectors, which it fits to any processor. `fma` and `fma4`
round once, whatever stands around them: so a sum has the same bits wherever it is computed.
Indices are not checked, and negative ones do not count from the end.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LANES = 4

_I32 = ir.IntType(32)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_NONE = ir.Constant(ir.IntType(LANES), 0)


class Float64x4(types.Type):
    """The numba type of four float64 side by side."""

    def __init__(self) -> None:
        super().__init__(name="Float64x4")


FOUR = Float64x4()


@register_model(Float64x4)
class _Float64x4Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Float64x4) -> None:
        super().__init__(manager, kind, _DOUBLES)


def _filled(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    nothing = ir.Constant(_DOUBLES, ir.Undefined)
    first = builder.insert_element(nothing, number, _I32(0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    )


def _element(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, index: Any) -> Any:
    """A pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _vector(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    return builder.bitcast(pointer, _DOUBLES.as_pointer())


@intrinsic
def load4(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable]:
    """The numbers ``array[index:index + 4]``."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.load(_vector(builder, pointer), align=8)

    return FOUR(array, types.int64), emit


@intrinsic
def store4(typing_context: Any, array: Any, index: Any, vector: Any) -> tuple[Any, Callable]:
    """Write to ``array[index:index + 4]``."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], _vector(builder, pointer), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, FOUR), emit


@intrinsic
def spread4(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable]:
    """Four times ``array[index]``."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return _filled(builder, builder.load(pointer))

    return FOUR(array, types.int64), emit


@intrinsic
def fill4(typing_context: Any, number: Any) -> tuple[Any, Callable]:
    """Four times a number."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _filled(builder, args[0])

    return FOUR(types.float64), emit


def _binary(name: str, what: str) -> Any:
    def typed(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable]:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, name)(*args)

        return FOUR(FOUR, FOUR), emit

    typed.__doc__ = f"The {what} of two vectors, lane by lane."
    return intrinsic(typed)


add4 = _binary("fadd", "sum")
sub4 = _binary("fsub", "difference")
mul4 = _binary("fmul", "product")
div4 = _binary("fdiv", "quotient")


def _choice(comparison: str, what: str) -> Any:
    def typed(typing_context: Any, x: Any, bound: Any, yes: Any, no: Any) -> tuple[Any, Callable]:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            holds = builder.fcmp_ordered(comparison, args[0], args[1])
            return builder.select(holds, args[2], args[3])

        return FOUR(FOUR, FOUR, FOUR, FOUR), emit

    typed.__doc__ = f"`yes` in lanes where x is {what} the bound, else (and for NaN) `no`."
    return intrinsic(typed)


up_to4 = _choice("<=", "at most")
above4 = _choice(">", "above")


@intrinsic
def fma4(typing_context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Callable]:
    """``a · b + c`` lane by lane, rounded once."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")
        return builder.call(fused, args)

    return FOUR(FOUR, FOUR, FOUR), emit


@intrinsic
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Callable]:
    """``a · b + c`` of three numbers, rounded once."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), emit


@intrinsic
def lane4(typing_context: Any, vector: Any, lane: Any) -> tuple[Any, Callable]:
    """One of the four numbers."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _I32))

    return types.float64(FOUR, types.int64), emit


@intrinsic
def reaches4(typing_context: Any, vector: Any, bound: Any) -> tuple[Any, Callable]:
    """Whether any of the four numbers is at least `bound`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = builder.fcmp_ordered(">=", args[0], _filled(builder, args[1]))
        return builder.icmp_unsigned("!=", builder.bitcast(lanes, ir.IntType(LANES)), _NONE)

    return types.boolean(FOUR, types.float64), emit


@intrinsic
def sum4(typing_context: Any, vector: Any) -> tuple[Any, Callable]:
    """The sum of the four numbers: (0 + 2) + (1 + 3)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = [builder.extract_element(args[0], _I32(lane)) for lane in range(LANES)]
        return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))

    return types.float64(FOUR), emit
