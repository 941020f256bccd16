# Two commands: `make run` opens the dashboard, `make test` runs lint, types and every test.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEVELOPMENT := $(VENV)/.development
KERNELS := $(VENV)/.kernels
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
PORT ?= 8501

.PHONY: run test test-portable test-long install lint types wheel release screenshots audit-dependencies clean
.DEFAULT_GOAL := run

run: $(KERNELS)
	$(BIN)/spofr dashboard --port $(PORT)

# The solver is compiled on one core while the other installs what only tests need and checks types.
test:
	$(MAKE) -j 2 $(KERNELS) lint types
	$(BIN)/python tests/browser/ensure.py
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# As a processor of twenty years ago would run them: no test may hang on the digits that rounding decides.
test-portable: $(DEVELOPMENT)
	$(BIN)/python tests/portable.py prescott

# Other examples each time, crowds of kills and hours of mutated files: for a change of a solver, a reader or a store.
test-long: $(DEVELOPMENT) $(KERNELS)
	$(BIN)/python tests/browser/ensure.py
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow or not browser" --hypothesis-profile random

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: lint
	$(BIN)/mypy

wheel: $(DEVELOPMENT)
	rm -rf build
	$(BIN)/python -m build --wheel --no-isolation

# A wheel and an sdist, each installed and used in an empty environment; nothing is signed, tagged or sent anywhere.
release: $(DEVELOPMENT)
	rm -rf build dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python tests/packaging/check_release.py dist/*

# Licences and reasons into docs/dependencies.md, then known vulnerabilities: exit code 1 some, 2 nobody could be asked.
audit-dependencies: $(DEVELOPMENT)
	$(BIN)/python docs/make_dependencies.py

screenshots: $(DEVELOPMENT)
	$(BIN)/python tests/browser/screenshots.py

install: $(KERNELS)

# A stamp is newer than what it was made from, so nothing is installed twice: `make run` needs the first, `make test` both.
$(RUNTIME): requirements.txt pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found; install one, or name it: make run PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Could not create $(VENV): on Debian and Ubuntu, install python3-venv."; exit 1; }
	$(PIP) -r requirements.txt
	$(PIP) --no-deps --editable .
	@touch $@

$(KERNELS): $(RUNTIME)
	@find spofr_core -name "*.nb[ci]" -delete # compiled kernels of an older checkout
	@echo "Compiling the solver (once, a minute or two)"; $(BIN)/python -m spofr_core.cli.compile_kernels
	@touch $@

$(DEVELOPMENT): requirements-dev.txt $(RUNTIME)
	$(PIP) -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
