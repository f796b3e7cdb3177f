"""Binning: the edges of the bins of every feature, and the blocks of bytes that bins lie in."""

from rankinite.binning.blocks import (
    BinnedMatrix,
    BinnedRows,
    Binner,
    Bins,
    apply_mapper,
    bin_matrix,
    empty_blocks,
)
from rankinite.binning.edges import (
    BinMapper,
    Sample,
    check_max_bins,
    learn_mapper,
    mapper_from_sample,
)

__all__ = [
    "BinMapper",
    "BinnedMatrix",
    "BinnedRows",
    "Binner",
    "Bins",
    "Sample",
    "apply_mapper",
    "bin_matrix",
    "check_max_bins",
    "empty_blocks",
    "learn_mapper",
    "mapper_from_sample",
]
