# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
SHELL  := /bin/bash
TORCH  ?= 2.13.0
MINUTES ?=

.PHONY: demo test check bench models soak format clean help

help:            ## this list
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Nikawa needs Python 3.11 or newer; set PYTHON=python3.12, say") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: pyproject.toml | $(BIN)/python
	$(PIP) install -q -e '.[light]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install -q torch==$(TORCH) # a looser range brings gigabytes of GPU libraries
	$(PIP) install -q -e '.[dev]'
	@touch $@ $(VENV)/.user

demo: $(VENV)/.user ## the whole life of a benchmark, offline, in minutes; leaves a report to open
	@$(BIN)/nikawa demo

test: $(VENV)/.dev ## all tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/.dev ## ruff, strict types, the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev ## speed comparisons with peers, in one run
	$(BIN)/python -m bench

models: $(VENV)/.dev ## nikawa-mini-ja and nikawa-mini-ko from text of your own: CORPUS=folder with ja.txt.xz and ko.txt.xz
	@test -n "$(CORPUS)" || { echo "make models: name the folder that holds ja.txt.xz and ko.txt.xz (.txt, .gz and .zst do too): make models CORPUS=DIR"; exit 2; }
	@for l in ja ko; do file=$$(ls $(CORPUS)/$$l.txt* 2>/dev/null | head -1); \
	  test -n "$$file" || { echo "make models: there is no $$l.txt or $$l.txt.xz in $(CORPUS)"; exit 2; }; \
	  test -f models/nikawa-mini-$$l/config.json || \
	  $(BIN)/nikawa pretrain $$file --language $$l --size mini $(if $(MINUTES),--minutes $(MINUTES),--steps 14000)$(if $(LICENCE), --licence $(LICENCE)) --out models/nikawa-mini-$$l \
	    $$(test $$l = ja || echo --segmenter mecab-ko) \
	    $$(for f in $(CORPUS)/$$l.sources.tsv*; do test ! -f $$f || echo --sources $$f; done) \
	    $$(test ! -f $(CORPUS)/README.md || echo --attribution $(CORPUS)/README.md) || exit 1; done

soak: $(VENV)/.dev ## the annotation server killed and loaded at full length
	for d in sqlite postgres; do $(BIN)/python -m tests.soak.collect_kill --database $$d && \
	$(BIN)/python -m tests.soak.collect_load --database $$d && \
	$(BIN)/python -m tests.soak.collect_load --database $$d --judgements 1000000 --asked 30 --items 40000 --owner --seconds 120 || exit 1; done
	$(BIN)/python -m tests.soak.collect_kill --database postgres --what database --kills 10 --seconds 60

format: $(VENV)/.dev ## rewrite to the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:           ## remove the environment and the caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
