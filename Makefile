# Two commands: `make run` opens the dashboard, `make test` runs lint, types and every test.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PORT ?= 8501

.PHONY: run test install lint types screenshots clean
.DEFAULT_GOAL := run

run: $(STAMP)
	$(BIN)/spofr dashboard --port $(PORT)

test: lint types
	$(BIN)/python tests/browser/ensure.py
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

screenshots: $(STAMP)
	$(BIN)/python tests/browser/screenshots.py

install: $(STAMP)

# The stamp is newer than what it was made from, so nothing is installed twice.
$(STAMP): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found; install one, or name it: make run PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Could not create $(VENV): on Debian and Ubuntu, install python3-venv."; exit 1; }
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -r requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --editable .
	@find spofr_core -name "*.nb[ci]" -delete # compiled kernels of an older checkout
	@echo "Compiling the solver (once, about a minute)"; $(BIN)/python -m spofr_core.compile_kernels
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
