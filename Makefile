# Everything runs from .venv, which the first target that needs it makes. `make` alone lists the targets.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
SOURCES := client_sdk broker olsr_adapter analytics deploy tests
SEEDS ?= 300
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help install demo test check bench figures swarm fuzz clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## make the environment .venv with the commands chapard, chapar, chapar-lab, -sim and -audit

demo: $(INSTALLED)  ## nine real daemons, a partition and what follows, and the audit's verdict, in a minute and a half
	@rm -rf build/demo
	@if $(BIN)/chapar-lab check >/dev/null; then $(BIN)/chapar-lab run deploy/scenarios/demo.toml --out build/demo; \
	  else echo "make: so this is the same in the simulator" >&2; \
	    $(BIN)/chapar-sim run deploy/scenarios/demo.toml --out build/demo; fi
	@echo
	@if $(BIN)/chapar-audit check >/dev/null; then $(BIN)/chapar-audit build/demo --html; \
	  else echo "make: so there is no verdict of the audit on build/demo" >&2; fi

test: $(INSTALLED)  ## run every test, the architecture laws included; labs last, as they mostly wait
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not lab"
	@$(BIN)/python -m pytest -q -n 9 -m lab

check: $(INSTALLED)  ## ruff and mypy --strict, tests included
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy --strict $(SOURCES)

bench: $(INSTALLED)  ## measure the stated figures; fails when a goal is missed
	@$(BIN)/python tests/benchmarks/run.py

figures: $(INSTALLED)  ## draw the papers' figures from models and from runs of our own broker (QUICK=1)
	@$(BIN)/chapar-audit reproduce all --out build/figures --effort $(if $(QUICK),quick,full)

swarm: $(INSTALLED)  ## run random scenarios through the checkers (SEEDS=300)
	@$(BIN)/chapar-sim swarm --seeds $(SEEDS)

fuzz: $(INSTALLED)  ## throw random and mutated datagrams at both ports (FUZZ_SECONDS=60)
	@$(BIN)/python tests/e2e/fuzz.py --seconds $(FUZZ_SECONDS)

clean:  ## remove .venv and everything else that was made
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# A change of pyproject.toml installs again. An environment whose own Python is gone or too old is made afresh.
$(INSTALLED): pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
	  { echo "make: $(PYTHON) not found; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $$($(PYTHON) --version) is too old; Chapar needs 3.11 or newer: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "make: $(PYTHON) has no venv module; install it (on Debian and Ubuntu the package python3-venv)" >&2; exit 1; }
	@echo "Installing into .venv (only when pyproject.toml has changed) ..." >&2
	@$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' || \
	  { echo "make: could not install the packages that pyproject.toml names (pip says why above); this step needs a network" >&2; exit 1; }
	@touch $@
