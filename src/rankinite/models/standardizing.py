"""Features on one scale: mean 0 and variance 1 on the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankinite._numba import in_threads
from rankinite.errors import ModelFileError
from rankinite.models._standardizing_kernels import add_powers, standardize, value_ranges

# Rows that are added up one after the other. Blocks do not depend on the number of threads, so
# neither do the sums.
_BLOCK_ROWS = 1024
_ARRAYS = ("mean", "scale", "low", "high")


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Mean and scale of every feature.

    A value becomes (value − mean) · scale. Missing values become 0, the mean. Infinite ones count
    as the lowest or the highest finite value of the training rows.

    Attributes
    ----------
    mean, scale : ndarray of float64, shape (n_features,)
        The scale is one over the standard deviation; 0 for a feature that never varies.
    low, high : ndarray of float64, shape (n_features,)
        The lowest and the highest finite value; 0 for a feature without any.
    """

    mean: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray, rows: np.ndarray) -> Standardizer:
        """Take mean and scale of some rows, in two passes.

        Parameters
        ----------
        X : ndarray of float32 or float64, shape (n_rows, n_features)
        rows : ndarray of int64
            In an order that does not depend on the caller's (`rankinite.order.canonical`).
        """
        low, high = _ranges(X, rows)
        nothing = low > high
        low, high = np.where(nothing, 0.0, low), np.where(nothing, 0.0, high)
        # In units of a power of two near the largest value nothing overflows.
        exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
        exponent = np.maximum(exponent, -1000)
        factor = np.ldexp(1.0, -exponent)
        zero = np.zeros_like(low)
        sums, _, counts = _sums(X, rows, factor, zero)
        counts = np.maximum(counts, 1.0)
        mean = np.clip(np.ldexp(sums / counts, exponent), low, high)
        _, squares, _ = _sums(X, rows, factor, mean * factor)
        deviation = np.ldexp(np.sqrt(squares / counts), exponent)
        # So small that one over it would be no number is as good as never varying.
        varies = (low < high) & (deviation > 1e-300)
        scale = np.divide(1.0, deviation, out=zero, where=varies)
        return cls(mean, scale, low, high)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.mean)

    def transform(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Standardised values, float64 of shape (n_rows, n_features).

        Parameters
        ----------
        X : ndarray of float32 or float64, shape (n, n_features)
        rows : ndarray of int64, shape (n_rows,), optional
            Which rows of `X`, in which order; all by default.
        """
        out = np.empty((len(X) if rows is None else len(rows), X.shape[1]))

        def transform_block(first: int, last: int) -> None:
            self.write(_taken(X, rows, first, last), out[first:last])

        in_threads(transform_block, _blocks(len(out)))
        return out

    def write(self, X: np.ndarray, out: np.ndarray) -> None:
        """Write the standardised values of `X` to `out`, on the calling thread."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        standardize(X, self.mean, self.scale, self.low, self.high, out)

    def column(self, X: np.ndarray, feature: int) -> np.ndarray:
        """Standardised values of one feature, float64 of shape (n_rows,); those of `transform`."""
        some = slice(feature, feature + 1)
        alone = Standardizer(*(getattr(self, name)[some] for name in _ARRAYS))
        out = np.empty((len(X), 1))
        alone.write(X[:, some], out)
        return out[:, 0]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What `from_arrays` takes."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_features: int) -> Standardizer:
        """The standardiser of the arrays of a model file, after a check."""
        for name in _ARRAYS:
            array = arrays[name]
            if array.dtype != np.float64 or array.shape != (n_features,):
                raise ModelFileError(
                    f"the standardisation in the model file has a {name} of shape {array.shape} "
                    f"for {n_features} features: save the model again"
                )
            if not np.isfinite(array).all():
                raise ModelFileError(
                    f"the standardisation in the model file has a {name} that is no number: "
                    "save the model again"
                )
        return cls(*(np.ascontiguousarray(arrays[name]) for name in _ARRAYS))


def _blocks(n_rows: int) -> np.ndarray:
    return np.append(np.arange(0, n_rows, _BLOCK_ROWS), n_rows)


def _taken(X: np.ndarray, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
    return X[first:last] if rows is None else X[rows[first:last]]


def _over_blocks(X: np.ndarray, rows: np.ndarray, visit: Callable[[int, np.ndarray], None]) -> None:
    """Call ``visit(block's number, its rows as float64)`` of all blocks, in threads."""

    def visit_block(first: int, last: int) -> None:
        block = np.ascontiguousarray(_taken(X, rows, first, last), dtype=np.float64)
        visit(first // _BLOCK_ROWS, block)

    in_threads(visit_block, _blocks(len(rows)))


def _ranges(X: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest finite value of each feature; ∞ and −∞ without any."""
    n_blocks = -(-len(rows) // _BLOCK_ROWS)
    lows = np.full((n_blocks, X.shape[1]), np.inf)
    highs = np.full((n_blocks, X.shape[1]), -np.inf)
    _over_blocks(X, rows, lambda b, values: value_ranges(values, lows[b], highs[b]))
    return lows.min(axis=0, initial=np.inf), highs.max(axis=0, initial=-np.inf)


def _sums(
    X: np.ndarray, rows: np.ndarray, factor: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of value · factor − centre, of its square, and numbers of finite values."""
    n_blocks = -(-len(rows) // _BLOCK_ROWS)
    sums = np.zeros((3, n_blocks, X.shape[1]))
    _over_blocks(
        X, rows, lambda b, values: add_powers(values, factor, centre, *(s[b] for s in sums))
    )
    # The blocks one after the other: numpy adds along the first axis in its order.
    total, squares, counts = (np.add.reduce(s, axis=0) for s in sums)
    return total, squares, counts
