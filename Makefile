# What can be done with a fresh clone? Needs Python 3.11 or newer, make and git; everything else goes into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PG15 ?= /usr/lib/postgresql/15/bin
# One more than two cores: tests wait for the processes they start.
WORKERS ?= 3

# make demo ONESHOT=1 MONTH=2026-10 REQUESTS=20000 SEED=1 PORT=8000 PROBE=1
DEMO = $(if $(ONESHOT),--oneshot) $(if $(MONTH),--month $(MONTH)) $(if $(REQUESTS),--requests $(REQUESTS)) \
       $(if $(SEED),--seed $(SEED)) $(if $(PORT),--port $(PORT)) $(if $(PROBE),--probe)

.DEFAULT_GOAL := help
.PHONY: help demo test test-pg15 test-slow lint bench bench-engine clean

help:
	@echo 'make demo        a month of an imagined product, end to end; ONESHOT=1 ends after printing, PROBE=1 measures its pool first'
	@echo 'make test        the tests, on the embedded PostgreSQL'
	@echo 'make test-pg15   the storage tests once more, on PostgreSQL 15 where it is installed'
	@echo 'make test-slow   the long tests'
	@echo 'make lint        ruff, mypy, import rules'
	@echo 'make bench       measurements, as one JSON object'
	@echo 'make bench-engine  the engine beside others, where they are installed (tests/bench/bench_engine.py)'
	@echo 'make clean       removes .venv and caches'

# Measuring a curve takes torch, which only a developer's installation has.
demo: $(if $(PROBE),$(VENV)/.dev,$(VENV)/.demo)
	@$(BIN)/tokencogs demo $(DEMO)

test: $(VENV)/.dev
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow and not bench"

test-pg15: $(VENV)/.dev
	@if [ -x $(PG15)/postgres ]; then \
	  echo "storage tests on $$($(PG15)/postgres --version)"; \
	  TOKENCOGS_PG_BIN=$(PG15) $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "storage and not one_server and not slow and not bench"; \
	else \
	  echo "no PostgreSQL 15 in $(PG15): the storage tests ran on the embedded server only"; \
	fi

test-slow: $(VENV)/.dev
	$(BIN)/pytest -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	@$(BIN)/python -m tests.bench

bench-engine: $(VENV)/.dev
	@$(BIN)/python -m tests.bench.bench_engine

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tokencogs needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing into $(VENV): about two minutes, once'
	$(PIP) install -qq -c constraints.txt -e '.[dashboard]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -qq -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.demo
