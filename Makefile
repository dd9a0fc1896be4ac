# Everything runs inside .venv, which each target makes first if need be. All that a machine has to
# bring is Python 3.11 to 3.14 and make; the set-up steps leave stamps in .venv, so that repeating
# them takes no time, and run again when a lock or pyproject.toml changes.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --progress-bar off
PIP_LOCKED := $(PIP) --require-hashes --no-deps --no-build-isolation --use-pep517
WORKERS ?= 2
ARGS ?=

# The first Python that the locks cover and that can make an environment.
USABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(USABLE)' >/dev/null 2>&1 && { echo "$$p"; break; }; done)

.PHONY: help setup setup-test demo test test-full lint bench docs lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.demo ## make .venv with what the program and Spark need
	@:

setup-test: $(VENV)/.test ## make .venv with what tests, lint and docs need too
	@:

demo: $(VENV)/.demo ## check, repair and run a query, here and on Spark
	@$(BIN)/millpond demo

test: $(VENV)/.test ## run the suite, the heaviest parts left out (ARGS="-k name" picks)
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup -m "not heavy" $(ARGS)

test-full: $(VENV)/.test ## run the whole suite
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup $(ARGS)

lint: $(VENV)/.test ## ruff and mypy --strict
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

bench: $(VENV)/.demo ## measure, as docs/benchmarks.md says
	@$(BIN)/millpond bench $(ARGS)

docs: $(VENV)/.test ## build the site into site/
	@$(BIN)/zensical build --clean --strict

# The environment that resolves the locks is apart from the one that is locked.
LOCK := .cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(UPGRADE)

lock: | .cache/lock ## refresh locks/ after a change of pyproject.toml (UPGRADE=--upgrade: newest)
	@$(LOCK) --extra spark --group dev pyproject.toml -o locks/test.txt
	@$(LOCK) -c locks/test.txt --extra spark --group build pyproject.toml -o locks/demo.txt
	@$(LOCK) -c locks/test.txt --group build -o locks/build.txt

clean: ## remove .venv and everything else that was made here
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site \
		metastore_db spark-warehouse derby.log
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.cache/lock:
	@$(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet uv || { rm -rf $@; exit 1; }

$(VENV)/.made:
	@test -n "$(PYTHON)" || { \
		echo "millpond needs Python 3.11, 3.12, 3.13 or 3.14 with its venv module;" >&2; \
		echo "none is on the PATH. Name one: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c '$(USABLE)' || { \
		echo "$(PYTHON) is not Python 3.11 to 3.14 with its venv module." >&2; exit 1; }
	@echo "Making $(VENV) with $$("$(PYTHON)" --version); the first time takes a minute or two."
	@"$(PYTHON)" -m venv --clear $(VENV)
	@touch $@

# pyspark comes as a source archive: its build tools, also locked, go first.
$(VENV)/.build: locks/build.txt | $(VENV)/.made
	@$(PIP_LOCKED) --only-binary :all: -r locks/build.txt
	@touch $@

$(VENV)/.demo: locks/demo.txt pyproject.toml $(VENV)/.build
	@$(PIP_LOCKED) -r locks/demo.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: locks/test.txt pyproject.toml $(VENV)/.build
	@$(PIP_LOCKED) -r locks/test.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@
