# Two commands matter: `make repro` runs the pipeline, `make test` the checks. Both make .venv first if need be.
#   PROFILE=smoke|cpu|cpu-full|h200|cluster   which parameters (default cpu: params.yaml; the others: profiles/)
#   PYTHON=/path/to/python3.12                which Python makes .venv (default: the first of 3.11 to 3.13 found)

PROFILE ?= cpu
PYTHON ?=
VENV := .venv
STAMP := $(VENV)/.complete
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: repro test figures results bench site lint clean help
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile
	@echo "Targets: repro test figures site results bench lint clean"

repro: $(STAMP)
	@exec python -m echo_terminal.pipeline.repro --profile $(PROFILE)

figures: $(STAMP)
	@exec python -m echo_terminal.pipeline.repro --profile $(PROFILE) --only 09_paper

results: $(STAMP)
	@exec echo-terminal digest --profile $(PROFILE) --tables

bench: $(STAMP)
	@exec echo-terminal bench

site: $(STAMP)
	@exec python -m echo_terminal.analysis.site $(PROFILE)

lint: $(STAMP)
	ruff check .
	ruff format --check .
	mypy

test: lint
	python -m pytest

clean:
	rm -rf $(VENV) runs build logs .dvc/cache .dvc/tmp .pytest_cache .mypy_cache .ruff_cache .hypothesis

# An install that was cut short leaves .installing behind and no stamp: it is thrown away and made again.
$(STAMP): constraints.txt pyproject.toml
	@touch .writable.tmp 2>/dev/null || { echo "error: cannot write to $(CURDIR): clone into a folder of your own" >&2; exit 1; }; \
	rm -f .writable.tmp
	@if [ -e $(VENV)/.installing ]; then echo "the last install was cut short: making $(VENV) again"; rm -rf $(VENV); fi
	@if [ ! -x $(VENV)/bin/python ]; then \
	  found=; for candidate in $(or $(PYTHON),python3.11 python3.12 python3.13 python3 python); do \
	    if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then \
	      found=$$candidate; break; fi; done; \
	  [ -n "$$found" ] || { echo "error: no Python 3.11, 3.12 or 3.13 here$(if $(PYTHON), ($(PYTHON) is not one)): install one, or name it with PYTHON=/path/to/python" >&2; exit 1; }; \
	  "$$found" -c 'import venv, ensurepip' 2>/dev/null || { echo "error: $$found cannot make environments: install its venv package (Debian: apt install python3-venv)" >&2; exit 1; }; \
	  mkdir -p $(VENV) && touch $(VENV)/.installing && "$$found" -m venv $(VENV) || exit 1; \
	  echo "made $(VENV) with $$($(VENV)/bin/python --version)"; fi
	@touch $(VENV)/.installing
	@available=$$(df -Pk . | awk 'NR == 2 {print $$4}'); [ "$$available" -gt 4000000 ] || \
	  { echo "error: $$((available / 1024)) MB free on this disk, the install needs 4000: free some space" >&2; exit 1; }
	$(VENV)/bin/python -m pip install -q --no-compile -e '.[dev]'
	@rm $(VENV)/.installing && touch $(STAMP)
