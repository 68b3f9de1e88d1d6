# The tasks of Headgate; `make` alone lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: help setup format check test bench soak demo lock clean

PYTHON ?=
SETUP_DONE := .venv/.complete
BENCHES := $(filter-out __init__,$(basename $(notdir $(sort $(wildcard bench/*.py)))))
CHECKED := src tests examples $(wildcard bench)

help: ## list these tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(SETUP_DONE) ## make .venv/ from the lock file; instant when nothing changed

$(SETUP_DONE): pyproject.toml requirements/dev.txt requirements/uv.txt tools/setup.sh tools/machine.sh
	@PYTHON="$(PYTHON)" tools/setup.sh

format: setup ## rewrite the code as the checks want it
	.venv/bin/ruff check --quiet --fix-only $(CHECKED)
	.venv/bin/ruff format $(CHECKED)

check: setup ## formatting, lint, types and the layers of the rooms
	.venv/bin/ruff format --check $(CHECKED)
	.venv/bin/ruff check $(CHECKED)
	.venv/bin/mypy $(CHECKED)
	.venv/bin/lint-imports --no-logo

test: setup check ## set up, check and run every test
	.venv/bin/pytest -n 2

bench: setup ## run every measurement in bench/
	@set -e; for name in $(BENCHES); do echo "== bench/$$name.py"; .venv/bin/python -m bench.$$name; done

soak: setup ## run the long proofs at their full size
	HEADGATE_PROOFS=soak .venv/bin/pytest -n 2 -m proof

demo: setup ## play the worked example with a real broker; KEEP=1 leaves it running
	examples/demo.sh

lock: ## choose newer packages: rewrite requirements/*.txt
	@PYTHON="$(PYTHON)" tools/lock.sh $(LOCK_OPTIONS)

clean: ## remove everything that the other tasks made
	rm -rf .venv .tools .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
	find src tests $(wildcard bench) -name __pycache__ -prune -exec rm -rf {} +
