# The targets are what CI runs. Each one sets itself up: Python ≥ 3.11 and make are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-torch bench reproduce pictures lint format clean

help:           ## show the targets
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort -u | expand -t 16

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gferm needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,plot,report]"
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,plot,report,oracle,distributed]" --group test
	@touch $@

$(VENV)/.lint: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli]" --group lint
	@touch $@

demo: $(VENV)/.demo   ## plain against fair regression on Communities and Crime: tables and pictures
	$(BIN)/python -m gferm demo

# Two workers on two cores: a BLAS with threads of its own would only get in their way.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test: $(VENV)/.test   ## all fast tests
	$(PYTEST)

test-slow: $(VENV)/.test   ## everything, the slow tests too
	$(PYTEST) -m "slow or not slow"

# torch on the CPU stands in for a GPU: the same code with another array library
test-torch: $(VENV)/.test   ## the tests of code for GPUs, with torch on the CPU (installs torch)
	$(BIN)/python -m pip install --quiet "torch>=2.3"
	$(PYTEST) -k torch

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@

bench: $(VENV)/.bench  ## every benchmark: prints ratios, writes benchmarks/results/*.json
	$(BIN)/python -m benchmarks

# Finished, these take seconds; from nothing, a few minutes on a large GPU and about two hours a data
# set on two cores. DEVICE=cuda needs torch.
DEVICE ?= cpu
reproduce: $(VENV)/.demo   ## the paper's tables on both data sets, and the consistency experiment
	$(BIN)/python -m reproduction all --data crime --device $(DEVICE) --out results
	$(BIN)/python -m reproduction all --data pupils --device $(DEVICE) --out results
	$(BIN)/python -m reproduction consistency --out results
	xz --keep --force -9e results/*/*.jsonl  # what is committed

pictures: $(VENV)/.test   ## the pictures in docs/pictures (needs Chromium)
	$(BIN)/python docs/make_pictures.py

lint: $(VENV)/.lint   ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint   ## let ruff fix and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:          ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo
