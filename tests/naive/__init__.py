"""Brute-force twins: slow, plain Python and float64, to hold the kernels against."""
