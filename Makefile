# make demo   sets everything up and runs the main job
# make test   sets everything up and passes the tests
# make test-torch  installs PyTorch beside the rest and passes the tests of nets of one's own
# make test-distributed  installs MPI and Dask beside the rest and passes the tests of several processes
# make fuzz   reads 100,000 damaged files of every kind, and fails if one is not refused properly
# make check  the static checks: style, types, import contract
# make bench  the short benchmarks beside the peers, as one table (about twenty minutes)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-torch test-distributed fuzz check bench clean

demo: $(VENV)/.installed
	$(BIN)/rankinite demo

test: $(VENV)/.installed-for-tests
	$(BIN)/python -m pytest

# PyTorch is not among the requirements of the tests, because it is so large.
test-torch: $(VENV)/.installed-torch
	$(BIN)/python -m pytest tests/torch tests/cli/test_ranker_options.py tests/test_docs.py

# MPI is not among the requirements of the tests: a machine may have one of its own. Nor is Dask.
test-distributed: $(VENV)/.installed-distributed
	$(BIN)/python -m pytest -m "mpi or dask" tests/distributed

fuzz: $(VENV)/.installed-for-tests
	$(BIN)/python -m tests.fuzz 100000

check: $(VENV)/.installed-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-for-benchmarks
	$(BIN)/python benchmarks/all.py

# Debian ships python3 without venv; virtualenv from pip does the same there.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m pip install --user virtualenv && \
	    rm -rf $(VENV) && $(PYTHON) -m virtualenv $(VENV); }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-for-tests: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-torch: $(VENV)/.installed-for-tests
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	touch $@

$(VENV)/.installed-distributed: $(VENV)/.installed-for-tests
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mpi,dask]' mpich
	touch $@

$(VENV)/.installed-for-benchmarks: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
