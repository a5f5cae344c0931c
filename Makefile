# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves, each with what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
SHELL  := /bin/bash
# This release has a build for processors, which pip prefers where an index offers it; a looser range brings gigabytes
# of GPU libraries. With a GPU, make TORCH= … takes the newest. See docs/install.md.
TORCH  ?= 2.13.0
CORPUS ?=
MINUTES ?=
LICENCE ?=
export CORPUS MINUTES LICENCE
AGAIN  := $(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST))

.PHONY: demo test check docs release bench models soak interop format clean help

help:            ## this list
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */|/' | while IFS='|' read -r name what; do printf 'make %-7s %s\n' "$$name" "$$what"; done
	@echo "Settings: PYTHON=python3.12 (3.11 or newer), TORCH=$(TORCH) (empty: the newest, for a GPU)"

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: there is no $(PYTHON) here; name a Python of 3.11 or newer: make PYTHON=python3.12 …" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Nikawa needs Python 3.11 or newer, this is $$($(PYTHON) --version); name another: make PYTHON=python3.12 …" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.user: pyproject.toml | $(BIN)/python
	$(PIP) install -q -e '.[light]'
	@touch $@

$(VENV)/.encoder: pyproject.toml | $(BIN)/python
	$(if $(TORCH),$(PIP) install -q torch==$(TORCH))
	$(PIP) install -q -e '.[encoder,ja,ko-mecab]'
	@touch $@

$(VENV)/.ruff: pyproject.toml | $(BIN)/python
	$(PIP) install -q "$$(grep -oE 'ruff>=[0-9.]+' pyproject.toml)"
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) install -q -e '.[docs]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(if $(TORCH),$(PIP) install -q torch==$(TORCH))
	$(PIP) install -q -e '.[dev]'
	@touch $@ $(VENV)/.user $(VENV)/.encoder $(VENV)/.ruff

demo: $(VENV)/.user ## the whole life of a benchmark, offline, in minutes; leaves a report to open
	@$(BIN)/nikawa demo
	@echo "From here on: source $(BIN)/activate && nikawa --help (or $(BIN)/nikawa --help)"

# One process more than there are processors: many tests wait for a server or a browser.
test: $(VENV)/.dev ## all tests
	PYTHONDONTWRITEBYTECODE= PYTEST_XDIST_AUTO_NUM_WORKERS=$$($(BIN)/python -c 'import os; print(os.cpu_count() + 1)') \
	  $(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/.dev ## ruff, strict types, the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs ## the documentation site, in site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "Look at it: $(BIN)/python -m http.server --directory site 8000, then open http://127.0.0.1:8000"

release: ## build this version and try it in a fresh environment; publishes nothing
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make release: Nikawa needs Python 3.11 or newer; name one: make release PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m tests.release

bench: $(VENV)/.dev ## speed comparisons with peers, in one run
	$(BIN)/python -m bench

# Arguments first: nothing is installed for a command that cannot run.
models: ## nikawa-mini-ja and nikawa-mini-ko from text of your own: CORPUS=folder with ja.txt.xz and ko.txt.xz; MINUTES=10, LICENCE=name
	@fail() { echo "make models: $$1" >&2; exit 2; }; \
	[[ -n "$$CORPUS" ]] || fail "name the folder that holds ja.txt.xz and ko.txt.xz (.txt, .gz and .zst do too): make models CORPUS=DIR"; \
	[[ -e "$$CORPUS" ]] || fail "there is no folder $$CORPUS; make models CORPUS=DIR"; \
	[[ -d "$$CORPUS" ]] || fail "$$CORPUS is not a folder; name the one that holds ja.txt.xz and ko.txt.xz"; \
	[[ -z "$$MINUTES" || "$$MINUTES" =~ ^[0-9]*\.?[0-9]+$$ && "$$MINUTES" =~ [1-9] ]] || fail "MINUTES=$$MINUTES is no number of minutes; say MINUTES=10, or leave it out for 14,000 steps"; \
	for l in ja ko; do found=("$$CORPUS/$$l".txt{,.xz,.gz,.zst}); \
	  for f in "$${found[@]}"; do [[ ! -f "$$f" ]] || continue 2; done; \
	  fail "there is no $$l.txt or $$l.txt.xz (.gz, .zst) in $$CORPUS"; done
	@test -f models/nikawa-mini-ja/config.json -a -f models/nikawa-mini-ko/config.json || $(AGAIN) $(VENV)/.encoder
	@for l in ja ko; do out=models/nikawa-mini-$$l; \
	  if [[ -f $$out/config.json ]]; then echo "$$out is there already; remove it to train it again"; continue; fi; \
	  for f in "$$CORPUS/$$l".txt{,.xz,.gz,.zst}; do [[ ! -f "$$f" ]] || break; done; \
	  more=(); [[ -z "$$MINUTES" ]] && more+=(--steps 14000) || more+=(--minutes "$$MINUTES"); \
	  [[ -z "$$LICENCE" ]] || more+=(--licence "$$LICENCE"); \
	  [[ $$l == ja ]] || more+=(--segmenter mecab-ko); \
	  for s in "$$CORPUS/$$l".sources.tsv*; do [[ ! -f "$$s" ]] || more+=(--sources "$$s"); done; \
	  [[ ! -f "$$CORPUS/README.md" ]] || more+=(--attribution "$$CORPUS/README.md"); \
	  $(BIN)/nikawa pretrain "$$f" --language $$l --size mini "$${more[@]}" --out $$out || exit; done

soak: $(VENV)/.dev ## the long tests, or some: PARTS="fuzz corpus cluster shards checkpoint kill dialogue load attacks" (or a program: cluster_kill); what needs PostgreSQL, nginx or Ray is skipped without
	$(BIN)/python -m tests.soak $(PARTS)

interop: $(VENV)/.dev ## run the other tools for real, each in an environment of its own, and walk from their files into ours
	$(BIN)/python -m tests.interop
	$(BIN)/python -m pytest -q tests/seams

format: $(VENV)/.ruff ## rewrite to the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:           ## remove the environment and the caches
	rm -rf $(VENV) site .interop .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
