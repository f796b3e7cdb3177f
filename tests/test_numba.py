import numba
import numpy as np
import pytest

import rankinite as rk
from rankinite import _kernel_cache
from rankinite._numba import threads


@pytest.mark.parametrize("n_threads", [1, 2, np.int64(2), 10**6, None])
def test_threads_are_scoped(n_threads):
    before = numba.get_num_threads()
    available = numba.config.NUMBA_NUM_THREADS
    expected = available if n_threads is None else min(int(n_threads), available)
    with threads(n_threads) as n:
        assert n == numba.get_num_threads() == expected
        with threads(1):
            assert numba.get_num_threads() == 1
        assert numba.get_num_threads() == expected
    assert numba.get_num_threads() == before
    with pytest.raises(KeyError), threads(1):
        raise KeyError
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "2", [1]])
def test_numbers_of_threads_that_are_none(n_threads):
    with (
        pytest.raises(rk.ParameterError, match="n_threads must be a positive integer or None, got"),
        threads(n_threads),
    ):
        pass


def test_the_threading_layer_survives_threads_and_is_not_left_to_chance():
    rk.LambdaMART(n_estimators=1).fit(rk.artificial(n_queries=20, n_docs=20, n_features=3))
    assert numba.threading_layer() in ("tbb", "omp")


def test_compiled_kernels_go_when_any_kernel_source_changes(tmp_path, monkeypatch):
    sources = tmp_path / "trees"
    (sources / "__pycache__").mkdir(parents=True)
    kernel = sources / "_some_kernels.py"
    kernel.write_text("a = 1")
    compiled = sources / "__pycache__" / "_some_kernels.f-1.py311.nbi"
    monkeypatch.setattr(_kernel_cache, "_PACKAGE", tmp_path)
    monkeypatch.setattr(_kernel_cache, "_STAMP", tmp_path / "__pycache__" / "stamp")

    compiled.write_text("of unknown sources")
    _kernel_cache.drop_stale_kernels()
    assert not compiled.exists()

    compiled.write_text("of these sources")
    _kernel_cache.drop_stale_kernels()
    assert compiled.exists()

    kernel.write_text("a = 2")
    _kernel_cache.drop_stale_kernels()
    assert not compiled.exists()
